"""Similarity of a problem to work that a candidate completed successfully."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final

from gatechart.selection.observations import Observation, difference, unpacked
from gatechart.selection.performance import SUCCESS

NEWEST: Final = 100
"""Maximum number of successes that count for one candidate: the newest ones."""


class HistoryIndex:
    """Index of successful work by the features of its texts. Mutable: `following` updates it with new observations."""

    __slots__ = ("_at", "_candidates", "_numbers", "_observations", "_own")

    def __init__(self, observations: Sequence[Observation] = ()) -> None:
        """observations: oldest first; only successes count."""
        self._observations = observations
        self._candidates: list[str] = []  # by number of the text; empty if it no longer counts
        self._numbers: dict[str, int] = {}  # by id of the observation, of texts that count
        self._own: dict[str, deque[str]] = defaultdict(deque)  # ids by candidate, oldest first
        self._at: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for observation in observations:
            self._add(observation)

    def following(self, observations: Sequence[Observation]) -> HistoryIndex:
        """Return the index of other observations: this one, updated, if they only add newer and drop old ones."""
        removed, added = difference(self._observations, observations)
        is_newer = tuple(added) == tuple(observations[len(observations) - len(added) :])
        is_erasure = bool(removed) and not added
        if is_erasure or not is_newer or any(observation.id in self._numbers for observation in removed):
            return HistoryIndex(observations)
        if len(self._candidates) > 2 * len(self._numbers) + NEWEST:  # most texts no longer count
            return HistoryIndex(observations)
        self._observations = observations
        for observation in added:
            self._add(observation)
        return self

    def _add(self, observation: Observation) -> None:
        if observation.reward < SUCCESS:
            return
        number, own = len(self._candidates), self._own[observation.candidate]
        self._candidates.append(observation.candidate)
        self._numbers[observation.id] = number
        own.append(observation.id)
        if len(own) > NEWEST:
            self._candidates[self._numbers.pop(own.popleft())] = ""
        for bucket, weight in _scaled(unpacked(observation.features)):
            self._at[bucket].append((number, weight))

    def scores(self, features: str) -> dict[str, float]:
        """Return the similarity of a text to the nearest success of each candidate, from 0 to 1."""
        near: dict[int, float] = defaultdict(float)
        for bucket, weight in _scaled(unpacked(features)):
            for number, other in self._at.get(bucket, ()):
                near[number] += weight * other
        best: dict[str, float] = {}
        for number, likeness in near.items():
            if name := self._candidates[number]:
                best[name] = min(max(likeness, best.get(name, 0.0)), 1.0)
        return best


def _scaled(pairs: Sequence[tuple[int, int]]) -> Iterable[tuple[int, float]]:
    length = sqrt(sum(weight * weight for _, weight in pairs)) or 1.0
    return ((bucket, weight / length) for bucket, weight in pairs)
