"""What callers may pass: ids and names that every store can keep, numbers that every store can count to."""

from __future__ import annotations

from typing import Final

from gatechart.errors import PayloadError, UnknownAgentError
from gatechart.values import AgentId, EventName, Name, name_of

MOST: Final = 2**62  # what a database can count to, with room for one more


def checked_id(id: str | None) -> str | None:  # noqa: A002
    """The id, as it came. Raises PayloadError where it is neither None nor a text that every store can keep."""
    if id is None or _is_kept(id):
        return id
    raise PayloadError("id", (f"it is {id!r}",), "a text that is not empty and has no NUL, or None")


def checked_name(event: Name) -> EventName:
    """The name of an event. Raises PayloadError where it is no text that every store can keep."""
    name = name_of(event)
    if _is_kept(name):
        return name
    raise PayloadError("event", (f"its name is {name!r}",), "a text that is not empty, or an Enum member")


def known_id(id: AgentId) -> AgentId:  # noqa: A002
    """The id, as it came. Raises UnknownAgentError where no agent can have it."""
    if _is_kept(id):
        return id
    raise UnknownAgentError(id)


def check_part(call: str, after: int, limit: int | None) -> None:
    """Raises PayloadError where there can be no such part of a history."""
    if not _is_count(after) or not (limit is None or _is_count(limit)):
        raise PayloadError(call, (f"after is {after!r}, limit is {limit!r}",), "whole numbers from 0 on")


def check_limit(call: str, limit: int) -> None:
    """Raises PayloadError where a page cannot have so many entries."""
    if not _is_count(limit) or limit == 0:
        raise PayloadError(call, (f"limit is {limit!r}",), "a whole number of 1 or more")


def _is_count(number: object) -> bool:
    return isinstance(number, int) and 0 <= number < MOST


def _is_kept(text: object) -> bool:
    return isinstance(text, str) and text != "" and "\0" not in text and (text.isascii() or _is_unicode(text))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
