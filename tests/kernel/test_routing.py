from __future__ import annotations

from typing import Any

import pytest

from gatechart.graph.definition import ANY, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.kernel.plan import Block, Plan, plan_entry, plan_microstep
from tests.support import Trail, boom, note

#   A ── A1 ── A1x, A1y        B ── B1, B2 (initial)        C (final)        D ── D1 (final)
#      └ A2
STATES = [
    State("A", states=[State("A1", states=["A1x", "A1y"]), "A2"]),
    State("B", states=["B1", "B2"], initial="B2"),
    State("C", final=True),
    State("D", states=[State("D1", final=True)]),
]


def graph_of(*transitions: Transition, states: list[State] = STATES) -> StateTransitionGraph:
    return StateTransitionGraph("g", context=Trail, states=states, transitions=transitions, entry_points=["A"])


def plan_of(transition: Transition, leaf: str) -> Plan:
    graph = graph_of(transition)
    (edge,) = graph.nodes[transition.source].edges
    return plan_microstep(graph, (leaf,), (), (edge,))


def test_the_states() -> None:
    assert graph_of().states == ("A", "A1", "A1x", "A1y", "A2", "B", "B1", "B2", "C", "D", "D1")


@pytest.mark.parametrize(
    ("source", "target", "internal", "leaf", "exits", "entries"),
    [
        # to a sibling, up, down, across
        ("A1x", "A1y", False, "A1x", "A1x", "A1y"),
        ("A1x", "A2", False, "A1x", "A1x A1", "A2"),
        ("A1x", "B1", False, "A1x", "A1x A1 A", "B B1"),
        ("A1x", "B", False, "A1x", "A1x A1 A", "B B2"),
        ("A2", "A1", False, "A2", "A2", "A1 A1x"),
        ("B1", "A1y", False, "B1", "B1 B", "A A1 A1y"),
        ("B1", "C", False, "B1", "B1 B", "C"),
        # from an outer state: everything active inside it is exited, inner states first
        ("A", "B1", False, "A1y", "A1y A1 A", "B B1"),
        ("A", "B1", False, "A2", "A2 A", "B B1"),
        # to the source itself
        ("A1x", "A1x", False, "A1x", "A1x", "A1x"),
        ("A1x", "A1x", True, "A1x", "", ""),
        ("A", "A", False, "A1y", "A1y A1 A", "A A1 A1x"),
        ("A", "A", True, "A1y", "A1y A1", "A1 A1x"),
        ("A1", "A1", False, "A1y", "A1y A1", "A1 A1x"),
        ("A1", "A1", True, "A1y", "A1y", "A1x"),
        # into a descendant: external leaves the source and enters it again, internal does not
        ("A", "A2", False, "A1y", "A1y A1 A", "A A2"),
        ("A", "A2", True, "A1y", "A1y A1", "A2"),
        ("A", "A1y", False, "A1x", "A1x A1 A", "A A1 A1y"),
        ("A", "A1y", True, "A1x", "A1x A1", "A1 A1y"),
        ("A", "A1", True, "A1y", "A1y A1", "A1 A1x"),
        # to an ancestor: it is left and entered again
        ("A1x", "A1", False, "A1x", "A1x A1", "A1 A1x"),
        ("A1y", "A", False, "A1y", "A1y A1 A", "A A1 A1x"),
        # without a target nothing is left or entered
        ("A", None, False, "A1y", "", ""),
        ("A1x", None, True, "A1x", "", ""),
        (ANY, None, False, "A1y", "", ""),
        # from the root, which is never left
        (ANY, "C", False, "A1y", "A1y A1 A", "C"),
        (ANY, "A2", False, "A1y", "A1y A1 A", "A A2"),
        (ANY, "A", True, "B1", "B1 B", "A A1 A1x"),
        (ANY, "B2", False, "B2", "B2 B", "B B2"),
    ],
)
def test_exits_go_from_inside_out_and_entries_from_outside_in(
    source: str, target: str | None, internal: bool, leaf: str, exits: str, entries: str
) -> None:
    plan = plan_of(Transition(source, "GO", target, internal=internal), leaf)
    assert plan.exits == tuple(exits.split())
    assert plan.entries == tuple(entries.split())
    assert plan.configuration == ((entries or leaf).split()[-1],)


@pytest.mark.parametrize(
    ("state", "entries"),
    [
        ("A", "A A1 A1x"),
        ("A1", "A A1 A1x"),
        ("A1y", "A A1 A1y"),
        ("A2", "A A2"),
        ("B", "B B2"),
        ("B1", "B B1"),
        ("C", "C"),
    ],
)
def test_beginning_in_a_state_enters_its_ancestors_and_its_initial_children(state: str, entries: str) -> None:
    plan = plan_entry(graph_of(), (state,))
    assert plan.exits == ()
    assert plan.entries == tuple(entries.split())
    assert plan.configuration == (entries.rsplit(maxsplit=1)[-1],)


@pytest.mark.parametrize(("target", "is_final"), [("C", True), ("D", False), ("D1", False), ("B1", False)])
def test_only_a_final_state_of_the_root_ends_the_agent(target: str, is_final: bool) -> None:
    assert plan_of(Transition("A", "GO", target), "A2").is_final is is_final
    assert plan_entry(graph_of(), (target,)).is_final is is_final


def test_a_transition_without_target_keeps_what_is_final() -> None:
    assert plan_of(Transition(ANY, "GO"), "C").is_final
    assert not plan_of(Transition(ANY, "GO"), "D1").is_final


def names(block: Block) -> list[Any]:
    return [step.function for step in block.steps]


def test_the_blocks_are_exits_then_the_transition_then_entries() -> None:
    left_1, left_2, left_outer, done_1, done_2, entered_outer, entered = map(note, "abcdefg")
    graph = graph_of(
        Transition("A", "GO", "B1", actions=[done_1, done_2]),
        states=[
            State("A", states=[State("A1", on_exit=[left_1, left_2], on_entry=boom)], on_exit=left_outer),
            State("B", states=[State("B1", on_entry=entered, on_exit=boom)], on_entry=entered_outer),
        ],
    )
    plan = plan_microstep(graph, ("A1",), (), (graph.nodes["A"].edges[0],))
    assert [(block.place, names(block)) for block in plan.deeds] == [
        ("on_exit of A1", [left_1, left_2]),
        ("on_exit of A", [left_outer]),
        ("transition A --GO--> B1", [done_1, done_2]),
        ("on_entry of B", [entered_outer]),
        ("on_entry of B1", [entered]),
    ]


def test_what_has_no_actions_has_no_block() -> None:
    assert plan_of(Transition("A", "GO", "B1"), "A2").deeds == ()
    assert plan_entry(graph_of(), ("A",)).deeds == ()


def test_beginning_has_only_the_blocks_of_the_entries() -> None:
    first, second = note("first"), note("second")
    graph = graph_of(states=[State("A", states=[State("A1", on_entry=second, on_exit=boom)], on_entry=first)])
    blocks = plan_entry(graph, ("A",)).deeds
    assert [(block.place, names(block)) for block in blocks] == [
        ("on_entry of A", [first]),
        ("on_entry of A1", [second]),
    ]


def test_a_plan_is_remembered_for_each_configuration_and_transition() -> None:
    graph = graph_of(Transition("A", "GO", "B1"), Transition("A", "GO", "B2"))
    first, second = graph.nodes["A"].edges
    once = plan_microstep(graph, ("A2",), (), (first,))
    assert plan_microstep(graph, ("A2",), (), (first,)) is once
    assert plan_microstep(graph, ("A1x",), (), (first,)).exits == ("A1x", "A1", "A")
    assert plan_microstep(graph, ("A2",), (), (second,)).configuration == ("B2",)
    assert len(graph.memo) == 3


def test_the_plan_of_beginning_is_remembered_for_each_state() -> None:
    graph = graph_of()
    once = plan_entry(graph, ("A",))
    assert plan_entry(graph, ["A"]) is once
    assert plan_entry(graph, ("B",)).configuration == ("B2",)
    assert len(graph.memo) == 2
