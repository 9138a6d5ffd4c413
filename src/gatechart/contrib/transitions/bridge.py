"""Convert a machine to a graph.

Differences from `transitions`, by the design of graphs:

- `before` runs between the exits and the entries, as actions of a transition do. `after` runs after all entries, as the
  targetless transition of an event that the transition raises (into a final state of the chart: before it).
- The entry actions of the state where an agent starts do run.
- A trigger used as a callback is raised: it is handled after the microstep, not in the middle of it.
- A trigger matches events that start with its name, in whole words: `error` matches `error.execution`.
- A callback that raises undoes its turn, unless a transition handles `error.execution`; in the library, the machine
  stays in the new state if the error was in `on_enter` or `after`. A condition that raises counts as false; in the
  library, it raises.
- An event without a matching transition is refused and changes nothing, and undoes the changes of `prepare`.
- A transition from a state to one more than a level below it exits the children on the path, even if it enters them
  again.
- Transitions of several regions of a parallel state follow SCXML.
- `to_<state>` triggers from `auto_transitions` are carried over with `auto_transitions=True`, if a callback names them,
  or if they have additional transitions. They lead neither out of final states, where agents end, nor from a parallel
  state into one of its regions.
- A trigger with spaces in its name is an event with spaces, and also matches each of its words as an event.
- A state with children but no initial one can be active alone: it gets a first child `<state>_self`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, overload
from warnings import warn

from transitions import Machine
from transitions.extensions import HierarchicalMachine

from gatechart.context import AgentContext, ContextT
from gatechart.contrib.errors import AutoTransitionsWarning, NotCarriedError
from gatechart.contrib.transitions.callbacks import MachineCallbacks, raising
from gatechart.contrib.transitions.machine import (
    MachineTransition,
    Seat,
    automatic_triggers,
    machine_faults,
    machine_of,
    moves_of,
    seats_of,
    separator_of,
    with_wildcards,
)
from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.definition import ANY, EntryPoint, Initial, State, Then, Transition, beginning
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.values.names import Name

_MOST_LISTED: Final = 10  # triggers, in a warning
REST: Final = "self"  # the child that is active if a state has no initial child


@overload
def graph_from(
    machine_or_config: Machine | Mapping[str, Any],
    *,
    name: str | None = None,
    version: str = "1",
    entry_points: Sequence[EntryPoint | Name] = (),
    context: type[ContextT],
    auto_transitions: bool | None = None,
) -> StateTransitionGraph[ContextT]: ...


@overload
def graph_from(
    machine_or_config: Machine | Mapping[str, Any],
    *,
    name: str | None = None,
    version: str = "1",
    entry_points: Sequence[EntryPoint | Name] = (),
    auto_transitions: bool | None = None,
) -> AnyGraph: ...


def graph_from(
    machine_or_config: Machine | Mapping[str, Any],
    *,
    name: str | None = None,
    version: str = "1",
    entry_points: Sequence[EntryPoint | Name] = (),
    context: type[AgentContext] = AgentContext,
    auto_transitions: bool | None = None,
) -> AnyGraph:
    """Return a graph that behaves like the machine.

    machine_or_config: a Machine or HierarchicalMachine, or its configuration: its keywords or its markup.
    name: by default the machine's name, else `machine`. entry_points: by default the initial state.
    context: takes the place of the model, with the methods that callbacks name.
    auto_transitions: True keeps the automatic `to_<state>` triggers of a machine, which let every sender put an agent
    into any state. False omits them; None omits them, too, with an AutoTransitionsWarning that names them. Triggers
    that a callback names are always carried over.

    Raises NotCarriedError, which lists everything that cannot be carried over, and InvalidGraphError.

    >>> config = {"states": ["off", "on"], "initial": "off", "transitions": [["pressed", "off", "on"]]}
    >>> [transition.label for transition in graph_from(config, auto_transitions=False).transitions]
    ['off --pressed--> on']
    """
    machine = machine_of(machine_or_config)
    carrying = _MachineConversion(machine, context, with_automatic=bool(auto_transitions))
    states = tuple(map(carrying.state, carrying.seats))
    transitions = carrying.transitions()
    faults = (*machine_faults(machine, carrying.triggers), *carrying.callbacks.faults)
    chart = name or str(machine.name).removesuffix(": ") or "machine"
    if faults:
        raise NotCarriedError(f"the machine {chart!r}", tuple(dict.fromkeys(faults)))
    if carrying.left_out and auto_transitions is None:
        warn(_left_out(chart, carrying.left_out), AutoTransitionsWarning, stacklevel=2)
    initial = None if machine.initial is None else Initial(_names(machine.initial))
    return StateTransitionGraph(
        chart,
        version=version,
        context=context,
        states=states,
        transitions=transitions,
        entry_points=tuple(entry_points) or (beginning(initial, states),),
        initial=initial,
    )


class _MachineConversion:
    """The conversion of one machine into a graph."""

    def __init__(self, machine: Machine, context: type[AgentContext], *, with_automatic: bool) -> None:
        self.seats = seats_of(machine)
        automatic = automatic_triggers(machine, self.seats)
        self._automatic = {trigger: is_named or with_automatic for trigger, is_named in automatic.items()}
        self.callbacks = MachineCallbacks(machine, context)
        self._machine = machine
        self._separator = separator_of(machine)
        self._by_name = {seat.name: seat for root in self.seats for seat in root.walk()}

    @property
    def triggers(self) -> tuple[str, ...]:
        """The triggers of the machine that are carried over."""
        return tuple(trigger for trigger in self._machine.events if self._automatic.get(trigger, True))

    @property
    def left_out(self) -> tuple[str, ...]:
        """The automatic triggers that are not carried over, in alphabetical order."""
        return tuple(sorted(trigger for trigger, is_carried in self._automatic.items() if not is_carried))

    def state(self, seat: Seat) -> State[Any]:
        """Convert a state with its descendants."""
        place, state = f"state {seat.name!r}", seat.state
        children = [self.state(child) for child in seat.children]
        initial = getattr(state, "initial", None)
        parallel = isinstance(initial, list) and len(initial) > 1
        if children and initial is None:
            children.insert(0, State(f"{seat.name}{self._separator}{REST}"))
        return State(
            seat.name,
            on_entry=self.callbacks.actions(self._callbacks_of("on_enter", seat), f"{place}, on_enter"),
            on_exit=self.callbacks.actions(self._callbacks_of("on_exit", seat), f"{place}, on_exit"),
            after=self._timeout(seat),
            states=children,
            initial=None if parallel or initial is None else [self._below(seat, child) for child in _names(initial)],
            parallel=parallel,
            final=state.final,
        )

    def transitions(self) -> list[Transition[Any]]:
        """Return all transitions, in the order that the machine tries them."""
        moves = list(moves_of(self._machine, self.seats, self._automatic))
        moves = [move for move in moves if move.event not in self._automatic or not any(self._faults(move))]
        self.callbacks.faults.extend(fault for move in moves for fault in self._faults(move))
        if not isinstance(self._machine, HierarchicalMachine):
            left = tuple(seat.name for seat in self._by_name.values() if not seat.state.final)
            moves = with_wildcards(moves, left)
        return [edge for number, move in enumerate(moves) for edge in self._transitions(number, move)]

    def _callbacks_of(self, slot: str, seat: Seat) -> list[Any]:
        """Return the callbacks of a slot, with the method named after slot and state, if the context has one."""
        callbacks = list(getattr(seat.state, slot))
        method = f"{slot}_{seat.name}"
        return callbacks if method in callbacks or not hasattr(self.callbacks.context, method) else [*callbacks, method]

    def _timeout(self, seat: Seat) -> dict[Any, Then] | None:
        timeout_s = getattr(seat.state, "timeout", 0)
        if not timeout_s:
            return None
        place = f"state {seat.name!r}, on_timeout"
        return {timeout_s: Then(actions=self.callbacks.actions(seat.state.on_timeout, place))}

    def _below(self, seat: Seat, child: str) -> str:
        return f"{seat.name}{self._separator}{child}"

    def _faults(self, move: MachineTransition) -> Iterator[Fault]:
        known = tuple(self._by_name)
        for end in (move.source, move.target):
            if end is not None and end not in known:
                yield Fault(move.place, f"unknown state {end!r}", suggestion(end, known))
                return
        source = self._by_name[move.source]
        if source.state.final:
            remedy = "drop final=True, or list the sources instead of '*'"
            yield Fault(move.place, "it leaves a final state, where agents end", remedy)
        if isinstance(getattr(source.state, "initial", None), list) and self._is_inside(move):
            problem = "it leads from a parallel state into one of its regions"
            yield Fault(move.place, problem, "let it leave a state of that region")

    def _is_inside(self, move: MachineTransition) -> bool:
        return move.target is not None and move.target.startswith(move.source + self._separator)

    def _transitions(self, number: int, move: MachineTransition) -> Iterator[Transition[Any]]:
        """Yield the transition and, if it has actions after the entries, the transition that runs them."""
        machine, actions, found = self._machine, self.callbacks.actions, move.transition
        before = actions([*machine.before_state_change, *found.before], f"{move.place}, before")
        after = actions([*found.after, *machine.after_state_change], f"{move.place}, after", move.event)
        guard = self.callbacks.guard(found.prepare, found.conditions, move.place)
        after_event = f"transitions.after.{'_'.join(move.event.split())}.{number}"
        raises_after = bool(after) and move.target is not None and not self._is_end(move.target)
        does = [*before, raising(after_event)] if raises_after else before + after
        yield Transition(
            move.source, move.event, move.target, guard=guard, actions=does, internal=self._is_inside(move)
        )
        if raises_after:
            yield Transition(ANY, after_event, actions=after)

    def _is_end(self, target: str) -> bool:
        return any(seat.name == target and seat.state.final for seat in self.seats)


def _left_out(chart: str, triggers: Sequence[str]) -> str:
    """Return the text of the warning."""
    some = ", ".join(triggers[:_MOST_LISTED]) + ", …" * (len(triggers) > _MOST_LISTED)
    return (
        f"{len(triggers)} automatic triggers of the machine {chart!r} were left out: {some}; "
        "pass auto_transitions=True to keep them, or False to leave them out without this warning"
    )


def _names(states: Any) -> tuple[str, ...]:
    """Return the names of one or several states, given as texts or Enum members."""
    several = states if isinstance(states, list) else [states]
    return tuple(state.name if isinstance(state, Enum) else str(state) for state in several)
