"""Words of event descriptors, and the prefixes that match them. Pure.

Source: W3C SCXML, https://www.w3.org/TR/scxml/, section 3.12.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gatechart.values.names import EventName

EVERY: Final = "*"


def words_of(descriptor: EventName) -> tuple[EventName, ...]:
    """Return the prefixes that an event descriptor takes, in their shortest spelling.

    >>> words_of("error.* done.state."), words_of("*")
    (('error', 'done.state'), ('*',))
    """
    return tuple(word.removesuffix(".*").removesuffix(".") for word in descriptor.split())


def prefixes_of(name: EventName) -> Iterator[EventName]:
    """Yield the name and all its prefixes of whole words, longest first, and then `*`.

    >>> list(prefixes_of("error.tool.search"))
    ['error.tool.search', 'error.tool', 'error', '*']
    """
    while name:
        yield name
        name = name.rpartition(".")[0]
    yield EVERY
