"""The functions that an expression may call: they look at nothing but their values, and change nothing.

Source: ECMA-262, sections 21.3 (`Math`), 22.1.3 (texts), 23.1.3 (arrays), 25.5 (`JSON`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from gatechart.contrib.scxml.scope import EvaluationError, is_same, number_of, shortened, text_of, whole


def call(function: Callable[..., Any], name: str, values: list[Any]) -> Any:
    """What the function makes of the values. Raises EvaluationError where they do not fit."""
    try:
        return whole(function(*values))
    except (TypeError, ArithmeticError, ValueError) as error:
        told = f"{name}({', '.join(map(text_of, values))})"
        raise EvaluationError(f"{shortened(told)} has no value: {error}") from error


def method(name: str, holder: Any, values: list[Any]) -> Any:
    """What the method of an array or a text makes of the values. Raises EvaluationError."""
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
    return holder + [each for other in others for each in (other if isinstance(other, list) else [other])]


def _index_of(holder: Any, sought: Any) -> int:
    if isinstance(holder, str):
        return holder.find(text_of(sought))
    return next((number for number, each in enumerate(holder) if is_same(each, sought)), -1)


def _join(holder: Any, between: str = ",") -> str:
    if isinstance(holder, str):
        raise TypeError("only an array is joined")
    return text_of(between).join("" if each is None else text_of(each) for each in holder)


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
