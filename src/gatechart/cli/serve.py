"""The command that hosts agents behind HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import TOKEN_VARIABLE, Settings, duration_option
from gatechart.cli.output import logging_of_a_server, print_hint, print_json_line, print_line
from gatechart.cli.run import (
    IdsOption,
    KeepTurnsOption,
    PruneOption,
    retention_of,
    spare_the_collector,
    told_or_lost,
    told_to_go,
)
from gatechart.cli.watching import AlertsFileOption, WatchdogOption, watching_of
from gatechart.hosting.system import SystemClock
from gatechart.values.directory import MOST_ENTRIES
from gatechart.values.tool_policies import Rate

if TYPE_CHECKING:
    from types import ModuleType

    from gatechart import runtime as runtime_package
    from gatechart.cli import connection, loading
    from gatechart.graph.graph import AnyGraph
    from gatechart.runtime.runtime import Runtime
    from gatechart.serving import Lifecycle, Server
else:
    connection, loading, runtime_package = late(
        "gatechart.cli.connection", "gatechart.cli.loading", "gatechart.runtime"
    )

HostOption = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")]
PortOption = Annotated[
    int,
    typer.Option(
        "--port",
        min=0,
        max=65535,
        metavar="NUMBER",
        help="The port to listen on; 0 for any free port, which is printed.",
    ),
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="A file with the token that callers must send. Without a token, the server listens to this machine only.",
        show_default=False,
    ),
]
RegistrantsOption = Annotated[
    Path | None,
    typer.Option(
        "--registrants-file",
        metavar="FILE",
        help="A file with the names and tokens of clients that may only register entries, one client per line.",
        show_default=False,
    ),
]
OperatorsOption = Annotated[
    Path | None,
    typer.Option(
        "--operators-file",
        metavar="FILE",
        help="A file with the names and tokens of clients that also see tracebacks of exceptions, one client per line.",
        show_default=False,
    ),
]
AlarmistsOption = Annotated[
    Path | None,
    typer.Option(
        "--alarms-file",
        metavar="FILE",
        help="A file with the names and tokens of clients that may only raise alarms, one client per line.",
        show_default=False,
    ),
]
AlarmsOption = Annotated[
    str, typer.Option("--max-alarms", metavar="RATE", help="How often each client in --alarms-file may raise an alarm.")
]
RegistrationsOption = Annotated[
    str,
    typer.Option(
        "--max-registrations", metavar="RATE", help="How often each client in --registrants-file may register."
    ),
]
EntriesOption = Annotated[
    int,
    typer.Option(
        "--max-entries",
        min=1,
        metavar="NUMBER",
        help="The maximum number of directory entries of each client in --registrants-file.",
    ),
]
GraceOption = Annotated[
    float,
    duration_option("--grace", 0.1, "How long requests, and then turns and invokes, may take to finish after a stop."),
]
DrainOption = Annotated[
    float, duration_option("--drain", 0.0, "How long to continue serving after a stop, while reporting not ready.")
]
BodyOption = Annotated[
    int, typer.Option("--max-body", min=1, metavar="BYTES", help="The maximum size of a request body.")
]
ValuesOption = Annotated[
    int,
    typer.Option("--max-values", min=1, metavar="NUMBER", help="The maximum number of JSON values in a request body."),
]
ConnectionsOption = Annotated[
    int,
    typer.Option(
        "--max-connections",
        min=1,
        metavar="NUMBER",
        help="The maximum number of connections at once, streams included.",
    ),
]
HeadersOption = Annotated[
    int,
    typer.Option(
        "--max-headers", min=1024, metavar="BYTES", help="The maximum size of the request line and headers together."
    ),
]
HeadersTimeOption = Annotated[float, duration_option("--headers-time", 0.1, "How long the headers may take to arrive.")]
BodyTimeOption = Annotated[float, duration_option("--body-time", 0.1, "How long a body may take to arrive.")]
IdleOption = Annotated[float, duration_option("--idle-time", 0.1, "How long a silent connection is kept open.")]
AnswerOption = Annotated[
    int,
    typer.Option("--max-answer", min=1, metavar="BYTES", help="The maximum size of a page of a list."),
]


async def serve_agents(
    settings: Settings,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8700,
    token_file: TokenFileOption = None,
    registrants_file: RegistrantsOption = None,
    max_registrations: RegistrationsOption = "60/min",
    max_entries: EntriesOption = MOST_ENTRIES,
    alarms_file: AlarmistsOption = None,
    operators_file: OperatorsOption = None,
    max_alarms: AlarmsOption = "60/min",
    grace: GraceOption = 10.0,
    drain: DrainOption = 0.0,
    max_body: BodyOption = 2**20,
    max_values: ValuesOption = 25_000,
    max_connections: ConnectionsOption = 500,
    max_headers: HeadersOption = 2**16,
    headers_time: HeadersTimeOption = 10.0,
    body_time: BodyTimeOption = 30.0,
    idle_time: IdleOption = 75.0,
    max_answer: AnswerOption = 8 * 2**20,
    prune: PruneOption = None,
    keep_turns: KeepTurnsOption = None,
    ids_for: IdsOption = None,
    alerts_file: AlertsFileOption = None,
    watchdog: WatchdogOption = None,
) -> None:
    """Host the agents of the app behind an HTTP interface.

    It hosts agents as `gatechart run` does, and serves many programs at once. The URL is printed once the server is
    ready; /openapi.json describes the interface, and /health/live and /health/ready report its health. In a browser,
    /console shows the directory, and handoffs with the choice of their targets. Callers send `Authorization: Bearer
    TOKEN`, with the token from --token-file or GATECHART_TOKEN. Without a token, the server listens to this machine
    only. Clients in --registrants-file may only register in the directory; clients in --alarms-file may only raise
    alarms. Clients in --operators-file may do everything, and see the tracebacks of exceptions.

    It runs until Ctrl-C or SIGTERM. Then it accepts no more requests, ends streams, and gives requests, turns and
    invokes --grace seconds each to finish. A second Ctrl-C does not wait. With --json, the log is lines of JSON.

    With --prune or --keep-turns, the server deletes old data when it starts and every hour. With --watchdog, it looks
    for problems, and reports them to the sinks of --alerts-file.

    Examples:
      gatechart serve
      gatechart serve --port 0 --json
      gatechart serve --prune 90d --keep-turns 1000
      gatechart serve --choosing myapp:choosing
      gatechart serve --host 0.0.0.0 --token-file /run/secrets/gatechart
    """
    serving, retention = _serving(), retention_of(prune, keep_turns, ids_for)
    secret = serving.read_token(token_file, os.environ.get(TOKEN_VARIABLE), TOKEN_VARIABLE)
    registrants = serving.read_registrants(registrants_file, secret)
    alarmists = serving.read_registrants(alarms_file, secret, registrants.values())
    operators = serving.read_registrants(operators_file, secret, [*registrants.values(), *alarmists.values()])
    watching = watching_of(alerts_file, watchdog)
    spare_the_collector()
    graphs = loading.load_graphs(settings)
    lifecycle = serving.Lifecycle()
    limits = serving.ServerLimits(
        connections=max_connections,
        header_bytes=max_headers,
        header_s=headers_time,
        body_bytes=max_body,
        body_values=max_values,
        body_s=body_time,
        idle_s=idle_time,
        answer_bytes=max_answer,
        registrations=_rate(max_registrations, "--max-registrations"),
        alarms=_rate(max_alarms, "--max-alarms"),
    )
    application = serving.Application(
        lifecycle,
        loading.newest(graphs),
        token=secret,
        registrants=registrants,
        alarmists=alarmists,
        operators=operators,
        limits=limits,
    )
    listening = serving.listening(
        application, host=host, port=port, has_token=secret is not None, grace_s=grace, limits=limits
    )
    with logging_of_a_server(as_json=settings.json), told_to_go(grace, drain + grace, log=settings.json) as stopping:
        hosting = partial(
            connection.open_host,
            settings,
            graphs,
            SystemClock(),
            runtime_package.Limits(close_s=grace, entries=max_entries),
            creates=True,
            retention=retention,
            watching=watching,
        )
        await _serve(settings, graphs, listening, hosting, lifecycle, stopping, drain)


async def _serve(
    settings: Settings,
    graphs: tuple[AnyGraph, ...],
    listening: AbstractAsyncContextManager[Server],
    hosting: Callable[[], AbstractAsyncContextManager[Runtime]],
    lifecycle: Lifecycle,
    stopping: asyncio.Event,
    drain_s: float,
) -> None:
    """Host and serve until the process must stop. Raises OwnershipLostError if another runtime takes over."""
    async with (
        listening as server,
        hosting() as runtime,
        lifecycle.hosting(runtime),
    ):
        _tell_ready(settings, server.url, [graph.name for graph in loading.newest(graphs)])
        lost = await told_or_lost(stopping, runtime)
        lifecycle.stop()
        await asyncio.sleep(drain_s)
        await server.close()
        if lost is not None:
            raise lost


def _rate(given: str, option: str) -> str:
    try:
        Rate.of(given)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    return given


def _tell_ready(settings: Settings, url: str, names: Sequence[str]) -> None:
    if settings.json:
        print_json_line({"url": url, "graphs": names})
    else:
        print_line(url)
        print_hint(f"hosting agents of {', '.join(names)} in {settings.store}; stop with Ctrl-C")
        print_hint(f"{url}/console shows handoffs and the directory in a browser")


def _serving() -> ModuleType:
    """Import the package that needs the extra. Raises ExtraMissingError."""
    from gatechart import serving  # noqa: PLC0415  only this command needs its dependencies

    return serving
