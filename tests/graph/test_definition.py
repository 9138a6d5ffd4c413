from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from enum import Enum, StrEnum
from functools import partial
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel

from gatechart.context import AgentContext
from gatechart.errors import EntryRefusedError, IncompatibleGraphError, ReadOnlyContextError, UnknownStateError
from gatechart.graph.callables import callable_name, fits, is_async, step_of, takes_third
from gatechart.graph.compile import ROOT, Kind
from gatechart.graph.definition import ANY, EntryPoint, OnRefusal, State, Then, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Handoff
from gatechart.values.agents import Snapshot, Status
from tests.support import Trail, boom, is_yes, leave, note


class Room(Enum):
    HALL = "hall"
    CELLAR = 2


class Happening(StrEnum):
    RANG = "rang"


class Case(BaseModel):
    name: str
    number: int = 0


class Caller:
    """A callable without a name of its own."""

    def __call__(self, context: Any, event: Any) -> None: ...

    def method(self, context: Any, event: Any) -> None: ...


class AsyncCaller:
    async def __call__(self, context: Any, event: Any) -> None: ...


async def later(context: Any, event: Any) -> None: ...


# What people write becomes plain and frozen.


def test_lists_become_tuples() -> None:
    first, second = note("first"), note("second")
    state = State("A", on_entry=[first, second], on_exit=[second], states=["B", State("C")])
    assert (state.on_entry, state.on_exit) == ((first, second), (second,))
    assert state.states == (State("B"), State("C"))
    assert Transition("A", "GO", actions=[first]).actions == (first,)
    assert EntryPoint("A", opens_on=["X", "Y"]).opens_on == ("X", "Y")


def test_one_stands_for_a_tuple_of_one() -> None:
    state = State("A", on_entry=boom, on_exit=boom, states="B")
    assert (state.on_entry, state.on_exit, state.states) == ((boom,), (boom,), (State("B"),))
    assert Transition("A", "GO", actions=boom).actions == (boom,)
    assert EntryPoint("A", opens_on="X").opens_on == ("X",)


def test_a_callable_that_can_be_iterated_is_one_action() -> None:
    action = MagicMock()
    assert State("A", on_entry=action).on_entry == (action,)
    assert Transition("A", "GO", actions=action).actions == (action,)


def test_enum_members_stand_for_their_names() -> None:
    assert State(Room.CELLAR, states=[Room.HALL], initial=Room.HALL) == State("CELLAR", states=["hall"], initial="hall")
    assert Transition(Room.HALL, Happening.RANG, Room.CELLAR) == Transition("hall", "rang", "CELLAR")
    assert EntryPoint(Room.HALL, opens_on=Happening.RANG) == EntryPoint("hall", "hall", opens_on=["rang"])
    assert EntryPoint(Room.HALL, opens_on=[Happening.RANG]).opens_on == ("rang",)


def test_a_whole_enum_can_be_the_states() -> None:
    assert State("A", states=Room).states == (State("hall"), State("CELLAR"))
    graph = StateTransitionGraph("house", states=Room, entry_points=Room)
    assert graph.states == tuple(graph.entry_points) == ("hall", "CELLAR")


def test_an_entry_point_is_named_after_its_state_unless_it_has_a_name() -> None:
    assert EntryPoint("A").name == "A"
    assert EntryPoint("A", "front door").name == "front door"
    assert EntryPoint("A", Room.CELLAR).name == "CELLAR"


@pytest.mark.parametrize(
    "value",
    [State("A", states=["B"], description="x"), Transition("A", "GO", "B"), EntryPoint("A", opens_on="X", takes=Case)],
)
def test_what_people_write_is_a_frozen_value(value: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        value.description = "other"
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(pickle.loads(pickle.dumps(value))) == hash(value)


def test_a_transition_is_told_in_one_line() -> None:
    assert Transition("A", "GO", "B").label == "A --GO--> B"
    assert Transition("A", "GO").label == "A --GO"


# Callables.


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (boom, "boom"),
        (partial(partial(leave, "x")), "leave"),
        (lambda context, event: None, "<lambda>"),
        (Caller(), "Caller"),
        (Caller().method, "method"),
        (partial(Caller()), "Caller"),
    ],
)
def test_a_callable_has_the_name_people_know_it_by(function: Any, name: str) -> None:
    assert callable_name(function) == name


@pytest.mark.parametrize("function", [later, partial(later), AsyncCaller(), AsyncCaller().__call__])
def test_what_gives_something_to_await_is_async(function: Any) -> None:
    assert is_async(function)


@pytest.mark.parametrize("function", [boom, partial(boom), Caller(), print])
def test_what_answers_at_once_is_not_async(function: Any) -> None:
    assert not is_async(function)


def with_third(context: Any, event: Any, third: Any) -> None: ...
def with_turn(context: Any, event: Any, turn: Any = None) -> None: ...
def with_option(context: Any, event: Any, limit: int = 3) -> None: ...
def with_two(turn: Any, event: Any) -> None: ...
def with_all(*args: Any) -> None: ...
def with_keyword(context: Any, event: Any, *, turn: Any = None) -> None: ...


@pytest.mark.parametrize(
    ("action", "takes"),
    [
        (with_third, True),
        (with_turn, True),
        (partial(with_third, event=None), False),
        (with_option, False),
        (with_two, False),
        (with_all, False),
        (with_keyword, False),
        (boom, False),
        (max, False),  # has no signature
    ],
)
def test_an_action_gets_the_turn_where_it_needs_a_third_argument_or_names_it(action: Any, takes: bool) -> None:
    assert takes_third(action, "turn") is takes
    assert step_of(action).takes_turn is takes


def test_a_function_fits_the_counts_of_arguments_it_can_be_called_with() -> None:
    assert fits(boom, 2)
    assert fits(with_third, 2, 3)
    assert not fits(with_third, 2)
    assert not fits(lambda: None, 2, 3)
    assert fits(max, 17)  # has no signature, so nobody can tell


def test_a_step_tells_how_the_action_is_called() -> None:
    step = step_of(later)
    assert (step.function, step.name, step.is_async, step.takes_turn) == (later, "later", True, False)


# The graph.


@pytest.fixture
def house() -> StateTransitionGraph:
    return StateTransitionGraph(
        "house",
        version="7",
        context=Trail,
        states=[
            State("IN", states=[State("UP", states=["BED", "BATH"], initial="BATH"), "DOWN"], on_entry=boom),
            State("GONE", final=True),
        ],
        transitions=[
            Transition("DOWN", "CLIMBED", "UP"),
            Transition("IN", "LEFT", "GARDEN", guard=is_yes, actions=[boom, note("left")]),
            Transition("GARDEN", "LEFT", "STREET"),
            Transition(ANY, "MOVED", "GONE"),
            Transition("IN", "SWEPT"),
        ],
        entry_points=[EntryPoint("DOWN", "door", opens_on="RANG"), "UP"],
        on_refusal=OnRefusal.RAISE,
        description="where one lives",
        max_microsteps=9,
    )


def test_a_graph_has_what_it_was_given(house: StateTransitionGraph) -> None:
    assert (house.name, house.version, house.context, house.description) == ("house", "7", Trail, "where one lives")
    assert (house.on_refusal, house.max_microsteps) == (OnRefusal.RAISE, 9)
    assert house.transitions[1].label == "IN --LEFT--> GARDEN"


def test_a_graph_has_defaults() -> None:
    graph = StateTransitionGraph("one", entry_points=["ONLY"], states=["ONLY"])
    assert (graph.version, graph.context, graph.description) == ("1", AgentContext, "")
    assert (graph.on_refusal, graph.max_microsteps, graph.transitions, graph.events) == (OnRefusal.RETURN, 100, (), ())


def test_states_that_only_transitions_name_are_inferred_after_the_listed_ones(house: StateTransitionGraph) -> None:
    assert house.states == ("IN", "UP", "BED", "BATH", "DOWN", "GONE", "GARDEN", "STREET")
    assert house.tree[2:] == (State("GARDEN"), State("STREET"))


def test_the_root_is_no_state_and_no_missing_target_is_inferred(house: StateTransitionGraph) -> None:
    assert ROOT in house.nodes
    assert ROOT not in house.states
    assert None not in house.nodes


def test_the_events_are_told_once_in_document_order(house: StateTransitionGraph) -> None:
    assert house.events == ("CLIMBED", "LEFT", "MOVED", "SWEPT")


def test_every_state_has_its_place_in_the_tree(house: StateTransitionGraph) -> None:
    assert [node.order for node in house.nodes.values()] == list(range(9))
    assert list(house.nodes) == [ROOT, *house.states]
    assert house.nodes["BED"].ancestors == ("UP", "IN", ROOT)
    assert house.nodes["IN"].ancestors == (ROOT,)
    assert house.nodes[ROOT].ancestors == ()


def test_every_state_has_its_kind(house: StateTransitionGraph) -> None:
    assert {name: node.kind for name, node in house.nodes.items()} == {
        ROOT: Kind.COMPOUND,
        "IN": Kind.COMPOUND,
        "UP": Kind.COMPOUND,
        "BED": Kind.ATOMIC,
        "BATH": Kind.ATOMIC,
        "DOWN": Kind.ATOMIC,
        "GONE": Kind.FINAL,
        "GARDEN": Kind.ATOMIC,
        "STREET": Kind.ATOMIC,
    }


def test_the_first_child_is_initial_unless_another_is_named(house: StateTransitionGraph) -> None:
    assert house.nodes["IN"].default.targets == ("UP",)
    assert house.nodes["UP"].default.targets == ("BATH",)
    assert house.nodes["BED"].default is None


def test_the_edges_of_a_state_are_in_document_order(house: StateTransitionGraph) -> None:
    left, swept = house.nodes["IN"].edges
    assert (left.label, left.source, left.event, left.targets) == ("IN --LEFT--> GARDEN", "IN", "LEFT", ("GARDEN",))
    assert (left.ask.function, left.ask.name, left.internal) == (is_yes, "is_yes", False)
    assert [step.name for step in left.steps] == ["boom", "leave"]
    assert (swept.label, swept.targets, swept.ask) == ("IN --SWEPT", (), None)
    assert [edge.event for edge in house.nodes[ROOT].edges] == ["MOVED"]


def test_a_graph_is_frozen(house: StateTransitionGraph) -> None:
    with pytest.raises(FrozenInstanceError):
        house.version = "8"
    with pytest.raises(TypeError):
        house.nodes["NEW"] = house.nodes["IN"]
    with pytest.raises(TypeError):
        del house.entry_points["door"]


def test_what_a_graph_was_built_from_can_change_without_changing_it() -> None:
    states: list[Any] = ["A"]
    transitions = [Transition("A", "GO", "B")]
    entry_points: list[Any] = ["A"]
    graph = StateTransitionGraph("g", states=states, transitions=transitions, entry_points=entry_points)
    for given in (states, transitions, entry_points):
        given.clear()
    assert (graph.states, len(graph.transitions), list(graph.entry_points)) == (("A", "B"), 1, ["A"])


def test_transitions_may_come_from_a_generator() -> None:
    graph = StateTransitionGraph(
        "ring",
        states=(f"S{n}" for n in range(3)),
        transitions=(Transition(f"S{n}", "GO", f"S{(n + 1) % 3}") for n in range(3)),
        entry_points=(f"S{n}" for n in range(3)),
    )
    assert len(graph.states) == len(graph.entry_points) == len(graph.transitions) == 3
    assert len(graph.nodes["S0"].edges) == 1


def test_in_a_graph_one_stands_for_a_tuple_of_one_too() -> None:
    graph = StateTransitionGraph("g", states="IDLE", transitions=Transition("IDLE", "GO", "ON"), entry_points="IDLE")
    assert (graph.states, list(graph.entry_points), graph.events) == (("IDLE", "ON"), ["IDLE"], ("GO",))
    assert StateTransitionGraph("g", states=State("A"), entry_points=EntryPoint("A")).states == ("A",)
    assert StateTransitionGraph("g", states=Room.HALL, entry_points=Room.HALL).states == ("hall",)


def test_transitions_of_a_graph_have_labels_of_their_own() -> None:
    go = Transition("A", "GO", "B", guard=boom)
    states = [State("A", after={"1s": [Then("B", guard=boom), Then("B")]})]
    graph = StateTransitionGraph("g", states=states, transitions=[go, Transition("A", "GO"), go, go], entry_points="A")
    assert [edge.label for edge in graph.nodes["A"].edges] == [
        "A --GO--> B",
        "A --GO",
        "A --GO--> B #2",
        "A --GO--> B #3",
        "A --after.1s.A--> B",
        "A --after.1s.A--> B #2",
    ]
    assert graph.transitions[2].label == "A --GO--> B"


def test_a_graph_is_told_in_one_line(house: StateTransitionGraph) -> None:
    assert repr(house) == "<StateTransitionGraph 'house' version '7', 8 states>"


def test_an_entry_point_is_found_by_its_name(house: StateTransitionGraph) -> None:
    assert house.entry_point("door") is house.entry_points["door"]
    assert house.entry_point("door").state == "DOWN"
    by_enum = StateTransitionGraph("house", states=Room, entry_points=[Room.CELLAR])
    assert by_enum.entry_point(Room.CELLAR).state == "CELLAR"


def test_a_state_that_is_no_entry_point_is_refused_with_those_there_are(house: StateTransitionGraph) -> None:
    with pytest.raises(EntryRefusedError) as caught:
        house.entry_point("DOWN")
    assert caught.value.entry_points == ("door", "UP")
    assert str(caught.value) == "'house' cannot be entered at 'DOWN'; its entry points are door, UP"


def test_the_leaves_of_a_state_are_those_below_it_or_itself(house: StateTransitionGraph) -> None:
    assert house.leaves("IN") == ("BED", "BATH", "DOWN")
    assert house.leaves("UP") == ("BED", "BATH")
    assert house.leaves("GONE") == ("GONE",)
    assert StateTransitionGraph("h", states=Room, entry_points=[Room.HALL]).leaves(Room.HALL) == ("hall",)


@pytest.mark.parametrize("name", ["ATTIC", ROOT])
def test_a_state_that_does_not_exist_has_no_leaves(house: StateTransitionGraph, name: str) -> None:
    with pytest.raises(UnknownStateError) as caught:
        house.leaves(name)
    assert caught.value.states == house.states


def test_a_graph_runs_at_once_unless_an_action_is_async() -> None:
    def graph(state: State, *actions: Any) -> StateTransitionGraph:
        return StateTransitionGraph(
            "g", states=[state], transitions=[Transition("A", "GO", "A", actions=actions)], entry_points=["A"]
        )

    assert graph(State("A", on_entry=boom, on_exit=boom), boom).runs_at_once
    assert not graph(State("A", on_entry=[boom, later])).runs_at_once
    assert not graph(State("A", on_exit=later)).runs_at_once
    assert not graph(State("A"), boom, later).runs_at_once
    assert not graph(State("B", states=[State("A", states=[State("C", on_entry=AsyncCaller())])])).runs_at_once


def test_a_graph_of_twelve_states_with_a_transition_from_each_to_each_is_built() -> None:
    names = [f"S{number}" for number in range(12)]
    graph = StateTransitionGraph(
        "full",
        transitions=[Transition(source, f"TO_{target}", target) for source in names for target in names],
        entry_points=names,
    )
    assert graph.states == tuple(names)
    assert all(len(graph.nodes[name].edges) == 12 for name in names)


# A graph reads the contexts of its agents.


def test_a_graph_reads_the_context_of_a_snapshot_as_its_type_and_read_only() -> None:
    graph = StateTransitionGraph("g", context=Trail, states=["A"], entry_points=["A"])
    snapshot = Snapshot("a", "g", "1", "f", ("A",), '{"trail":["+A"],"number":7,"thing":null}', 1, Status.ACTIVE)
    assert graph.context_of(snapshot) == Trail(trail=["+A"], number=7)
    with pytest.raises(ReadOnlyContextError, match="number"):
        graph.context_of(snapshot).number = 8


def test_a_graph_refuses_a_snapshot_whose_context_is_of_another_type() -> None:
    graph = StateTransitionGraph("g", context=Trail, states=["A"], entry_points=["A"])
    snapshot = Snapshot("a", "g", "1", "f", ("A",), '{"customer":"Ada"}', 1, Status.ACTIVE)
    with pytest.raises(IncompatibleGraphError, match="its context is not a valid Trail: customer"):
        graph.context_of(snapshot)


# An entry point's payload becomes fields of the context.


def test_each_field_goes_to_the_field_of_the_same_name() -> None:
    assert EntryPoint("A", takes=Case).context_fields(Case(name="x", number=2)) == {"name": "x", "number": 2}


def test_a_mapping_takes_just_the_fields_it_names() -> None:
    entry = EntryPoint("A", takes=Case, maps={"name": "title"})
    assert entry.context_fields(Case(name="x", number=2)) == {"title": "x"}
    assert EntryPoint("A", takes=Case, maps={}).context_fields(Case(name="x")) == {}


def test_a_function_of_the_payload_gives_the_fields() -> None:
    entry = EntryPoint("A", takes=Case, maps=lambda case: {"title": case.name * case.number})
    assert entry.context_fields(Case(name="x", number=2)) == {"title": "xx"}


# What follows a delay is a target, an action, or both.


def test_an_action_behind_a_delay_is_a_transition_that_stays() -> None:
    bare, written = State("A", after={"2d": note}), State("A", after={"2d": Then(actions=note)})
    assert bare == written
    assert State("A", after={"2d": [note, leave]}) == State("A", after={"2d": Then(actions=[note, leave])})
    handoff = Handoff("desk", at="OPEN")
    assert State("A", after={"2d": handoff}) == State("A", after={"2d": Then(actions=handoff)})


def test_actions_among_targets_are_transitions_of_their_own() -> None:
    (after,) = State("A", after={"2d": [Then("B", guard=is_yes), note]}).after
    assert after.then == (Then("B", guard=is_yes), Then(actions=note))
