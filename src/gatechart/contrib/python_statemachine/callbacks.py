"""Callbacks of a class as guards and actions of a graph: the context takes the place of machine and model.

Callbacks are looked up as in `python-statemachine`, inline or by conventional name, but on the context. A callback gets
arguments by the names of its parameters: values of the payload, `event` (the event's name), `model` and `machine` (both
the context).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gatechart.context import AgentContext
from gatechart.errors.definition import Fault
from gatechart.graph.definition import Action, Guard
from gatechart.values.agents import Event
from gatechart.values.names import STARTED

_NOT_INJECTED: Final = frozenset({"event_data", "source", "state", "target", "transition"})


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The callbacks of one class as guards and actions, with a fault for each callback that cannot be converted."""

    machine: type
    context: type[AgentContext]
    faults: list[Fault] = field(default_factory=list)

    def actions(self, specs: Sequence[Any], group: str, place: str) -> list[Action[Any]]:
        """Return an action for each callback of a group, in the order of the calls."""
        return [_act(name, call) for name, call, _ in self._callbacks_of(specs, group, place)]

    def guard(self, specs: Sequence[Any], place: str) -> Guard[Any] | None:
        """Return a guard that calls validators, which deny by raising, then conditions, until one is false."""
        validators = self._callbacks_of(specs, "VALIDATOR", place, may_wait=False)
        conditions = self._callbacks_of(specs, "COND", place, may_wait=False)
        if not validators and not conditions:
            return None

        def guard(context: Any, event: Event) -> bool:
            for _, call, _ in validators:
                call(context, event)
            return all(bool(call(context, event)) is wanted for _, call, wanted in conditions)

        names = [("" if wanted else "not ") + name for name, _, wanted in (*validators, *conditions)]
        guard.__name__ = " and ".join(names)
        return guard

    def _callbacks_of(
        self, specs: Sequence[Any], group: str, place: str, *, may_wait: bool = True
    ) -> list[tuple[str, Callable[..., Any], bool]]:
        """Return the callbacks of a group with their names and required results."""
        found = []
        for spec in sorted((spec for spec in specs if spec.group.name == group), key=lambda spec: spec.priority):
            name = spec.attr_name
            if spec.is_convention and not hasattr(self.context, name) and not hasattr(self.machine, name):
                continue
            call = self._call(spec, f"{place}, {group.lower()}", may_wait=may_wait)
            if call is not None:
                found.append((name, call, spec.expected_value is not False))
        return found

    def _call(self, spec: Any, place: str, *, may_wait: bool) -> Callable[..., Any] | None:
        name, is_own = spec.attr_name, not callable(spec.func) or "self" in inspect.signature(spec.func).parameters
        if is_own and not name.isidentifier():
            self.faults.append(Fault(place, f"the expression {name!r} is not carried over", "write it as a method"))
            return None
        if is_own and not (hasattr(self.context, name) or name in self.context.model_fields):
            problem = f"{self.context.__name__} has no {name!r}"
            self.faults.append(Fault(place, problem, "give the context a method or field of this name"))
            return None
        function = getattr(self.context, name, None) if is_own else spec.func
        return _injected(name, function, is_own=is_own) if self._fits(function, place, may_wait=may_wait) else None

    def _fits(self, function: Any, place: str, *, may_wait: bool) -> bool:
        before = len(self.faults)
        if not may_wait and inspect.iscoroutinefunction(function):
            self.faults.append(Fault(place, f"{function.__name__} is async", "wait in an invoke, and check its result"))
        for parameter in inspect.signature(function).parameters.values() if callable(function) else ():
            if parameter.name in _NOT_INJECTED and parameter.default is inspect.Parameter.empty:
                problem = f"{function.__name__} needs {parameter.name!r}, which is not available"
                self.faults.append(Fault(place, problem, "use `event`, `model`, or values of the payload"))
        return len(self.faults) == before


def _injected(name: str, function: Any, *, is_own: bool) -> Callable[..., Any]:
    """Return a function that calls the callback with its parameters, or reads a field or property."""

    def call(context: Any, event: Event) -> Any:
        bound = getattr(context, name) if is_own else function
        if not callable(bound):
            return bound
        payload = {} if event.name.startswith(STARTED) else dict(event.payload)
        values = {**payload, "event": event.name, "model": context, "machine": context}
        parameters = inspect.signature(bound).parameters.values()
        if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
            return bound(**values)
        return bound(**{parameter.name: values[parameter.name] for parameter in parameters if parameter.name in values})

    return call


def _act(name: str, call: Callable[..., Any]) -> Action[Any]:
    async def act(context: Any, event: Event) -> None:
        result = call(context, event)
        if inspect.isawaitable(result):
            await result

    act.__name__ = name
    return act
