"""The alerts file of `run` and `serve`: alert sinks and the watchdog. Charts have no part in it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.errors.root import GatechartError, suggestion

if TYPE_CHECKING:
    from gatechart.alerts import sinks
    from gatechart.cli import sink_tables
    from gatechart.watchdog import home as watching
else:
    sinks, sink_tables, watching = late(
        "gatechart.alerts.sinks", "gatechart.cli.sink_tables", "gatechart.watchdog.home"
    )

AlertsFileOption = Annotated[
    Path | None,
    typer.Option(
        "--alerts-file",
        metavar="FILE",
        help="A TOML file with a table for each alert sink, such as \\[sinks.ops], and the actions of --watchdog.",
        show_default=False,
    ),
]
WatchdogOption = Annotated[
    str | None,
    typer.Option(
        "--watchdog",
        metavar="DURATION",
        help="Look for problems this often, as `gatechart doctor` does, and report them to agents and all sinks.",
        show_default=False,
    ),
]


class Watching(TypedDict):
    """Keywords of `Runtime.open`."""

    alerts: sinks.Alerts
    watchdog: watching.Watchdog | None


def watching_of(file: Path | None, every: str | None) -> Watching:
    """Return the alert sinks and the watchdog that the options set. Raises UsageError."""
    alerts, table = (sinks.NO_ALERTS, sink_tables.WatchdogTable()) if file is None else _read(file)
    if every is None:
        if table != sink_tables.WatchdogTable():
            raise UsageError(f"--alerts-file {file}: [watchdog]: the watchdog is off; add --watchdog DURATION")
        return {"alerts": alerts, "watchdog": None}
    try:
        return {"alerts": alerts, "watchdog": table.watchdog(every, alerts)}
    except (GatechartError, ValueError) as error:
        raise UsageError(f"--watchdog {every}: {error}") from error


def _read(file: Path) -> tuple[sinks.Alerts, sink_tables.WatchdogTable]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        _check(content)
        named: Mapping[str, Mapping[str, object]] = content.get("sinks", {})
        built = {name: sink_tables.sink_of(f"[sinks.{name}]", table, file.parent) for name, table in named.items()}
        return sinks.Alerts(built), sink_tables.watchdog_table(content.get("watchdog", {}))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError, GatechartError, UsageError) as error:
        raise UsageError(f"--alerts-file {file}: {error}") from error


def _check(content: Mapping[str, object]) -> None:
    """Check that the file has only tables of sinks and a [watchdog] table. Raises UsageError."""
    for key in content:
        if key not in ("sinks", "watchdog"):
            raise UsageError(f"unknown key {key!r}; {suggestion(key, ('sinks', 'watchdog'))}")
    named = content.get("sinks")
    if named is None and "watchdog" in content:
        return
    if not isinstance(named, dict) or not named or not all(isinstance(table, dict) for table in named.values()):
        raise UsageError("it has no sinks; add a table such as [sinks.ops] with a url")
