"""Charts of every shape for the laws of the machine, and what can happen to their agents."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from gatechart.graph.compile import walk
from gatechart.graph.definition import ANY, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.values.agents import Event
from tests.support import Trail, boom, note

laws = settings(
    deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)

EVENTS = ("a", "b")


def is_even(context: Trail, event: Event) -> bool:
    return context.number % 2 == 0


def is_odd(context: Trail, event: Event) -> bool:
    return context.number % 2 == 1


def is_third(context: Trail, event: Event) -> bool:
    return 1 / (context.number % 3) == 1  # raises every third time


def count(context: Trail, event: Event) -> None:
    context.number += 1


GUARDS = (None, None, is_even, is_odd, is_third)
ACTIONS = ((), count, count, (note("taken"), count), (count, boom))

events = st.lists(st.sampled_from((*EVENTS, *EVENTS, "unheard of")), min_size=4, max_size=16)


@st.composite
def charts(draw: Any, *, compound: bool = True) -> StateTransitionGraph:
    """A graph of up to eight states, entered anywhere; each state notes in the trail when it is entered or left."""
    parents = [draw(st.sampled_from([None, *range(child)]) if compound else st.none()) for child in range(_size(draw))]
    tree = [_state(draw, number, parents) for number, parent in enumerate(parents) if parent is None]
    inside = {state.name: [below.name for below in walk([state])] for state in walk(tree)}
    inside[ANY] = list(inside)
    sources = [ANY, *(state.name for state in walk(tree) if not state.final)]
    transitions = [
        _transition(draw, draw(st.sampled_from(sources)), inside)
        for _ in range(draw(st.integers(min_value=0, max_value=12)))
    ]
    return StateTransitionGraph(
        "generated",
        context=Trail,
        states=tree,
        transitions=transitions,
        entry_points=[state.name for state in walk(tree)],
        max_microsteps=10,
    )


def _size(draw: Any) -> int:
    return draw(st.integers(min_value=2, max_value=8))


def _state(draw: Any, number: int, parents: list[int | None]) -> State:
    children = [_state(draw, child, parents) for child, parent in enumerate(parents) if parent == number]
    name = f"S{number}"
    return State(
        name,
        states=children,
        initial=draw(st.sampled_from([None, *(child.name for child in children)])),
        final=not children and draw(st.integers(min_value=0, max_value=3)) == 3,
        on_entry=note(f"+{name}"),
        on_exit=note(f"-{name}"),
    )


def _transition(draw: Any, source: str, inside: dict[str, list[str]]) -> Transition:
    target = draw(st.sampled_from([None, *inside[ANY]]))
    return Transition(
        source,
        draw(st.sampled_from((*EVENTS, "error.execution"))),
        target,
        guard=draw(st.sampled_from(GUARDS)),
        actions=draw(st.sampled_from(ACTIONS)),
        internal=draw(st.booleans()) if target in (None, *inside[source]) else False,
    )


def rebuilt(graph: StateTransitionGraph) -> StateTransitionGraph:
    """The same graph made anew: nothing is remembered in it."""
    return StateTransitionGraph(
        graph.name,
        version=graph.version,
        context=graph.context,
        states=graph.tree,
        transitions=graph.transitions,
        entry_points=tuple(graph.entry_points.values()),
        max_microsteps=graph.max_microsteps,
    )
