"""The configurations in the README of `transitions`: each goes the way of its machine, or is refused for a reason."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from enum import Enum

import pytest
from pydantic import Field
from transitions import Machine, MachineError, State
from transitions.extensions import HierarchicalMachine
from transitions.extensions.asyncio import AsyncMachine, AsyncTimeout
from transitions.extensions.nesting import NestedState
from transitions.extensions.states import Error, Tags, Timeout, Volatile, add_state_features

from gatechart import AgentContext
from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.transitions import graph_from
from gatechart.contrib.transitions.bridge import REST
from gatechart.testing import rehearse

MATTER = ["solid", "liquid", "gas", "plasma"]
PHASES = [
    {"trigger": "melt", "source": "solid", "dest": "liquid"},
    {"trigger": "evaporate", "source": "liquid", "dest": "gas"},
    {"trigger": "sublimate", "source": "solid", "dest": "gas"},
    {"trigger": "ionize", "source": "gas", "dest": "plasma"},
]
COUNTER = {
    "states": ["1", "2", "3", "done"],
    "transitions": [
        ["increase", "1", "2"],
        ["increase", "2", "3"],
        ["decrease", "3", "2"],
        ["decrease", "2", "1"],
        ["done", "3", "done"],
        ["reset", "*", "1"],
    ],
    "initial": "1",
}
COLLECTOR = [["collect", "*", "collecting"], ["wait", "*", "waiting"], ["count", "collecting", "counting"]]


async def same_way(machine, *events, context=AgentContext, auto_transitions=False):
    """Send the events to the machine and to its graph: both are in the same states after each."""
    graph = graph_from(machine, context=context, auto_transitions=auto_transitions)
    model = machine.models[0]
    async with rehearse(graph) as agent:
        assert states_of(model.state) == rested(agent.leaves)
        for event in events:
            await agent.send(event)
            with suppress(MachineError, AttributeError):  # refused, also where the machine knows nothing of it
                model.trigger(event)
            assert (event, states_of(model.state)) == (event, rested(agent.leaves))


def states_of(state):
    if isinstance(state, list):
        return {name for each in state for name in states_of(each)}
    return {state.name if isinstance(state, Enum) else state}


def rested(leaves):
    return {leaf.removesuffix(f"{NestedState.separator}{REST}") for leaf in leaves}


def refusal(machine, context=AgentContext):
    with pytest.raises(NotCarriedError) as raised:
        graph_from(machine, context=context, auto_transitions=False)
    return "\n".join(map(str, raised.value.faults))


async def test_basic_initialization():
    await same_way(Machine(states=MATTER, transitions=PHASES, initial="liquid"), "melt", "evaporate", "ionize")


async def test_states_as_objects_names_and_mappings():
    states = [State(name="solid"), "liquid", {"name": "gas"}]
    await same_way(Machine(states=states, transitions=PHASES[:3], initial="solid"), "melt", "evaporate")


async def test_state_callbacks():
    class Said(AgentContext):
        said: list[str] = Field(default_factory=list)

        def say_hello(self):
            self.said.append("hello")

        def say_goodbye(self):
            self.said.append("goodbye")

        def on_enter_A(self):  # noqa: N802
            self.said.append("A")

    states = [{"name": "solid", "on_exit": ["say_goodbye"]}, {"name": "A", "on_enter": "say_hello"}]
    machine = Machine(model=None, states=states, transitions=[["melt", "solid", "A"]], initial="solid")
    async with rehearse(graph_from(machine, context=Said, auto_transitions=False)) as agent:
        await agent.send("melt")
        assert agent.context.said == ["goodbye", "hello", "A"]


async def test_enumerations():
    class States(Enum):
        ERROR = 0
        RED = 1
        GREEN = 3

    moves = [["go", States.RED, States.GREEN], ["stop", States.GREEN, States.RED], ["error", "*", States.ERROR]]
    await same_way(Machine(states=States, transitions=moves, initial=States.RED), "go", "stop", "error", "go")


async def test_triggering_invalid_transitions():
    states = [State("A", ignore_invalid_triggers=True), "B"]
    await same_way(Machine(states=states, transitions=[["go", "B", "A"]], initial="A"), "go", "unknown")


async def test_automatic_transitions_for_all_states():
    machine = Machine(states=MATTER, initial="liquid")
    await same_way(machine, "to_gas", "to_solid", "to_plasma", "to_plasma", auto_transitions=True)


async def test_transitioning_from_multiple_states():
    moves = [
        ["transmogrify", ["solid", "liquid", "gas"], "plasma"],
        ["transmogrify", "plasma", "solid"],
        ["to", "*", "gas"],
    ]
    await same_way(Machine(states=MATTER, transitions=moves, initial="solid"), "transmogrify", "transmogrify", "to")


async def test_reflexive_and_internal_transitions():
    moves = [["touch", ["liquid", "gas"], "="], ["internal", ["liquid", "gas"], None], ["go", "liquid", "gas"]]
    await same_way(Machine(states=MATTER, transitions=moves, initial="liquid"), "touch", "internal", "go", "touch")


@pytest.mark.parametrize("options", [{}, {"states": ["A", "C", "B"]}, {"loop": False}])
async def test_ordered_transitions(options):
    machine = Machine(states=["A", "B", "C"], initial="A")
    machine.add_ordered_transitions(**options)
    await same_way(machine, *["next_state"] * 4)


@pytest.mark.parametrize("queued", [True, "model"])
def test_queued_transitions_are_refused_because_each_agent_has_a_queue_of_its_own(queued):
    kind = AsyncMachine if queued == "model" else Machine
    machine = kind(model=None, states=["A", "B"], transitions=[["go", "A", "B"]], initial="A", queued=queued)
    assert "is a queue of the machine, shared by all of its models; drop it" in refusal(machine)


async def test_conditional_transitions():
    class Heated(AgentContext):
        temp: int = 0

        def is_flammable(self, **brought):
            return False

        def is_really_hot(self, temp=0):
            return temp > 70

    moves = [
        {"trigger": "heat", "source": "solid", "dest": "gas", "conditions": "is_flammable"},
        {
            "trigger": "heat",
            "source": "solid",
            "dest": "liquid",
            "conditions": ["is_really_hot"],
            "unless": "is_flammable",
        },
    ]
    machine = Machine(model=None, states=MATTER, transitions=moves, initial="solid")
    async with rehearse(graph_from(machine, context=Heated, auto_transitions=False)) as agent:
        assert not (await agent.send("heat", {"temp": 10})).applied
        await agent.send("heat", {"temp": 74})
        assert agent.leaves == ("liquid",)


async def test_transition_callbacks_and_their_order():
    class Told(AgentContext):
        told: list[str] = Field(default_factory=list)

        def note_before(self):
            self.told.append("before")

        def note_after(self):
            self.told.append("after")

        def note_each(self):
            self.told.append("each")

    moves = [{"trigger": "melt", "source": "solid", "dest": "liquid", "before": "note_before", "after": "note_after"}]
    options = {"before_state_change": "note_each", "after_state_change": "note_each"}
    machine = Machine(model=None, states=MATTER, transitions=moves, initial="solid", **options)
    async with rehearse(graph_from(machine, context=Told, auto_transitions=False)) as agent:
        await agent.send("melt")
        assert agent.context.told == ["each", "before", "after", "each"]


@pytest.mark.parametrize("slot", ["prepare_event", "finalize_event", "on_exception", "on_final"])
def test_callbacks_of_the_machine_itself_are_refused_with_what_takes_their_place(slot):
    machine = Machine(model=None, states=["A"], initial="A", **{slot: "callback"})
    told = refusal(machine)
    assert f"{slot}=['callback'] is not carried over; " in told


async def test_passing_data_as_events():
    class Pressed(AgentContext):
        pressure: float = 0

        def set_environment(self, event):
            self.pressure = event.kwargs.get("pressure", 101.325)

    machine = Machine(model=None, states=["solid", "liquid"], send_event=True, initial="solid")
    machine.add_transition("melt", "solid", "liquid", before="set_environment")
    async with rehearse(graph_from(machine, context=Pressed, auto_transitions=False)) as agent:
        await agent.send("melt", {"pressure": 123.0})
        assert agent.context.pressure == 123


async def test_alternative_initialization_as_a_base_class():
    class Matter(Machine):
        def __init__(self):
            Machine.__init__(self, states=MATTER, initial="solid")
            self.add_transition("melt", "solid", "liquid")

    await same_way(Matter(), "melt")


async def test_a_machine_without_a_model_and_without_an_initial_state():
    graph = graph_from(Machine(model=None, states=MATTER, transitions=PHASES, initial=None), auto_transitions=False)
    async with rehearse(graph, at="solid") as agent:
        await agent.send("melt")
        assert agent.leaves == ("liquid",)


CAFFEINE = ["standing", "walking", {"name": "caffeinated", "children": ["dithering", "running"]}]
BEGINS = ["standing", "walking", {**CAFFEINE[2], "initial": "dithering"}]


@pytest.mark.parametrize("states", [CAFFEINE, BEGINS])
async def test_nested_states_with_and_without_an_initial_one(states):
    moves = [
        ["walk", "standing", "walking"],
        ["stop", "walking", "standing"],
        ["drink", "*", "caffeinated"],
        ["walk", ["caffeinated", "caffeinated_dithering"], "caffeinated_running"],
        ["relax", "caffeinated", "standing"],
    ]
    machine = HierarchicalMachine(states=states, transitions=moves, initial="standing", ignore_invalid_triggers=True)
    await same_way(machine, "walk", "stop", "drink", "walk", "stop", "relax")


async def test_another_separator(monkeypatch):
    monkeypatch.setattr(NestedState, "separator", "↦")
    children = ["1", "2", {"name": "3", "children": ["a", "b", "c"]}]
    moves = [["reset", "C", "A"], ["reset", "C↦2", "C"], ["far", "A", "C↦3↦a"], ["two", "C↦3↦a", "C↦2"]]
    states = ["A", "B", {"name": "C", "children": children}]
    await same_way(HierarchicalMachine(states=states, transitions=moves, initial="A"), "far", "two", "reset", "reset")


async def test_parallel_states_with_transitions_of_their_own():
    first = {"name": "1", "children": ["a", "b", "c"], "initial": "a", "transitions": [["go", "a", "b"]]}
    second = {"name": "2", "children": ["x", "y", "z"], "initial": "z"}
    states = ["A", "B", {"name": "C", "parallel": [first, second], "transitions": [["go", "2_z", "2_x"]]}]
    moves = [["enter", "A", "C"], ["reset", "C_1_b", "B"]]
    await same_way(HierarchicalMachine(states=states, transitions=moves, initial="A"), "enter", "go", "reset")


def test_final_callbacks_are_refused_with_the_event_that_takes_their_place():
    y = {"name": "Y", "on_final": "said", "initial": "yI", "states": ["yI", {"name": "yII", "final": True}]}
    z = {"name": "Z", "initial": "zI", "states": ["zI", {"name": "zII", "final": True}]}
    told = refusal(HierarchicalMachine(model=None, states=["A", {"name": "B", "parallel": [y, z]}], initial="A"))
    assert "state 'B_Y': on_final is not carried over; handle the event done.state.B_Y in a transition" in told


@pytest.mark.parametrize("kind", ["machine", "configuration", "copied", "remapped"])
async def test_reuse_of_previously_created_machines(kind):
    counter = HierarchicalMachine(**deepcopy(COUNTER))
    counting = {"name": "counting", "children": counter}
    if kind == "configuration":
        counting = {"name": "counting", **deepcopy(COUNTER)}
    elif kind == "remapped":
        counting = {**counting, "remap": {"done": "waiting"}}
    elif kind == "copied":
        counting = NestedState(name="counting", initial="1")
        counting.states, counting.events = deepcopy(counter.states), deepcopy(counter.events)
    machine = HierarchicalMachine(states=["waiting", "collecting", counting], transitions=COLLECTOR, initial="waiting")
    await same_way(machine, "collect", "count", "increase", "increase", "done", "wait", "collect")


async def test_timeouts_and_tags():
    @add_state_features(Tags, Timeout)
    class CustomStateMachine(Machine):
        pass

    class Hero(AgentContext):
        entourage: int = 0

        def on_enter_waiting(self):
            self.entourage += 1

    states = [{"name": "preparing", "tags": ["home"]}, {"name": "waiting", "timeout": 1, "on_timeout": "go"}, "away"]
    moves = [["done", "preparing", "waiting"], ["join", "waiting", "waiting"], ["go", "waiting", "away"]]
    machine = CustomStateMachine(model=None, states=states, transitions=moves, initial="preparing")
    async with rehearse(graph_from(machine, context=Hero, auto_transitions=False)) as hero:
        await hero.send("done")
        for wait_s in (0.7, 0.5, 2):
            await hero.advance(wait_s)
            await hero.send("join")
        assert (hero.leaves, hero.context.entourage) == (("away",), 3)


@pytest.mark.parametrize("feature", [Error, Volatile])
def test_other_state_features_are_refused_by_name(feature):
    @add_state_features(feature)
    class Featured(Machine):
        pass

    assert f"the feature {feature.__name__} is not carried over" in refusal(
        Featured(model=None, states=["A"], initial="A")
    )


async def test_async_machines_and_their_timeouts():
    @add_state_features(AsyncTimeout)
    class TimeoutMachine(AsyncMachine):
        pass

    class Waited(AgentContext):
        waited: int = 0

        async def wait(self):
            self.waited += 1

    states = ["A", {"name": "B", "timeout": 0.2, "on_timeout": "to_C", "on_enter": "wait"}, "C"]
    machine = TimeoutMachine(model=None, states=states, initial="A", transitions=[["go", "A", "B"]])
    async with rehearse(graph_from(machine, context=Waited, auto_transitions=False)) as agent:
        await agent.send("go")
        await agent.advance(0.1)
        assert agent.leaves == ("B",)
        await agent.advance(0.2)
        assert (agent.leaves, agent.context.waited) == (("C",), 1)
