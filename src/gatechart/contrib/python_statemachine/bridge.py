"""A class as a graph.

What differs from `python-statemachine`, by the design of graphs:

- `before` runs between the exits and the entries, as `on` does; `after` runs when all is entered, as the targetless
  transition of an event that the transition raises (into a final state of the chart: before its entry).
- A validator denies by raising, as there; the event is refused, with the error as the reason.
- An action that raises undoes its turn, unless a transition takes `error.execution`. There, a StateChart raises that
  event, drops it if nothing takes it, and the transition stands, unless the error was in `before`. A StateMachine
  raises the error, and the transition stands if it was in `after`.
- A guard that raises counts as false, and raises `error.execution`. There, a StateMachine raises the error.
- An internal transition of a state of a StateChart to itself leaves the state and enters it again; there, it enters it
  without leaving it.
- An internal transition of a state of a StateMachine to a state inside it enters that state; there, it only leaves what
  is active inside.
- An event that nothing takes is refused and changes nothing.
- A history state without a transition of its own leads where its parent begins while it remembers nothing; there, the
  machine is then in no state at all.
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
    """Return the graph that does what machines of the class do.

    machine: a StateMachine or StateChart of `python-statemachine`, version 3; not an instance.
    name: the class's where left out. entry_points: the initial state where left out.
    context: stands in for machine and model: has the methods and fields that callbacks name.

    Raises NotCarriedError, which names all that cannot be carried over, and InvalidGraphError.
    """
    carrying = _Carrying(machine, context)
    roots = [each for each in machine.states if each.parent is None]  # type: ignore[attr-defined]
    states = [carrying.state(each) for each in roots]
    transitions = [each for root in roots for each in carrying.transitions(root)]
    chart = name or machine.__name__
    if carrying.callbacks.faults:
        raise NotCarriedError(f"the class {chart!r}", tuple(dict.fromkeys(carrying.callbacks.faults)))
    initial = Initial([each.id for each in roots if each.initial][:1] or [roots[0].id])
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
        self._told = 0  # transitions with something to do once all is entered

    def state(self, found: Any) -> State[Any]:
        """Return a state with all inside it."""
        place, specs = f"state {found.id!r}", list(found._specs)
        if self.callbacks.actions(specs, "INVOKE", place):
            self._lose(place, "its invoke is not carried over", "write Invoke(...) in the graph's own state")
        if getattr(found, "donedata", None):
            self._lose(place, "its donedata is not carried over", "keep it in the context")
        begins = [target.id for each in found.transitions if each.initial for target in each.targets]
        inside = [*found.states, *found.history]
        return State(
            found.id,
            on_entry=self.callbacks.actions(specs, "ENTER", place),
            on_exit=self.callbacks.actions(specs, "EXIT", place),
            states=[self.history(each) if each in found.history else self.state(each) for each in inside],
            initial=None if found.parallel or not begins else begins,
            parallel=found.parallel,
            final=found.final,
        )

    def history(self, found: Any) -> State[Any]:
        """Return a history state; without a transition it leads where its parent begins."""
        default = next((each.targets for each in found.transitions), None)
        begins = [target for each in found.parent.transitions if each.initial for target in each.targets]
        kind = "deep" if str(getattr(found.type, "value", found.type)) == "deep" else "shallow"
        return State(found.id, history=kind, initial=[each.id for each in default or begins])

    def transitions(self, found: Any) -> Iterator[Transition[Any]]:
        """Yield the transitions of a state and of those inside it, in the order in which they are asked."""
        for each in found.transitions:
            if not each.initial:
                yield from self._transition(each)
        for child in found.states:
            yield from self.transitions(child)

    def _transition(self, found: Any) -> Iterator[Transition[Any]]:
        source, specs = found.source.id, list(found._specs)
        events: list[str | None] = [self._event(each, source) for each in found.events]
        for event in dict.fromkeys(events or [None]):
            place = f"transition {event!r} from {source!r}"
            before = [*self.callbacks.actions(specs, "BEFORE", place), *self.callbacks.actions(specs, "ON", place)]
            after = self.callbacks.actions(specs, "AFTER", place)
            guard = self.callbacks.guard(specs, place)
            stays = found.internal and not self.machine.enable_self_transition_entries
            targets = None if stays and found.is_self else [each.id for each in found.targets]
            is_internal = found.internal and not found.is_self and bool(targets)
            is_told = bool(after) and targets is not None and not self._is_end(found)
            self._told += is_told
            told = f"python_statemachine.after.{self._told}"
            does = [*before, _raising(told)] if is_told else before + after
            yield Transition(source, event, targets, guard=guard, actions=does, internal=is_internal)
            if is_told:
                yield Transition(ANY, told, actions=after)

    def _event(self, event: Any, source: str) -> str:
        if getattr(event, "delay", 0):
            self._lose(f"event {event.id!r} from {source!r}", "its delay is not carried over", "write after={...}")
        return str(event.id)

    def _is_end(self, found: Any) -> bool:
        return any(each.final and each.parent is None for each in found.targets)

    def _lose(self, place: str, problem: str, remedy: str) -> None:
        self.callbacks.faults.append(Fault(place, problem, remedy))


def _raising(event: str) -> Action[Any]:
    def act(_: Any, happened: Event, turn: Turn[Any]) -> None:
        turn.raise_event(event, happened.payload)

    act.__name__ = f"raise {event}"
    act.raises = (event,)  # type: ignore[attr-defined]  # for gatechart.checks.RaisesEvents
    return act
