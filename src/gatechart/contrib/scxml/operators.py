"""What the signs of an expression do to values. Each raises EvaluationError where its values do not fit."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
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


def logical(sign: str, left: Callable[[Scope], Any], right: Callable[[Scope], Any], scope: Scope) -> Any:
    """`&&` and `||`: the side that decides; the right one is not looked at where the left one does."""
    scope.budget.spend(1)
    value = left(scope)
    return value if is_true(value) == (sign == "||") else right(scope)


def unary(sign: str, value: Callable[[Scope], Any], scope: Scope) -> Any:
    """`!`, `-` and `+`."""
    scope.budget.spend(1)
    if sign == "!":
        return not is_true(value(scope))
    number = number_of(value(scope))
    return -number if sign == "-" else number


def typeof(value: Callable[[Scope], Any], scope: Scope) -> str:
    """The kind of a value; 'undefined' for what is not there."""
    scope.budget.spend(1)
    try:
        return kind_of(value(scope))
    except LimitError:
        raise
    except EvaluationError:
        return "undefined"


def member(holder: Any, key: Any) -> Any:
    """A member of an object, an array or a text; undefined, which is null here, where there is none."""
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
    """`in`: whether the object or the array has the key."""
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
