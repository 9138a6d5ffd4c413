"""Callbacks of a machine as guards and actions of a graph: the context takes the place of the model.

A text names a method or a field of the context type, or a trigger, which is then raised within the turn. A function is
called as in `transitions`: with the payload as keywords or, with `send_event=True`, with an `EventData`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any

from transitions import Machine

from gatechart.context import AgentContext
from gatechart.errors.definition import Fault
from gatechart.graph.callables import callable_name
from gatechart.graph.definition import Action, Guard
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event
from gatechart.values.names import STARTED


@dataclass(frozen=True, slots=True)
class Trigger:
    """The event of an EventData."""

    name: str


@dataclass(frozen=True, slots=True)
class EventData:
    """The argument of callbacks if the machine has `send_event=True`."""

    model: AgentContext
    event: Trigger
    kwargs: dict[str, Any]
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineCallbacks:
    """The callbacks of one machine as guards and actions, with a fault for each callback that cannot be converted."""

    machine: Machine
    context: type[AgentContext]
    faults: list[Fault] = field(default_factory=list)

    def actions(self, callbacks: Iterable[Any], place: str, trigger: str = "") -> list[Action[Any]]:
        """Return an action for each callback. trigger: the event of their EventData; by default the current one."""
        found = (self._action(callback, place, trigger) for callback in callbacks)
        return [action for action in found if action is not None]

    def guard(self, prepare: Sequence[Any], conditions: Sequence[Any], place: str) -> Guard[Any] | None:
        """Return a guard that calls `prepare`, then the conditions until one fails."""
        if not prepare and not conditions:
            return None
        before = [self._call(callback, place) for callback in prepare]
        checks = [(self._call(condition.func, place), condition.target) for condition in conditions]

        def guard(context: Any, event: Event) -> bool:
            for call in before:
                call(context, event, "")
            return all(call(context, event, "") == wanted for call, wanted in checks)

        names = [("" if condition.target else "not ") + _name(condition.func) for condition in conditions]
        guard.__name__ = " and ".join(names) or "after " + ", ".join(map(_name, prepare))
        return guard

    def _action(self, callback: Any, place: str, trigger: str) -> Action[Any] | None:
        name = self._own_name(callback)
        if name in self.machine.events and not self._is_of_context(name):
            return raising(name)
        function = getattr(self.context, name, None) if name else callback
        call = self._call(callback, place, may_wait=True)

        async def act_later(context: Any, event: Event) -> None:
            await call(context, event, trigger)

        def act(context: Any, event: Event) -> None:
            call(context, event, trigger)

        action = act_later if iscoroutinefunction(function) else act
        action.__name__ = _name(callback)
        return action

    def _call(self, callback: Any, place: str, *, may_wait: bool = False) -> Callable[[Any, Event, str], Any]:
        """Return the callback as a function of context, event and the event's name for it."""
        name = self._own_name(callback)
        if name and not self._is_of_context(name):
            problem = f"the callback {name!r} of the model is unknown"
            remedy = f"give {self.context.__name__} a method {name}, or pass a function"
            self.faults.append(Fault(place, problem, remedy))
        if not may_wait and iscoroutinefunction(getattr(self.context, name, None) if name else callback):
            self.faults.append(Fault(place, f"{_name(callback)} is async", "make it a plain function"))
        send_event = self.machine.send_event

        def call(context: Any, event: Event, trigger: str) -> Any:
            function = getattr(context, name) if name else callback
            if not callable(function):
                return function
            payload = {} if event.name.startswith(STARTED) else dict(event.payload)
            if send_event:
                return function(EventData(context, Trigger(trigger or event.name), payload))
            return function(**payload)

        return call

    def _own_name(self, callback: Any) -> str:
        """Return the name of a model's method, which the context must have; empty for a function."""
        if isinstance(callback, str):
            return callback
        owner = getattr(callback, "__self__", None)
        return callback.__name__ if any(owner is model for model in self.machine.models) else ""

    def _is_of_context(self, name: str) -> bool:
        return hasattr(self.context, name) or name in self.context.model_fields


def raising(trigger: str) -> Action[Any]:
    """Return an action that raises the trigger with the payload of the current event."""

    def act(_: Any, event: Event, turn: Turn) -> None:
        turn.raise_event(trigger, event.payload)

    act.__name__ = f"raise {trigger}"
    act.raises = (trigger,)  # type: ignore[attr-defined]  # for gatechart.checks.RaisesEvents
    return act


def _name(callback: Any) -> str:
    return callback if isinstance(callback, str) else callable_name(callback)
