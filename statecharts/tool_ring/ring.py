"""The chart of the ring: five states, three tools, and a plan that leads out of it.

Work goes round by success, A to B to C to A, and is done with three records and three pages. Where the database fails,
A and C try it in turn, which is a loop for as long as it fails. D and E are reached by ways out alone; E reads all that
is wanted from another database, before it leads back to C.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from gatechart import AgentContext, EscapePlan, Event, Invoke, Signals, State, StateTransitionGraph, Transition
from gatechart.escape import AwaitBreaker, Reroute, Rollback, Strategy, SwitchTool, ToHuman
from gatechart.graph.graph import AnyGraph
from gatechart.signals import looping

MOST_STEPS: Final = 100
WORKS_S: Final = 2.0  # of an agent before each use of a tool
WANTED: Final = 3  # records, and pages, of each
CLOSED_WAYS: Final = ("tool", "route", "rollback", "wait")
"""Ways out of the ring that can be closed. What then remains is a person."""

_KEPT: Final = ("steps", "pages", "records")


class RingContext(AgentContext):
    """How far an agent of the ring has come."""

    steps: int = 0
    records: int = 0
    pages: int = 0
    cursor: str = "page 0"
    done: int = 0  # records and pages together, by which progress is measured

    def count(self, *, records: int = 0, pages: int = 0) -> None:
        """Add what a tool has brought."""
        self.records, self.pages = self.records + records, self.pages + pages
        self.done = min(self.records, WANTED) + min(self.pages, WANTED)


async def read_record(context: RingContext, work: Any) -> bool:
    """Read a record; return whether there is one."""
    await work.sleep(WORKS_S)
    return bool((await work.call("db_tool", cursor=context.cursor)).ok)


async def read_elsewhere(context: RingContext, work: Any) -> bool:
    """Read a record from the other database; return whether there is one."""
    await work.sleep(WORKS_S)
    return bool((await work.call("alt_db_tool", cursor=context.cursor)).ok)


async def turn_page(context: RingContext, work: Any) -> str | None:
    """Ask where to read next; return it, or None if the API fails."""
    await work.sleep(WORKS_S)
    result = await work.call("api_tool", asked=context.pages)
    return result.unwrap() if result.ok else None


def went_well(_context: RingContext, event: Event) -> bool:
    """Whether the tool has brought something."""
    return bool(event.payload["result"])


def note_record(context: RingContext, _event: Event) -> None:
    """Count a record."""
    context.count(records=1)


def note_page(context: RingContext, event: Event) -> None:
    """Count a page, and read on from there."""
    context.cursor = event.payload["result"]
    context.count(pages=1)


def count_step(context: RingContext, _event: Event) -> None:
    """Count a step."""
    context.steps += 1


def is_done(context: RingContext, _event: Event) -> bool:
    """Whether all is there that is wanted."""
    return context.done == 2 * WANTED


def has_records(context: RingContext, _event: Event) -> bool:
    """Whether no record is wanted any more."""
    return context.records >= WANTED


def is_exhausted(context: RingContext, _event: Event) -> bool:
    """Whether the agent has made as many steps as it may."""
    return context.steps >= MOST_STEPS


def escape_plan(closed: Collection[str] = ()) -> EscapePlan:
    """Return the plan of the ring without the ways that are closed."""
    ways: dict[str, Strategy] = {
        "tool": SwitchTool(),
        "wait": AwaitBreaker(),
        "route": Reroute(),
        "rollback": Rollback(keep=_KEPT),
    }
    person = ToHuman("human_desk", at="NORMAL")
    open_ways = [way for name, way in ways.items() if name not in closed]
    return EscapePlan(
        {
            "refused_tool": [*open_ways, person],
            "failing_tool": [*open_ways, person],
            "repeats": [*(each for each in open_ways if not isinstance(each, SwitchTool)), person],
        },
        last=person,
    )


def ring(*, has_plan: bool = True, closed: Collection[str] = ()) -> AnyGraph:
    """Return the graph of the ring. closed: of CLOSED_WAYS."""
    unknown = set(closed) - set(CLOSED_WAYS)
    if unknown:
        raise ValueError(
            f"no way out is called {min(unknown)!r}; those that can be closed are {', '.join(CLOSED_WAYS)}"
        )
    return StateTransitionGraph(
        "tool_ring",
        context=RingContext,
        states=[
            _working("A", read_record),
            _working("B", turn_page),
            _working("C", read_record),
            State("D", description="goes on without a tool"),
            _working("E", read_elsewhere),
            State("FINISHED", final=True),
            State("EXHAUSTED", final=True, failed=True, description="took as many steps as it may"),
        ],
        transitions=[
            *_ends("A", "B", "C", "E"),
            Transition("A", None, "B", guard=has_records),
            Transition("C", None, "A", guard=has_records),
            Transition("E", None, "C", guard=has_records),
            Transition("D", None, "B"),
            *_moves("A", well="B", ill="C", note=note_record),
            *_moves("B", well="C", ill="A", note=note_page),
            *_moves("C", well="A", ill="A", note=note_record),
            *_moves("E", well="E", ill="C", note=note_record),
            *(() if "route" in closed else _routes()),
        ],
        entry_points=["A"],
        signals=Signals(looping(calls=None), measure="done"),
        escape=escape_plan(closed) if has_plan else None,
    )


def _working(name: str, function: Any) -> State[RingContext]:
    return State(name, on_entry=count_step, invoke=Invoke(function, id="tool"))


def _ends(*sources: str) -> Iterator[Transition[RingContext]]:
    for source in sources:
        yield Transition(source, None, "FINISHED", guard=is_done)
        yield Transition(source, None, "EXHAUSTED", guard=is_exhausted)


def _moves(source: str, *, well: str, ill: str, note: Any) -> Iterator[Transition[RingContext]]:
    yield Transition(source, "done.invoke.tool", well, guard=went_well, actions=[note])
    yield Transition(source, "done.invoke.tool", ill)


def _routes() -> Iterator[Transition[RingContext]]:
    """Yield the ways off the ring: from B to D, and from C to E."""
    yield Transition("A", "escape.reroute", "E")
    yield Transition("B", "escape.reroute", "D")
    yield Transition("C", "escape.reroute", "E")
