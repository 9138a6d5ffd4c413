"""Write parts of a chart file as data: the interface of a graph's writer, and the shortest form of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Protocol

from gatechart.graph.definition import Invoke
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.graph.selection import Best


class Writer(Protocol):
    """The writer of a graph, for the parts inside the declarations of features."""

    def handoff(self, handoff: Handoff) -> dict[str, Any]:
        """Return a handoff as data."""
        ...

    def fallbacks(self, fallbacks: Fallbacks | None) -> dict[str, Any]:
        """Return fallbacks as data, under their key."""
        ...

    def invoke(self, invoke: Invoke) -> Any:
        """Return an invoke as data."""
        ...

    def function(self, function: Callable[..., Any]) -> Any:
        """Return the name of a function."""
        ...

    def name(self, name: str, meaning: object) -> str:
        """Return a name, which must have only one meaning."""
        ...

    def best(self, best: Best) -> dict[str, Any]:
        """Return the selection of a target as data, under its key."""
        ...

    def guard(self, guard: Callable[..., Any]) -> Any:
        """Return a guard as data."""
        ...

    def functions(self, functions: Iterable[Callable[..., Any]]) -> list[Any]:
        """Return actions as data."""
        ...

    def optional_function(self, function: Callable[..., Any] | None) -> Any:
        """Return the name of a function, if there is one."""
        ...


def without_blanks(**values: Any) -> dict[str, Any]:
    """Drop values that equal the default, because a chart leaves them out."""
    return {key: value for key, value in values.items() if value or (value == 0 and value is not False)}


def state_reference(state: str) -> str:
    """Return the state's name, marked as an id if it would be read as a path.

    >>> state_reference("IDLE"), state_reference("a.b")
    ('IDLE', '#a.b')
    """
    return f"#{state}" if "." in state or state.startswith("#") else state


def delay_data(delay: Any) -> Any:
    """Return a delay as a text or in seconds."""
    return delay.total_seconds() if isinstance(delay, timedelta) else delay


def one_or_many(values: Iterable[Any]) -> Any:
    """Return a single value without its list."""
    items = list(values)
    return items[0] if len(items) == 1 else items
