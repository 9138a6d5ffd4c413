"""Misfits, which allow no further checks: names that are not texts, values that are not transitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gatechart.errors import Fault
from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.values import LONGEST_NAME, unkept


def texts(names: Iterable[object]) -> tuple[str, ...]:
    """Return the names that are texts."""
    return tuple(name for name in names if isinstance(name, str))


def no_state_name(state: State[Any]) -> Fault:
    """Build the fault for a name that no state can have."""
    return Fault(f"state {state.name!r}", "this cannot name a state", f"use a text that is neither '' nor {ANY!r}")


def transition_misfits(transition: object) -> Iterator[Fault]:
    """Yield a fault for each name of a transition that is not a text, or for a value that is not a transition."""
    if not isinstance(transition, Transition):
        yield Fault(f"transition {transition!r}", "it is not a transition", "write Transition(source, event, target)")
        return
    place = f"transition {transition.label!r}"
    yield from _no_text(place, "source", transition.source)
    for target in transition.targets:
        yield from _no_text(place, "target", target)


def entry_misfits(entry: EntryPoint) -> Iterator[Fault]:
    """Yield a fault for each name of an entry point that is not a text."""
    place = f"entry point {entry.name!r}"
    yield from _no_text(place, "state", entry.state)
    if entry.name is not entry.state:
        yield from _no_text(place, "name", entry.name)
    for trigger in entry.opens_on:
        yield from _no_text(place, "trigger", trigger)


def unkept_names(place: str, what: str, names: Iterable[object], longest: int = LONGEST_NAME) -> Iterator[Fault]:
    """Yield a fault for each text among the names that no database could keep."""
    for name in texts(names):
        problem = unkept(name.replace("\0", ""), longest)  # nobody sends NUL, and stores escape it
        if problem:
            yield Fault(place, f"its {what}: {problem}", "give it a shorter name, of characters that a text can have")


def _no_text(place: str, what: str, value: object) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield Fault(place, f"its {what} is {value!r}", "use a text, or an Enum member")
