"""Runs a measure: a round of each contestant, then another, beginning with a different one each time."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

from benchmarks.measure import Better, Contestant, Effort, Measure, Role


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of a contestant, one for each round; none where it failed."""

    contestant: Contestant
    figures: tuple[float, ...]

    @property
    def median(self) -> float | None:
        """The figure that counts."""
        return median(self.figures) if self.figures else None


@dataclass(frozen=True, slots=True)
class Results:
    """A measure with all its figures."""

    measure: Measure
    results: tuple[Result, ...]

    @property
    def raw(self) -> Result | None:
        """The first raw limit, which all are compared with."""
        return next(iter(self._of(Role.RAW)), None)

    @property
    def best_peer(self) -> Result | None:
        """The peer with the best median."""
        best = max if self.measure.better is Better.HIGHER else min
        return best(self._of(Role.PEER), key=lambda result: result.median or 0, default=None)

    def is_met(self, result: Result) -> bool | None:
        """Whether the target is reached; None where there is none, or no figure."""
        target, figure = result.contestant.target, result.median
        if target is None or figure is None:
            return None
        return figure >= target if self.measure.better is Better.HIGHER else figure <= target

    def _of(self, role: Role) -> Sequence[Result]:
        return [result for result in self.results if result.contestant.role is role and result.figures]


def ratio(result: Result, base: Result | None) -> float | None:
    """How many times the base's figure: the median over the rounds, each compared with its own."""
    if base is None or not result.figures or not base.figures:
        return None
    return median(own / other for own, other in zip(result.figures, base.figures, strict=True))


async def measured(measure: Measure, effort: Effort) -> Results:
    """All rounds of a measure, told on standard error."""
    figures: dict[Contestant, list[float]] = {contestant: [] for contestant in measure.contestants}
    failed: set[Contestant] = set()
    rounds = min(effort.rounds, measure.most_rounds)
    for number in range(rounds):
        tell(f"{measure.title}: round {number + 1} of {rounds}")
        for contestant in _rotated(measure.contestants, number):
            if contestant in failed:
                continue
            await asyncio.sleep(0)  # Ctrl-C is heard here
            try:
                with _own_garbage():
                    figures[contestant].append(await contestant.round(effort))
            except Exception as error:
                tell(f"{contestant.name} failed: {type(error).__name__}: {error}", stays=True)
                failed.add(contestant)
    tell(f"{measure.title}: done", stays=True)
    return Results(
        measure, tuple(Result(each, () if each in failed else tuple(found)) for each, found in figures.items())
    )


@contextmanager
def _own_garbage() -> Iterator[None]:
    """The garbage collector stays on, for all contestants as `gatechart run` sets it: it looks less often, and only at
    what is made inside, not at every library of the process.
    """
    gc.collect()
    gc.freeze()
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def _rotated(contestants: Sequence[Contestant], by: int) -> Sequence[Contestant]:
    first = by % len(contestants)
    return (*contestants[first:], *contestants[:first])


def tell(text: str, *, stays: bool = False) -> None:
    """On a terminal, what does not stay is written over."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="\n" if stays else "", file=sys.stderr, flush=True)
    elif stays:
        print(text, file=sys.stderr)
