"""Errors about new entries of the directory."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.root import EventError


@dataclass(eq=False)
class LookAlikeError(EventError):
    """A new id or name could be mistaken for an existing one. Nothing was changed."""

    id: str
    existing: str  # the name that it looks like
    what: str = "the id of an entry"

    def __str__(self) -> str:
        return (
            f"{self.what}, {self.id!r}, looks like {self.existing!r}, which already exists; "
            "choose one that differs by more than case, width, accents or similar characters"
        )


@dataclass(eq=False)
class TooManyEntriesError(EventError):
    """A registrant has reached its limit of entries in the directory. Nothing was registered."""

    registrant: str
    most: int

    def __str__(self) -> str:
        return (
            f"the registrant {self.registrant!r} has {self.most:,} entries in the directory, which is its limit; "
            "deregister one, register entries that expire, or raise Limits(entries=...) "
            "(gatechart serve --max-entries)"
        )
