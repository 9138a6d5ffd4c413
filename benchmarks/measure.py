"""What is measured: contestants that do the same thing each in its own way, and the figure that each round gives."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Better(StrEnum):
    """Which figures are good ones."""

    HIGHER = "higher"
    LOWER = "lower"


class Role(StrEnum):
    """What a contestant is compared as."""

    OURS = "ours"
    RAW = "raw limit"  # the least that has to be done, by hand, without any of the guarantees
    PEER = "peer"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a run spends."""

    rounds: int
    seconds: float  # of one round of a contestant that is timed over many repetitions
    size: float  # part of the numbers that a measure speaks of: agents stored, turns in a history, timers

    def part_of(self, number: int, least: int) -> int:
        """So many, or as few as a quick run takes."""
        return max(round(number * self.size), min(number, least))


FULL = Effort(rounds=7, seconds=0.3, size=1)
QUICK = Effort(rounds=2, seconds=0.05, size=0.02)

Round: TypeAlias = Callable[[Effort], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way of doing it. A round gives its figure, in the measure's unit."""

    name: str
    round: Round
    role: Role = Role.OURS
    target: float | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """Contestants whose rounds take turns, so that the noise of a machine hits all alike."""

    name: str  # to ask for it on the command line
    title: str
    unit: str
    better: Better
    contestants: tuple[Contestant, ...]
    most_rounds: int = 7  # fewer where a round is long, or where there is nothing that varies


def per_second(repeat: Callable[[int], Awaitable[float]], first: int = 300) -> Round:
    """Rounds of about `Effort.seconds` each, giving repetitions per second.

    repeat: does it so many times, and returns the seconds that took, without its preparations.
    first: the repetitions of a trial before the first round, from whose speed the others follow.
    """
    speeds: list[float] = []

    async def one_round(effort: Effort) -> float:
        if not speeds:
            speeds.append(first / await repeat(first))
        count = max(first, math.ceil(speeds[-1] * effort.seconds))
        speeds.append(count / await repeat(count))
        return speeds[-1]

    return one_round
