"""Convert a class to a graph.

Differences from `python-statemachine`, by the design of graphs:

- `before` runs between the exits and the entries, as `on` does. `after` runs after all entries, as the targetless
  transition of an event that the transition raises (into a final state of the chart: before its entry).
- A validator denies by raising, as in the library; the event is refused, with the error as the reason.
- An action that raises undoes its turn, unless a transition handles `error.execution`. In the library, a StateChart
  raises that event, drops it if no transition handles it, and the transition stands, unless the error was in `before`.
  A StateMachine raises the error, and the transition stands if it was in `after`.
- A guard that raises counts as false, and raises `error.execution`. In the library, a StateMachine raises the error.
- An internal transition of a state of a StateChart to itself exits the state and enters it again; in the library, it
  enters the state without exiting it.
- An internal transition of a state of a StateMachine to a state inside it enters that state; in the library, it only
  exits the active states inside.
- An event without a matching transition is refused and changes nothing.
- A history state without a default transition leads to its parent's initial state until it has a memory; in the
  library, the machine then has no active state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from gatechart.context import AgentContext, ContextT
from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.python_statemachine.callbacks import Callbacks
from gatechart.errors.definition import Fault
from gatechart.graph.definition import ANY, Action, EntryPoint, Initial, Precedence, State, Transition, beginning
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event
from gatechart.values.names import Name


@overload
def graph_from(
    machine: type,
    *,
    name: str | None = None,
    version: str = "1",
    entry_points: Sequence[EntryPoint | Name] = (),
    context: type[ContextT],
) -> StateTransitionGraph[ContextT]: ...


@overload
def graph_from(
    machine: type,
    *,
    name: str | None = None,
    version: str = "1",
    entry_points: Sequence[EntryPoint | Name] = (),
) -> AnyGraph: ...


def graph_from(
    machine: type,
    *,
    name: str | None = None,
    version: str = "1",
    entry_points: Sequence[EntryPoint | Name] = (),
    context: type[AgentContext] = AgentContext,
) -> AnyGraph:
    """Return a graph that behaves like machines of the class.

    machine: a StateMachine or StateChart of `python-statemachine`, version 3; not an instance.
    name: by default the name of the class. entry_points: by default the initial state.
    context: takes the place of machine and model, with the methods and fields that callbacks name.
    Raises NotCarriedError, which lists everything that cannot be carried over, and InvalidGraphError.
    """
    carrying = _Carrying(machine, context)
    roots = [state for state in machine.states if state.parent is None]  # type: ignore[attr-defined]
    states = [carrying.state(root) for root in roots]
    transitions = [transition for root in roots for transition in carrying.transitions(root)]
    chart = name or machine.__name__
    if carrying.callbacks.faults:
        raise NotCarriedError(f"the class {chart!r}", tuple(dict.fromkeys(carrying.callbacks.faults)))
    initial = Initial([root.id for root in roots if root.initial][:1] or [roots[0].id])
    return StateTransitionGraph(
        chart,
        version=version,
        context=context,
        states=states,
        transitions=transitions,
        entry_points=tuple(entry_points) or (beginning(initial, states),),
        initial=initial,
        precedence=Precedence.DOCUMENT,
    )


class _Carrying:
    """The conversion of one class into a graph."""

    def __init__(self, machine: type, context: type[AgentContext]) -> None:
        self.machine: Any = machine
        self.callbacks = Callbacks(machine, context)
        self._after_events = 0  # number of transitions with actions after the entries

    def state(self, found: Any) -> State[Any]:
        """Convert a state with its descendants."""
        place, specs = f"state {found.id!r}", list(found._specs)
        if self.callbacks.actions(specs, "INVOKE", place):
            self._lose(place, "its invoke is not carried over", "write Invoke(...) in the graph's own state")
        if getattr(found, "donedata", None):
            self._lose(place, "its donedata is not carried over", "keep it in the context")
        begins = [target.id for edge in found.transitions if edge.initial for target in edge.targets]
        inside = [*found.states, *found.history]
        return State(
            found.id,
            on_entry=self.callbacks.actions(specs, "ENTER", place),
            on_exit=self.callbacks.actions(specs, "EXIT", place),
            states=[self.history(child) if child in found.history else self.state(child) for child in inside],
            initial=None if found.parallel or not begins else begins,
            parallel=found.parallel,
            final=found.final,
        )

    def history(self, found: Any) -> State[Any]:
        """Convert a history state; without a transition it leads to its parent's initial state."""
        default = next((edge.targets for edge in found.transitions), None)
        begins = [target for edge in found.parent.transitions if edge.initial for target in edge.targets]
        kind = "deep" if str(getattr(found.type, "value", found.type)) == "deep" else "shallow"
        return State(found.id, history=kind, initial=[target.id for target in default or begins])

    def transitions(self, found: Any) -> Iterator[Transition[Any]]:
        """Yield the transitions of a state and its descendants, in the order that the machine tries them."""
        for edge in found.transitions:
            if not edge.initial:
                yield from self._transition(edge)
        for child in found.states:
            yield from self.transitions(child)

    def _transition(self, found: Any) -> Iterator[Transition[Any]]:
        source, specs = found.source.id, list(found._specs)
        events: list[str | None] = [self._event(event, source) for event in found.events]
        for event in dict.fromkeys(events or [None]):
            place = f"transition {event!r} from {source!r}"
            before = [*self.callbacks.actions(specs, "BEFORE", place), *self.callbacks.actions(specs, "ON", place)]
            after = self.callbacks.actions(specs, "AFTER", place)
            guard = self.callbacks.guard(specs, place)
            stays = found.internal and not self.machine.enable_self_transition_entries
            targets = None if stays and found.is_self else [target.id for target in found.targets]
            is_internal = found.internal and not found.is_self and bool(targets)
            raises_after = bool(after) and targets is not None and not self._is_end(found)
            self._after_events += raises_after
            after_event = f"python_statemachine.after.{self._after_events}"
            actions = [*before, _raising(after_event)] if raises_after else before + after
            yield Transition(source, event, targets, guard=guard, actions=actions, internal=is_internal)
            if raises_after:
                yield Transition(ANY, after_event, actions=after)

    def _event(self, event: Any, source: str) -> str:
        if getattr(event, "delay", 0):
            self._lose(f"event {event.id!r} from {source!r}", "its delay is not carried over", "write after={...}")
        return str(event.id)

    def _is_end(self, found: Any) -> bool:
        return any(target.final and target.parent is None for target in found.targets)

    def _lose(self, place: str, problem: str, remedy: str) -> None:
        self.callbacks.faults.append(Fault(place, problem, remedy))


def _raising(event: str) -> Action[Any]:
    def act(_: Any, happened: Event, turn: Turn[Any]) -> None:
        turn.raise_event(event, happened.payload)

    act.__name__ = f"raise {event}"
    act.raises = (event,)  # type: ignore[attr-defined]  # for gatechart.checks.RaisesEvents
    return act
