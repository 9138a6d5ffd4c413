"""What the system variables `_event`, `_sessionid` and `_ioprocessors` say, and where it is kept.

Only a document that asks for more than `_event.name` and `_event.data` has it kept: in two fields of the context and
under one key of the payloads that it sends.

Source: W3C SCXML, https://www.w3.org/TR/scxml/, sections 5.10 and C.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gatechart.contrib.scxml.xml import Element
from gatechart.values import Event

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
    """The target that stands for a session.

    >>> origin_of("a1")
    '#_scxml_a1'
    """
    return f"#_scxml_{session}"


def processors_of(session: str) -> dict[str, Any]:
    """`_ioprocessors`: the SCXML event processor under both of its names."""
    return {name: {"location": origin_of(session)} for name in ("scxml", PROCESSOR)}


def described(event: Event) -> dict[str, Any]:
    """`_event`: without an envelope, an event comes from outside, or is an error or the end of a state.

    Only these errors are the platform's; others are events of somebody else's that are called so.
    """
    envelope = event.payload.get(ENVELOPE)
    told = envelope if isinstance(envelope, Mapping) else {}
    fields = {field: told.get(field) for field in EVENT_FIELDS}
    is_own = event.name in _OWN_ERRORS or event.name.startswith("done.state.")
    kind = "platform" if is_own else "external"
    return fields | {"name": event.name, "type": fields["type"] or kind, "data": data_of(event.payload)}


def data_of(payload: Mapping[str, Any]) -> Any:
    """What an event carries as `_event.data`.

    >>> data_of({}), data_of({"a": 1}), data_of({CONTENT: "text"})
    (None, {'a': 1}, 'text')
    """
    data = {key: value for key, value in payload.items() if key != ENVELOPE}
    return data[CONTENT] if list(data) == [CONTENT] else data or None


def payload_of(data: Any) -> Mapping[str, Any]:
    """The payload that carries the data of an event."""
    if data is None:
        return {}
    return data if isinstance(data, Mapping) else {CONTENT: data}
