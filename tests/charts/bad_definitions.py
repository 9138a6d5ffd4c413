"""Definitions in code that are refused: graphs, what no chart can hold, machines of `transitions`, large files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from transitions import Machine
from transitions.extensions import HierarchicalMachine
from transitions.extensions.states import Error, Volatile, add_state_features

from gatechart.charts import dump, load
from gatechart.contrib.transitions import graph_from
from gatechart.graph.definition import Allow, EntryPoint, Invoke, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Accepts, Handoff
from gatechart.values.delays import Retry
from tests.charts import functions
from tests.charts.test_hostile import HOSTILE


@add_state_features(Error, Volatile)
class Featured(Machine): ...


HERE = Path(__file__).parent
GO = Transition("A", "GO", "B")


def graph(**parts: Any) -> StateTransitionGraph:
    definition = {"name": "g", "transitions": [GO], "entry_points": ["A"], **parts}
    return StateTransitionGraph(definition.pop("name"), **definition)


def doing(*actions: Any) -> StateTransitionGraph:
    return graph(transitions=[Transition("A", "GO", "B", actions=actions)])


def waiting(**parts: Any) -> StateTransitionGraph:
    return graph(states=[State("A", **parts)])


def other(context: Any, event: Any) -> None: ...


other.__name__ = "note"

GRAPHS: dict[str, Callable[[], Any]] = {
    "its context is none": lambda: graph(context=dict),
    "its policy is none": lambda: graph(on_refusal="raise"),
    "its name and version are none": lambda: graph(name=7, version=""),
    "its bound is none": lambda: graph(max_microsteps="100"),
    "two entry points of one name": lambda: graph(entry_points=["A", EntryPoint("B", "A")]),
    "an entry point of a number": lambda: graph(entry_points=[EntryPoint("A", 7, opens_on=[["X"]])]),
    "an entry point of a number as its state": lambda: graph(entry_points=[EntryPoint(7, "door")]),
    "an entry point without a schema": lambda: graph(entry_points=[EntryPoint("A", takes=dict)]),
    "an entry point with a mapping of nothing": lambda: graph(
        entry_points=[EntryPoint("A", takes=functions.CaseFile, maps=7)]
    ),
    "a state without a name": lambda: graph(states=[State("A", states=[""])]),
    "no transition": lambda: graph(transitions=[("A", "GO", "B")]),
    "a transition without a source": lambda: graph(transitions=[GO, Transition(None, 7, 7)]),
    "a transition without an event": lambda: graph(transitions=[Transition("A", "", "B")]),
    "a transition to anywhere": lambda: graph(transitions=[GO, Transition("B", "GO", "*")]),
    "a guard that cannot be called": lambda: graph(transitions=[Transition("A", "GO", "B", guard=7)]),
    "an action that cannot be called": lambda: doing("greet"),
    "data that cannot be called": lambda: graph(states=[State("C", final=True, data=7)]),
    "a delay that is none": lambda: waiting(after={"soon": "B"}),
    "an allowance that is none": lambda: graph(allow=["GC102"]),
    "an allowance of what is not there": lambda: graph(allow=[Allow("GC999", "state 'C'", " ")]),
    "a handoff without names": lambda: doing(Handoff("", at="", deadline="soon", packet=7, agent=functions.look_up)),
    "an agent with all that it cannot have": lambda: waiting(
        invoke=Invoke(functions.search, agent="b", at="", timeout_s=-1, retry=Retry(), packet=functions.note)
    ),
    "a function with what an agent has": lambda: waiting(
        invoke=Invoke(functions.search, at="C", packet=functions.tell)
    ),
    "fallbacks that are none": lambda: doing(Handoff("b", at="C", fallbacks=7)),
    "an invoke of nothing": lambda: waiting(invoke=Invoke(id="x")),
    "bounds that are none": lambda: graph(accepts=3),
    "a policy that is async": lambda: graph(accepts=Accepts(policy=functions.look_up)),
}
DUMPS: dict[str, Callable[[], Any]] = {
    "two functions of one name": lambda: doing(functions.note, other),
    "values without names": lambda: doing(partial(functions.wait, 1)),
    "values that JSON does not hold": lambda: doing(partial(functions.add, amount=timedelta(1))),
    "one delay twice": lambda: waiting(after={"1s": "B", timedelta(seconds=1): "A"}),
}
HAS_ALL: dict[str, Any] = {
    "states": ["A", "B"],
    "initial": "A",
    "transitions": [["GO", "A", "B"], ["*", "A", "B"], ["GO.*", "A", "B"], ["GO.ON", "A", "B"]],
    "queued": True,
    "prepare_event": "before_all",
    "finalize_event": "after_all",
    "on_exception": "caught",
}
MACHINES: dict[str, Callable[[], Any]] = {
    "a configuration that transitions refuses": lambda: graph_from({"states": ["A"], "colour": "red"}, name="m"),
    "a machine with all that is not carried over": lambda: graph_from(Machine(model=None, **HAS_ALL), name="m"),
    "a callback that nobody knows": lambda: graph_from(
        Machine(
            model=None,
            states=["A", "B"],
            initial="A",
            transitions=[{"trigger": "GO", "source": "A", "dest": "B", "before": "nobody", "conditions": "either"}],
        ),
        name="m",
    ),
    "a condition that is async": lambda: graph_from(
        Machine(
            model=None,
            states=["A", "B"],
            initial="A",
            transitions=[{"trigger": "GO", "source": "A", "dest": "B", "conditions": functions.look_up}],
        ),
        name="m",
    ),
    "a machine with features": lambda: graph_from(Featured(model=None, states=["A"], initial="A"), name="m"),
    "a machine that leaves its end": lambda: graph_from(
        HierarchicalMachine(
            model=None,
            states=["A", {"name": "B", "final": True, "on_final": "ended"}],
            initial="A",
            transitions=[["GO", "A", "B"], ["BACK", "B", "A"]],
        ),
        name="m",
    ),
    "a machine that leads from a parallel state into a region": lambda: graph_from(
        HierarchicalMachine(
            model=None,
            states=[{"name": "A", "children": ["x", "y"], "initial": ["x", "y"]}, "B"],
            initial="A",
            transitions=[["GO", "A", "A_x"], ["ON", "A", "B"]],
        ),
        name="m",
    ),
    "a nested machine that begins in two of three": lambda: graph_from(
        HierarchicalMachine(
            model=None,
            states=[{"name": "A", "children": ["x", "y", "z"], "initial": ["x", "y"]}, "B"],
            initial="A",
            transitions=[["GO", "A", "B"]],
        ),
        name="m",
    ),
}
LARGE: dict[str, Callable[[], Any]] = {
    name: partial(load, content)
    for name, (content, _) in HOSTILE.items()
    if len(content) < 150_000 or name in {"many json values", "many anchors"}
}
FILES: dict[str, Callable[[], Any]] = {
    "a file that is not there": lambda: load(HERE / "nowhere.yaml"),
    "a folder": lambda: load(HERE),
    "a text that is no UTF-8": lambda: load(b"id: x\nb: \xff\n"),
    "a text that is too long": lambda: load(b"id: x\n" + b"#" * (1 << 20)),
    "a text of too many lines": lambda: load(b"a: 1\n" + b"\n" * 60_000),
    "a text of too many words": lambda: load((b"- " + b"x " * 32_000 + b"\n") * 7),
}


def definitions() -> dict[str, Callable[[], Any]]:
    """Every bad definition by its name."""
    return {
        **{f"graph {name}": make for name, make in GRAPHS.items()},
        **{f"dump {name}": partial(_dumped, make) for name, make in DUMPS.items()},
        **{f"machine {name}": make for name, make in MACHINES.items()},
        **{f"file {name}": make for name, make in FILES.items()},
        **{f"hostile {name}": make for name, make in LARGE.items()},
    }


def _dumped(make: Callable[[], Any]) -> str:
    return dump(make())
