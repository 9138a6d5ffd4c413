"""What `<send>` and `<donedata>` put into an event: `<param>`, `<content>`, `namelist`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from gatechart.contrib.scxml.expressions import Value
from gatechart.contrib.scxml.faults import Faults
from gatechart.contrib.scxml.scope import EvaluationError, LimitError, Scope
from gatechart.contrib.scxml.system import payload_of
from gatechart.contrib.scxml.xml import Element
from gatechart.errors import PayloadError
from gatechart.turn import plain_payload

_MOST_DIGITS: Final = 300

Parts: TypeAlias = Callable[[Scope], Mapping[str, Any]]  # raises EvaluationError
DoneParts: TypeAlias = Callable[[Scope, Callable[[EvaluationError], None]], Mapping[str, Any]]


def payload_parts(element: Element, faults: Faults) -> Parts:
    """The payload that the element describes, as a function of a scope."""
    parts = _parts(element, faults)
    return lambda scope: {name: value for part in parts for name, value in part(scope).items()}


def done_parts(element: Element, faults: Faults) -> DoneParts:
    """The payload that `<donedata>` describes. What has an error is left out, and the second argument is told of it.

    Source: W3C SCXML, https://www.w3.org/TR/scxml/, sections 5.6 and 5.7.
    """
    parts = _parts(element, faults)

    def payload(scope: Scope, tell: Callable[[EvaluationError], None]) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for part in parts:
            try:
                found |= plain_payload(part(scope), "donedata")
            except EvaluationError as error:
                tell(error)
            except PayloadError as error:
                tell(EvaluationError(str(error)))
        return found

    return payload


def _parts(element: Element, faults: Faults) -> tuple[Parts, ...]:
    """One for `<content>`, or one for each name."""
    params, contents = element.named("param"), element.named("content")
    names = element.attributes.get("namelist", "").split()
    if contents and (params or names or len(contents) > 1):
        faults.add(element, "<content> stands alone", "give it one <content>, or names and values")
    if contents:
        value = faults.expression(contents[0], "expr") or partial(_constant, constant_of(contents[0], faults))
        return (lambda scope: payload_of(value(scope)),)
    fields: list[tuple[str, Value]] = [(name, partial(_variable, name)) for name in names]
    fields += [(param.attributes.get("name", ""), _param(param, faults)) for param in params]
    return tuple(partial(_field, name, value) for name, value in fields)


def _field(name: str, value: Value, scope: Scope) -> Mapping[str, Any]:
    return {name: value(scope)}


def constant_of(element: Element, faults: Faults) -> Any:
    """Return the JSON value inside the element, or else its text; a fault is noted if it is beyond the limits."""
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
