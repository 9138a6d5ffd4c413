"""What every store can keep: how long texts may be, which moments there are. The limits of all homes, in one place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

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
