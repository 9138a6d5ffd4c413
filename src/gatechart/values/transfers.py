"""The choices that an agent made among the transfers of its states, as its snapshot keeps them."""

from __future__ import annotations

from datetime import datetime
from typing import Final, TypeAlias

from gatechart.values.frozen import value
from gatechart.values.names import StateName

TRANSFER: Final = "transfer."
"""Prefix of the event of a choice; the target's key follows."""


@value
class Visit:
    """A chosen target, and the event that led back from it."""

    target: str
    time: datetime  # aware, UTC; when it was chosen
    said: str = ""  # summary of the event that led back, in one line; empty until then


@value
class TransferCount:
    """An agent's use of the transfers of one state so far.

    It outlives the state: it is kept across entries, restarts, moves and migrations, and no rollback resets it.
    """

    state: StateName
    taken: int = 0  # choices since the count began
    entered_by: str = ""  # summary of the event that last led here, in one line
    refused: str = ""  # target refused since the state was entered; empty if none was
    why: str = ""  # reason of the guard that refused it
    visits: tuple[Visit, ...] = ()  # the newest choices, oldest first


TransferCounts: TypeAlias = tuple[TransferCount, ...]


def count_of(counts: TransferCounts, state: StateName) -> TransferCount:
    """Return the count of a state; a fresh one if none is stored."""
    return next((count for count in counts if count.state == state), TransferCount(state))
