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
    f"a text of up to {LONGEST_VALUE} characters, a number, True or False, a list of such, "
    "or bounds of such, by ge, gt, le, lt or prefix"
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
    framework: bool | None = None  # None is False, and not sent: an older server does not know the field


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
        """Find agents, a page at a time: pass the page's `next` as `after`. `agents` goes through all pages.

        state: an active state, as a leaf or around one.
        where: searchable fields, each with the value that agents must have: `{"customer": "Ada"}`; several, of which
        they must have one: `{"customer": ["Ada", "Bob"]}`; or bounds: `{"order.total": {"ge": 10, "lt": 100}}` (also
        "gt" and "le"), `{"customer": {"prefix": "A"}}`. Agents without a value are not found.
        order: "started", the oldest first; "changed", that of their newest turns, the newest first; or a searchable
        field, without the agents that have no value. With a minus sign, as in "-started", the other way round.
        framework: also find the agents of gatechart itself, such as schedules. A `graph` of theirs finds them, too.

        Raises UnknownGraphError, UnknownStateError, UnknownFieldError for a field that is not searchable,
        UnknownAgentError or UnknownPlaceError for `after`, PayloadError for an unknown status, a value that agents are
        not found by, or a limit below 1.
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
        """Go through the agents that `find` finds, read page by page: `async for snapshot in runtime.agents(...)`.

        An agent that starts or changes meanwhile is met where it is when its page is read. By "changed", one that
        changes before it was met moves to the front, and is missed; by "-changed" it moves to the end, and is met.
        Raises as `find` does.
        """
        return _each(self.find, order, graph=graph, state=state, status=status, where=where, framework=framework)

    async def counts(self, *, graph: Name | AnyGraph | None = None, framework: bool = False) -> Sequence[GraphCount]:
        """Count the agents of each graph that has some, or of one graph: altogether, by status, and by state.

        framework: as in `find`. Raises UnknownGraphError.
        """
        command = made(CountsCommand, graph=graph and graph_name(graph), framework=framework or None)
        found: Sequence[GraphCount] = await self.execute(command)
        return found


def _checked(where: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return conditions as JSON values. Raises PayloadError, in fewer words than the model of the command has."""
    plain = plain_payload(where, "find")
    for field, wanted in plain.items():
        try:
            WANTED.validate_python(wanted)
        except ValidationError:
            raise PayloadError("find", (f"{field!r} is to be {wanted!r}",), _SOUGHT) from None
    return plain


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
