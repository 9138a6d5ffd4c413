"""The command that hosts agents behind HTTP: it stays until it is told to go."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gatechart.cli.apps import load_graphs, newest
from gatechart.cli.errors import ExtraMissingError
from gatechart.cli.hosting import host as hosting
from gatechart.cli.options import Settings, seconds_option
from gatechart.cli.output import logging_of_a_server, print_hint, print_json_line, print_line
from gatechart.cli.run import spare_the_collector, told_or_lost, told_to_go
from gatechart.graph import AnyGraph
from gatechart.hosting.system import SystemClock
from gatechart.runtime import Limits

if TYPE_CHECKING:
    from types import ModuleType

    from gatechart.serving import Lifecycle, Server

TOKEN_VARIABLE: Final = "GATECHART_TOKEN"
HostOption = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")]
PortOption = Annotated[
    int, typer.Option("--port", min=0, max=65535, metavar="NUMBER", help="0 for any that is free; it is printed.")
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Holds the token that callers have to send; without one, only this machine is let in.",
        show_default=False,
    ),
]
GraceOption = Annotated[float, seconds_option("--grace", 0.1, "How long what is under way gets to end.")]
DrainOption = Annotated[
    float, seconds_option("--drain", 0.0, "How long it goes on serving, as no longer ready, after it was told to go.")
]
BodyOption = Annotated[
    int, typer.Option("--max-body", min=1, metavar="BYTES", help="The largest body of a request that is read.")
]
ValuesOption = Annotated[
    int, typer.Option("--max-values", min=1, metavar="NUMBER", help="The most values, in all, of a body that is read.")
]
ConnectionsOption = Annotated[
    int, typer.Option("--max-connections", min=1, metavar="NUMBER", help="Connections open at once, streams included.")
]
HeadersOption = Annotated[
    int, typer.Option("--max-headers", min=1024, metavar="BYTES", help="The largest request line with headers.")
]
HeadersTimeOption = Annotated[float, seconds_option("--headers-time", 0.1, "How long the headers may take to come.")]
BodyTimeOption = Annotated[float, seconds_option("--body-time", 0.1, "How long a body may take to come.")]
IdleOption = Annotated[float, seconds_option("--idle-time", 0.1, "How long a silent connection is kept.")]
AnswerOption = Annotated[
    int,
    typer.Option("--max-answer", min=1, metavar="BYTES", help="The most entries of a list in one answer, as bytes."),
]


async def serve_agents(
    settings: Settings,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8700,
    token_file: TokenFileOption = None,
    grace: GraceOption = 10.0,
    drain: DrainOption = 0.0,
    max_body: BodyOption = 2**20,
    max_values: ValuesOption = 100_000,
    max_connections: ConnectionsOption = 500,
    max_headers: HeadersOption = 2**16,
    headers_time: HeadersTimeOption = 10.0,
    body_time: BodyTimeOption = 30.0,
    idle_time: IdleOption = 75.0,
    max_answer: AnswerOption = 8 * 2**20,
) -> None:
    """Host the agents of the app, as `gatechart run` does, behind an HTTP interface that many programs share.

    The URL is printed once it is ready; /openapi.json there tells what can be asked, /health/live and /health/ready
    how it is. Callers send `Authorization: Bearer TOKEN`, with the token of --token-file or GATECHART_TOKEN; without
    one it listens to this machine only.

    It stays until Ctrl-C or SIGTERM. Then it accepts nothing more, ends streams, and gives requests, turns and invokes
    under way some seconds to end; a second Ctrl-C does not wait. With --json, its log is lines of JSON.

    Examples:
      gatechart serve
      gatechart serve --port 0 --json
      gatechart serve --host 0.0.0.0 --token-file /run/secrets/gatechart
    """
    serving = _serving()
    secret = serving.read_token(token_file, os.environ.get(TOKEN_VARIABLE), TOKEN_VARIABLE)
    spare_the_collector()
    graphs = load_graphs(settings.app)
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
    )
    application = serving.Application(lifecycle, newest(graphs), token=secret, limits=limits)
    listening = serving.listening(
        application, host=host, port=port, has_token=secret is not None, grace_s=grace, limits=limits
    )
    with logging_of_a_server(as_json=settings.json), told_to_go(grace, drain + grace, log=settings.json) as gone:
        await _serve(settings, graphs, listening, lifecycle, gone, Limits(close_s=grace), drain)


async def _serve(
    settings: Settings,
    graphs: tuple[AnyGraph, ...],
    listening: AbstractAsyncContextManager[Server],
    lifecycle: Lifecycle,
    gone: asyncio.Event,
    limits: Limits,
    drain_s: float,
) -> None:
    """Hosts and serves until it is told to go. Raises OwnershipLostError where another runtime has taken over."""
    async with (
        listening as server,
        hosting(settings, graphs, SystemClock(), limits, creates=True) as runtime,
        lifecycle.hosting(runtime),
    ):
        _tell_ready(settings, server.url, [graph.name for graph in newest(graphs)])
        lost = await told_or_lost(gone, runtime)
        lifecycle.stop()
        await asyncio.sleep(drain_s)
        await server.close()
        if lost is not None:
            raise lost


def _tell_ready(settings: Settings, url: str, names: Sequence[str]) -> None:
    if settings.json:
        print_json_line({"url": url, "graphs": names})
    else:
        print_line(url)
        print_hint(f"hosting agents of {', '.join(names)} in {settings.store}; Ctrl-C ends it")


def _serving() -> ModuleType:
    """The package that needs more than the others. Raises ExtraMissingError."""
    try:
        from gatechart import serving  # noqa: PLC0415  only this command needs what it needs
    except ModuleNotFoundError as error:
        raise ExtraMissingError("serve", "serve", error.name or "a package") from error
    return serving
