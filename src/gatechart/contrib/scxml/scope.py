"""The scope of expressions, the behavior of their values, and their limits.

The scope includes the system variables `_event`, `_sessionid` and `_ioprocessors`. Only documents that use more than
`_event.name` and `_event.data` store the rest: in two fields of the context, and under one key of the payloads that
they send.

Source: W3C SCXML, https://www.w3.org/TR/scxml/, sections 5.10 and C.1.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from gatechart.contrib.scxml.xml import Element
from gatechart.turn.turn_context import ERROR_EXECUTION, Turn, log_of
from gatechart.values.agents import Event
from gatechart.values.names import STARTED

PROCESSOR: Final = "http://www.w3.org/TR/scxml/#SCXMLEventProcessor"
CONTENT: Final = "scxml.content"  # the only key of a payload for data without names
ENVELOPE: Final = "scxml.event"  # the key of a payload for the fields of `_event` except name and data
SESSION: Final = "scxml_session"  # the field of a context for `_sessionid`
BOUND: Final = "scxml_bound"  # the field of a context for the elements with bound data
EVENT_FIELDS: Final = ("name", "type", "sendid", "origin", "origintype", "invokeid", "data")
_OWN_ERRORS: Final = ("error.execution", "error.communication")
_SESSION: Final = re.compile(r"\b(_sessionid|_ioprocessors)\b")
_BEYOND_DATA: Final = re.compile(r"\b_event\b(?!\s*(\.\s*|\[\s*['\"])(name|data)\b)")


def asks_for_session(element: Element) -> bool:
    """Whether an expression in the element or its descendants uses `_sessionid` or `_ioprocessors`."""
    return any(_SESSION.search(text) for text in _texts(element))


def asks_for_envelope(root: Element) -> bool:
    """Whether an expression uses fields of `_event` other than name and data."""
    return any(_BEYOND_DATA.search(text) for text in _texts(root))


def _texts(element: Element) -> Iterator[str]:
    return (text for part in element.walk() for text in part.attributes.values())


def origin_of(session: str) -> str:
    """Return the target of a session.

    >>> origin_of("a1")
    '#_scxml_a1'
    """
    return f"#_scxml_{session}"


def processors_of(session: str) -> dict[str, Any]:
    """Return `_ioprocessors`: the SCXML event processor under both its names."""
    return {name: {"location": origin_of(session)} for name in ("scxml", PROCESSOR)}


def described(event: Event) -> dict[str, Any]:
    """Return `_event`. Without an envelope, an event is external, or of the platform: an error, or a state's end.

    Only these errors are the platform's; external events may have similar names.
    """
    envelope = event.payload.get(ENVELOPE)
    sent = envelope if isinstance(envelope, Mapping) else {}
    fields = {field: sent.get(field) for field in EVENT_FIELDS}
    is_own = event.name in _OWN_ERRORS or event.name.startswith("done.state.")
    kind = "platform" if is_own else "external"
    return fields | {"name": event.name, "type": fields["type"] or kind, "data": data_of(event.payload)}


def data_of(payload: Mapping[str, Any]) -> Any:
    """Return the payload of an event as `_event.data`.

    >>> data_of({}), data_of({"a": 1}), data_of({CONTENT: "text"})
    (None, {'a': 1}, 'text')
    """
    data = {key: value for key, value in payload.items() if key != ENVELOPE}
    return data[CONTENT] if list(data) == [CONTENT] else data or None


def payload_of(data: Any) -> Mapping[str, Any]:
    """Return the payload for the data of an event."""
    if data is None:
        return {}
    return data if isinstance(data, Mapping) else {CONTENT: data}


class EvaluationError(Exception):
    """An expression has no value, or an operation on its value is not possible.

    event: the name of the error event. sent_id: the id of the failed `<send>`.
    """

    def __init__(self, message: str, event: str = ERROR_EXECUTION, sent_id: str | None = None) -> None:
        super().__init__(message)
        self.event = event
        self.sent_id = sent_id


class LimitError(EvaluationError):
    """An expression exceeds a limit. The message names the limit; if `is_placed`, the element as well."""

    def __init__(self, message: str, *, is_placed: bool = False) -> None:
        super().__init__(message)
        self.is_placed = is_placed


MOST_STEPS: Final = 1_000_000
"""Of one evaluation: a condition, the executable content of a turn, or all data of a document."""

LEAST_STEPS: Final = 1_000  # of a block in a turn that has none left, so that it can report this

MOST_SIZE: Final = 1_000_000
"""Of a value: nested values and characters, counted at every occurrence."""

MOST_DEPTH: Final = 150  # of nested arrays and objects, as in payloads
EVENT_STEPS: Final = 100  # of an event that is raised or sent: the steps to handle it later are not counted
_LARGEST: Final = int(sys.float_info.max)
_SEEN: Final = 10  # values or characters examined in one step


@dataclass(slots=True)
class StepBudget:
    """The remaining steps, of about a microsecond each."""

    left: int = MOST_STEPS

    def spend(self, steps: int) -> None:
        """Spend steps. Raises LimitError if there are not enough left."""
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"it takes more than {MOST_STEPS:,} steps; do less at once")

    def checked(self, value: Any) -> Any:
        """Return the value. Raises LimitError if it is too large."""
        if isinstance(value, str):
            self._spend_size(len(value))
        elif isinstance(value, list | dict):
            self._spend_nested(value)
        elif isinstance(value, int):
            check_number(value)
        return value

    def _spend_size(self, size: int) -> None:
        self.spend(size // _SEEN)
        if size > MOST_SIZE:
            raise LimitError(f"a value has more than {MOST_SIZE:,} nested values and characters; make it smaller")

    def _spend_nested(self, value: Any) -> None:
        """Spend the size of a value. Shared parts count at every occurrence, as in a copy."""
        level: list[Any] = [value]
        size = 0
        for _ in range(MOST_DEPTH):
            size += len(level)
            size += sum(len(item) for item in level if isinstance(item, str))
            holders = [item for item in level if isinstance(item, list | dict) and item]
            if not holders:
                self._spend_size(size)
                return
            if size + sum(map(len, holders)) > MOST_SIZE:
                self._spend_size(MOST_SIZE + 1)
            level = [
                inner for item in holders for inner in ((*item, *item.values()) if isinstance(item, dict) else item)
            ]
        raise LimitError(f"arrays and objects are nested more than {MOST_DEPTH} deep; nest them less")


def check_number(number: int) -> None:
    """Raise LimitError for an integer beyond the range of a float."""
    if not -_LARGEST <= number <= _LARGEST:
        raise LimitError("a number has more than 308 digits; use a smaller one")


@dataclass(frozen=True, slots=True)
class Scope:
    """The data, the event and the active states at one moment."""

    context: Any  # its attributes are the variables of the data model
    event: Event | None = None
    active: frozenset[str] = frozenset()
    chart: str = ""
    budget: StepBudget = field(default_factory=StepBudget)  # shared by all evaluations in this scope

    def lookup(self, name: str) -> Any:
        """Return the value of a variable. Raises EvaluationError."""
        if name == "_event":
            return self._event()
        if name == "_name":
            return self.chart
        if name in ("_sessionid", "_ioprocessors"):
            session = self.context.__dict__[SESSION]
            return session if name == "_sessionid" else processors_of(session)
        if name not in self.context.__dict__:
            raise EvaluationError(f"unknown variable {name!r}; declare it with <data id={name!r}/>")
        return self.context.__dict__[name]

    def assign(self, name: str, value: Any) -> None:
        """Set a variable. Raises EvaluationError."""
        if name not in self.context.__dict__:
            raise EvaluationError(f"{name!r} cannot be assigned to; declare it with <data id={name!r}/>")
        setattr(self.context, name, value)

    def _event(self) -> Any:
        """Return `_event`, undefined until the first event."""
        if self.event is None or self.event.name.startswith(STARTED):
            return None
        return described(self.event)


@contextmanager
def scope_in(turn: Turn, context: Any, event: Event, chart: str) -> Iterator[Scope]:
    """Open the scope of content in a turn. All content shares one budget: a chart may run a block a thousand times."""
    log = log_of(turn)
    budget = StepBudget(max(LEAST_STEPS, MOST_STEPS - log.steps))
    before = budget.left
    try:
        yield Scope(context, event, log.active, chart, budget)
    finally:
        log.steps += before - budget.left


def is_true(value: Any) -> bool:
    """Whether a condition with this value holds, as in ECMAScript: an empty array or object does.

    >>> is_true([]), is_true(""), is_true(0), is_true("0")
    (True, False, False, True)
    """
    if isinstance(value, list | dict):
        return True
    return bool(value) and value == value  # noqa: PLR0124  NaN is not itself


def shortened(text: str) -> str:
    """Shorten a text for an error."""
    return text if len(text) <= 200 else f"{text[:200]}..."


def text_of(value: Any) -> str:
    """Return the value as `+` appends it to a text.

    >>> text_of(None), text_of(True), text_of(2.0), text_of([1, "a"])
    ('null', 'true', '2', '1,a')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(text_of, value))
    if isinstance(value, dict):
        return "[object Object]"
    return str(whole(value))


def whole(number: Any) -> Any:
    """Convert a float without a fraction to an integer; JSON and ECMAScript have only one type of number."""
    return int(number) if isinstance(number, float) and math.isfinite(number) and number.is_integer() else number


def number_of(value: Any) -> int | float:
    """Return a number, or convert a boolean to one. Raises EvaluationError."""
    if kind_of(value) not in ("number", "boolean"):
        raise EvaluationError(f"{shortened(text_of(value))!r} is not a number")
    number: int | float = +value
    return number


def kind_of(value: Any) -> str:
    """Return the result of `typeof`; null is the same as undefined."""
    if value is None:
        return "undefined"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "object"


def is_same(left: Any, right: Any) -> bool:
    """Apply `===`: equality without any conversion."""
    return kind_of(left) == kind_of(right) and bool(left == right)


def is_alike(left: Any, right: Any) -> bool:
    """Apply `==`: equality after converting texts and booleans that are compared with numbers."""
    simple = ("number", "string", "boolean")
    if kind_of(left) != kind_of(right) and kind_of(left) in simple and kind_of(right) in simple:
        try:
            return float(left or 0) == float(right or 0)
        except (ValueError, OverflowError):
            return False
    return is_same(left, right)
