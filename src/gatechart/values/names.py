"""Names and texts: their types, which are reserved for the framework, and how long they may be."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from re import escape
from typing import Any, Final, TypeAlias

AgentId: TypeAlias = str
StateName: TypeAlias = str
EventName: TypeAlias = str
Name: TypeAlias = str | Enum  # as people write it: the text, or an Enum member that stands for it
Payload: TypeAlias = Mapping[str, Any]
Memory: TypeAlias = tuple[tuple[StateName, tuple[StateName, ...]], ...]  # history states with what they remember
EntryVersions: TypeAlias = tuple[tuple[StateName, int], ...]  # states with the version of the agent that entered each

STARTED: Final = "agent.started."
"""With the entry point's name behind it: the event that the first turn of an agent is about."""

OFFERED: Final = "handoff.offered."
"""With the entry point's name behind it: the event that offers a handoff, whose packet is its payload."""

WITHDRAWN: Final = "handoff.withdrawn"
"""The event that tells the target of a handoff that it is wanted no more."""

ERROR_MAIL: Final = "error.mail"
"""The event that tells an agent that mail which it may wait for is dead."""

_RESERVED: Final = (
    "done.state",
    "done.invoke",
    "error.execution",
    "error.communication",
    "error.platform",
    "error.invoke",
    "error.mail",
    "progress.invoke",
    "handoff",
    "agent.started",
    "agent.stopped",
    "agent.rolled_back",
    "agent.migrated",
)
_PREFIXES: Final = (
    *(f"{name}." for name in _RESERVED),
    "after.",
    "signal.",
    "escape.",
    "alarm.",
    "plan.",
    "workspace.",
    "message.",
    "transfer.",
)

RESERVED_PATTERN: Final = f"^({'|'.join(map(escape, _RESERVED))})$|^({'|'.join(map(escape, _PREFIXES))})"
"""A regular expression that finds the reserved names, for schemas."""


def is_reserved(event: EventName) -> bool:
    """Tell whether only the framework may send an event of this name.

    A descriptor takes all names that it is a prefix of in whole words, so `error.execution.x` is as good as
    `error.execution` to a chart. The words `done`, `error`, `after`, `plan` and so on belong to charts.

    >>> [is_reserved(name) for name in ("done.invoke.slow", "after.5d.WAITING", "handoff", "error.execution")]
    [True, True, True, True]
    >>> [is_reserved(name) for name in ("done", "error", "error.tool", "agent.hired", "after", "handoffs")]
    [False, False, False, False, False, False]
    """
    return event.startswith(_PREFIXES) or event in _RESERVED


def name_of(name: Name) -> str:
    """The text that a name stands for: an Enum member's value where that is text, else the member's name.

    >>> from enum import auto
    >>> name_of(Enum("Lamp", {"RED": "red"}).RED), name_of(Enum("Lamp", {"RED": auto()}).RED), name_of("red")
    ('red', 'RED', 'red')
    """
    if isinstance(name, Enum):
        return name.value if isinstance(name.value, str) else name.name
    return name


LONGEST_NAME: Final = 300
"""Characters of an id, a name or a key. A row of a PostgreSQL index takes 2,704 bytes, and some are of two of them."""

LONGEST_REASON: Final = 10_000
"""Characters of a reason, and of other words for people."""

EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
LATEST: Final = datetime.max.replace(tzinfo=UTC)
"""The first and the last moment that a datetime can tell in UTC."""


def unkept(text: object, longest: int | None = None) -> str:
    r"""Why no store could keep the text; empty where each can. longest: how many characters it may have.

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
    """The aware moment in UTC. Raises ValueError where UTC has no such moment, in the year 0 or 10000.

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
