"""Operators and functions of expressions. They depend only on their operands and change nothing.

Each raises EvaluationError if its values do not fit. Source: ECMA-262, sections 21.3 (`Math`), 22.1.3 (texts),
23.1.3 (arrays), 25.5 (`JSON`).
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from gatechart.contrib.scxml.scope import (
    EvaluationError,
    LimitError,
    Scope,
    is_alike,
    is_same,
    is_true,
    kind_of,
    number_of,
    shortened,
    text_of,
    whole,
)


def call(function: Callable[..., Any], name: str, values: list[Any]) -> Any:
    """Call the function. Raises EvaluationError if the values do not fit."""
    try:
        return whole(function(*values))
    except (TypeError, ArithmeticError, ValueError) as error:
        called = f"{name}({', '.join(map(text_of, values))})"
        raise EvaluationError(f"{shortened(called)} has no value: {error}") from error


def method(name: str, holder: Any, values: list[Any]) -> Any:
    """Call the method of an array or a text. Raises EvaluationError."""
    if not isinstance(holder, list | str):
        raise EvaluationError(f"{shortened(text_of(holder))} has no {name}()")
    return call(partial(METHODS[name], holder), f"{shortened(text_of(holder))}.{name}", values)


def _math(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*map(number_of, values))


def _stringify(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _concat(holder: Any, *others: Any) -> Any:
    if isinstance(holder, str):
        return holder + "".join(map(text_of, others))
    return holder + [item for other in others for item in (other if isinstance(other, list) else [other])]


def _index_of(holder: Any, sought: Any) -> int:
    if isinstance(holder, str):
        return holder.find(text_of(sought))
    return next((number for number, item in enumerate(holder) if is_same(item, sought)), -1)


def _join(holder: Any, between: str = ",") -> str:
    if isinstance(holder, str):
        raise TypeError("only an array is joined")
    return text_of(between).join("" if item is None else text_of(item) for item in holder)


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "Math.abs": _math(abs),
    "Math.ceil": _math(math.ceil),
    "Math.floor": _math(math.floor),
    "Math.max": _math(lambda *numbers: max(numbers)),
    "Math.min": _math(lambda *numbers: min(numbers)),
    "Math.pow": _math(lambda base, power: math.pow(base, power)),
    "Math.round": _math(lambda number: math.floor(number + 0.5)),
    "JSON.stringify": _stringify,
}
METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "concat": _concat,
    "includes": lambda holder, sought: _index_of(holder, sought) >= 0,
    "indexOf": _index_of,
    "join": _join,
}


def logical(sign: str, left: Callable[[Scope], Any], right: Callable[[Scope], Any], scope: Scope) -> Any:
    """Return the operand of `&&` or `||` that decides. Evaluates the right one only if the left one does not decide."""
    scope.budget.spend(1)
    value = left(scope)
    return value if is_true(value) == (sign == "||") else right(scope)


def unary(sign: str, value: Callable[[Scope], Any], scope: Scope) -> Any:
    """Apply `!`, `-` or `+`."""
    scope.budget.spend(1)
    if sign == "!":
        return not is_true(value(scope))
    number = number_of(value(scope))
    return -number if sign == "-" else number


def typeof(value: Callable[[Scope], Any], scope: Scope) -> str:
    """Return the type of a value; 'undefined' if it does not exist."""
    scope.budget.spend(1)
    try:
        return kind_of(value(scope))
    except LimitError:
        raise
    except EvaluationError:
        return "undefined"


def member(holder: Any, key: Any) -> Any:
    """Return a member of an object, an array or a string; null (for undefined) if there is none."""
    if isinstance(holder, Mapping):
        return holder.get(key if isinstance(key, str) else text_of(key))
    if isinstance(holder, list | str):
        if key == "length":
            return len(holder)
        return holder[key] if kind_of(key) == "number" and key in range(len(holder)) else None
    raise EvaluationError(f"{shortened(text_of(holder))} has no members, not even {key!r}")


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        return text_of(left) + text_of(right)
    return whole(number_of(left) + number_of(right))


def _calculate(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def calculate(left: Any, right: Any) -> Any:
        try:
            return whole(operation(number_of(left), number_of(right)))
        except (ArithmeticError, ValueError) as error:
            raise EvaluationError(str(error)) from error

    return calculate


def _compare(operation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            return operation(left, right)
        return operation(number_of(left), number_of(right))

    return compare


def _on_bits(operation: Callable[[int, int], int]) -> Callable[[Any, Any], int]:
    def combine(left: Any, right: Any) -> int:
        return (operation(_bits(left), _bits(right)) + 2**31) % 2**32 - 2**31

    return combine


def _bits(value: Any) -> int:
    number = number_of(value)
    return int(number) if math.isfinite(number) else 0


def _has(key: Any, holder: Any) -> bool:
    """Apply `in`: whether the object or the array has the key."""
    if isinstance(holder, Mapping):
        return text_of(key) in holder
    if isinstance(holder, list):
        return key == "length" or (kind_of(key) == "number" and key in range(len(holder)))
    raise EvaluationError(f"{shortened(text_of(holder))} has no members, not even {key!r}")


BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": _add,
    "-": _calculate(operator.sub),
    "*": _calculate(operator.mul),
    "/": _calculate(operator.truediv),
    "%": _calculate(lambda left, right: left - right * math.trunc(left / right)),
    "<": _compare(operator.lt),
    "<=": _compare(operator.le),
    ">": _compare(operator.gt),
    ">=": _compare(operator.ge),
    "in": _has,
    "&": _on_bits(operator.and_),
    "^": _on_bits(operator.xor),
    "|": _on_bits(operator.or_),
    "==": is_alike,
    "!=": lambda left, right: not is_alike(left, right),
    "===": is_same,
    "!==": lambda left, right: not is_same(left, right),
}
