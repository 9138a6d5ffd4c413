"""The transitions of a machine in the order in which it tries them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from transitions import Machine

from gatechart.contrib.transitions.machine import Seat, separator_of
from gatechart.graph import ANY


@dataclass(frozen=True)
class Move:
    """A transition with the full names of its ends."""

    event: str
    source: str
    target: str | None  # None: nothing is left
    transition: Any

    @property
    def place(self) -> str:
        """How faults name it."""
        return f"transition {self.event!r} from {self.source!r}"

    @property
    def content(self) -> tuple[object, ...]:
        """All but the source. Two that are alike were made of one wildcard, or might have been."""
        found = self.transition
        conditions = tuple((condition.func, condition.target) for condition in found.conditions)
        return self.target, conditions, tuple(found.prepare), tuple(found.before), tuple(found.after)


def moves_of(machine: Machine, seats: Sequence[Seat], automatic: Mapping[str, bool]) -> Iterator[Move]:
    """Those that an inner state declares for its children come before those of outer states and of the machine.

    automatic: the automatic triggers, each with whether it is carried over.
    """
    separator = separator_of(machine)
    for seat in reversed([each for root in seats for each in root.walk()]):
        yield from _moves(getattr(seat.state, "events", {}), seat.name + separator)
    kept = {name: event for name, event in machine.events.items() if automatic.get(name, True)}
    yield from _moves(kept, "")


def _moves(events: Mapping[str, Any], prefix: str) -> Iterator[Move]:
    for name, event in events.items():
        for source, transitions in event.transitions.items():
            for found in transitions:
                target = None if found.dest is None else prefix + found.dest
                yield Move(name, prefix + source, target, found)


def with_wildcards(moves: Sequence[Move], states: Sequence[str]) -> list[Move]:
    """The same with one from ANY in place of what every state of a flat machine tries last for an event.

    states: all that can be left.
    """
    if len(states) < 2:
        return list(moves)
    last = {(move.event, move.source): move for move in moves}
    found: list[Move] = []
    for event in dict.fromkeys(move.event for move in moves):
        ends = [last.get((event, state)) for state in states]
        first = ends[0]
        if first and all(each is not None and each.content == first.content for each in ends):
            found.append(replace(first, source=ANY))
            moves = [move for move in moves if not any(move is each for each in ends)]
    return [*moves, *found]
