"""What an expression can see, how its values behave, and how much it may do.

Among what it sees are the system variables `_event`, `_sessionid` and `_ioprocessors`. Only a document that asks for
more than `_event.name` and `_event.data` has the rest kept: in two fields of the context and under one key of the
payloads that it sends.

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
CONTENT: Final = "scxml.content"  # the one key of a payload that stands for data without names
ENVELOPE: Final = "scxml.event"  # the key of a payload for what `_event` says beside name and data
SESSION: Final = "scxml_session"  # the field of a context for `_sessionid`
BOUND: Final = "scxml_bound"  # the field of a context for the elements whose data have been bound
EVENT_FIELDS: Final = ("name", "type", "sendid", "origin", "origintype", "invokeid", "data")
_OWN_ERRORS: Final = ("error.execution", "error.communication")
_SESSION: Final = re.compile(r"\b(_sessionid|_ioprocessors)\b")
_BEYOND_DATA: Final = re.compile(r"\b_event\b(?!\s*(\.\s*|\[\s*['\"])(name|data)\b)")


def asks_for_session(element: Element) -> bool:
    """Whether an expression of the element or inside it has `_sessionid` or `_ioprocessors`."""
    return any(_SESSION.search(text) for text in _texts(element))


def asks_for_envelope(root: Element) -> bool:
    """Whether an expression has more of `_event` than name and data."""
    return any(_BEYOND_DATA.search(text) for text in _texts(root))


def _texts(element: Element) -> Iterator[str]:
    return (text for each in element.walk() for text in each.attributes.values())


def origin_of(session: str) -> str:
    """Return the target that stands for a session.

    >>> origin_of("a1")
    '#_scxml_a1'
    """
    return f"#_scxml_{session}"


def processors_of(session: str) -> dict[str, Any]:
    """Return `_ioprocessors`: the SCXML event processor under both of its names."""
    return {name: {"location": origin_of(session)} for name in ("scxml", PROCESSOR)}


def described(event: Event) -> dict[str, Any]:
    """Return `_event`: without an envelope, an event comes from outside, or is an error or the end of a state.

    Only these errors are the platform's; others are events of somebody else's that are called so.
    """
    envelope = event.payload.get(ENVELOPE)
    told = envelope if isinstance(envelope, Mapping) else {}
    fields = {field: told.get(field) for field in EVENT_FIELDS}
    is_own = event.name in _OWN_ERRORS or event.name.startswith("done.state.")
    kind = "platform" if is_own else "external"
    return fields | {"name": event.name, "type": fields["type"] or kind, "data": data_of(event.payload)}


def data_of(payload: Mapping[str, Any]) -> Any:
    """Return what an event carries as `_event.data`.

    >>> data_of({}), data_of({"a": 1}), data_of({CONTENT: "text"})
    (None, {'a': 1}, 'text')
    """
    data = {key: value for key, value in payload.items() if key != ENVELOPE}
    return data[CONTENT] if list(data) == [CONTENT] else data or None


def payload_of(data: Any) -> Mapping[str, Any]:
    """Return the payload that carries the data of an event."""
    if data is None:
        return {}
    return data if isinstance(data, Mapping) else {CONTENT: data}


class EvaluationError(Exception):
    """An expression has no value, or what was asked for cannot be done with it.

    event: that tells of it. sent_id: of the `<send>` that failed.
    """

    def __init__(self, message: str, event: str = ERROR_EXECUTION, sent_id: str | None = None) -> None:
        super().__init__(message)
        self.event = event
        self.sent_id = sent_id


class LimitError(EvaluationError):
    """An expression does or makes more than it may. Its message names the limit; with a place, the element as well."""

    def __init__(self, message: str, *, is_placed: bool = False) -> None:
        super().__init__(message)
        self.is_placed = is_placed


MOST_STEPS: Final = 1_000_000
"""Of what is evaluated at once: a condition, the executable content of a turn, all data of a document."""

LEAST_STEPS: Final = 1_000  # of a block in a turn that has none left, so that it can still tell of that

MOST_SIZE: Final = 1_000_000
"""Of a value: values inside it and characters, each counted as often as it occurs."""

MOST_DEPTH: Final = 150  # of arrays and objects in each other, as in payloads
EVENT_STEPS: Final = 100  # of an event that is raised or sent: it is taken later, in steps that nobody counts
_LARGEST: Final = int(sys.float_info.max)
_SEEN: Final = 10  # values or characters that are looked at in one step


@dataclass(slots=True)
class Budget:
    """How much may still be done, in steps of about a microsecond."""

    left: int = MOST_STEPS

    def spend(self, steps: int) -> None:
        """Spend steps. Raises LimitError if there are not enough."""
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"it takes more than {MOST_STEPS:,} steps; do less at once")

    def checked(self, value: Any) -> Any:
        """Return the value. Raises LimitError if it is too large."""
        if isinstance(value, str):
            self._look(len(value))
        elif isinstance(value, list | dict):
            self._look_through(value)
        elif isinstance(value, int):
            check_number(value)
        return value

    def _look(self, size: int) -> None:
        self.spend(size // _SEEN)
        if size > MOST_SIZE:
            raise LimitError(f"it makes a value of more than {MOST_SIZE:,} values and characters; make less")

    def _look_through(self, value: Any) -> None:
        """Spend the size of a value. What occurs several times counts as often, because a copy has it as often."""
        level: list[Any] = [value]
        size = 0
        for _ in range(MOST_DEPTH):
            size += len(level)
            size += sum(len(each) for each in level if isinstance(each, str))
            holders = [each for each in level if isinstance(each, list | dict) and each]
            if not holders:
                self._look(size)
                return
            if size + sum(map(len, holders)) > MOST_SIZE:
                self._look(MOST_SIZE + 1)
            level = [
                inner for each in holders for inner in ((*each, *each.values()) if isinstance(each, dict) else each)
            ]
        raise LimitError(f"more than {MOST_DEPTH} arrays and objects lie in each other; make less depth")


def check_number(number: int) -> None:
    """Raise LimitError for an integer beyond the range of a float."""
    if not -_LARGEST <= number <= _LARGEST:
        raise LimitError("it makes a number of more than 308 digits; make a smaller one")


@dataclass(frozen=True, slots=True)
class Scope:
    """The data, the event, and what is active, at one moment."""

    context: Any  # its attributes are the variables of the data model
    event: Event | None = None
    active: frozenset[str] = frozenset()
    chart: str = ""
    budget: Budget = field(default_factory=Budget)  # of all that is evaluated with this scope

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
    """Return the scope of content in a turn. All of it shares one budget: a chart may run a block a thousand times."""
    log = log_of(turn)
    budget = Budget(max(LEAST_STEPS, MOST_STEPS - log.steps))
    given = budget.left
    try:
        yield Scope(context, event, log.active, chart, budget)
    finally:
        log.steps += given - budget.left


def is_true(value: Any) -> bool:
    """Whether a condition with this value holds, as in ECMAScript: an empty array or object does.

    >>> is_true([]), is_true(""), is_true(0), is_true("0")
    (True, False, False, True)
    """
    if isinstance(value, list | dict):
        return True
    return bool(value) and value == value  # noqa: PLR0124  NaN is not itself


def shortened(text: str) -> str:
    """Return the text, shortened for an error."""
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
    """Return a float without a fraction as the integer that it is; JSON and ECMAScript know only one kind of number."""
    return int(number) if isinstance(number, float) and math.isfinite(number) and number.is_integer() else number


def number_of(value: Any) -> int | float:
    """Return a number, or a truth value as one. Raises EvaluationError."""
    if kind_of(value) not in ("number", "boolean"):
        raise EvaluationError(f"{shortened(text_of(value))!r} is not a number")
    number: int | float = +value
    return number


def kind_of(value: Any) -> str:
    """Return what `typeof` says; null and undefined are one here."""
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
    """Apply `==`: equality after reading texts and truth values beside numbers as numbers."""
    simple = ("number", "string", "boolean")
    if kind_of(left) != kind_of(right) and kind_of(left) in simple and kind_of(right) in simple:
        try:
            return float(left or 0) == float(right or 0)
        except (ValueError, OverflowError):
            return False
    return is_same(left, right)
