"""Command and verb that delete the lessons that a graph's agents learned from escapes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from gatechart.api.arguments import made
from gatechart.api.codec import DONE, Answer
from gatechart.api.command import Executor, WritingCommand
from gatechart.api.route import Route
from gatechart.graph.graph import AnyGraph, graph_name
from gatechart.values.names import Name


class ForgetLessonsCommand(WritingCommand):
    """`forget_lessons`. A repeat has no effect."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/lessons/{graph}", "Delete the lessons of a graph", 204)
    verb: Literal["forget_lessons"] = "forget_lessons"
    graph: str


class LessonsHome(Executor):
    """The part of `AgentHome` for lessons."""

    async def forget_lessons(self, graph: Name | AnyGraph) -> None:
        """Delete the lessons that a graph's agents learned from escapes, so that they learn from scratch.

        Does nothing if there are no lessons, or no such graph.
        """
        await self.execute(made(ForgetLessonsCommand, graph=graph_name(graph)))
