"""Moves as trails and detectors see them. Agents of a few graphs make the same few, which are worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gatechart.values import EventName, Moved, StateName, character_of, written
from gatechart.values.trail import CHARACTERS, FIRST_CHARACTER, character_at, checksum_of

_REMEMBERED = 1024  # moves without their payloads
_FACTOR = 0x9E3779B1  # odd and large, so that a move and a payload hardly ever add up to the number of two others


@dataclass(slots=True)
class Move:  # not a value: that would take twice as long to make
    """What a turn shows that entered states, its payload apart."""

    line: str  # of the entry in the trail, with its end
    unended: str  # the same line, to which only the digest of the payload and an end are added
    character: str  # for states and event
    number: int  # from which the character comes, and with that of a payload the character for both
    place: str  # a character for the states alone
    entered: str  # a character for each leaf in which the agent was not before

    def by(self, checksum: int) -> tuple[str, str]:
        """Return line and character of the move by a payload with this checksum."""
        # Both are written out, as each turn with a payload asks: as `digest_of` and `character_at` do it.
        line = f"{self.unended}{checksum.to_bytes(4, 'big').hex()}\n"
        return line, chr(FIRST_CHARACTER + (self.number + checksum) % CHARACTERS)


@lru_cache(_REMEMBERED)
def move_of(before: tuple[StateName, ...], after: tuple[StateName, ...], event: EventName) -> Move:
    """Return the move of a turn that led from leaves to leaves."""
    line = written(Moved(after, event))
    number = checksum_of(line) * _FACTOR
    entered = "".join(character_of(leaf) for leaf in after if leaf not in before)
    return Move(f"{line}\n", line, character_at(number), number, character_of("\n".join(after)), entered)
