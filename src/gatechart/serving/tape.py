"""The tape of what was committed lately: any number of readers, each at its own place, none of which can hold it up."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import accumulate, islice, takewhile

from gatechart.values.frozen import value


@value
class Place:
    """Where a reader is: behind which item of which tape. Its text is the id of a server-sent event."""

    tape: str
    number: int

    def __str__(self) -> str:
        return f"{self.tape}-{self.number}"


def place_of(text: str) -> Place | None:
    """The place that the text stands for, None where it stands for none.

    >>> place_of("a1b2-17"), place_of("a1b2-x"), place_of("")
    (Place(tape='a1b2', number=17), None, None)
    """
    tape, _, number = text.rpartition("-")
    if not tape or not number.isascii() or not number.isdigit() or len(number) > 18:
        return None
    return Place(tape, int(number))


@value
class Missed:
    """What stands in place of items that a reader cannot have any more."""

    lost: int | None  # how many; None where nobody knows, for the reader comes from another tape


class Tape:
    """Items numbered from 1 on, of which the newest are kept. A reader costs its place, and what it reads at a time.

    name: that no other tape has. most, most_bytes: what is kept at the most; the newest item is kept in any case.
    """

    def __init__(self, name: str, most: int, most_bytes: int) -> None:
        self._name = name
        self._most = most
        self._most_bytes = most_bytes
        self._items: deque[bytes] = deque()
        self._bytes = 0
        self._end = 0  # the number of the newest
        self._is_closed = False
        self._news = asyncio.Event()

    @property
    def end(self) -> Place:
        """Behind the newest item."""
        return Place(self._name, self._end)

    @property
    def is_closed(self) -> bool:
        """Whether nothing will be added any more."""
        return self._is_closed

    def add(self, item: bytes) -> None:
        """Adds an item; the oldest ones are forgotten where there are too many."""
        self._items.append(item)
        self._bytes += len(item)
        self._end += 1
        while len(self._items) > self._most or (self._bytes > self._most_bytes and len(self._items) > 1):
            self._bytes -= len(self._items.popleft())
        self._wake()

    def skip(self, count: int) -> None:
        """Goes on behind so many items that it was not given: readers have missed them, and those before."""
        self._items.clear()
        self._bytes = 0
        self._end += count
        self._wake()

    def close(self) -> None:
        """Ends the tape. What is on it can still be read."""
        self._is_closed = True
        self._wake()

    def read(self, place: Place, most: int, most_bytes: int) -> tuple[Place, Missed | None, tuple[bytes, ...]]:
        """The first items behind the place, the place behind them, and what is missed before them, if anything is.

        most, most_bytes: of the items; one is given in any case.
        """
        oldest = self._end - len(self._items)  # the place before the oldest that is kept
        is_known = place.tape == self._name and place.number <= self._end
        missed = Missed(oldest - place.number) if is_known and place.number < oldest else None
        skipped = max(place.number - oldest, 0) if is_known else 0
        sizes = accumulate(len(item) for item in islice(self._items, skipped, skipped + most))
        count = max(1, sum(1 for _ in takewhile(lambda size: size <= most_bytes, sizes)))
        found = tuple(islice(self._items, skipped, skipped + count))
        return Place(self._name, oldest + skipped + len(found)), missed if is_known else Missed(None), found

    async def news(self, place: Place, patience_s: float) -> bool:
        """Waits for something behind the place, or the end; False where so many seconds brought nothing."""
        try:
            async with asyncio.timeout(patience_s):
                while place == self.end and not self._is_closed:
                    await self._news.wait()
        except TimeoutError:
            return False
        return True

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
