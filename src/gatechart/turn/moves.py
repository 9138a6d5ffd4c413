"""Moves for trails and detectors. The agents of a graph repeat few distinct moves, so the moves are cached."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from gatechart.values.names import EventName, Payload, StateName
from gatechart.values.trail import (
    CHARACTERS,
    FIRST_CHARACTER,
    Moved,
    character_at,
    character_of,
    checksum_of,
    checksum_of_content,
    written,
)

_REMEMBERED = 1024  # moves without their payloads
_FACTOR = 0x9E3779B1  # odd and large, so that a move and a payload hardly ever add up to the number of two others


@dataclass(slots=True)
class Move:  # not a frozen value, which would take twice as long to create
    """The trail entry of a turn that entered states, without its payload."""

    line: str  # the trail's line for it, with its end
    character: str  # for states and event
    number: int  # hash of states and event; added to a payload's checksum, it gives the character for both
    place: str  # a character for the states alone
    entered: str  # a character for each leaf that was not active before

    def by(self, payload: Payload, ignore: Collection[str]) -> str:
        """Return the character of the move with this payload. ignore: fields to leave out of the comparison."""
        checksum = checksum_of_content(payload, ignore)
        if checksum is None:
            return self.character
        return chr(FIRST_CHARACTER + (self.number + checksum) % CHARACTERS)  # as `character_at`, without the call


@lru_cache(_REMEMBERED)
def move_of(before: tuple[StateName, ...], after: tuple[StateName, ...], event: EventName) -> Move:
    """Return the move of a turn between two sets of leaves."""
    line = written(Moved(after, event))
    number = checksum_of(line) * _FACTOR % CHARACTERS
    entered = "".join(character_of(leaf) for leaf in after if leaf not in before)
    return Move(f"{line}\n", character_at(number), number, character_of("\n".join(after)), entered)
