"""Moves as trails and detectors see them. Agents of a few graphs make the same few, which are worked out once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from gatechart.values import Event, EventName, Moved, StateName, character_of, checksum_of, digest_of, written

_REMEMBERED = 1024  # moves without their payloads


@dataclass(slots=True)
class Move:  # not a value: that would take twice as long to make
    """What a turn shows that entered states."""

    entry: Moved
    line: str  # of the entry in the trail, without its end
    character: str  # for states, event and payload
    place: str  # a character for the states alone
    entered: str  # a character for each leaf in which the agent was not before


def move_of(before: tuple[StateName, ...], after: tuple[StateName, ...], event: Event, ignore: Collection[str]) -> Move:
    """Return the move of a turn that led from leaves to leaves. ignore: fields of the payload that do not count."""
    move, checksum = _move_without_payload(before, after, event.name)
    digest = digest_of(event.payload, ignore) if event.payload else ""
    if not digest:
        return move
    entry, line = Moved(after, event.name, digest), move.line + digest
    return Move(entry, line, character_of(digest, checksum), move.place, move.entered)


@lru_cache(_REMEMBERED)
def _move_without_payload(
    before: tuple[StateName, ...], after: tuple[StateName, ...], event: EventName
) -> tuple[Move, int]:
    """Return the move with the checksum of its line, from which that of a line with a digest goes on."""
    entry = Moved(after, event)
    line = written(entry)
    entered = "".join(character_of(leaf) for leaf in after if leaf not in before)
    return Move(entry, line, character_of(line), character_of("\n".join(after)), entered), checksum_of(line)
