"""The command `gatechart doctor`, which shows the findings of a home's `watchdog.rules`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from gatechart.cli.errors import ExitCode
from gatechart.cli.late_imports import late
from gatechart.cli.options import EngineOption, NamespaceOption, ServerOption, Settings
from gatechart.cli.output import emit, in_zone, moment_text, print_hint, print_line, print_table
from gatechart.values.alerts import Severity
from gatechart.values.findings import HealthFinding

if TYPE_CHECKING:
    from gatechart.cli import connection, loading
else:
    connection, loading = late("gatechart.cli.connection", "gatechart.cli.loading")

_MOST = 1000
_STYLES = {Severity.NOTICE: "dim", Severity.WARNING: "yellow", Severity.CRITICAL: "bold red"}

UrlArgument = Annotated[
    str | None,
    typer.Argument(metavar="[URL]", help="The store to examine. Default: --store.", show_default=False),
]


async def examine_home(
    settings: Settings,
    url: UrlArgument = None,
    server: ServerOption = None,
    engine: EngineOption = None,
    namespace: NamespaceOption = "",
) -> ExitCode | None:
    """Look for problems: agents that make no progress, mail that waits, fails or is dead, open breakers, silent hosts.

    The command only reads, and needs no host. With an app, it knows the expected duration of the states in the app's
    graphs; for other states, it learns the usual duration from the agents' histories. Each finding names a remedy.

    The exit code is 0 if nothing is wrong, 6 if something is worth a look, and 7 if something is critical.

    Examples:
      gatechart doctor
      gatechart doctor postgresql+asyncpg://gatechart@db/agents --json
      gatechart doctor --server http://127.0.0.1:8700
    """
    chosen = settings if url is None else replace(settings, store=url)
    if server is not None or engine is not None:
        async with connection.elsewhere(server, engine, namespace) as home:
            findings = await home.findings(limit=_MOST)
    else:
        is_known = loading.find_app(chosen.app) is not None
        graphs = loading.load_graphs(chosen) if is_known else ()
        if not is_known:
            print_hint("the expected duration of states (`expects=`) is known only with --app")
        async with connection.inspect(chosen, graphs) as runtime:
            findings = await runtime.findings(limit=_MOST)
    emit(settings, {"findings": [{"key": each.key, **each.document()} for each in findings]}, lambda: _print(findings))
    if not findings:
        return None
    return ExitCode.CRITICAL if any(finding.severity is Severity.CRITICAL for finding in findings) else ExitCode.FOUND


def _print(findings: Sequence[HealthFinding]) -> None:
    if not findings:
        print_line("nothing is wrong")
        return
    rows = [
        (
            Text(each.severity.value, _STYLES[each.severity]),
            each.kind.value,
            each.subject,
            "" if each.since is None else moment_text(each.since),
            each.text,
        )
        for each in findings
    ]
    print_table(("severity", "kind", "subject", in_zone("since"), "problem"), rows, whole=("subject",))
    for finding in findings:
        print_line(f"{finding.key}: {finding.remedy}")
