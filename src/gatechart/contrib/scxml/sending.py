"""`<send>` from an agent to itself, for a separate turn or within the current one; and the payloads of events.

Payloads come from `<param>`, `<content>`, `namelist` and `<donedata>`. Source: W3C SCXML,
https://www.w3.org/TR/scxml/, sections 5.6, 5.7, 6.2 and C.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Final, TypeAlias

from gatechart.contrib.scxml.expressions import Place, Value
from gatechart.contrib.scxml.faults import FaultCollector
from gatechart.contrib.scxml.scope import (
    ENVELOPE,
    EVENT_STEPS,
    MOST_DEPTH,
    PROCESSOR,
    EvaluationError,
    LimitError,
    Scope,
    origin_of,
    payload_of,
    shortened,
    text_of,
)
from gatechart.contrib.scxml.xml import Element
from gatechart.errors.event import PayloadError, ReservedEventError
from gatechart.turn.arguments import plain_payload
from gatechart.turn.turn_context import Turn
from gatechart.values.delays import seconds_of
from gatechart.values.nesting import depth_exceeds

_MOST_DIGITS: Final = 300

Parts: TypeAlias = Callable[[Scope], Mapping[str, Any]]  # raises EvaluationError
DoneParts: TypeAlias = Callable[[Scope, Callable[[EvaluationError], None]], Mapping[str, Any]]


def payload_parts(element: Element, faults: FaultCollector) -> Parts:
    """Compile the payload of the element to a function of a scope."""
    parts = _parts(element, faults)
    return lambda scope: {name: value for part in parts for name, value in part(scope).items()}


def done_parts(element: Element, faults: FaultCollector) -> DoneParts:
    """Compile the payload of `<donedata>`. Failing parts are omitted, and passed to the second argument.

    Source: W3C SCXML, https://www.w3.org/TR/scxml/, sections 5.6 and 5.7.
    """
    parts = _parts(element, faults)

    def payload(scope: Scope, report: Callable[[EvaluationError], None]) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for part in parts:
            try:
                found |= plain_payload(part(scope), "donedata")
            except EvaluationError as error:
                report(error)
            except PayloadError as error:
                report(EvaluationError(str(error)))
        return found

    return payload


def _parts(element: Element, faults: FaultCollector) -> tuple[Parts, ...]:
    """Return one function for `<content>`, or one for each name."""
    params, contents = element.named("param"), element.named("content")
    names = element.attributes.get("namelist", "").split()
    if contents and (params or names or len(contents) > 1):
        faults.add(element, "<content> excludes other values", "give it one <content>, or names and values")
    if contents:
        value = faults.expression(contents[0], "expr") or partial(_constant, constant_of(contents[0], faults))
        return (lambda scope: payload_of(value(scope)),)
    fields: list[tuple[str, Value]] = [(name, partial(_variable, name)) for name in names]
    fields += [(param.attributes.get("name", ""), _param(param, faults)) for param in params]
    return tuple(partial(_field, name, value) for name, value in fields)


def _field(name: str, value: Value, scope: Scope) -> Mapping[str, Any]:
    return {name: value(scope)}


def constant_of(element: Element, faults: FaultCollector) -> Any:
    """Return the JSON value inside the element, else its text. Adds a fault if it exceeds a limit."""
    try:
        return json_or_text(element.text)
    except LimitError as error:
        faults.add(element, str(error), "make it smaller")


def json_or_text(text: str) -> Any:
    """Parse JSON, or normalize the spaces of other text. Raises LimitError.

    >>> json_or_text(" [1, 2] "), json_or_text(" one  two ")
    ([1, 2], 'one two')
    """
    try:
        value = json.loads(text, parse_int=_integer)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        value = " ".join(text.split())
        if _brackets(value) > MOST_DEPTH:  # the parser's limit, which differs between versions of Python
            raise _too_deep() from None
    if depth_exceeds(value, MOST_DEPTH):
        raise _too_deep()
    return value


def _brackets(text: str) -> int:
    """Return the nesting depth of brackets and braces in a text."""
    steps = (1 if char in "[{" else -1 for char in text if char in "[]{}")
    return max(accumulate(steps), default=0)


def _too_deep() -> LimitError:
    return LimitError(f"arrays and objects are nested more than {MOST_DEPTH} deep; nest them less")


def _integer(text: str) -> int | float:
    """Parse an integer; a large one becomes a float, as in ECMAScript."""
    return int(text) if len(text) < _MOST_DIGITS else float(text)


def _param(param: Element, faults: FaultCollector) -> Value:
    value = faults.expression(param, "expr") or faults.expression(param, "location")
    if value is None:
        faults.add(param, "it has no value", "give it expr= or location=")
    return value or partial(_constant, None)


def _constant(value: Any, _: Scope) -> Any:
    return value


def _variable(name: str, scope: Scope) -> Any:
    return scope.lookup(name)


INTERNAL: Final = "#_internal"
ERROR_COMMUNICATION: Final = "error.communication"


def sending(element: Element, faults: FaultCollector) -> SendElement:
    """Compile a `<send>`, and add its faults."""
    attributes = element.attributes
    if attributes.get("target") == INTERNAL and ("delay" in attributes or "delayexpr" in attributes):
        faults.add(element, "an internal event cannot be delayed", "drop target='#_internal', or the delay")
    return SendElement(
        event=text_value(element, "event", faults),
        target=text_value(element, "target", faults),
        kind=text_value(element, "type", faults),
        delay=_delay(element, faults),
        parts=payload_parts(element, faults),
        id=attributes.get("id"),
        keep_id=faults.location(element, "idlocation") if "idlocation" in attributes else None,
        has_envelope=faults.wants_envelope,
    )


@dataclass(frozen=True, slots=True)
class SendElement:
    """A compiled `<send>`. A call sends the event or raises EvaluationError."""

    event: Value
    target: Value
    kind: Value
    delay: Value
    parts: Parts
    id: str | None
    keep_id: Place | None
    has_envelope: bool

    def __call__(self, scope: Scope, turn: Turn) -> None:
        """Send the event. Stores the id first, so that it is set even if sending fails."""
        sent_id = self.id or (turn.new_id() if self.keep_id else None)
        if self.keep_id:
            self.keep_id(scope, sent_id)
        try:
            self._post(scope, turn, sent_id)
        except (PayloadError, ReservedEventError) as error:
            raise EvaluationError(str(error), sent_id=sent_id) from error
        except LimitError:
            raise
        except EvaluationError as error:
            raise EvaluationError(str(error), error.event, sent_id) from error

    def _post(self, scope: Scope, turn: Turn, sent_id: str | None) -> None:
        name, payload, after_s = self.event(scope), self.parts(scope), _seconds(self.delay(scope))
        if not isinstance(name, str) or not name:
            raise EvaluationError(f"{text_of(name)} cannot name an event")
        scope.budget.spend(EVENT_STEPS)
        scope.budget.checked(dict(payload))
        is_internal = _is_internal(self.target(scope), self.kind(scope), turn.agent_id)
        if is_internal and after_s:
            raise EvaluationError("an internal event cannot be delayed")
        if self.has_envelope:
            payload = {**payload, ENVELOPE: _envelope(is_internal, sent_id, turn.agent_id)}
        if is_internal:
            turn.raise_event(name, payload)
        else:
            turn.after(after_s, name, payload, key=sent_id, replaces=False)


def _envelope(is_internal: bool, sent_id: str | None, session: str) -> Mapping[str, Any]:
    if is_internal:
        return {"type": "internal", "sendid": sent_id}
    return {"type": "external", "sendid": sent_id, "origin": origin_of(session), "origintype": PROCESSOR}


def _is_internal(target: Any, kind: Any, session: str) -> bool:
    """Whether the event goes to the internal queue, else to the external one. Raises EvaluationError."""
    if kind not in (None, "", "scxml", PROCESSOR):
        raise EvaluationError(f"unknown event processor {text_of(kind)!r}")
    if target in (None, "", origin_of(session), INTERNAL):
        return bool(target == INTERNAL)
    if isinstance(target, str) and target.startswith("#_"):
        raise EvaluationError(f"{target!r} cannot be reached; an agent sends only to itself", ERROR_COMMUNICATION)
    raise EvaluationError(f"{text_of(target)!r} is not a target")


def _delay(element: Element, faults: FaultCollector) -> Value:
    text = element.attributes.get("delay", "0s")
    if seconds_of(text) is None:
        faults.add(element, f"delay={shortened(text)!r} is not a duration", "write '500ms' or '1.5s'")
    return faults.expression(element, "delayexpr") or (lambda _: text)


def _seconds(delay: Any) -> float:
    seconds = seconds_of(str(delay))
    if seconds is None:
        raise EvaluationError(f"{delay!r} is not a duration; write '500ms' or '1.5s'")
    return seconds


def text_value(element: Element, attribute: str, faults: FaultCollector) -> Value:
    """Return a function for an attribute: its text, or the value of the attribute with the suffix `expr`."""
    text = element.attributes.get(attribute, "")
    return faults.expression(element, f"{attribute}expr") or (lambda _: text)
