"""`<send>`: to the agent itself, for a turn of its own or for this one.

Source: W3C SCXML, https://www.w3.org/TR/scxml/, sections 6.2 and C.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gatechart.contrib.scxml.expressions import Place, Value
from gatechart.contrib.scxml.faults import Faults
from gatechart.contrib.scxml.payloads import Parts, payload_parts
from gatechart.contrib.scxml.scope import EVENT_STEPS, EvaluationError, LimitError, Scope, shortened, text_of
from gatechart.contrib.scxml.system import ENVELOPE, PROCESSOR, origin_of
from gatechart.contrib.scxml.xml import Element
from gatechart.errors import PayloadError, ReservedEventError
from gatechart.graph.delays import seconds_of
from gatechart.turn import Turn

INTERNAL: Final = "#_internal"
ERROR_COMMUNICATION: Final = "error.communication"


def sending(element: Element, faults: Faults) -> Sending:
    """The element as something to do, its faults noted."""
    given = element.attributes
    if given.get("target") == INTERNAL and ("delay" in given or "delayexpr" in given):
        faults.add(element, "an internal event cannot be delayed", "drop target='#_internal', or the delay")
    return Sending(
        event=text_value(element, "event", faults),
        target=text_value(element, "target", faults),
        kind=text_value(element, "type", faults),
        delay=_delay(element, faults),
        parts=payload_parts(element, faults),
        id=given.get("id"),
        keep_id=faults.location(element, "idlocation") if "idlocation" in given else None,
        has_envelope=faults.wants_envelope,
    )


@dataclass(frozen=True, slots=True)
class Sending:
    """A `<send>`; called, it sends or raises EvaluationError."""

    event: Value
    target: Value
    kind: Value
    delay: Value
    parts: Parts
    id: str | None
    keep_id: Place | None
    has_envelope: bool

    def __call__(self, scope: Scope, turn: Turn) -> None:
        """The id is kept first, so that it is there when sending fails."""
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
        raise EvaluationError(f"there is no event processor {text_of(kind)!r}")
    if target in (None, "", origin_of(session), INTERNAL):
        return bool(target == INTERNAL)
    if isinstance(target, str) and target.startswith("#_"):
        raise EvaluationError(f"{target!r} cannot be reached; an agent sends only to itself", ERROR_COMMUNICATION)
    raise EvaluationError(f"{text_of(target)!r} is no target")


def _delay(element: Element, faults: Faults) -> Value:
    text = element.attributes.get("delay", "0s")
    if seconds_of(text) is None:
        faults.add(element, f"delay={shortened(text)!r} is no delay", "write '500ms' or '1.5s'")
    return faults.expression(element, "delayexpr") or (lambda _: text)


def _seconds(delay: Any) -> float:
    seconds = seconds_of(str(delay))
    if seconds is None:
        raise EvaluationError(f"{delay!r} is no delay; write '500ms' or '1.5s'")
    return seconds


def text_value(element: Element, attribute: str, faults: Faults) -> Value:
    """An attribute that says it outright, or its twin with an expression."""
    text = element.attributes.get(attribute, "")
    return faults.expression(element, f"{attribute}expr") or (lambda _: text)
