"""The root of all errors, its branches by blame, and the words that they share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, ClassVar


@dataclass(eq=False)
class GatechartError(Exception):
    """The root of all errors of this package.

    private: facts that hold the words of the application's own exceptions, which are not for every caller.
    """

    private: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))


class DefinitionError(GatechartError):
    """What a developer wrote is wrong: a graph, or how the application is put together."""


class EventError(GatechartError):
    """What a caller asked for cannot be done now."""


class OutsideError(GatechartError):
    """The world around failed: a database, a file, a program."""


def listing(names: tuple[str, ...], none: str = "none") -> str:
    """The names, quoted and joined by commas; `none` where there are none.

    >>> listing(("A", "B"))
    "'A', 'B'"
    """
    return ", ".join(map(repr, names)) or none


def suggestion(wrong: object, known: tuple[str, ...]) -> str:
    """A clause that offers the known names, nearest first if one is near, which none is to what is no text.

    >>> suggestion("GREETNIG", ("GREETING", "DONE"))
    "did you mean 'GREETING'? There are 'GREETING', 'DONE'"
    """
    near = get_close_matches(wrong, known, n=1) if isinstance(wrong, str) else ()
    offer = f"did you mean {near[0]!r}? There are " if near else "there are "
    return offer + listing(known)


def remote_problem(error: str, message: str) -> str:
    """Describe an error that the host of the agents raised and that has no class here."""
    return f"the host of the agents raised {error}: {message}; its log may tell more"
