from __future__ import annotations

from typing import Any

import pytest

from gatechart.graph.definition import ANY, Invoke, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.kernel.select import accepted_events, candidates
from tests.support import is_no, is_yes


async def dream_on(context: Any, work: Any) -> None: ...


@pytest.fixture
def graph() -> StateTransitionGraph:
    """Each level waits for GO; the outer ones stand first in the document."""
    return StateTransitionGraph(
        "levels",
        states=[State("OUTER", states=[State("INNER", states=["LEAF", "SIBLING"])]), "OTHER"],
        transitions=[
            Transition(ANY, "GO", "OTHER"),
            Transition(ANY, "STOPPED", "OTHER"),
            Transition("OUTER", "GO", "OTHER", guard=is_no),
            Transition("INNER", "GO", "SIBLING"),
            Transition("LEAF", "GO", "SIBLING", guard=is_yes),
            Transition("LEAF", "PAUSED"),
            Transition("LEAF", "GO", "OTHER"),
            Transition("OUTER", "PAUSED", "OTHER"),
            Transition("SIBLING", "BACK", "LEAF"),
        ],
        entry_points=["LEAF"],
    )


def labels(graph: StateTransitionGraph, leaf: str, event: str) -> list[str]:
    return [edge.label for edges in candidates(graph, (leaf,), event) for edge in edges]


def test_inner_states_are_asked_before_outer_ones_and_the_root_last(graph: StateTransitionGraph) -> None:
    assert labels(graph, "LEAF", "GO") == [
        "LEAF --GO--> SIBLING",
        "LEAF --GO--> OTHER",
        "INNER --GO--> SIBLING",
        "OUTER --GO--> OTHER",
        "* --GO--> OTHER",
    ]


def test_the_transitions_of_other_states_are_not_asked(graph: StateTransitionGraph) -> None:
    assert labels(graph, "SIBLING", "GO") == ["INNER --GO--> SIBLING", "OUTER --GO--> OTHER", "* --GO--> OTHER"]
    assert labels(graph, "OTHER", "GO") == ["* --GO--> OTHER"]


def test_transitions_for_other_events_are_not_asked(graph: StateTransitionGraph) -> None:
    assert labels(graph, "LEAF", "PAUSED") == ["LEAF --PAUSED", "OUTER --PAUSED--> OTHER"]
    assert labels(graph, "LEAF", "BACK") == []


def test_the_root_is_asked_from_everywhere(graph: StateTransitionGraph) -> None:
    for leaf in ("LEAF", "SIBLING", "OTHER"):
        assert labels(graph, leaf, "STOPPED") == ["* --STOPPED--> OTHER"]


def test_the_accepted_events_are_told_once_without_asking_guards(graph: StateTransitionGraph) -> None:
    assert accepted_events(graph, ("LEAF",)) == ("GO", "PAUSED", "STOPPED")
    assert accepted_events(graph, ("SIBLING",)) == ("BACK", "GO", "PAUSED", "STOPPED")
    assert accepted_events(graph, ("OTHER",)) == ("GO", "STOPPED")


def test_nothing_is_worked_out_before_it_is_asked_for(graph: StateTransitionGraph) -> None:
    assert len(graph.memo) == 0


def test_what_was_worked_out_is_remembered(graph: StateTransitionGraph) -> None:
    once = candidates(graph, ("LEAF",), "GO")
    assert candidates(graph, ("LEAF",), "GO") is once
    assert len(graph.memo) == 1


def test_events_that_nothing_waits_for_are_not_remembered(graph: StateTransitionGraph) -> None:
    for number in range(100):
        assert candidates(graph, ("LEAF",), f"NOISE_{number}") == ()
    assert len(graph.memo) == 0


def test_the_events_of_states_and_invokes_with_spaces_in_their_names_are_one_name_each() -> None:
    waiting = State("fast asleep", after={"5s": "up"}, invoke=Invoke(dream_on, id="dream on"), states=["deep"])
    own = ("done.state.fast asleep", "done.invoke.dream on", "after.5s.fast asleep")
    graph = StateTransitionGraph(
        "names",
        states=[waiting, "up"],
        transitions=[Transition("fast asleep", event, "up") for event in own[:2]]
        + [Transition("fast asleep", "ring knock", "up")],
        entry_points=["deep"],
    )
    assert [event for event in own if labels(graph, "deep", event)] == [*own]
    assert [event for event in ("asleep", "on", "asleep.deep", "ring", "knock") if labels(graph, "deep", event)] == [
        "ring",
        "knock",
    ]


def test_names_that_only_a_wildcard_takes_are_not_remembered_however_many_come() -> None:
    graph = StateTransitionGraph(
        "listening", transitions=[Transition("A", "*", "B"), Transition("B", "BACK", "A")], entry_points=["A"]
    )
    for number in range(100):
        assert candidates(graph, ("A",), f"NOISE-{number}")
    assert not graph.memo
    assert candidates(graph, ("A",), "BACK") is candidates(graph, ("A",), "BACK")
    assert len(graph.memo) == 1
