"""Random machines of XState: regions, history states, wildcards, guards, timers, eventless transitions and ends.

What is known to differ is not drawn: eventless transitions in several regions, exit actions of the machine's own final
states, transitions to a history state around their source. The reference of the dialect lists these.
"""

from __future__ import annotations

from itertools import count
from random import Random
from typing import Any, Final

EVENTS: Final = ("A", "B", "C", "D.X", "D.Y")
DESCRIPTORS: Final = (*EVENTS, "A", "B", "D.*", "*")
MOST_STATES: Final = 14
DEEPEST: Final = 4


def random_machine(seed: int | str) -> dict[str, Any]:
    """Return a machine with its name as its id; the same for the same seed."""
    return _Drawing(Random(seed)).machine(f"m{seed}")


class _Drawing:
    """The drawing of one machine: first its states, then its transitions, which may lead to any of them."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.numbers = count(1)
        self.left = random.randint(4, MOST_STATES)
        self.states: dict[str, dict[str, Any]] = {}  # all but the machine, by their unique keys
        self.parents: dict[str, str] = {}  # "" for the machine

    def machine(self, name: str) -> dict[str, Any]:
        """Return the machine."""
        machine: dict[str, Any] = {"id": name, "context": {"notes": []}}
        self.fill(machine, "", 0)
        for key, state in self.states.items():
            if state.get("type") != "history":
                self.add_actions(key, state)
            if state.get("type") not in ("history", "final"):
                self.add_transitions(key, state)
        machine["on"] = self.transitions("", 0.5)
        if self.chance(0.1):
            machine["entry"], machine["exit"] = _note("in machine"), _note("out machine")
        return machine

    def fill(self, state: dict[str, Any], key: str, depth: int) -> None:
        """Give a state children, regions if it is parallel."""
        is_parallel = depth > 0 and self.chance(0.4)
        children: dict[str, Any] = {}
        for _ in range(self.random.randint(2, 3)):
            child = self.add_child("s", key, children)
            self.left -= 1
            if depth < DEEPEST and self.left > 0 and self.chance(0.75 if is_parallel else 0.45):
                self.fill(children[child], child, depth + 1)
            elif not is_parallel and len(children) > 1 and self.chance(0.25):
                children[child]["type"] = "final"
        if is_parallel:
            state["type"] = "parallel"
        else:
            state["initial"] = next(iter(children))
        if depth > 0 and self.chance(0.35):
            self.add_history(key, children, may_have_target=not is_parallel)
        state["states"] = children

    def add_child(self, letter: str, key: str, children: dict[str, Any]) -> str:
        """Add an empty state, and return its key."""
        child = f"{letter}{next(self.numbers)}"
        children[child] = self.states[child] = {}
        self.parents[child] = key
        return child

    def add_history(self, key: str, children: dict[str, Any], *, may_have_target: bool) -> None:
        """Add a history state to the children."""
        others = list(children)
        history = children[self.add_child("h", key, children)]
        history.update({"type": "history", "history": self.random.choice(["shallow", "deep"])})
        if may_have_target and self.chance(0.3):
            history["target"] = self.random.choice(others)

    def add_actions(self, key: str, state: dict[str, Any]) -> None:
        """Give a state actions on entry and on exit."""
        is_end = state.get("type") == "final" and not self.parents[key]
        if self.chance(0.5):
            state["entry"] = [_note(f"in {key}")]
        if self.chance(0.5) and not is_end:
            state["exit"] = _note(f"out {key}")
        if self.chance(0.1) and state.get("type") != "final":
            raised = {"type": "raise", "params": {"name": self.random.choice(EVENTS)}}
            state["entry"] = [*state.get("entry", []), raised]

    def add_transitions(self, key: str, state: dict[str, Any]) -> None:
        """Give a state transitions of all kinds."""
        state["on"] = self.transitions(key, 0.8)
        if self.chance(0.2):
            state["after"] = {self.random.choice([200, 500, 700]): self.several(key, "after")}
        if "states" in state and self.chance(0.5):
            state["onDone"] = self.several(key, "done")
        if self.chance(0.15) and not self.has_eventless_beside(key):
            target = self.random.choice([each for each in self.states if each != key])
            actions = _note(f"{key} always")
            state["always"] = {"target": f"#{self.id_of(target)}", "guard": self.guard(), "actions": actions}

    def has_eventless_beside(self, key: str) -> bool:
        """Whether an eventless transition is in another region, or in another state beside this one."""
        line = self.line(key)
        return any(
            "always" in state and other not in line and key not in self.line(other)
            for other, state in self.states.items()
        )

    def line(self, key: str) -> tuple[str, ...]:
        """Return the state and those around it, inner ones first."""
        line = [key]
        while self.parents[line[-1]]:
            line.append(self.parents[line[-1]])
        return tuple(line)

    def transitions(self, key: str, share: float) -> dict[str, Any]:
        """Return transitions by their events."""
        chosen = [each for each in dict.fromkeys(self.random.choices(DESCRIPTORS, k=3)) if self.chance(share)]
        return {event: self.several(key, event) for event in chosen}

    def several(self, key: str, event: str) -> list[dict[str, Any]]:
        """Return a transition for the event, or two, of which the first has a guard."""
        number = self.random.choice([1, 1, 2])
        transitions = [self.transition(key, f"{key or 'machine'} {event} {each}") for each in range(number)]
        for each in transitions[:-1]:
            each["guard"] = self.guard()
        return transitions

    def transition(self, key: str, label: str) -> dict[str, Any]:
        """Return a transition that notes its label."""
        transition: dict[str, Any] = {"actions": _note(label)}
        if self.chance(0.75):
            transition["target"] = f"#{self.id_of(self.target(key))}"
        if self.chance(0.3):
            transition["guard"] = self.guard()
        if key and "target" in transition and self.chance(0.15):
            transition["reenter"] = True
        return transition

    def target(self, key: str) -> str:
        """Return a state: often one beside the source, so that more transitions stay inside a region."""
        inside = self.line(key) if key else ()
        known = [
            each
            for each, parent in self.parents.items()
            if self.states[each].get("type") != "history" or (key and parent and parent not in inside)
        ]
        near = [each for each in known if self.parents[each] == self.parents.get(key) and not self.is_region(each)]
        return self.random.choice(near if near and self.chance(0.7) else known)

    def is_region(self, key: str) -> bool:
        """Whether the state's parent is parallel."""
        return self.states.get(self.parents[key], {}).get("type") == "parallel"

    def id_of(self, key: str) -> str:
        """Give the state an id, its key, and return it."""
        self.states[key].setdefault("id", key)
        return key

    def guard(self) -> str:
        """Return the name of a guard."""
        return self.random.choice(["g1", "g2", "g3"])

    def chance(self, share: float) -> bool:
        """Return true this often."""
        return self.random.random() < share


def _note(what: str) -> dict[str, Any]:
    """Return an action that notes a text in the context."""
    return {"type": "note", "params": {"what": what}}
