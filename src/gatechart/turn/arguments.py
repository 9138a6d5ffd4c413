"""Checks of what senders pass: ids, names, keys and reasons that every store can keep, and valid times.

Every input passes here, so that all runtimes refuse the same. Names of things that may be older than the limits, such
as the id of an agent that is looked up, may be longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gatechart.errors import NoHandoffError, PayloadError, ReservedEventError, UnknownAgentError, UnknownMailError
from gatechart.values import (
    LONGEST_NAME,
    LONGEST_REASON,
    AgentId,
    EventName,
    Mode,
    Name,
    Reason,
    in_utc,
    is_count,
    is_reserved,
    name_of,
    unkept,
)

_SHOWN = 60  # characters of a refused text shown in the error


def checked_id(given: str | None, what: str = "id") -> str | None:
    """Return the id unchanged. Raises PayloadError unless it is None or a text that every store can keep.

    what: what the id names, for the error.
    """
    return None if given is None else checked_key(given, what)


def checked_key(key: str, what: str = "key") -> str:
    """Return the id, name or key unchanged. Raises PayloadError if it is not a text that every store can keep."""
    problem = unkept(key, LONGEST_NAME) or ("" if key else "it is empty")
    if not problem:
        return key
    expected = f"a text of 1 to {LONGEST_NAME} characters, without NUL and lone surrogates"
    raise PayloadError(what, (f"{_shown(key)}: {problem}",), expected)


def checked_name(event: Name) -> EventName:
    """Return the name of an event that senders other than the framework may use. All their events pass here.

    Raises PayloadError if it is not a text that every store can keep, ReservedEventError if the name is reserved.
    """
    name = event if type(event) is str and _is_plain(event) else raised_name(event)
    if is_reserved(name):
        raise ReservedEventError(name)
    return name


def _is_plain(name: str) -> bool:
    """Tell quickly that a name is fine, as nearly all are."""
    return 0 < len(name) <= LONGEST_NAME and name.isascii() and "\0" not in name


def raised_name(event: Name) -> EventName:
    """Return the name of an event that a turn raises for itself; reserved names are allowed. Raises PayloadError."""
    return checked_key(name_of(event), "event")


def checked_words(text: str, what: str = "reason") -> str:
    """Return a text for people unchanged; it may be empty. Raises PayloadError if no store could keep it."""
    problem = unkept(text, LONGEST_REASON)
    if not problem:
        return text
    expected = f"a text of at most {LONGEST_REASON:,} characters, without NUL and lone surrogates"
    raise PayloadError(what, (f"{_shown(text)}: {problem}",), expected)


def checked_due(due: datetime | None) -> datetime | None:
    """Return the time in UTC. Raises PayloadError if it has no time zone or is out of range in UTC."""
    if due is None:
        return None
    if not isinstance(due, datetime) or due.tzinfo is None or due.utcoffset() is None:
        raise PayloadError("due", (f"it is {due!r}",), "a datetime with a time zone, or None")
    return checked_moment(due, "due")


def checked_moment(moment: datetime, what: str) -> datetime:
    """Return the aware time in UTC. Raises PayloadError if it is out of range in UTC."""
    try:
        return in_utc(moment)
    except ValueError as error:
        raise PayloadError(what, (str(error),), "a moment between the years 1 and 9999 UTC") from None


def known_id(agent_id: AgentId) -> AgentId:
    """Return the id of an agent to look up, unchanged. Raises UnknownAgentError if no agent can have it."""
    if agent_id and not unkept(agent_id):
        return agent_id
    raise UnknownAgentError(agent_id)


def known_handoff(handoff_id: str) -> str:
    """Return the id of a handoff to look up, unchanged. Raises NoHandoffError if no handoff can have it."""
    if unkept(handoff_id):
        raise NoHandoffError(handoff_id, None)
    return handoff_id


def known_number(number: int) -> int:
    """Return the number of mail to look up, as given. Raises UnknownMailError if no mail can have it."""
    if is_count(number):
        return number
    raise UnknownMailError(number)


def sought_id(given: str | None, what: str = "id") -> str | None:
    """Return an id to look up, unchanged. Raises PayloadError if nothing can have it."""
    problem = "" if given is None else unkept(given)
    if problem:
        raise PayloadError(what, (f"{_shown(given)}: {problem}",), "a text without NUL and lone surrogates, or None")
    return given


def checked_addressee(agent_id: AgentId) -> AgentId:
    """Return the id of an agent that may not exist yet. Raises UnknownAgentError; PayloadError if it is too long."""
    return checked_key(known_id(agent_id), "agent id")


def checked_mode(mode: Mode | str) -> Mode:
    """Return the mode. Raises PayloadError if there is no such mode."""
    if isinstance(mode, Mode) or mode in list(Mode):
        return Mode(mode)
    raise PayloadError("handoff", (f"its mode is {mode!r}",), " or ".join(repr(each.value) for each in Mode))


def checked_reason(reason: Reason | str) -> Reason:
    """Return the reason. Raises PayloadError if there is no such reason."""
    if isinstance(reason, Reason) or reason in list(Reason):
        return Reason(reason)
    raise PayloadError("handoff", (f"its reason is {reason!r}",), " or ".join(repr(each.value) for each in Reason))


def check_targets(targets: Sequence[str], what: str = "fallbacks") -> None:
    """Raise PayloadError if a nonempty name or id is not a text that every store can keep."""
    for each in targets:
        if each != "":
            checked_key(each, what)


def _shown(text: object) -> str:
    """Return the text as the error shows it."""
    shown = repr(text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
