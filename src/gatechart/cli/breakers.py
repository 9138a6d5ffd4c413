"""Commands for circuit breakers: list, isolate, close, draw."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gatechart.cli.completion import complete_breakers
from gatechart.cli.graphs import FormatOption, LegendOption, ThemeName, ThemeOption, draw_or_print, only_file
from gatechart.cli.late_imports import late
from gatechart.cli.options import (
    TIMEOUT_S,
    EngineOption,
    NamespaceOption,
    ServerOption,
    Settings,
    TimeoutOption,
)
from gatechart.cli.output import Cell, emit, in_zone, moment_text, print_page, print_table
from gatechart.cli.reading import LimitOption
from gatechart.values.breakers import BreakerRecord, BreakerState
from gatechart.values.names import HIGHEST_NUMBER

if TYPE_CHECKING:
    from gatechart.api import codec
    from gatechart.api.home import AgentHome
    from gatechart.cli import connection
    from gatechart.tools import breaker, breaker_chart
else:
    codec, connection, breaker, breaker_chart = late(
        "gatechart.api.codec", "gatechart.cli.connection", "gatechart.tools.breaker", "gatechart.tools.breaker_chart"
    )

_LAYOUT_S = 20.0

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The name of the breaker.", show_default=False, autocompletion=complete_breakers
    ),
]
FileArgument = Annotated[
    Path | None, typer.Argument(metavar="[PATH]", help="The file to write. Default: print the source of the drawing.")
]
AfterOption = Annotated[
    str | None, typer.Option("--after", metavar="NAME", help="Only breakers after this one.", show_default=False)
]
ReasonOption = Annotated[
    str,
    typer.Option("--reason", metavar="TEXT", help="The reason, shown in lists and errors.", show_default=False),
]


async def list_breakers(
    settings: Settings,
    after: AfterOption = None,
    limit: LimitOption = 100,
    server: ServerOption = None,
    engine: EngineOption = None,
    namespace: NamespaceOption = "",
) -> None:
    """List the circuit breakers that are not closed, and so refuse calls of invokes and tools.

    An open breaker allows a call again at the time of its next try. Works without an app.

    Examples:
      gatechart breakers
      gatechart breakers isolate crm --reason 'the CRM moves tonight'
      gatechart breakers close crm
      gatechart breakers draw crm crm.svg
      gatechart breakers --server http://127.0.0.1:8000
      gatechart breakers --engine http://127.0.0.1:8080
    """
    async with connection.looked_at(settings, server, engine, namespace) as home:
        breakers = await home.breakers(after=after, limit=limit + 1)
    print_page(settings, "breakers", breakers, limit, _document, _print, key="name")


async def isolate_breaker(
    settings: Settings,
    name: NameArgument,
    reason: ReasonOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
    engine: EngineOption = None,
    namespace: NamespaceOption = "",
) -> None:
    """Refuse all calls through a circuit breaker until it is closed.

    Examples:
      gatechart breakers isolate crm --reason 'the CRM moves tonight'
    """
    named = connection.elsewhere(server, engine, namespace) if server or engine else None
    await _do(settings, lambda home: home.isolate_breaker(name, reason=reason), timeout, named)


async def close_breaker(
    settings: Settings,
    name: NameArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
    engine: EngineOption = None,
    namespace: NamespaceOption = "",
) -> None:
    """Allow calls through a circuit breaker again.

    Examples:
      gatechart breakers close crm
    """
    named = connection.elsewhere(server, engine, namespace) if server or engine else None
    await _do(settings, lambda home: home.close_breaker(name), timeout, named)


async def draw_breaker(
    settings: Settings,
    name: NameArgument,
    path: FileArgument = None,
    format: FormatOption = None,  # noqa: A002
    theme: ThemeOption = ThemeName.LIGHT,
    legend: LegendOption = False,
    server: ServerOption = None,
    engine: EngineOption = None,
    namespace: NamespaceOption = "",
) -> None:
    """Draw the chart of a circuit breaker, with its state highlighted.

    Examples:
      gatechart breakers draw crm crm.svg
    """
    file = only_file(path, None, format)
    async with connection.looked_at(settings, server, engine, namespace) as home:
        known = await home.breakers(limit=HIGHEST_NUMBER - 1)
    closed = BreakerRecord(name, BreakerState.CLOSED, datetime.now(UTC))
    highlight = breaker.breaker_snapshot(next((each for each in known if each.name == name), closed))
    graph = breaker_chart.breaker_graph()
    await draw_or_print(settings, graph, file, format, _LAYOUT_S, highlight=highlight, theme=theme.value, legend=legend)


async def _do(
    settings: Settings,
    verb: Callable[[AgentHome], Awaitable[BreakerRecord]],
    timeout_s: float,
    named: AbstractAsyncContextManager[AgentHome] | None,
) -> None:
    """Change a breaker, and print its new state. named: the home of agents that was given; else the database."""

    async def change(home: AgentHome) -> None:
        breaker = await verb(home)
        emit(settings, _document(breaker), lambda: _print([breaker]))

    if named is not None:
        async with asyncio.timeout(timeout_s), named as home:
            return await change(home)
    await connection.check_there(settings)
    await connection.execute(settings, (), lambda reached: change(reached.home), timeout_s=timeout_s)
    return None


def _document(breaker: BreakerRecord) -> dict[str, object]:
    document: dict[str, object] = codec.BREAKER.plain(breaker)
    return document


def _print(breakers: Sequence[BreakerRecord]) -> None:
    print_table(("BREAKER", "STATE", in_zone("SINCE"), in_zone("NEXT TRY"), "BREAKS", "REASON"), map(_row, breakers))


def _row(breaker: BreakerRecord) -> Sequence[Cell]:
    next_try = "" if breaker.retry_at is None else moment_text(breaker.retry_at)
    since = moment_text(breaker.since)
    return (breaker.name, breaker.state.value, since, next_try, str(breaker.breaks), breaker.reason)
