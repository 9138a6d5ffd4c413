"""What `<send>` and `<donedata>` put into an event: `<param>`, `<content>`, `namelist`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from gatechart.interop.scxml.expressions import Value
from gatechart.interop.scxml.faults import Faults
from gatechart.interop.scxml.scope import LimitError, Scope
from gatechart.interop.scxml.system import payload_of
from gatechart.interop.scxml.xml import Element

_MOST_DIGITS: Final = 300

Parts: TypeAlias = Callable[[Scope], Mapping[str, Any]]  # raises EvaluationError


def payload_parts(element: Element, faults: Faults) -> Parts:
    """The payload that the element describes, as a function of a scope."""
    params, contents = element.named("param"), element.named("content")
    names = element.attributes.get("namelist", "").split()
    if contents and (params or names or len(contents) > 1):
        faults.add(element, "<content> stands alone", "give it one <content>, or names and values")
    if contents:
        value = faults.expression(contents[0], "expr") or partial(_constant, _inside(contents[0], faults))
        return lambda scope: payload_of(value(scope))
    fields: list[tuple[str, Value]] = [(name, partial(_variable, name)) for name in names]
    fields += [(param.attributes.get("name", ""), _param(param, faults)) for param in params]
    return lambda scope: {name: value(scope) for name, value in fields}


def _inside(element: Element, faults: Faults) -> Any:
    try:
        return json_or_text(element.text)
    except LimitError as error:
        faults.add(element, str(error), "even it out")


def json_or_text(text: str) -> Any:
    """JSON where it is, else the text with its white space made even. Raises LimitError.

    >>> json_or_text(" [1, 2] "), json_or_text(" one  two ")
    ([1, 2], 'one two')
    """
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise LimitError("the JSON inside has too many arrays and objects in each other; make less depth") from None
    except ValueError:
        return " ".join(text.split())


def _integer(text: str) -> int | float:
    """A number, as large ones are in ECMAScript."""
    return int(text) if len(text) < _MOST_DIGITS else float(text)


def _param(param: Element, faults: Faults) -> Value:
    value = faults.expression(param, "expr") or faults.expression(param, "location")
    if value is None:
        faults.add(param, "it has no value", "give it expr= or location=")
    return value or partial(_constant, None)


def _constant(value: Any, _: Scope) -> Any:
    return value


def _variable(name: str, scope: Scope) -> Any:
    return scope.lookup(name)
