"""The verbs that find agents, page by page or one by one, which every home of agents has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from gatechart.api.commands import Command, CountsCommand, FindCommand
from gatechart.api.making import made
from gatechart.errors import UnknownAgentError
from gatechart.graph import AnyGraph, graph_name
from gatechart.values import BY_START, GraphCount, Name, Order, Page, Snapshot, Status, name_of


class SearchingHome(ABC):
    """The part of `AgentHome` that finds agents."""

    @abstractmethod
    async def execute(self, command: Command) -> Any:
        """See AgentHome."""
        ...

    async def find(
        self,
        *,
        graph: Name | AnyGraph | None = None,
        state: Name | None = None,
        status: Status | str | None = None,
        order: str = "started",
        after: str | None = None,
        limit: int = 100,
    ) -> Page:
        """Find agents, a page at a time: pass the page's `next` as `after`. `agents` goes through all pages.

        state: an active state, as a leaf or around one.
        order: "started", the oldest first, or "changed", that of their newest turns, the newest first; with a minus
        sign, as in "-started", the other way round.
        Raises UnknownGraphError, UnknownStateError, UnknownFieldError for an order, UnknownAgentError or
        UnknownPlaceError for `after`, PayloadError for an unknown status or a limit below 1.
        """
        names = {"graph": graph and graph_name(graph), "state": state and name_of(state)}
        page: Page = await self.execute(
            made(FindCommand, **names, status=status, order=order, after=after, limit=limit)
        )
        return page

    def agents(
        self,
        *,
        graph: Name | AnyGraph | None = None,
        state: Name | None = None,
        status: Status | str | None = None,
        order: str = "started",
    ) -> AsyncIterator[Snapshot]:
        """Go through the agents that `find` finds, read page by page: `async for snapshot in runtime.agents(...)`.

        An agent that starts or changes meanwhile is met where it is when its page is read. By "changed", one that
        changes before it was met moves to the front, and is missed; by "-changed" it moves to the end, and is met.
        Raises as `find` does.
        """
        return _each(self.find, order, graph=graph, state=state, status=status)

    async def counts(self, *, graph: Name | AnyGraph | None = None) -> Sequence[GraphCount]:
        """Count the agents of each graph that has some, or of one graph: altogether, by status, and by state.

        Raises UnknownGraphError.
        """
        found: Sequence[GraphCount] = await self.execute(made(CountsCommand, graph=graph and graph_name(graph)))
        return found


async def _each(find: Callable[..., Awaitable[Page]], order: str, **wanted: Any) -> AsyncIterator[Snapshot]:
    """Yield the agents of all pages. find: a home's `find`."""
    passed: list[str] = []  # places to go on from, the newest last
    ends = 0  # how many of them are ends of pages before the last one
    while True:
        try:
            page = await find(order=order, after=passed[-1] if passed else None, **wanted)
        except UnknownAgentError:
            if not passed:
                raise
            passed.pop()  # it was erased meanwhile, so that what is behind the one before it is what follows
            ends = min(ends, len(passed))
            continue
        for snapshot in page.agents:
            yield snapshot
        if page.next is None:
            return
        del passed[ends : len(passed) - 1]
        ends = len(passed)
        passed += [each.agent_id for each in page.agents] if Order.of(order).by == BY_START else [page.next]
