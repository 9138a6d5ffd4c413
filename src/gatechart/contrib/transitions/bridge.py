"""A machine as a graph.

What differs from `transitions`, by the design of graphs:

- `before` runs between the exits and the entries, as actions of a transition do; `after` runs when all is entered, as
  the targetless transition of an event that the transition raises (into a final state of the chart: before it).
- The entry actions of the state in which an agent begins do run.
- A trigger named as a callback is raised: it is taken after the microstep, not in the middle of it.
- A trigger takes the events that its name is a prefix of, in whole words: `error` takes `error.execution`.
- A callback that raises undoes its turn, unless a transition takes `error.execution`; there, the machine stays in the
  new state if the error was in `on_enter` or `after`. A condition that raises counts as false; there, it raises.
- An event that nothing takes is refused and changes nothing, what `prepare` did included.
- A transition from a state to one more than a level below it exits the children on the way, even those it enters again.
- What regions of a parallel state do together follows SCXML.
- `to_<state>` triggers, which `auto_transitions` makes, come over where `graph_from` is asked for them, where a
  callback names them and where transitions were added to them. They lead neither out of final states, where agents
  end, nor from a parallel state into a region of it.
- A trigger with spaces in its name is an event with spaces. Its words are events that it takes as well.
- A state with children and without an initial one can be rested in: it gets a first child `<state>_self`.
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
from gatechart.contrib.transitions.callbacks import Callbacks, raising
from gatechart.contrib.transitions.machine import (
    Move,
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

_MOST_TOLD: Final = 10  # triggers, in a warning
REST: Final = "self"  # the child in which a state without an initial child rests


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
    """Return the graph that does what the machine does.

    machine_or_config: a Machine or HierarchicalMachine, or what one is made of: its keywords or its markup.
    name: the machine's where left out, else `machine`. entry_points: the initial state where left out.
    context: stands in for the model: has the methods that callbacks name.
    auto_transitions: True keeps the `to_<state>` triggers that a machine makes of itself, with which whoever may send
    to an agent may put it anywhere. False leaves them out; None does, too, and warns with an AutoTransitionsWarning
    that names them. Those that a callback names always come over.

    Raises NotCarriedError, which names all that cannot be carried over, and InvalidGraphError.

    >>> config = {"states": ["off", "on"], "initial": "off", "transitions": [["pressed", "off", "on"]]}
    >>> [transition.label for transition in graph_from(config, auto_transitions=False).transitions]
    ['off --pressed--> on']
    """
    machine = machine_of(machine_or_config)
    carrying = _Carrying(machine, context, with_automatic=bool(auto_transitions))
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


class _Carrying:
    """The conversion of one machine into a graph."""

    def __init__(self, machine: Machine, context: type[AgentContext], *, with_automatic: bool) -> None:
        self.seats = seats_of(machine)
        made = automatic_triggers(machine, self.seats)
        self._automatic = {trigger: is_named or with_automatic for trigger, is_named in made.items()}
        self.callbacks = Callbacks(machine, context)
        self._machine = machine
        self._separator = separator_of(machine)
        self._by_name = {seat.name: seat for root in self.seats for seat in root.walk()}

    @property
    def triggers(self) -> tuple[str, ...]:
        """Those of the machine that are carried over."""
        return tuple(trigger for trigger in self._machine.events if self._automatic.get(trigger, True))

    @property
    def left_out(self) -> tuple[str, ...]:
        """The automatic triggers that are not carried over, in alphabetical order."""
        return tuple(sorted(trigger for trigger, is_carried in self._automatic.items() if not is_carried))

    def state(self, seat: Seat) -> State[Any]:
        """Return the state with all inside it."""
        place, state = f"state {seat.name!r}", seat.state
        children = [self.state(child) for child in seat.children]
        initial = getattr(state, "initial", None)
        parallel = isinstance(initial, list) and len(initial) > 1
        if children and initial is None:
            children.insert(0, State(f"{seat.name}{self._separator}{REST}"))
        return State(
            seat.name,
            on_entry=self.callbacks.actions(self._noted("on_enter", seat), f"{place}, on_enter"),
            on_exit=self.callbacks.actions(self._noted("on_exit", seat), f"{place}, on_exit"),
            after=self._timeout(seat),
            states=children,
            initial=None if parallel or initial is None else [self._below(seat, each) for each in _names(initial)],
            parallel=parallel,
            final=state.final,
        )

    def transitions(self) -> list[Transition[Any]]:
        """Return all transitions, in the order in which the machine tries them."""
        moves = list(moves_of(self._machine, self.seats, self._automatic))
        moves = [move for move in moves if move.event not in self._automatic or not any(self._faults(move))]
        self.callbacks.faults.extend(fault for move in moves for fault in self._faults(move))
        if not isinstance(self._machine, HierarchicalMachine):
            left = tuple(seat.name for seat in self._by_name.values() if not seat.state.final)
            moves = with_wildcards(moves, left)
        return [each for number, move in enumerate(moves) for each in self._transitions(number, move)]

    def _noted(self, slot: str, seat: Seat) -> list[Any]:
        """Return the callbacks of a slot, with the method named after slot and state, if the context has one."""
        noted = list(getattr(seat.state, slot))
        method = f"{slot}_{seat.name}"
        return noted if method in noted or not hasattr(self.callbacks.context, method) else [*noted, method]

    def _timeout(self, seat: Seat) -> dict[Any, Then] | None:
        timeout_s = getattr(seat.state, "timeout", 0)
        if not timeout_s:
            return None
        place = f"state {seat.name!r}, on_timeout"
        return {timeout_s: Then(actions=self.callbacks.actions(seat.state.on_timeout, place))}

    def _below(self, seat: Seat, child: str) -> str:
        return f"{seat.name}{self._separator}{child}"

    def _faults(self, move: Move) -> Iterator[Fault]:
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
            problem = "it goes from a parallel state into a region of it"
            yield Fault(move.place, problem, "let it leave a state of that region")

    def _is_inside(self, move: Move) -> bool:
        return move.target is not None and move.target.startswith(move.source + self._separator)

    def _transitions(self, number: int, move: Move) -> Iterator[Transition[Any]]:
        """Yield the transition, and where something is to be done after the entries, the one that does it."""
        machine, actions, found = self._machine, self.callbacks.actions, move.transition
        before = actions([*machine.before_state_change, *found.before], f"{move.place}, before")
        after = actions([*found.after, *machine.after_state_change], f"{move.place}, after", move.event)
        guard = self.callbacks.guard(found.prepare, found.conditions, move.place)
        told = f"transitions.after.{'_'.join(move.event.split())}.{number}"
        is_told = bool(after) and move.target is not None and not self._is_end(move.target)
        does = [*before, raising(told)] if is_told else before + after
        yield Transition(
            move.source, move.event, move.target, guard=guard, actions=does, internal=self._is_inside(move)
        )
        if is_told:
            yield Transition(ANY, told, actions=after)

    def _is_end(self, target: str) -> bool:
        return any(seat.name == target and seat.state.final for seat in self.seats)


def _left_out(chart: str, triggers: Sequence[str]) -> str:
    """Return what the warning says."""
    some = ", ".join(triggers[:_MOST_TOLD]) + ", …" * (len(triggers) > _MOST_TOLD)
    return (
        f"{len(triggers)} automatic triggers of the machine {chart!r} were left out: {some}; "
        "pass auto_transitions=True to keep them, or False to leave them out without this warning"
    )


def _names(states: Any) -> tuple[str, ...]:
    """Return the names of one state or several, texts or Enum members."""
    several = states if isinstance(states, list) else [states]
    return tuple(state.name if isinstance(state, Enum) else str(state) for state in several)
