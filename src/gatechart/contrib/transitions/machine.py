"""Read a machine or its configuration: states, transitions in order, and parts that a graph does not support.

Source: transitions 0.9, https://github.com/pytransitions/transitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from transitions import Machine, MachineError
from transitions.extensions import HierarchicalMachine
from transitions.extensions.states import Tags, Timeout, add_state_features

from gatechart.contrib.errors import NotCarriedError
from gatechart.errors.definition import Fault
from gatechart.graph.definition import ANY
from gatechart.kernel.select import matches

_NESTED_KEYS: Final = ("children", "states", "parallel")
_SLOTS: Final = ("prepare_event", "finalize_event", "on_exception", "on_final")
_FEATURES: Final = ("Error", "Volatile", "Retry")
_LOSES: Final = {
    "prepare_event": "name it in prepare= of the transitions",
    "finalize_event": "read the result of an event from its Outcome",
    "on_exception": "handle error.execution in a transition",
    "on_final": "name it in on_enter= of the final states",
}


@add_state_features(Tags, Timeout)
class _Flat(Machine):
    pass


@add_state_features(Tags, Timeout)
class _Nested(HierarchicalMachine):
    pass


@dataclass(frozen=True)
class Seat:
    """A state of a machine and its position in the hierarchy."""

    state: Any
    name: str  # in full, as the model shows it
    children: tuple[Seat, ...]

    def walk(self) -> Iterator[Seat]:
        """Yield the state and its descendants, a parent before its children."""
        yield self
        for child in self.children:
            yield from child.walk()


def machine_of(source: Machine | Mapping[str, Any]) -> Machine:
    """Return the machine, or build one without a model from its configuration or markup. Raises NotCarriedError."""
    if isinstance(source, Machine):
        return source
    config = {key: value for key, value in source.items() if key not in ("model", "models")}
    config["transitions"] = [_with_target(transition) for transition in config.get("transitions") or ()]
    kind = _Nested if any(_is_nested(state) for state in config.get("states") or ()) else _Flat
    try:
        return kind(model=None, **config)
    except (ValueError, TypeError, AttributeError, KeyError, MachineError) as error:
        fault = Fault("configuration", f"{type(error).__name__}: {error}", "fix the configuration for `transitions`")
        raise NotCarriedError("the configuration", (fault,)) from error


def _with_target(transition: Any) -> Any:
    """Add the target of an internal transition, which markup omits."""
    return {"dest": None, **transition} if isinstance(transition, Mapping) else transition


def _is_nested(state: Any) -> bool:
    return isinstance(state, Mapping) and any(key in state for key in _NESTED_KEYS)


def separator_of(machine: Machine) -> str:
    """Return the separator between the names of a parent and its child."""
    return getattr(machine.state_cls, "separator", "_")


def seats_of(machine: Machine) -> tuple[Seat, ...]:
    """Return the hierarchy of states."""
    separator = separator_of(machine)

    def seat(state: Any, prefix: str) -> Seat:
        name = prefix + state.name
        children = getattr(state, "states", {})
        return Seat(state, name, tuple(seat(child, name + separator) for child in children.values()))

    return tuple(seat(state, "") for state in machine.states.values())


def automatic_triggers(machine: Machine, seats: Sequence[Seat]) -> dict[str, bool]:
    """Return the unchanged triggers from `auto_transitions`, each with whether a callback names it."""
    if not machine.auto_transitions:
        return {}
    attribute = machine.model_attribute
    prefixes = ("to_",) if attribute == "state" else (f"to_{attribute}_", "to_")
    expected = {f"{prefix}{seat.name}": seat.name for seat in _walk(seats) for prefix in prefixes}
    named = _named_by_callbacks(machine, seats)
    events = machine.events
    return {
        name: name in named for name, state in expected.items() if name in events and _is_automatic(events[name], state)
    }


def _is_automatic(event: Any, target: str) -> bool:
    """Whether one transition leads from each source to the target, without conditions or callbacks."""
    return all(len(found) == 1 and _is_plain(found[0], target) for found in event.transitions.values())


def _is_plain(transition: Any, target: str) -> bool:
    slots = (transition.conditions, transition.prepare, transition.before, transition.after)
    return transition.dest == target and not any(slots)


def _named_by_callbacks(machine: Machine, seats: Sequence[Seat]) -> set[str]:
    """Return the callback names in slots that may contain triggers."""
    slots = [machine.before_state_change, machine.after_state_change]
    for state in (seat.state for seat in _walk(seats)):
        slots += [state.on_enter, state.on_exit, getattr(state, "on_timeout", [])]
    scopes = [machine.events, *(getattr(seat.state, "events", {}) for seat in _walk(seats))]
    events = (event for scope in scopes for event in scope.values())
    for found in (edge for event in events for several in event.transitions.values() for edge in several):
        slots += [found.before, found.after]
    return {callback for slot in slots for callback in slot if isinstance(callback, str)}


def _walk(seats: Sequence[Seat]) -> Iterator[Seat]:
    return (inner for seat in seats for inner in seat.walk())


def machine_faults(machine: Machine, triggers: Sequence[str]) -> Iterator[Fault]:
    """Yield a fault for each part of the machine that a graph does not support.

    triggers: the triggers that are carried over.
    """
    if machine.has_queue:
        problem = "queued=True is a queue of the machine, shared by all of its models"
        yield Fault("machine", problem, "drop it; each agent takes one event after the other")
    for slot in _SLOTS:
        if getattr(machine, slot):
            yield Fault("machine", f"{slot}={getattr(machine, slot)!r} is not carried over", _LOSES[slot])
    for trigger in triggers:
        yield from _trigger_faults(trigger, triggers)
    for seat in _walk(seats_of(machine)):
        yield from _state_faults(seat)


def _trigger_faults(trigger: str, triggers: Sequence[str]) -> Iterator[Fault]:
    """Yield a fault if the trigger, which is a pattern of events in a graph, matches other events."""
    place = f"trigger {trigger!r}"
    wild = next((word for word in trigger.split() if word == "*" or word.endswith(".*")), None)
    if wild is not None:
        prefix = wild.removesuffix("*").removesuffix(".")
        matched = f"all events that start with {prefix!r}" if prefix else "events of any name"
        yield Fault(place, f"in a graph it matches {matched}", "rename it, without '*'")
    elif others := [other for other in triggers if other != trigger and matches(trigger, other)]:
        yield Fault(place, f"in a graph it matches {others[0]!r}, too", "rename one")


def _state_faults(seat: Seat) -> Iterator[Fault]:
    place = f"state {seat.name!r}"
    if getattr(seat.state, "on_final", None):
        yield Fault(place, "on_final is not carried over", f"handle the event done.state.{seat.name} in a transition")
    for feature in dict.fromkeys(base.__name__ for base in type(seat.state).__mro__ if base.__name__ in _FEATURES):
        yield Fault(place, f"the feature {feature} is not carried over", "leave it out")
    initial = getattr(seat.state, "initial", None)
    if isinstance(initial, list) and len(initial) != len(seat.children):
        yield Fault(place, "it starts in some of its children at once", "let it start in one of them, or in all")


@dataclass(frozen=True)
class MachineTransition:
    """A transition with the full names of its ends."""

    event: str
    source: str
    target: str | None  # None: no state is exited
    transition: Any

    @property
    def place(self) -> str:
        """Its name in faults."""
        return f"transition {self.event!r} from {self.source!r}"

    @property
    def content(self) -> tuple[object, ...]:
        """Everything except the source. Transitions of one wildcard have the same content."""
        found = self.transition
        conditions = tuple((condition.func, condition.target) for condition in found.conditions)
        return self.target, conditions, tuple(found.prepare), tuple(found.before), tuple(found.after)


def moves_of(machine: Machine, seats: Sequence[Seat], automatic: Mapping[str, bool]) -> Iterator[MachineTransition]:
    """Yield the transitions, those declared by an inner state for its children before an outer state's.

    automatic: the automatic triggers, each with whether it is carried over.
    """
    separator = separator_of(machine)
    for seat in reversed([inner for root in seats for inner in root.walk()]):
        yield from _moves(getattr(seat.state, "events", {}), seat.name + separator)
    kept = {name: event for name, event in machine.events.items() if automatic.get(name, True)}
    yield from _moves(kept, "")


def _moves(events: Mapping[str, Any], prefix: str) -> Iterator[MachineTransition]:
    for name, event in events.items():
        for source, transitions in event.transitions.items():
            for found in transitions:
                target = None if found.dest is None else prefix + found.dest
                yield MachineTransition(name, prefix + source, target, found)


def with_wildcards(moves: Sequence[MachineTransition], states: Sequence[str]) -> list[MachineTransition]:
    """Replace equal last transitions of all states of a flat machine for an event by one transition from ANY.

    states: all states that can be exited.
    """
    if len(states) < 2:
        return list(moves)
    last = {(move.event, move.source): move for move in moves}
    found: list[MachineTransition] = []
    for event in dict.fromkeys(move.event for move in moves):
        ends = [last.get((event, state)) for state in states]
        first = ends[0]
        if first and all(move is not None and move.content == first.content for move in ends):
            found.append(replace(first, source=ANY))
            moves = [move for move in moves if not any(move is last_move for last_move in ends)]
    return [*moves, *found]
