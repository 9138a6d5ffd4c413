"""Errors about new entries of the directory."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.root import EventError


@dataclass(eq=False)
class LookAlikeError(EventError):
    """People would take a new id or name for another one. Nothing was changed."""

    id: str
    existing: str  # the name that it looks like
    what: str = "the id of an entry"

    def __str__(self) -> str:
        return (
            f"{self.what}, {self.id!r}, looks like {self.existing!r}, which is there already; "
            "choose one that differs by more than case, width, accents or similar characters"
        )


@dataclass(eq=False)
class TooManyEntriesError(EventError):
    """A registrant has as many entries in the directory as it may have. Nothing was registered."""

    registrant: str
    most: int

    def __str__(self) -> str:
        return (
            f"the registrant {self.registrant!r} has {self.most:,} entries in the directory, which is all it may have; "
            "deregister one, register entries that expire, or raise Limits(entries=...) "
            "(gatechart serve --max-entries)"
        )
