"""The choices that an agent made among the transfers of its states, as its snapshot keeps them."""

from __future__ import annotations

from datetime import datetime
from typing import Final, TypeAlias

from gatechart.values.frozen import value
from gatechart.values.names import StateName

TRANSFER: Final = "transfer."
"""Prefix of the event of a choice; the target follows."""


@value
class Visit:
    """A target that was chosen, and what came back from there."""

    target: str
    time: datetime  # aware, UTC; when it was chosen
    said: str = ""  # the event that led back, in a line; empty until then


@value
class TransferCount:
    """What an agent did so far with the transfers of one state.

    It outlives the state: it is kept across entries, restarts, moves and migrations, and no rollback turns it back.
    """

    state: StateName
    taken: int = 0  # choices since the count began
    entered_by: str = ""  # the event that led here last, in a line
    refused: str = ""  # the target that was refused since the state was entered; empty if none was
    why: str = ""  # reasons of the guard that refused it
    visits: tuple[Visit, ...] = ()  # the newest choices, oldest first


TransferCounts: TypeAlias = tuple[TransferCount, ...]


def count_of(counts: TransferCounts, state: StateName) -> TransferCount:
    """Return the count of a state; one from the beginning if nothing is kept of it."""
    return next((each for each in counts if each.state == state), TransferCount(state))
