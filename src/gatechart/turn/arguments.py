"""What senders may pass: ids and names that every store can keep, moments that every clock can tell."""

from __future__ import annotations

from datetime import datetime

from gatechart.errors import PayloadError, ReservedEventError, UnknownAgentError
from gatechart.values import AgentId, EventName, Mode, Name, Reason, is_reserved, name_of


def checked_id(id: str | None) -> str | None:  # noqa: A002
    """The id, as it came. Raises PayloadError where it is neither None nor a text that every store can keep."""
    if id is None or _is_kept(id):
        return id
    raise PayloadError("id", (f"it is {id!r}",), "a text that is not empty and has no NUL, or None")


def checked_name(event: Name) -> EventName:
    """Return the name of an event that anyone but the framework sends. Every way in to an agent passes here.

    Raises PayloadError if it is not a text that every store can keep, ReservedEventError if it is the framework's own.
    """
    name = raised_name(event)
    if is_reserved(name):
        raise ReservedEventError(name)
    return name


def raised_name(event: Name) -> EventName:
    """Return the name of an event that a turn raises for itself, which may be any. Raises PayloadError."""
    name = name_of(event)
    if _is_kept(name):
        return name
    raise PayloadError("event", (f"its name is {name!r}",), "a text that is not empty, or an Enum member")


def check_due(due: datetime | None) -> None:
    """Raises PayloadError where the moment has no time zone."""
    if due is not None and (not isinstance(due, datetime) or due.tzinfo is None):
        raise PayloadError("due", (f"it is {due!r}",), "a datetime with a time zone, or None")


def known_id(id: AgentId) -> AgentId:  # noqa: A002
    """The id, as it came. Raises UnknownAgentError where no agent can have it."""
    if _is_kept(id):
        return id
    raise UnknownAgentError(id)


def checked_mode(mode: Mode | str) -> Mode:
    """The mode. Raises PayloadError where there is none of this name."""
    if isinstance(mode, Mode) or mode in list(Mode):
        return Mode(mode)
    raise PayloadError("handoff", (f"its mode is {mode!r}",), " or ".join(repr(each.value) for each in Mode))


def checked_reason(reason: Reason | str) -> Reason:
    """The reason. Raises PayloadError where there is none of this name."""
    if isinstance(reason, Reason) or reason in list(Reason):
        return Reason(reason)
    raise PayloadError("handoff", (f"its reason is {reason!r}",), " or ".join(repr(each.value) for each in Reason))


def _is_kept(text: object) -> bool:
    return isinstance(text, str) and text != "" and "\0" not in text and (text.isascii() or _is_unicode(text))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
