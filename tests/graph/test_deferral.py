"""The events that states defer, as a definition has them."""

from __future__ import annotations

from enum import Enum

import pytest

from gatechart.errors import InvalidGraphError
from gatechart.graph.definition import State, Transition
from gatechart.graph.graph import StateTransitionGraph


def graph_of(*states):
    return StateTransitionGraph(
        "desk", states=[State("IDLE"), *states], transitions=[Transition("IDLE", "ASKED")], entry_points=["IDLE"]
    )


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        (State("A", defer="done.invoke.scan"), "an event of the framework, which counts only while its cause lasts"),
        (State("A", defer=["ASKED", "after.30s.A"]), "defers 'after.30s.A', an event of the framework"),
        (State("A", defer="ASKED handoff.accepted"), "an event of the framework"),
        (State("A", defer=[7]), "it defers 7"),
        (State("A", defer=[""]), "it defers ''"),
        (State("A", final=True, defer="ASKED"), "a final state, which refuses every event"),
        (State("P", states=["Q", State("A", history="deep", initial="Q", defer="ASKED")]), "never active"),
    ],
)
def test_what_cannot_be_deferred_is_a_fault(state, fault):
    with pytest.raises(InvalidGraphError, match=fault):
        graph_of(state)


def test_a_deferred_event_is_named_by_a_text_or_by_an_enum():
    class Events(Enum):
        ASKED = "ASKED"

    assert graph_of(State("A", defer=Events.ASKED)).nodes["A"].defers == ("ASKED",)


def test_what_is_deferred_changes_the_fingerprint_and_nothing_else_does():
    plain = graph_of(State("A")).fingerprint
    assert graph_of(State("A", defer=())).fingerprint == plain
    assert graph_of(State("A", defer="ASKED")).fingerprint not in (
        plain,
        graph_of(State("A", defer="TOLD")).fingerprint,
    )
