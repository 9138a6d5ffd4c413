"""Machines of `transitions` as graphs: what they become, and what cannot be carried over."""

from enum import Enum

import pytest
from pydantic import Field
from transitions import Machine
from transitions.extensions import HierarchicalMachine
from transitions.extensions.markup import MarkupMachine
from transitions.extensions.states import Error, Timeout, Volatile, add_state_features

from gatechart import AgentContext, EntryPoint
from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.transitions import AutoTransitionsWarning, graph_from
from gatechart.errors import ActionFailedError
from gatechart.testing.rehearsal import rehearse

pytestmark = pytest.mark.filterwarnings("ignore::gatechart.contrib.errors.AutoTransitionsWarning")


class Matter(AgentContext):
    trail: list[str] = Field(default_factory=list)
    is_hot: bool = False
    heat: int = 0

    def warm(self, by: int = 1) -> None:
        self.heat += by
        self.is_hot = self.heat > 1

    def sweat(self, **brought: object) -> None:
        self.trail.append("sweat")

    def is_cold(self, **brought: object) -> bool:
        return not self.is_hot

    async def wait(self, **brought: object) -> None:
        self.trail.append("wait")

    def on_enter_gas(self, **brought: object) -> None:
        self.trail.append("gas")

    def hear(self, data) -> None:
        self.trail.append(f"{data.event.name} {data.kwargs} {data.args} {data.model is self}")


MATTER = {
    "states": ["solid", "liquid", "gas"],
    "initial": "solid",
    "transitions": [
        {"trigger": "heat", "source": "solid", "dest": "liquid", "conditions": "is_hot", "before": "sweat"},
        {"trigger": "heat", "source": "solid", "dest": None, "after": "warm"},
        {"trigger": "heat", "source": "liquid", "dest": "gas", "unless": ["is_cold"], "after": "wait"},
    ],
}


def labels(graph):
    return [transition.label for transition in graph.transitions]


def faults_of(source, context=AgentContext):
    with pytest.raises(NotCarriedError) as raised:
        graph_from(source, context=context)
    return "\n".join(map(str, raised.value.faults))


def config(*transitions, **more):
    return {"states": ["a", "b"], "initial": "a", "transitions": list(transitions), **more}


async def test_the_context_takes_the_place_of_the_model():
    async with rehearse(graph_from(MATTER, context=Matter)) as agent:
        await agent.send("heat")
        assert (agent.leaves, agent.context.heat) == (("solid",), 1)
        await agent.send("heat", {"by": 5})
        await agent.send("heat")
        assert agent.leaves == ("liquid",)
        await agent.send("heat")
        assert (agent.leaves, agent.context.trail) == (("gas",), ["sweat", "gas", "wait"])


def test_a_machine_its_configuration_and_its_markup_make_the_same_graph():
    markup = MarkupMachine(model=None, **MATTER, auto_transitions=False).markup
    graphs = [graph_from(each, context=Matter) for each in (MATTER, Machine(model=None, **MATTER), markup)]
    assert len({graph.fingerprint for graph in graphs}) == 1
    assert labels(graphs[0])[:2] == ["solid --heat--> liquid", "solid --heat"]
    assert [each.guard and each.guard.__name__ for each in graphs[0].transitions][:3] == ["is_hot", None, "not is_cold"]


def test_callbacks_that_transitions_finds_by_name_on_a_model_are_looked_up_on_the_context():
    class Model:
        def on_enter_gas(self): ...

        def warm(self): ...

    model = Model()
    machine = Machine(model, ["solid", "gas"], initial="solid", name="matter")
    machine.add_transition("heat", "solid", "gas", before=model.warm)
    graph = graph_from(machine, context=Matter, entry_points=["gas"])
    assert (graph.name, list(graph.entry_points)) == ("matter", ["gas"])
    assert [step.name for step in graph.nodes["gas"].on_entry] == ["on_enter_gas"]
    assert "the callback 'warm' of the model is unknown" in faults_of(machine)


async def test_a_machine_with_send_event_hands_its_callbacks_an_event_data():
    chart = config({"trigger": "go", "source": "a", "dest": "b", "before": "hear", "after": "hear"}, send_event=True)
    async with rehearse(graph_from(chart, context=Matter)) as agent:
        await agent.send("go", {"n": 1})
        assert agent.context.trail == ["go {'n': 1} () True"] * 2


async def test_functions_are_called_with_what_the_event_brings():
    told = []
    chart = config({"trigger": "go", "source": "a", "dest": "b", "prepare": lambda n: told.append(n)})
    graph = graph_from(chart)
    assert graph.transitions[0].guard.__name__ == "after <lambda>"
    async with rehearse(graph) as agent:
        await agent.send("go", {"n": 7})
    assert told == [7]


async def test_a_trigger_named_as_a_callback_is_raised():
    chart = {
        "states": ["a", {"name": "b", "on_enter": "go_on"}, "c"],
        "initial": "a",
        "transitions": [["go", "a", "b"], ["go_on", "b", "c"]],
    }
    async with rehearse(graph_from(chart)) as agent:
        await agent.send("go")
        assert agent.leaves == ("c",)


def test_a_wildcard_of_a_flat_machine_is_one_transition_from_anywhere():
    graph = graph_from(config(["go", "a", "b"], ["go", "*", "a"], ["stay", "*", None], ["again", "*", "="]))
    assert labels(graph) == ["a --go--> b", "a --again--> a", "b --again--> b", "* --go--> a", "* --stay"]


def test_a_wildcard_that_is_tried_before_others_stays_where_it_is():
    assert labels(graph_from(config(["go", "*", "a"], ["go", "a", "b"]))) == [
        "a --go--> a",
        "a --go--> b",
        "b --go--> a",
    ]


async def test_a_timeout_calls_back_and_may_pull_a_trigger():
    chart = {
        "states": ["a", {"name": "b", "timeout": 2.5, "on_timeout": ["sweat", "expire"]}],
        "initial": "a",
        "transitions": [["go", "a", "b"], ["expire", "b", "a"]],
    }
    async with rehearse(graph_from(chart, context=Matter)) as agent:
        await agent.send("go")
        await agent.advance(2.4)
        assert agent.leaves == ("b",)
        await agent.advance(0.1)
        assert (agent.leaves, agent.context.trail) == (("a",), ["sweat"])


NESTED = {
    "states": [
        "standing",
        {
            "name": "caffeinated",
            "children": [
                "dithering",
                {
                    "name": "running",
                    "initial": "slow",
                    "children": ["slow", "fast"],
                    "transitions": [["hurry", "slow", "fast"]],
                },
            ],
            "transitions": [["jitter", "dithering", "running"]],
        },
    ],
    "initial": "standing",
    "transitions": [
        ["drink", "standing", "caffeinated"],
        ["jitter", "caffeinated", "caffeinated_dithering"],
        ["calm", "*", "standing"],
    ],
}


async def test_nested_states_their_own_transitions_and_states_to_rest_in():
    graph = graph_from(NESTED)
    assert graph.states[1:4] == ("caffeinated", "caffeinated_self", "caffeinated_dithering")
    async with rehearse(graph) as agent:
        been = []
        for event in ("drink", "jitter", "jitter", "hurry", "calm"):
            await agent.send(event)
            been += agent.leaves
    steps = ["self", "dithering", "running_slow", "running_fast"]
    assert been == [*(f"caffeinated_{step}" for step in steps), "standing"]


async def test_parallel_states_keep_their_regions():
    chart = {
        "states": ["a", {"name": "p", "parallel": [{"name": "x", "children": ["1", "2"], "initial": "1"}, "y"]}],
        "initial": "a",
        "transitions": [["go", "a", "p"], ["step", "p_x_1", "p_x_2"], ["out", "p", "a"]],
    }
    async with rehearse(graph_from(chart)) as agent:
        been = []
        for event in ("go", "step", "out"):
            await agent.send(event)
            been.append(agent.leaves)
    assert been == [("p_x_1", "p_y"), ("p_x_2", "p_y"), ("a",)]


async def test_states_of_an_enum_go_by_their_names():
    class Lamp(Enum):
        OFF = 1
        ON = 2

    chart = {"states": Lamp, "initial": Lamp.OFF, "transitions": [["press", Lamp.OFF, Lamp.ON]]}
    async with rehearse(graph_from(chart, entry_points=[EntryPoint("ON", "door")])) as agent:
        await agent.send("press")
        assert agent.leaves == ("ON",)


async def test_a_final_state_ends_the_agent_and_after_runs_before_its_entry():
    states = ["a", {"name": "end", "final": True, "on_enter": "wait"}]
    chart = {
        "states": states,
        "initial": "a",
        "transitions": [{"trigger": "go", "source": "a", "dest": "end", "after": "sweat"}],
    }
    async with rehearse(graph_from(chart, context=Matter)) as agent:
        await agent.send("go")
        assert (agent.snapshot.status, agent.context.trail) == ("done", ["sweat", "wait"])


def test_a_machine_without_an_initial_state_begins_in_its_first():
    machine = Machine(model=None, states=["a", "b"], initial=None)
    assert list(graph_from(machine).entry_points) == ["a"]


class Hero(AgentContext):
    kittens_rescued: int = 0
    is_exhausted: bool = False
    wears: str = "plain clothes"

    def update_journal(self) -> None:
        self.kittens_rescued += 1

    def change_into_super_secret_costume(self) -> None:
        self.wears = "costume"


class Sleeper:
    """The model of the first example in the README of `transitions`."""

    states = ("asleep", "hanging out", "hungry", "sweaty", "saving the world")
    is_exhausted = False

    def __init__(self) -> None:
        self.machine = Machine(model=self, states=list(self.states), initial="asleep")
        self.machine.add_transition(trigger="wake_up", source="asleep", dest="hanging out")
        self.machine.add_transition("work_out", "hanging out", "hungry")
        self.machine.add_transition("eat", "hungry", "hanging out")
        costume = "change_into_super_secret_costume"
        self.machine.add_transition("distress_call", "*", "saving the world", before=costume)
        self.machine.add_transition("complete_mission", "saving the world", "sweaty", after="update_journal")
        self.machine.add_transition("clean_up", "sweaty", "asleep", conditions=["is_exhausted"])
        self.machine.add_transition("clean_up", "sweaty", "hanging out")
        self.machine.add_transition("nap", "*", "asleep")

    def update_journal(self) -> None: ...

    def change_into_super_secret_costume(self) -> None: ...


async def test_the_first_example_of_transitions_comes_over():
    graph = graph_from(Sleeper().machine, context=Hero, auto_transitions=False)
    assert set(graph.states) == {*Sleeper.states}
    async with rehearse(graph) as hero:
        been = []
        for event in ("wake_up", "work_out", "eat", "distress_call", "complete_mission", "clean_up", "nap"):
            await hero.send(event)
            been += hero.leaves
        assert been == ["hanging out", "hungry", "hanging out", "saving the world", "sweaty", "hanging out", "asleep"]
        assert (hero.context.kittens_rescued, hero.context.wears) == (1, "costume")


LUMP = {"states": ["solid", "liquid", "gas", "plasma"], "initial": "liquid"}


@pytest.mark.parametrize("kind", [Machine, HierarchicalMachine])
def test_automatic_triggers_are_left_out_with_a_warning_that_names_them(kind):
    with pytest.warns(AutoTransitionsWarning, match="to_gas, to_liquid, to_plasma, to_solid") as told:
        assert labels(graph_from(kind(model=None, **LUMP))) == []
    assert told[0].filename == __file__
    assert labels(graph_from(kind(model=None, **LUMP), auto_transitions=False)) == []
    assert labels(graph_from(kind(model=None, **LUMP, auto_transitions=False))) == []


async def test_automatic_triggers_come_over_where_they_are_asked_for():
    graph = graph_from(Sleeper().machine, context=Hero, auto_transitions=True)
    assert "* --to_hanging out--> hanging out" in labels(graph)
    async with rehearse(graph) as hero:
        await hero.send("to_saving the world")
        await hero.send("to_hungry")
        assert hero.leaves == ("hungry",)


@pytest.mark.parametrize("auto_transitions", [True, False])
async def test_an_automatic_trigger_that_a_callback_names_comes_over(auto_transitions):
    chart = config({"trigger": "go", "source": "a", "dest": None, "after": "to_b"})
    async with rehearse(graph_from(chart, auto_transitions=auto_transitions)) as agent:
        await agent.send("go")
        assert agent.leaves == ("b",)


def test_what_was_added_to_an_automatic_trigger_is_not_left_out():
    machine = Machine(model=None, states=["a", "b"], initial="a")
    machine.add_transition("to_b", "a", "b", conditions=lambda: True)
    assert labels(graph_from(machine, auto_transitions=False)) == ["a --to_b--> b"] * 2 + ["b --to_b--> b"]


def test_automatic_triggers_of_a_model_with_another_attribute_are_known():
    machine = Machine(model=None, states=["a", "b"], initial="a", model_attribute="mode")
    assert labels(graph_from(machine, auto_transitions=False)) == []


async def test_automatic_triggers_lead_out_of_no_final_state_and_into_no_region_of_the_state_at_hand():
    chart = {
        "states": ["a", {"name": "p", "parallel": ["x", "y"]}, {"name": "end", "final": True}],
        "initial": "a",
    }
    graph = graph_from(chart, auto_transitions=True)
    async with rehearse(graph) as agent:
        for event in ("to_p", "to_p_x", "to_a", "to_end"):
            await agent.send(event)
        assert agent.leaves == ("end",)


async def test_a_trigger_with_spaces_is_an_event_and_takes_no_other():
    chart = config({"trigger": "wake up", "source": "a", "dest": "b", "after": "sweat"}, ["hush", "b", "a"])
    async with rehearse(graph_from(chart, context=Matter, auto_transitions=False)) as agent:
        await agent.send("wake up")
        assert (agent.leaves, agent.context.trail) == (("b",), ["sweat"])


async def test_a_timeout_of_a_state_with_spaces_is_not_taken_for_one_of_its_words():
    chart = {
        "states": [{"name": "fast asleep", "timeout": 5, "on_timeout": "wake"}, "awake"],
        "initial": "fast asleep",
        "transitions": [["wake", "fast asleep", "awake"]],
    }
    async with rehearse(graph_from(chart, auto_transitions=False)) as agent:
        assert not (await agent.send("asleep")).applied
        await agent.advance(5)
        assert agent.leaves == ("awake",)


async def ask_later(**brought: object) -> bool:
    return True


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (config(queued=True), "machine: queued=True"),
        (config(prepare_event="p"), "prepare_event=['p'] is not carried over; name it in prepare="),
        (config(finalize_event="f"), "finalize_event=['f'] is not carried over"),
        (config(on_exception="x"), "on_exception=['x'] is not carried over"),
        (config(on_final="x"), "on_final=['x'] is not carried over"),
        (config(["a b", "a", "b"], ["b", "b", "a"]), "trigger 'a b': in a graph it matches 'b', too"),
        (config(["go *", "a", "b"]), "trigger 'go *': in a graph it matches events of any name"),
        (config(["go.*", "a", "b"]), "trigger 'go.*': in a graph it matches all events that start with 'go'"),
        (config(["go", "a", "b"], ["go.on", "a", "b"]), "trigger 'go': in a graph it matches 'go.on', too"),
        (
            config({"trigger": "go", "source": "a", "dest": "b", "before": "x"}),
            "transition 'go' from 'a', before: the callback 'x'",
        ),
        (
            config({"trigger": "go", "source": "a", "dest": "b", "conditions": "x"}),
            "transition 'go' from 'a': the callback 'x'",
        ),
        (config({"trigger": "go", "source": "a", "dest": "b", "conditions": ask_later}), "ask_later is async"),
        (config(["go", "a", "c"]), "transition 'go' from 'a': unknown state 'c'; there are 'a', 'b'"),
        (config(["go", "c", "a"]), "transition 'go' from 'c': unknown state 'c'"),
        (config(["go", "a", "b"], before_state_change="x"), "transition 'go' from 'a', before: the callback 'x'"),
        (config(unheard_of=1), "configuration: "),
        (
            {"states": [{"name": "a", "final": True}], "initial": "a", "transitions": [["go", "*", "="]]},
            "it leaves a final state",
        ),
        (
            {"states": [{"name": "a", "children": ["1"], "initial": "1", "on_final": "x"}], "initial": "a"},
            "on_final is not carried over",
        ),
        (
            {"states": [{"name": "a", "children": ["1", "2", "3"], "initial": ["1", "2"]}], "initial": "a"},
            "some of its children",
        ),
        (
            {"states": [{"name": "p", "parallel": ["x", "y"]}], "initial": "p", "transitions": [["go", "p", "p_x"]]},
            "from a parallel state into one of its regions",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_named(source, told):
    assert told in faults_of(source)


@pytest.mark.parametrize("feature", [Error, Volatile])
def test_features_of_states_that_have_no_place_are_named(feature):
    @add_state_features(feature, Timeout)
    class Featured(Machine):
        pass

    assert f"the feature {feature.__name__} is not carried over" in faults_of(
        Featured(model=None, states=["a"], initial="a")
    )


def test_all_that_is_wrong_is_told_at_once():
    source = config({"trigger": "go", "source": "a", "dest": "b", "before": "x", "after": "y"}, queued=True)
    with pytest.raises(NotCarriedError, match="for 3 reasons"):
        graph_from(source)


class Failing(AgentContext):
    def boom(self) -> None:
        raise ValueError("no")


class FailingModel:
    state = "a"

    def boom(self) -> None:
        raise ValueError("no")


@pytest.mark.parametrize(("callback", "there"), [("before", "a"), ("after", "b")])
async def test_a_callback_that_raises_undoes_its_turn(callback, there):
    go = {"trigger": "go", "source": "a", "dest": "b", callback: "boom"}
    parts = {"states": ["a", "b"], "transitions": [go], "initial": "a", "auto_transitions": False}
    model = FailingModel()
    Machine(model, **parts)
    with pytest.raises(ValueError, match="no"):
        model.go()
    async with rehearse(graph_from(parts, name="m", context=Failing)) as agent:
        with pytest.raises(ActionFailedError):
            await agent.send("go")
        assert (model.state, agent.leaves) == (there, ("a",))
