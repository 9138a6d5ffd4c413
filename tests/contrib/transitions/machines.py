"""Generated charts, run by `transitions` and by gatechart, with one callback in each slot.

A chart is a tree of states and a list of transitions. Each callback notes its name in a trail; conditions look at how
long the trail is, so that they depend on what has happened.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from pydantic import Field
from transitions import Machine
from transitions.extensions import HierarchicalMachine

from gatechart import AgentContext

EVENTS = ("a", "b", "c")
SLOTS = ("prepare", "before", "after")


class Trail:
    """What callbacks do, for the model as for the context."""

    trail: list[str]
    count: int  # of transitions taken; conditions look at it

    def __getattr__(self, name: str) -> Any:
        if name.startswith("note_"):
            return lambda: self.trail.append(name[5:])
        if name.startswith("take_"):
            return lambda: self._take(name[5:])
        raise AttributeError(name)

    def _take(self, name: str) -> None:
        self.trail.append(name)
        self.count += 1

    def is_even(self) -> bool:
        self.trail.append("?even")
        return self.count % 2 == 0

    def is_third(self) -> bool:
        self.trail.append("?third")
        return self.count % 3 == 0


class Model(Trail):
    """The model of a machine."""

    def __init__(self) -> None:
        self.trail = []
        self.count = 0


class Notes(AgentContext):
    """The context in its place."""

    trail: list[str] = Field(default_factory=list)
    count: int = 0

    def is_even(self) -> bool:
        return Trail.is_even(self)

    def is_third(self) -> bool:
        return Trail.is_third(self)


def context_for(config: dict[str, Any]) -> type[Notes]:
    """A context with a method for each callback of the chart."""
    return type("ChartNotes", (Notes,), {name: _method(name) for name in _callbacks(config)})


def _method(name: str) -> Any:
    def note(self: Any) -> None:
        self.trail.append(name[5:])
        self.count += name.startswith("take_")

    note.__name__ = name
    return note


def _callbacks(config: Any) -> set[str]:
    if isinstance(config, dict):
        return set().union(*map(_callbacks, config.values()))
    if isinstance(config, list):
        return set().union(*map(_callbacks, config))
    return {config} if isinstance(config, str) and config.startswith(("note_", "take_")) else set()


def machine_of(config: dict[str, Any], model: Model) -> Machine:
    kind = HierarchicalMachine if any("children" in state for state in config["states"]) else Machine
    return kind(model=model, ignore_invalid_triggers=True, auto_transitions=False, **config)


@st.composite
def flat_charts(draw: Any) -> dict[str, Any]:
    states = [_state(f"S{number}") for number in range(draw(st.integers(2, 4)))]
    names = [state["name"] for state in states]
    moves = draw(
        st.lists(
            st.tuples(st.sampled_from([*names, "*"]), st.sampled_from([*names, "=", None])), min_size=3, max_size=14
        )
    )
    return _config(draw, states, moves)


@st.composite
def compound_charts(draw: Any) -> dict[str, Any]:
    """Up to three levels; no transition goes more than one level below its source, see graph_from."""
    states = [_tree(draw, f"S{number}", 1) for number in range(draw(st.integers(2, 3)))]
    names = [name for state in states for name in _full_names(state)]
    pairs = [(one, other) for one in names for other in [*names, "=", None] if not _is_deep(one, other)]
    return _config(draw, states, draw(st.lists(st.sampled_from(pairs), min_size=6, max_size=20)))


def _is_deep(source: str, target: str | None) -> bool:
    return target is not None and target.startswith(f"{source}_") and target.count("_") > source.count("_") + 1


def _state(name: str, path: str = "") -> dict[str, Any]:
    return {"name": name, "on_enter": f"note_+{path}{name}", "on_exit": f"note_-{path}{name}"}


def _tree(draw: Any, name: str, level: int, path: str = "") -> dict[str, Any]:
    state = _state(name, path)
    children = draw(st.integers(0, 3 - level)) if level < 3 else 0
    if children:
        state["children"] = [_tree(draw, str(number), level + 1, f"{path}{name}_") for number in range(children)]
        if draw(st.booleans()):
            state["initial"] = draw(st.sampled_from(state["children"]))["name"]
    return state


def _full_names(state: dict[str, Any], path: str = "") -> list[str]:
    name = path + state["name"]
    return [name, *(each for child in state.get("children", ()) for each in _full_names(child, f"{name}_"))]


def _config(draw: Any, states: list[Any], moves: list[tuple[str, str | None]]) -> dict[str, Any]:
    transitions = [_transition(draw, number, *move) for number, move in enumerate(moves)]
    return {"states": states, "initial": states[0]["name"], "transitions": transitions}


def _transition(draw: Any, number: int, source: str, dest: str | None) -> dict[str, Any]:
    asked = draw(st.sampled_from([{}, {}, {"conditions": "is_even"}, {"unless": "is_third"}]))
    slots = {slot: f"note_{slot}{number}" for slot in draw(st.sets(st.sampled_from(SLOTS)))}
    counted = {"before": f"take_before{number}"} if draw(st.booleans()) else {}
    trigger = draw(st.sampled_from(EVENTS))
    return {"trigger": trigger, "source": source, "dest": dest, **asked, **slots, **counted}


happenings = st.lists(st.sampled_from(EVENTS), min_size=4, max_size=14)
