"""Commands and verbs that find agents, page by page or one by one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from pydantic import ValidationError

from gatechart.api.arguments import made
from gatechart.api.codec import AGENTS, COUNTS, Answer
from gatechart.api.command import Command, Executor, Limit
from gatechart.api.conditions import WANTED, Where
from gatechart.api.route import Route
from gatechart.errors.event import PayloadError, UnknownAgentError
from gatechart.graph.graph import AnyGraph, graph_name
from gatechart.turn.arguments import plain_payload
from gatechart.values.agents import Snapshot, Status
from gatechart.values.names import Name, name_of
from gatechart.values.queries import BY_START, GraphCount, Order, Page
from gatechart.values.search import LONGEST_VALUE

_SOUGHT: Final = (
    f"a text of up to {LONGEST_VALUE} characters, a number, True or False, a list of these, "
    "or bounds of these, by ge, gt, le, lt or prefix"
)


class FindCommand(Command):
    """`find`."""

    answer: ClassVar[Answer[Any]] = AGENTS
    route: ClassVar[Route] = Route("GET", "/agents", "List agents, a page at a time")
    verb: Literal["find"] = "find"
    graph: str | None = None
    state: str | None = None
    status: Status | None = None
    where: Where | None = None
    order: str = "started"
    after: str | None = None
    limit: Limit = 100
    framework: bool | None = None  # None means False and is not sent, as older servers do not know the field


class CountsCommand(Command):
    """`counts`."""

    answer: ClassVar[Answer[Any]] = COUNTS
    route: ClassVar[Route] = Route("GET", "/counts", "Count agents by graph, status and state")
    verb: Literal["counts"] = "counts"
    graph: str | None = None
    framework: bool | None = None  # as in `FindCommand`


class SearchingHome(Executor):
    """The part of `AgentHome` that finds agents."""

    async def find(
        self,
        *,
        graph: Name | AnyGraph | None = None,
        state: Name | None = None,
        status: Status | str | None = None,
        where: Mapping[str, Any] | None = None,
        order: str = "started",
        after: str | None = None,
        limit: int = 100,
        framework: bool = False,
    ) -> Page:
        """Find agents, a page at a time: pass the page's `next` as `after`. `agents` iterates over all pages.

        state: an active state, a leaf or an ancestor.
        where: searchable fields, each with the value that agents must have: `{"customer": "Ada"}`; a list of
        alternatives: `{"customer": ["Ada", "Bob"]}`; or bounds: `{"order.total": {"ge": 10, "lt": 100}}` (also "gt" and
        "le"), `{"customer": {"prefix": "A"}}`. Agents without a value do not match.
        order: "started", the oldest first; "changed", the agents with the newest turns first; or a searchable field,
        which omits agents without a value. A minus sign, as in "-started", reverses the order.
        framework: include gatechart's internal agents, such as schedules. They are also found by their `graph`.

        Raises UnknownGraphError, UnknownStateError, UnknownFieldError for a field that is not searchable,
        UnknownAgentError or UnknownPlaceError for `after`, PayloadError for an unknown status, a value of another type,
        or a limit below 1.
        """
        names = {"graph": graph and graph_name(graph), "state": state and name_of(state)}
        sought = None if where is None else _checked(where)
        wanted = {"status": status, "where": sought, "order": order, "framework": framework or None}
        page: Page = await self.execute(made(FindCommand, **names, **wanted, after=after, limit=limit))
        return page

    def agents(
        self,
        *,
        graph: Name | AnyGraph | None = None,
        state: Name | None = None,
        status: Status | str | None = None,
        where: Mapping[str, Any] | None = None,
        order: str = "started",
        framework: bool = False,
    ) -> AsyncIterator[Snapshot]:
        """Iterate over the agents that `find` finds, page by page: `async for snapshot in runtime.agents(...)`.

        An agent that starts or changes meanwhile appears where it is when its page is read. In order of "changed", one
        that changes before it was read moves to the front, and is missed; with "-changed" it moves to the end.
        Raises as `find` does.
        """
        return _iterate(self.find, order, graph=graph, state=state, status=status, where=where, framework=framework)

    async def counts(self, *, graph: Name | AnyGraph | None = None, framework: bool = False) -> Sequence[GraphCount]:
        """Count the agents of each graph that has agents, or of one graph: in total, by status, and by state.

        framework: as in `find`. Raises UnknownGraphError.
        """
        command = made(CountsCommand, graph=graph and graph_name(graph), framework=framework or None)
        counts: Sequence[GraphCount] = await self.execute(command)
        return counts


def _checked(where: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert conditions to JSON values. Raises PayloadError, shorter than the errors of the command's model."""
    plain = plain_payload(where, "find")
    for field, wanted in plain.items():
        try:
            WANTED.validate_python(wanted)
        except ValidationError:
            raise PayloadError("find", (f"the condition on {field!r} is {wanted!r}",), _SOUGHT) from None
    return plain


async def _iterate(find: Callable[..., Awaitable[Page]], order: str, **wanted: Any) -> AsyncIterator[Snapshot]:
    """Yield the agents of all pages. find: the `find` of a home."""
    passed: list[str] = []  # cursors to continue from, the newest last
    ends = 0  # how many of them are the ends of pages before the last page
    while True:
        try:
            page = await find(order=order, after=passed[-1] if passed else None, **wanted)
        except UnknownAgentError:
            if not passed:
                raise
            passed.pop()  # erased meanwhile: continue after the cursor before it
            ends = min(ends, len(passed))
            continue
        for snapshot in page.agents:
            yield snapshot
        if page.next is None:
            return
        del passed[ends : len(passed) - 1]
        ends = len(passed)
        passed += [agent.agent_id for agent in page.agents] if Order.of(order).by == BY_START else [page.next]
