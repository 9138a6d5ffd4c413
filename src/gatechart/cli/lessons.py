"""The command `gatechart forget-lessons`, which deletes the lessons of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gatechart.cli.completion import complete_graphs
from gatechart.cli.late_imports import late
from gatechart.cli.options import TIMEOUT_S, Settings, TimeoutOption
from gatechart.cli.output import emit

if TYPE_CHECKING:
    from gatechart.cli import connection, loading
else:
    connection, loading = late("gatechart.cli.connection", "gatechart.cli.loading")

GraphArgument = Annotated[
    str,
    typer.Argument(metavar="GRAPH", help="The name of the graph.", autocompletion=complete_graphs, show_default=False),
]


async def forget_lessons(
    settings: Settings,
    graph: GraphArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Delete the lessons that agents of a graph have learned from their escapes.

    Escape plans then try strategies in the declared order, and learn from the beginning. If a host is running, such as
    `gatechart run`, it deletes the lessons.

    Examples:
      gatechart forget-lessons support
    """
    graphs = loading.load_graphs(settings)
    await connection.execute(settings, graphs, lambda reached: reached.home.forget_lessons(graph), timeout_s=timeout)
    emit(settings, {"graph": graph, "forgotten": True}, f"the lessons of {graph} were deleted")
