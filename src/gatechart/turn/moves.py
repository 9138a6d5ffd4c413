"""Moves for trails and detectors. The agents of a graph repeat few distinct moves, so the moves are cached."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from gatechart.values import EventName, Moved, Payload, StateName, character_of, written
from gatechart.values.trail import CHARACTERS, FIRST_CHARACTER, character_at, checksum_of, checksum_of_content

_REMEMBERED = 1024  # moves without their payloads
_FACTOR = 0x9E3779B1  # odd and large, so that the sums of move and payload hardly ever collide


@dataclass(slots=True)
class Move:  # not a value: that would take twice as long to make
    """The trail entry of a turn that entered states, without its payload."""

    line: str  # of the entry in the trail, with its end
    character: str  # for states and event
    number: int  # gives the character; the sum with a payload's checksum gives the character for both
    place: str  # a character for the states alone
    entered: str  # a character for each newly entered leaf

    def by(self, payload: Payload, ignore: Collection[str]) -> str:
        """Return the character of the move with this payload. ignore: payload fields to ignore."""
        checksum = checksum_of_content(payload, ignore)
        if checksum is None:
            return self.character
        return chr(FIRST_CHARACTER + (self.number + checksum) % CHARACTERS)  # as `character_at`, without the call


@lru_cache(_REMEMBERED)
def move_of(before: tuple[StateName, ...], after: tuple[StateName, ...], event: EventName) -> Move:
    """Return the move of a turn from its leaves before to its leaves after."""
    line = written(Moved(after, event))
    number = checksum_of(line) * _FACTOR % CHARACTERS
    entered = "".join(character_of(leaf) for leaf in after if leaf not in before)
    return Move(f"{line}\n", character_at(number), number, character_of("\n".join(after)), entered)
