from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from gatechart.graph.definition import ANY, Initial, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.kernel.legal import misfit
from gatechart.kernel.plan import Block, Done, Plan, plan_entry, plan_microstep
from gatechart.kernel.select import candidates
from gatechart.values.agents import Status
from gatechart.values.effects import CancelAll
from gatechart.values.names import Memory
from tests.support import Trail, applied, note, started, trail_of

#   HOME ── P (parallel) ── L ── L1
#        │                │    ├ L2 ── L2a, L2b
#        │                │    ├ LEND (final)
#        │                │    └ LH (history, shallow; else L1)
#        │                └ R ── R1, R2, REND (final)
#        ├ DH (history, deep; else L1)
#        └ SH (history, shallow; else P)
#   OUT
LEFT = State(
    "L",
    states=[
        "L1",
        State("L2", states=["L2a", "L2b"]),
        State("LEND", final=True),
        State("LH", history="shallow", initial="L1"),
    ],
)
RIGHT = State("R", states=["R1", "R2", State("REND", final=True)])
STATES = [
    State(
        "HOME",
        states=[
            State("P", parallel=True, states=[LEFT, RIGHT]),
            State("DH", history="deep", initial="L1"),
            State("SH", history="shallow", initial="P"),
        ],
    ),
    State("OUT"),
]


def graph_of(*transitions: Transition, states: list[State] = STATES) -> StateTransitionGraph:
    return StateTransitionGraph("g", context=Trail, states=states, transitions=transitions, entry_points=["OUT"])


def plan_of(graph: StateTransitionGraph, leaves: str, event: str = "GO", memory: Memory = ()) -> Plan:
    """The plan of what the event enables, where no guard says no."""
    configuration = tuple(leaves.split())
    enabled = tuple(edges[0] for edges in candidates(graph, configuration, event))
    return plan_microstep(graph, configuration, memory, enabled)


async def wait(context: object, work: object) -> None: ...


def told(plan: Plan) -> tuple[str, str, str, str]:
    """What is taken, by the sources; exits, entries and leaves."""
    taken = (edge.source for edge in plan.taken)
    return " ".join(taken), " ".join(plan.exits), " ".join(plan.entries), " ".join(plan.configuration)


# Which transitions of several regions are taken together.


def test_regions_that_do_not_disturb_one_another_move_in_one_microstep() -> None:
    graph = graph_of(Transition("R1", "GO", "R2"), Transition("L1", "GO", "L2b"))
    assert told(plan_of(graph, "L1 R1")) == ("L1 R1", "R1 L1", "L2 L2b R2", "L2b R2")


def test_a_region_that_does_not_wait_for_the_event_stays() -> None:
    graph = graph_of(Transition("R1", "GO", "R2"))
    assert told(plan_of(graph, "L2b R1")) == ("R1", "R1", "R2", "L2b R2")


def test_transitions_without_targets_disturb_nobody() -> None:
    graph = graph_of(Transition("L1", "GO"), Transition("R1", "GO", "OUT"))
    assert told(plan_of(graph, "L1 R1")) == ("L1 R1", "R1 R L1 L P HOME", "OUT", "OUT")


def test_a_transition_that_several_regions_share_is_taken_once() -> None:
    graph = graph_of(Transition("P", "GO", "OUT"))
    assert told(plan_of(graph, "L1 R1")) == ("P", "R1 R L1 L P HOME", "OUT", "OUT")


def test_of_two_regions_in_conflict_the_one_that_comes_first_in_the_document_moves() -> None:
    leaving = graph_of(Transition("R1", "GO", "R2"), Transition("L1", "GO", "OUT"))
    assert told(plan_of(leaving, "L1 R1")) == ("L1", "R1 R L1 L P HOME", "OUT", "OUT")
    staying = graph_of(Transition("R1", "GO", "OUT"), Transition("L1", "GO", "L2"))
    assert told(plan_of(staying, "L1 R1")) == ("L1", "L1", "L2 L2a", "L2a R1")


@pytest.mark.parametrize("outer", ["P", "HOME", ANY])
def test_the_inner_source_preempts_the_outer_one_that_an_earlier_region_asked_for(outer: str) -> None:
    graph = graph_of(Transition(outer, "GO", "OUT"), Transition("R1", "GO", "R2"))
    assert told(plan_of(graph, "L1 R1")) == ("R1", "R1", "R2", "L1 R2")


def test_the_inner_source_stands_against_the_outer_one_that_a_later_region_asks_for() -> None:
    graph = graph_of(Transition("P", "GO", "OUT"), Transition("L1", "GO", "L2"))
    assert told(plan_of(graph, "L1 R1")) == ("L1", "L1", "L2 L2a", "L2a R1")


def test_whoever_preempted_the_outer_source_stands_against_the_regions_that_follow() -> None:
    regions = [State(name, states=[f"{name}1", f"{name}2"]) for name in "ABC"]
    graph = graph_of(
        Transition("ALL", "GO", "OUT"),
        Transition("B1", "GO", "OUT"),
        Transition("C1", "GO", "C2"),
        states=[State("ALL", parallel=True, states=regions), State("OUT")],
    )
    assert told(plan_of(graph, "A1 B1 C1")) == ("B1", "C1 C B1 B A1 A ALL", "OUT", "OUT")


def test_a_source_inside_one_rival_gives_way_to_another_that_it_is_not_inside() -> None:
    inner = State("IN", parallel=True, states=[State(name, states=[f"{name}1", f"{name}2"]) for name in "CD"])
    regions = [State("A", states=["A1", "A2"]), State("B", states=[inner, "B2"])]
    graph = graph_of(
        Transition("A1", "GO", "A2"),
        Transition("B", "GO", "B2", internal=True),
        Transition("D1", "GO", "OUT"),  # would pre-empt B, but not A1
        states=[State("ALL", parallel=True, states=regions), State("OUT")],
    )
    assert told(plan_of(graph, "A1 C1 D1")) == ("A1 B", "D1 D C1 C IN A1", "A2 B2", "A2 B2")


def test_what_was_preempted_does_none_of_its_actions() -> None:
    graph = graph_of(
        Transition("P", "GO", "OUT", actions=note("preempted")),
        Transition("R1", "GO", "R2", actions=note("taken")),
    )
    deeds = plan_of(graph, "L1 R1").deeds
    assert [deed.place for deed in deeds if isinstance(deed, Block)] == ["transition R1 --GO--> R2"]


# What history states remember of regions.


def test_a_conflict_leaves_the_memory_as_the_regions_were_before_it() -> None:
    graph = graph_of(
        Transition("L2b", "GO", "OUT"),
        Transition("R2", "GO", "R1"),  # pre-empted, so R2 is what is remembered
        Transition("OUT", "DEEP", "DH"),
        Transition("OUT", "SHALLOW", "SH"),
        Transition("OUT", "LEFT", "LH"),
    )
    left = plan_of(graph, "L2b R2")
    assert left.configuration == ("OUT",)
    assert left.memory == (("LH", ("L2",)), ("DH", ("L2b", "R2")), ("SH", ("P",)))
    deep, shallow, inside = (plan_of(graph, "OUT", event, left.memory) for event in ("DEEP", "SHALLOW", "LEFT"))
    assert told(deep)[2:] == ("HOME P L L2 L2b R R2", "L2b R2")
    assert told(shallow)[2:] == ("HOME P L L1 R R1", "L1 R1")
    assert told(inside)[2:] == ("HOME P L L2 L2a R R1", "L2a R1")
    assert {deep.memory, shallow.memory, inside.memory} == {left.memory}


def test_whoever_preempts_the_way_out_leaves_no_memory() -> None:
    graph = graph_of(Transition("HOME", "GO", "OUT"), Transition("R1", "GO", "R2"))
    assert plan_of(graph, "L2b R1").memory == ()


def test_a_region_that_was_ended_is_restored_as_ended() -> None:
    graph = graph_of(Transition("R1", "GO", "OUT"), Transition("OUT", "DEEP", "DH"))
    left = plan_of(graph, "LEND R1")
    back = plan_of(graph, "OUT", "DEEP", left.memory)
    assert told(back)[2:] == ("HOME P L LEND R R1", "LEND R1")
    assert [deed.event for deed in back.deeds if isinstance(deed, Done)] == ["done.state.L"]


def test_without_a_memory_a_history_state_enters_its_default_and_the_other_regions() -> None:
    graph = graph_of(Transition("OUT", "DEEP", "DH"), Transition("OUT", "SHALLOW", "SH"), Transition("OUT", "L", "LH"))
    for event in ("DEEP", "SHALLOW", "L"):
        assert told(plan_of(graph, "OUT", event))[2:] == ("HOME P L L1 R R1", "L1 R1")


def test_a_memory_that_is_left_again_is_replaced() -> None:
    graph = graph_of(Transition("P", "GO", "OUT"))
    first = plan_of(graph, "L2b R2")
    assert dict(plan_of(graph, "L1 REND", memory=first.memory).memory) == {
        "LH": ("L1",),
        "DH": ("L1", "REND"),
        "SH": ("P",),
    }


async def test_an_agent_goes_back_to_where_its_regions_were() -> None:
    graph = graph_of(
        Transition("OUT", "BEGUN", ["L2b", "R2"]),
        Transition("L2b", "GO", "OUT"),
        Transition("R2", "GO", "R1"),
        Transition("OUT", "BACK", "DH"),
    )
    snapshot = (await started(graph)).snapshot
    for event, leaves in (("BEGUN", ("L2b", "R2")), ("GO", ("OUT",)), ("BACK", ("L2b", "R2"))):
        snapshot = (await applied(graph, snapshot, event)).snapshot
        assert snapshot.configuration == leaves


# History states as targets from within what they remember.


def test_an_outer_history_state_enters_nothing_that_has_stayed_active() -> None:
    inner = State("A", invoke=wait, states=[State("B", states=["C1", "C2"])])
    graph = graph_of(
        Transition("C1", "NEXT", "C2"),
        Transition("C2", "AGAIN", "H"),
        states=[State("S", states=[State("H", history="deep", initial="C1"), inner]), State("OUT")],
    )
    plan = plan_of(graph, "C2", "AGAIN")
    assert told(plan) == ("C2", "C2", "C1", "C1")
    assert (plan.left, plan.attended) == ((), ())
    remembering = plan_of(graph, "C2", "AGAIN", (("H", ("C1",)),))
    assert told(remembering) == ("C2", "C2", "C1", "C1")


def test_an_outer_history_state_leaves_the_other_regions_alone() -> None:
    regions = [State("R1", states=["X"]), State("R2", states=["Y1", "Y2"])]
    history = State("H", history="shallow", initial=Initial("X", actions=note("default")))
    graph = graph_of(
        Transition("X", "a", "H"),
        Transition("Y1", "b", "Y2"),
        states=[State("S", states=[history, State("P", parallel=True, states=regions)]), State("OUT")],
    )
    plan = plan_of(graph, "X Y2", "a")
    assert told(plan) == ("X", "X", "X", "X Y2")
    assert misfit(graph, plan.configuration, plan.memory) is None


def test_a_region_moves_on_while_another_goes_back_by_an_outer_history_state() -> None:
    graph = graph_of(Transition("L2b", "GO", "DH"), Transition("R1", "GO", "R2"))
    assert told(plan_of(graph, "L2b R1")) == ("L2b R1", "R1 L2b L2", "L1 R2", "L1 R2")


def test_the_default_of_a_history_state_is_done_once_however_often_it_is_named() -> None:
    history = State("H", history="shallow", initial=Initial("B", actions=note("default")))
    graph = graph_of(Transition("OUT", "GO", ["H", "H"]), states=["OUT", State("A", states=[history, "B"])])
    deeds = plan_of(graph, "OUT").deeds
    assert [deed.place for deed in deeds if isinstance(deed, Block)] == ["default of H"]


# Several targets.


@pytest.mark.parametrize("targets", [["L2b", "R2"], ["R2", "L2b"]])
def test_each_target_of_a_transition_is_entered_in_its_region(targets: list[str]) -> None:
    graph = graph_of(Transition("OUT", "GO", targets))
    assert told(plan_of(graph, "OUT")) == ("OUT", "OUT", "HOME P L L2 L2b R R2", "L2b R2")


def test_a_region_without_a_target_begins_in_its_initial_state() -> None:
    graph = graph_of(Transition("OUT", "GO", ["R2"]))
    assert told(plan_of(graph, "OUT")) == ("OUT", "OUT", "HOME P L L1 R R2", "L1 R2")


def test_targets_in_two_regions_leave_both_from_within() -> None:
    graph = graph_of(Transition("L1", "GO", ["L2b", "R2"]))
    assert told(plan_of(graph, "L1 R1")) == ("L1", "R1 R L1 L P", "P L L2 L2b R R2", "L2b R2")


def test_a_history_state_may_be_one_of_the_targets() -> None:
    graph = graph_of(Transition("OUT", "GO", ["LH", "R2"]))
    assert told(plan_of(graph, "OUT"))[2:] == ("HOME P L L1 R R2", "L1 R2")
    remembering = plan_of(graph, "OUT", memory=(("LH", ("L2",)),))
    assert told(remembering)[2:] == ("HOME P L L2 L2a R R2", "L2a R2")


def test_beginning_in_two_regions_enters_both() -> None:
    assert plan_entry(graph_of(), ("L2b", "R2")).configuration == ("L2b", "R2")


# The events that tell of an end.


def done_events(plan: Plan) -> list[str]:
    return [deed.event for deed in plan.deeds if isinstance(deed, Done)]


def test_a_parallel_state_is_done_once_when_its_regions_end_in_one_microstep() -> None:
    graph = graph_of(Transition("L1", "GO", "LEND"), Transition("R1", "GO", "REND"))
    plan = plan_of(graph, "L1 R1")
    assert done_events(plan) == ["done.state.L", "done.state.R", "done.state.P"]
    assert plan.configuration == ("LEND", "REND")
    assert not plan.is_final


@pytest.mark.parametrize(("leaves", "ended"), [("L1 REND", "L"), ("LEND R1", "R")])
def test_a_parallel_state_is_done_when_its_last_region_ends(leaves: str, ended: str) -> None:
    graph = graph_of(Transition("L1", "GO", "LEND"), Transition("R1", "GO", "REND"))
    assert done_events(plan_of(graph, leaves)) == [f"done.state.{ended}", "done.state.P"]


def test_a_parallel_state_is_not_done_while_a_region_goes_on() -> None:
    graph = graph_of(Transition("L1", "GO", "LEND"), Transition("R1", "GO", "R2"))
    assert done_events(plan_of(graph, "L1 R1")) == ["done.state.L"]


def test_targets_that_end_every_region_at_once_end_the_parallel_state() -> None:
    graph = graph_of(Transition("OUT", "GO", ["REND", "LEND"]))
    assert done_events(plan_of(graph, "OUT")) == ["done.state.L", "done.state.R", "done.state.P"]


async def test_the_ends_are_told_in_the_turn_that_brings_them_after_all_entry_actions() -> None:
    ends = [State(name, states=[f"{name}1", State(f"{name}END", final=True, on_entry=note(name))]) for name in "LR"]
    graph = graph_of(
        Transition("OUT", "BEGUN", "P"),
        Transition("L1", "GO", "LEND"),
        Transition("R1", "GO", "REND"),
        Transition("P", "done.state.L", actions=note("L is done")),
        Transition("P", "done.state.R", actions=note("R is done")),
        Transition("P", "done.state.P", "END", actions=note("P is done")),
        states=[State("OUT"), State("P", parallel=True, states=ends), State("END", final=True)],
    )
    begun = await applied(graph, (await started(graph)).snapshot, "BEGUN")
    ended = await applied(graph, begun.snapshot, "GO")
    assert trail_of(graph, ended) == ["L", "R", "L is done", "R is done", "P is done"]
    assert ended.taken == (
        "L1 --GO--> LEND",
        "R1 --GO--> REND",
        "P --done.state.L",
        "P --done.state.R",
        "P --done.state.P--> END",
    )
    assert ended.snapshot.status is Status.DONE


def order(*transitions: Transition) -> StateTransitionGraph:
    """An order with its goods, a parallel state in a parallel state, and its payment."""
    goods = [State(name, states=[f"{name}_OPEN", State(f"{name}_DONE", final=True)]) for name in ("PACKING", "LABEL")]
    payment = State("PAYMENT", states=["DUE", State("PAYMENT_DONE", final=True)])
    regions = [State("GOODS", parallel=True, states=goods), payment]
    return StateTransitionGraph(
        "order",
        context=Trail,
        states=[State("ORDER", parallel=True, states=regions), State("CLOSED", final=True)],
        transitions=[
            Transition("PACKING_OPEN", "PACKED", "PACKING_DONE"),
            Transition("LABEL_OPEN", "PRINTED", "LABEL_DONE"),
            Transition("DUE", "PAID", "PAYMENT_DONE"),
            Transition("ORDER", "done.state.ORDER", "CLOSED"),
            *transitions,
        ],
        entry_points=["ORDER"],
    )


@pytest.mark.parametrize("happening", tuple(permutations(["PACKED", "PRINTED", "PAID"])))
async def test_a_parallel_state_is_done_whichever_of_its_regions_ends_last(happening: tuple[str, ...]) -> None:
    graph = order()
    snapshot = (await started(graph)).snapshot
    for event in happening:
        assert snapshot.status is Status.ACTIVE
        snapshot = (await applied(graph, snapshot, event)).snapshot
    assert (snapshot.configuration, snapshot.status) == (("CLOSED",), Status.DONE)


def test_the_ends_of_nested_parallel_states_are_told_from_the_inside_out_in_one_microstep() -> None:
    graph = order(Transition("ORDER", "ENDED", ["LABEL_DONE", "PACKING_DONE", "PAYMENT_DONE"]))
    inner = ["done.state.PACKING", "done.state.LABEL", "done.state.GOODS"]
    assert done_events(plan_of(graph, "PACKING_OPEN LABEL_OPEN DUE", "ENDED")) == [
        *inner,
        "done.state.PAYMENT",
        "done.state.ORDER",
    ]
    assert done_events(plan_of(graph, "PACKING_DONE LABEL_OPEN PAYMENT_DONE", "PRINTED")) == [
        *inner[1:],
        "done.state.ORDER",
    ]


def test_the_end_of_a_region_in_a_compound_state_is_no_end_of_what_lies_around_that() -> None:
    ends = [State(name, states=[f"{name}1", State(f"{name}END", final=True)]) for name in "AB"]
    outer = State("O", parallel=True, states=[State("C", states=[State("I", parallel=True, states=ends)])])
    graph = graph_of(Transition("A1", "GO", "AEND"), states=[outer, State("OUT")])
    assert done_events(plan_of(graph, "A1 BEND")) == ["done.state.A", "done.state.I"]


@pytest.mark.parametrize("depth", [3, 6])
def test_the_end_of_a_parallel_state_is_told_at_any_depth(depth: int) -> None:
    state = State("R0", states=["LAST", State("END", final=True)])
    for number in range(1, depth + 1):
        state = State(f"R{number}", parallel=True, states=[state])
    graph = graph_of(Transition("LAST", "GO", "END"), states=[state, State("OUT")])
    assert done_events(plan_of(graph, "LAST")) == [f"done.state.R{number}" for number in range(depth + 1)]


# How far an internal transition reaches.


@pytest.mark.parametrize(
    ("source", "target", "exits", "entries", "leaves"),
    [
        # inside a region, the other one is not touched
        ("L", "L2", "L2b L2", "L2 L2a", "L2a R2"),
        ("L", "L1", "L2b L2", "L1", "L1 R2"),
        ("L2", "L2a", "L2b", "L2a", "L2a R2"),
        # into a region from around it: what stays is the source, and every region begins anew
        ("P", "L1", "R2 R L2b L2 L", "L L1 R R1", "L1 R1"),
        ("P", ["L2a", "R2"], "R2 R L2b L2 L", "L L2 L2a R R2", "L2a R2"),
        ("HOME", "R2", "R2 R L2b L2 L P", "P L L1 R R2", "L1 R2"),
        # to a history state inside, which remembers nothing: its parent is not left
        ("L", "LH", "L2b L2", "L1", "L1 R2"),
        ("HOME", "DH", "R2 R L2b L2 L P", "P L L1 R R1", "L1 R1"),
    ],
)
def test_an_internal_transition_stays_in_its_source(
    source: str, target: str | list[str], exits: str, entries: str, leaves: str
) -> None:
    graph = graph_of(Transition(source, "GO", target, internal=True))
    assert told(plan_of(graph, "L2b R2")) == (source, exits, entries, leaves)


@pytest.mark.parametrize(
    ("source", "target", "exits", "entries"),
    [
        ("L2", "L2a", "L2b L2", "L2 L2a"),
        ("L", "L2", "R2 R L2b L2 L P", "P L L2 L2a R R1"),  # a region cannot be left without its parallel state
        ("P", "L1", "R2 R L2b L2 L P", "P L L1 R R1"),
        ("HOME", "R2", "R2 R L2b L2 L P HOME", "HOME P L L1 R R2"),
    ],
)
def test_the_same_transition_leaves_its_source_where_it_is_external(
    source: str, target: str, exits: str, entries: str
) -> None:
    plan = plan_of(graph_of(Transition(source, "GO", target)), "L2b R2")
    assert told(plan)[:3] == (source, exits, entries)


def test_internal_transitions_of_two_regions_do_not_conflict() -> None:
    graph = graph_of(Transition("L", "GO", "L2", internal=True), Transition("R", "GO", "R2", internal=True))
    assert told(plan_of(graph, "L1 R1")) == ("L R", "R1 L1", "L2 L2a R2", "L2a R2")


def test_external_transitions_of_two_regions_to_their_own_children_conflict() -> None:
    graph = graph_of(Transition("L", "GO", "L2"), Transition("R", "GO", "R2"))
    assert told(plan_of(graph, "L1 R1")) == ("L", "R1 R L1 L P", "P L L2 L2a R R1", "L2a R1")


# A final state with children: the agent ends when they do.


def departure(*transitions: Transition, **options: Any) -> StateTransitionGraph:
    ends = [
        State(name, on_exit=note(f"-{name}"), states=[f"{name}1", State(f"{name}END", final=True)]) for name in "LR"
    ]
    whole = State("P", parallel=True, final=True, states=ends, on_exit=note("-P"), **options)
    moves = (Transition("L1", "LEFT", "LEND"), Transition("R1", "RIGHT", "REND"))
    return graph_of(*moves, *transitions, states=[whole, State("OUT")])


async def test_an_agent_rests_where_its_regions_ended_once_they_all_have() -> None:
    graph = departure(Transition("P", "done.state.L", actions=note("L is done")), Transition("P", "STOPPED", "OUT"))
    begun = (await started(graph, "OUT")).snapshot
    assert plan_entry(graph, ("LEND", "REND")).is_final
    snapshot = replace(begun, configuration=("L1", "R1"))
    left = await applied(graph, snapshot, "LEFT")
    assert (left.snapshot.configuration, left.snapshot.status) == (("LEND", "R1"), Status.ACTIVE)
    ended = await applied(graph, left.snapshot, "RIGHT")
    assert ended.outcome.configuration == ended.snapshot.configuration == ("LEND", "REND")
    assert ended.snapshot.status is Status.DONE
    assert trail_of(graph, ended) == ["L is done", "-R", "-L", "-P"]
    stopped = await applied(graph, left.snapshot, "STOPPED")  # it can be left like any other, as long as it goes on
    assert (stopped.snapshot.configuration, stopped.snapshot.status) == (("OUT",), Status.ACTIVE)


async def test_what_waits_in_a_state_ends_with_the_agent_that_it_ends() -> None:
    graph = departure(invoke=wait, after={"10s": "OUT"})
    snapshot = replace((await started(graph, "OUT")).snapshot, configuration=("L1", "REND"), entered=(("P", 1),))
    ended = await applied(graph, snapshot, "LEFT")
    assert (ended.snapshot.entered, ended.effects) == ((), (CancelAll(),))


def test_such_a_graph_has_another_fingerprint_than_one_that_goes_on() -> None:
    whole = departure()
    goes_on = replace(whole.tree[0], final=False)
    assert graph_of(*whole.transitions, states=[goes_on, State("OUT")]).fingerprint != whole.fingerprint


@pytest.mark.parametrize(
    ("memory", "exits", "entries", "leaves"),
    [
        ((), "L2b L2", "L1", "L1 R2"),
        ((("DH", ("L2a", "R1")),), "R2 R L2b L2 L P", "P L L2 L2a R R1", "L2a R1"),
        ((("DH", ("OUT2",)),), "R2 R L2b L2 L P", "OUT2", "OUT2"),
    ],
)
def test_an_internal_transition_to_an_outer_history_state_stays_where_that_leads_inside(
    memory: Memory, exits: str, entries: str, leaves: str
) -> None:
    home, out = STATES
    states = [replace(home, states=[*home.states, State("OUT2")]), out]
    graph = graph_of(Transition("L", "GO", "DH", internal=True), states=states)
    assert told(plan_of(graph, "L2b R2", memory=memory)) == ("L", exits, entries, leaves)
