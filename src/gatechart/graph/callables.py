"""Guards and actions as functions: their names, how many parameters they take, and whether they must be awaited."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from gatechart.values.frozen import value


@value
class Step:
    """An action, ready to be called."""

    function: Callable[..., Any]
    name: str
    is_async: bool
    takes_turn: bool  # (context, event, turn) rather than (context, event)


@value
class Ask:
    """A guard, ready to be called."""

    function: Callable[..., Any]
    name: str
    takes_configuration: bool  # (context, event, configuration) rather than (context, event)
    takes_counts: bool = False  # the counts of the agent's transfers alone


def callable_name(function: object) -> str:
    """Return the name of a callable: its own, the name of a partial's function, or the name of its class.

    >>> callable_name(partial(print, "hello"))
    'print'
    """
    function = unwrapped(function)
    return getattr(function, "__name__", None) or type(function).__name__


def unwrapped(function: Any) -> Any:
    """Return the function of a partial, however often it is wrapped, or the function itself."""
    while isinstance(function, partial):
        function = function.func
    return function


def ask_of(guard: Callable[..., Any]) -> Ask:
    """Wrap a guard for the turn."""
    counts = bool(getattr(guard, "asks_counts", False))
    return Ask(guard, callable_name(guard), not counts and takes_third(guard, "configuration"), counts)


def step_of(action: Callable[..., Any]) -> Step:
    """Wrap an action for the turn."""
    return Step(action, callable_name(action), is_async(action), takes_third(action, "turn"))


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether a call returns an awaitable."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def yields(function: Callable[..., Any]) -> bool:
    """Tell whether a call returns a generator, which runs nothing by itself."""
    called = (function, getattr(function, "__call__", None))  # noqa: B004
    return any(inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each) for each in called)


def takes_third(function: Callable[..., Any], name: str) -> bool:
    """Tell whether the function takes a third argument: it requires one, or has a parameter of this name.

    >>> takes_third(lambda context, event, limit=3: None, "turn")
    False
    >>> takes_third(lambda context, event, turn=None: None, "turn")
    True
    """
    signature = _signature(function)
    if signature is None or not _fits(signature, 3):
        return False
    return name in signature.parameters or not _fits(signature, 2)


def fits(function: Callable[..., Any], *counts: int) -> bool:
    """Tell whether it accepts one of these counts of positional arguments; True if it has no signature."""
    signature = _signature(function)
    return signature is None or any(_fits(signature, count) for count in counts)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none
        return None


def _fits(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True
