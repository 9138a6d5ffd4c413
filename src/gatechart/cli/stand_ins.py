"""Stand-ins for the functions and types that a chart file names and that do not exist yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic import BaseModel

from gatechart.context import AgentContext


class StandIns:
    """Stand-ins for the unbound names of a chart file: guards ask, and actions are recorded."""

    def __init__(self, ask: Callable[[str], bool]) -> None:
        """ask: returns the answer to the question of a guard."""
        self.names: dict[str, str] = {}  # the unbound names, with their kinds
        self.acted: list[str] = []  # calls of actions, which did nothing
        self._ask = ask

    def __call__(self, kind: str, name: str) -> Any:
        """See `gatechart.charts.load`."""
        self.names.setdefault(name, kind)
        if kind in _ANYTHING:
            return type(name, (_ANYTHING[kind],), {})
        function: Callable[..., Any] = {"guard": self._guard, "action": self._action}.get(kind, _no_effect)(name)
        function.__name__ = name
        return function

    def _guard(self, name: str) -> Callable[..., Any]:
        def guard(_context: Any, event: Any, **params: Any) -> bool:
            event.payload  # noqa: B018  if the payload is unknown, this ends the guard before it asks
            return self._ask(_call(name, params))

        return guard

    def _action(self, name: str) -> Callable[..., Any]:
        def action(_context: Any, _event: Any, **params: Any) -> None:
            self.acted.append(_call(name, params))

        return action


class _AnyContext(AgentContext, extra="allow"):
    """A context with any fields."""


class _AnyPayload(BaseModel, extra="allow"):
    """A payload with any fields."""


_ANYTHING: Final[dict[str, type[BaseModel]]] = {"AgentContext": _AnyContext, "BaseModel": _AnyPayload}


def _no_effect(_name: str) -> Callable[..., Any]:
    """Return a function without an effect: the data of a final state, or an invoke, which is held anyway."""
    return lambda *_args, **_params: {}


def _call(name: str, params: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in params.items())})" if params else name
