"""Flat charts run side by side with the synchronous machine of `transitions`."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from transitions import Machine

from gatechart.graph.definition import ANY, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from tests.laws.flat_charts import laws
from tests.laws.test_flat_charts import play
from tests.support import Trail, at_once, note, started, trail_of

STATES = ("S0", "S1", "S2", "S3")
EVENTS = ("a", "b", "c")
QUESTIONS = (None, "is_even", "is_odd")

moves = st.tuples(
    st.sampled_from((*STATES, ANY)),
    st.sampled_from(EVENTS),
    st.sampled_from((None, *STATES)),
    st.sampled_from(QUESTIONS),
    st.booleans(),  # whether it counts
)
flat_charts = st.lists(moves, max_size=12).map(lambda found: sorted(found, key=lambda move: move[0] == ANY))


class Walker:
    """A model of `transitions` that keeps the same trail and answers the same questions."""

    def __init__(self, chart: list[Any]) -> None:
        self.trail: list[str] = []
        self.number = 0
        machine = Machine(
            self,
            states=[
                {"name": name, "on_enter": self.marker("+", name), "on_exit": self.marker("-", name)} for name in STATES
            ],
            initial="S0",
            auto_transitions=False,
            ignore_invalid_triggers=True,
        )
        for event in EVENTS:
            machine.add_transition(event, "nowhere else", "S0")  # so that the event is known
        for source, event, target, question, counts in chart:
            machine.add_transition(
                event, source, target, conditions=question or [], before=self.count if counts else None
            )

    def marker(self, mark: str, name: str) -> Any:
        return lambda: self.trail.append(mark + name)

    def count(self) -> None:
        self.number += 1

    def is_even(self) -> bool:
        return self.number % 2 == 0

    def is_odd(self) -> bool:
        return self.number % 2 == 1


def is_even(context: Trail, event: Any) -> bool:
    return context.number % 2 == 0


def is_odd(context: Trail, event: Any) -> bool:
    return context.number % 2 == 1


def count(context: Trail, event: Any) -> None:
    context.number += 1


GUARDS = {None: None, "is_even": is_even, "is_odd": is_odd}


def graph_of(chart: list[Any]) -> StateTransitionGraph:
    return StateTransitionGraph(
        "flat",
        context=Trail,
        states=[State(name, on_entry=note(f"+{name}"), on_exit=note(f"-{name}")) for name in STATES],
        transitions=[
            Transition(source, event, target, guard=GUARDS[question], actions=count if counts else ())
            for source, event, target, question, counts in chart
        ],
        entry_points=["S0"],
    )


@laws
@given(flat_charts, st.lists(st.sampled_from(EVENTS), max_size=12))
def test_a_flat_chart_goes_where_the_machine_of_transitions_goes(chart: list[Any], happening: list[str]) -> None:
    graph, walker = graph_of(chart), Walker(chart)
    snapshot = at_once(started(graph)).snapshot
    for event in happening:
        snapshot = play(graph, snapshot, [event])
        walker.trigger(event)
        assert snapshot.configuration == (walker.state,)
        assert trail_of(graph, snapshot) == ["+S0", *walker.trail]
