"""Which way lines run."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import ANY, State, StateTransitionGraph, Transition
from gatechart.drawing.layout import Line, lines_of
from gatechart.drawing.outline import outline


def lines(*ways: tuple[str, str], states: list[State] | None = None, doors: tuple[str, ...] = ("A",)) -> list[Line]:
    transitions = [Transition(source, "GONE", target) for source, target in ways]
    graph = StateTransitionGraph("g", states=states or ["A"], transitions=transitions, entry_points=doors)
    return list(lines_of(outline(graph)))


def test_lines_run_down_from_the_doors_and_what_closes_a_ring_runs_up():
    ring = lines(("A", "B"), ("B", "C"), ("C", "A"), doors=("B",))
    assert [line.runs_up for line in ring] == [True, False, False]


def test_a_loop_closes_a_ring_of_its_own():
    assert lines(("A", "A"))[0].runs_up


def test_only_a_line_to_the_next_layer_is_direct():
    found = {
        (line.arrow.source, line.arrow.target): line.is_direct for line in lines(("A", "B"), ("B", "C"), ("A", "C"))
    }
    assert found == {("A", "B"): True, ("B", "C"): True, ("A", "C"): False}


def test_a_line_out_of_a_compound_state_starts_from_its_lowest_leaf_above_the_end():
    found = lines(
        ("X", "Y"), ("BOX", "B"), ("Y", "C"), ("C", "B"), states=[State("BOX", states=["X", "Y"])], doors=("X",)
    )
    assert next(line.source for line in found if line.arrow.source == "BOX") == "Y"


def test_a_line_from_wherever_the_agent_is_runs_down():
    found = lines((ANY, "A"), ("BOX", "X"), states=[State("A"), State("BOX", states=["X"])])
    assert [(line.source, line.runs_up) for line in found] == [("*", False), ("BOX", False)]


def test_a_chain_of_thousands_of_states_is_no_trouble():
    names = [f"S{number}" for number in range(3000)]
    found = lines(*pairwise(names), doors=("S0",))
    assert all(line.is_direct for line in found)


@settings(derandomize=True, database=None, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ABCDEF"), st.sampled_from("ABCDEF")), unique=True))
def test_lines_that_run_down_never_close_a_ring(ways):
    below: dict[str, set[str]] = {}
    for line in lines(*ways):
        if not line.runs_up:
            below.setdefault(line.arrow.source, set()).add(line.arrow.target)

    def reached(state: str) -> set[str]:
        return {state}.union(*map(reached, below.get(state, ())))

    assert not any(start in reached(end) for start, ends in below.items() for end in ends)
