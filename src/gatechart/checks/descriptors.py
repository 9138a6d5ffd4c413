"""Sets of event descriptors, asked as a whole: one look-up for each word of a name, however large the set is.

Source: W3C SCXML, section 3.12.1; for a single descriptor, `gatechart.kernel.select.matches`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from gatechart.values import EventName

EVERY: Final = "*"


def words_of(descriptor: EventName) -> tuple[EventName, ...]:
    """The prefixes that a descriptor takes, in their shortest spelling.

    >>> words_of("error.* done.state."), words_of("*")
    (('error', 'done.state'), ('*',))
    """
    return tuple(word.removesuffix(".*").removesuffix(".") for word in descriptor.split())


def prefixes_of(name: EventName) -> Iterator[EventName]:
    """The name, and all that take it as a prefix of whole words, longest first.

    >>> list(prefixes_of("error.tool.search"))
    ['error.tool.search', 'error.tool', 'error', '*']
    """
    while name:
        yield name
        name = name.rpartition(".")[0]
    yield EVERY


def is_taken(name: EventName, words: Collection[EventName]) -> bool:
    """Whether one of the words takes the event, or all that another word takes.

    >>> is_taken("error.tool", {"error"}), is_taken("errors", {"error"}), is_taken("errors", {"*"})
    (True, False, True)
    """
    return any(prefix in words for prefix in prefixes_of(name))
