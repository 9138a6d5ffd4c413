"""The root of all errors, its branches by blame, and shared wording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, ClassVar, Final

_MOST_COMPARED: Final = 300  # names compared to find those near a wrong one
_MOST_LISTED: Final = 20


@dataclass(eq=False)
class GatechartError(Exception):
    """The root of all errors of this package.

    private: fields that hold text from the application's own exceptions, which not every caller may see. reported:
    fields that are also in the event of a failed invocation.
    """

    private: ClassVar[tuple[str, ...]] = ()
    reported: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))


class DefinitionError(GatechartError):
    """The developer's code is wrong: a graph, or the setup of the application."""


class EventError(GatechartError):
    """The caller's request cannot be carried out now."""


class OutsideError(GatechartError):
    """Something outside failed: a database, a file, a program."""


@dataclass(eq=False)
class FromHost:
    """An error that the agents' host raised and that has no class here. Each branch has a class with this shape."""

    error: str  # the name of its class there
    message: str

    def __str__(self) -> str:
        return f"the host of the agents raised {self.error}: {self.message}; see its log"


def listing(names: tuple[str, ...], none: str = "none") -> str:
    """Quote the names and join them with commas; return `none` if there are none.

    >>> listing(("A", "B"))
    "'A', 'B'"
    """
    return ", ".join(map(repr, names)) or none


def nearest(wrong: object, known: Sequence[str], most: int = 1) -> list[str]:
    """Return up to `most` known names that resemble a wrong one, nearest first; none if `wrong` is not a string.

    Only the first 300 names and 100 characters are compared, because more would take longer than a reader waits.

    >>> nearest("GREETNIG", ["GREETING", "DONE"])
    ['GREETING']
    """
    return get_close_matches(wrong[:100], known[:_MOST_COMPARED], n=most) if isinstance(wrong, str) else []


def suggestion(wrong: object, known: Sequence[str]) -> str:
    """Return a clause that lists the known names, those near the wrong one first.

    >>> suggestion("GREETNIG", ("GREETING", "DONE"))
    "did you mean 'GREETING'? There are 'GREETING', 'DONE'"
    """
    near = nearest(wrong, known, 3)
    offer = f"did you mean {' or '.join(map(repr, near))}? There are " if near else "there are "
    rest = len(known) - _MOST_LISTED
    return f"{offer}{listing(tuple(known[:_MOST_LISTED]))}{f' and {rest} more' if rest > 0 else ''}"
