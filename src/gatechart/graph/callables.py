"""Guards and actions as functions: their names, their numbers of parameters, and whether they are async."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from gatechart.values.frozen import value


@value
class ActionCall:
    """An action, ready to be called."""

    function: Callable[..., Any]
    name: str
    is_async: bool
    takes_turn: bool  # called with (context, event, turn) rather than (context, event)


@value
class Ask:
    """A guard, ready to be called."""

    function: Callable[..., Any]
    name: str
    takes_configuration: bool  # called with (context, event, configuration) rather than (context, event)
    takes_counts: bool = False  # called only with the counts of the agent's transfers


def callable_name(function: object) -> str:
    """Return the name of a callable: its own, the name of a partial's function, or the name of its class.

    >>> callable_name(partial(print, "hello"))
    'print'
    """
    function = unwrapped(function)
    return getattr(function, "__name__", None) or type(function).__name__


def unwrapped(function: Any) -> Any:
    """Return the function inside partials, nested to any depth, or the function itself."""
    while isinstance(function, partial):
        function = function.func
    return function


def ask_of(guard: Callable[..., Any]) -> Ask:
    """Wrap a guard for turns."""
    counts = bool(getattr(guard, "asks_counts", False))
    return Ask(guard, callable_name(guard), not counts and takes_third(guard, "configuration"), counts)


def step_of(action: Callable[..., Any]) -> ActionCall:
    """Wrap an action for turns."""
    return ActionCall(action, callable_name(action), is_async(action), takes_third(action, "turn"))


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a call returns an awaitable."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def yields(function: Callable[..., Any]) -> bool:
    """Return whether a call returns a generator, which runs nothing by itself."""
    callables = (function, getattr(function, "__call__", None))  # noqa: B004
    return any(inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code) for code in callables)


def takes_third(function: Callable[..., Any], name: str) -> bool:
    """Return whether the function takes a third argument: it requires one, or has a parameter with this name.

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
    """Return whether it accepts one of these numbers of positional arguments; True if it has no signature."""
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
