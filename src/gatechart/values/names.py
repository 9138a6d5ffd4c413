"""Names and texts: their types, the reserved ones, and their maximum lengths."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from re import escape
from sys import float_info
from typing import Any, Final, TypeAlias, TypeGuard

AgentId: TypeAlias = str
StateName: TypeAlias = str
EventName: TypeAlias = str
Name: TypeAlias = str | Enum  # as written in a definition: text, or an Enum member for it
Payload: TypeAlias = Mapping[str, Any]
Memory: TypeAlias = tuple[tuple[StateName, tuple[StateName, ...]], ...]  # history states with their remembered states
EntryVersions: TypeAlias = tuple[tuple[StateName, int], ...]  # states with the agent version that entered each

DEFAULT_URL: Final = "sqlite+aiosqlite:///agents.db"
"""URL of the store that is used if none is named."""

STARTED: Final = "agent.started."
"""Prefix of the event that starts an agent; the entry point's name follows."""

OFFERED: Final = "handoff.offered."
"""Prefix of the event that offers a handoff; the entry point's name follows. Its payload is the packet."""

WITHDRAWN: Final = "handoff.withdrawn"
"""Event that informs the target of a handoff that the offer is withdrawn."""

CHOOSING: Final = "handoff.choosing"
"""Event that an agent sends itself to have the target of its handoff chosen. Its payload is the packet."""

ERROR_MAIL: Final = "error.mail"
"""Event that informs an agent that mail it may be waiting for is dead."""

ERROR_REFUSED: Final = "error.refused"
"""Event that a turn raises in place of a refused event, in graphs with `OnRefusal.EVENT`."""

_RESERVED: Final = (
    "done.state",
    "done.invoke",
    "error.execution",
    "error.communication",
    "error.platform",
    "error.invoke",
    "error.mail",
    "error.refused",
    "progress.invoke",
    "handoff",
    "agent.started",
    "agent.stopped",
    "agent.rolled_back",
    "agent.forked",
    "agent.migrated",
)
RECURRING: Final = "every."
"""Prefix of the events of recurring timers."""

FRAMEWORK: Final = "gatechart."
"""Prefix of the names of the framework's graphs, and of the events that it sends to its own agents."""

TRAIL: Final = "trail."
"""Prefix of events that add entries to an agent's trail. No transition takes them."""

_PREFIXES: Final = (
    *(f"{name}." for name in _RESERVED),
    "after.",
    RECURRING,
    TRAIL,
    "signal.",
    "escape.",
    "alarm.",
    "plan.",
    "workspace.",
    "message.",
    "transfer.",
    FRAMEWORK,
)

NO_NUL: Final = r"^[^\x00]*$"
"""Pattern of a text that every store can keep: one without the character NUL."""

RESERVED_PATTERN: Final = f"^({'|'.join(map(escape, _RESERVED))})$|^({'|'.join(map(escape, _PREFIXES))})"
"""Regular expression that matches the reserved names, for schemas."""


def is_reserved(event: EventName) -> bool:
    """Return whether only the framework may send an event with this name.

    A descriptor matches every name that it is a prefix of in whole words, so a chart treats `error.execution.x` like
    `error.execution`. The words `done`, `error`, `after`, `plan` and so on belong to charts.

    >>> [is_reserved(name) for name in ("done.invoke.slow", "after.5d.WAITING", "handoff", "error.execution")]
    [True, True, True, True]
    >>> [is_reserved(name) for name in ("done", "error", "error.tool", "agent.hired", "after", "handoffs")]
    [False, False, False, False, False, False]
    """
    return event.startswith(_PREFIXES) or event in _RESERVED


def may_be_reserved(descriptor: EventName) -> bool:
    """Return whether a single name is reserved, or matches reserved names when used as a descriptor.

    >>> [may_be_reserved(name) for name in ("done", "error.tool", "handoff.accepted", "every", "ASKED")]
    [True, False, True, True, False]
    """
    return is_reserved(descriptor) or any(name.startswith(f"{descriptor}.") for name in _PREFIXES)


def name_of(name: Name) -> str:
    """Return the text of a name: an Enum member's value if that is text, else the member's name.

    >>> from enum import auto
    >>> name_of(Enum("Lamp", {"RED": "red"}).RED), name_of(Enum("Lamp", {"RED": auto()}).RED), name_of("red")
    ('red', 'RED', 'red')
    """
    if isinstance(name, Enum):
        return name.value if isinstance(name.value, str) else name.name
    return name


LONGEST_NAME: Final = 300
"""Maximum length of an id, name or key. A PostgreSQL index row holds 2,704 bytes, and some rows hold two."""

LONGEST_REASON: Final = 10_000
"""Maximum length of a reason or other text for people."""

HIGHEST_NUMBER: Final = 2**62
"""Bound of numbers, versions and limits. Every database can count to it, with room for one more."""

EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
LATEST: Final = datetime.max.replace(tzinfo=UTC)
"""The first and the last moment that a datetime can represent in UTC."""


def unkept(text: object, longest: int | None = None) -> str:
    r"""Return why no store could keep the text; empty if every store can. longest: maximum number of characters.

    >>> unkept("a\0b"), unkept("\ud800"), unkept("abc", 2), unkept("abc")
    ('it has the character NUL', 'it has half a character, a lone surrogate', 'it has 3 characters, 2 at most', '')
    """
    if not isinstance(text, str):
        return f"it is a {type(text).__name__}, no text"
    if "\0" in text:
        return "it has the character NUL"
    if not text.isascii() and not _is_unicode(text):
        return "it has half a character, a lone surrogate"
    if longest is not None and len(text) > longest:
        return f"it has {len(text):,} characters, {longest:,} at most"
    return ""


def in_utc(moment: datetime) -> datetime:
    """Convert an aware moment to UTC. Raises ValueError if the result falls in the year 0 or 10000.

    >>> in_utc(datetime.fromisoformat("9999-12-31T23:59:59-05:00"))
    Traceback (most recent call last):
    ValueError: 9999-12-31 23:59:59-05:00 has no time in UTC; bring one between the years 1 and 9999 UTC
    """
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{moment} has no time in UTC; bring one between the years 1 and 9999 UTC") from None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(number: object) -> TypeGuard[float]:
    """Return whether the value is a number that can be compared and stored: finite, and within the range of a float.

    >>> [is_number(each) for each in (1, -0.5, True, float("nan"), float("inf"), 10**400, "1")]
    [True, True, False, False, False, False, False]
    """
    return isinstance(number, int | float) and not isinstance(number, bool) and abs(number) <= float_info.max


def is_count(number: object) -> bool:
    """Return whether the value is a whole number of 0 or more that every store can count to."""
    return isinstance(number, int) and 0 <= number < HIGHEST_NUMBER
