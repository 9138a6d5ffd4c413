from __future__ import annotations

import pytest

from gatechart.graph.definition import State, Transition
from tests.checks.support import found, graph_of, places

MEANT = "REVIEWING"


def misspelt(name, meant=MEANT):
    ways = [Transition("A", "E", meant), Transition(meant, "E", "A"), Transition("A", "F", name)]
    return places(graph_of(ways), "GC304")


@pytest.mark.parametrize("name", ["REVIEWNG", "REVIIEWING", "REVIEWINK", "REVEIWING", "Reviewing", "RE_VIEWING"])
def test_a_name_that_is_a_letter_away_is_found(name):
    assert misspelt(name) == [f"state {name!r}"]


@pytest.mark.parametrize(
    ("name", "meant"), [("PREVIEWED", MEANT), ("STEP_1", "STEP_2"), ("STEP_10", "STEP_1"), ("ON", "OFF"), ("B", "C")]
)
def test_other_names_are_not_found(name, meant):
    assert misspelt(name, meant) == []


def test_the_finding_says_what_was_meant():
    ways = [Transition("A", "E", "DONE_"), Transition("A", "F", "WAITNG"), Transition("B", "F", "WAITING")]
    (finding,) = found(graph_of(ways, states=[State("WAITING", final=True)]), "GC304")
    assert "looks like 'WAITING'" in finding.problem


def test_a_name_that_is_used_again_is_meant():
    ways = [Transition("A", "E", MEANT), Transition(MEANT, "E", "A"), Transition("A", "F", "REVIEWINK")]
    assert places(graph_of([*ways, Transition("REVIEWINK", "E", "A")]), "GC304") == []
    assert places(graph_of(ways, entry_points=["A", "REVIEWINK"]), "GC304") == []


def test_a_state_of_which_more_is_known_is_meant():
    ways = [Transition("A", "E", MEANT), Transition(MEANT, "E", "A"), Transition("A", "F", "REVIEWINK")]
    assert places(graph_of(ways, states=[State("REVIEWINK", final=True)]), "GC304") == []


def test_an_initial_state_counts_as_a_use():
    inner = State("C", states=["REVIEWINK", MEANT], initial="REVIEWINK")
    ways = [Transition("A", "E", "C"), Transition("C", "F", "REVIEWINK"), Transition("REVIEWINK", "G", MEANT)]
    assert places(graph_of([*ways, Transition("A", "F", MEANT)], states=[inner]), "GC304") == []
