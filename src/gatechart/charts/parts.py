"""What a chart can hold that code has no function or type for: fixed data, initial values, exceptions from a guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from pydantic import create_model

from gatechart.context import AgentContext, canonical_json
from gatechart.graph import callable_name
from gatechart.graph.callables import takes_third


class Fixed:
    """The data of a final state that stand in the chart; their name is their JSON text."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self.__name__ = canonical_json(self.values)

    def __call__(self, _context: Any, _event: Any) -> dict[str, Any]:
        """A copy of the values."""
        return deepcopy(self.values)

    def __repr__(self) -> str:
        return f"Fixed({self.values!r})"


class Except:
    """A guard that says no to some events, and asks another guard, if there is one, about all others."""

    def __init__(self, events: tuple[str, ...], guard: Callable[..., Any] | None = None) -> None:
        self.events = events
        self.guard = guard
        inner = () if guard is None else (callable_name(guard),)
        self.__name__ = " and ".join((*inner, *(f"not {event}" for event in events)))
        self._takes_configuration = guard is not None and takes_third(guard, "configuration")

    def __call__(self, context: Any, event: Any, configuration: frozenset[str] = frozenset()) -> bool:
        """Whether the event is another one and the guard agrees."""
        if event.name in self.events:
            return False
        if self.guard is None:
            return True
        third = (configuration,) if self._takes_configuration else ()
        return bool(self.guard(context, event, *third))

    def __repr__(self) -> str:
        return f"Except({self.events!r}, {self.guard!r})"


class InitialContext(AgentContext):
    """The base of context types that are made from a chart's initial values; their fields take any JSON value."""


def context_of(values: Mapping[str, Any]) -> type[InitialContext]:
    """A type whose contexts begin with the values, which are JSON values."""
    fields: dict[str, Any] = {name: (Any, value) for name, value in values.items()}
    return create_model("Context", __base__=InitialContext, __module__=__name__, **fields)


def initial_values(context: type[InitialContext]) -> dict[str, Any]:
    """The values from which a type was made."""
    return {name: info.default for name, info in context.model_fields.items()}


def cannot_be_field(name: str) -> bool:
    """Whether pydantic has no field of this name."""
    return name.startswith("_") or hasattr(InitialContext, name)
