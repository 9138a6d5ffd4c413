"""The similarity between a problem and a candidate's earlier successful work."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final

from gatechart.selection.observations import Observation, difference, unpacked
from gatechart.selection.performance import SUCCESS

NEWEST: Final = 100
"""Maximum number of successes that count for one candidate: the newest."""


class HistoryIndex:
    """An index of successful work by the features of its texts. It is mutable, and follows the observations."""

    __slots__ = ("_at", "_candidates", "_numbers", "_observations", "_own")

    def __init__(self, observations: Sequence[Observation] = ()) -> None:
        """observations: oldest first; observations whose reward does not count as a success are ignored."""
        self._observations = observations
        self._candidates: list[str] = []  # by number of the text; empty if it does not count any more
        self._numbers: dict[str, int] = {}  # by id of the observation, of texts that count
        self._own: dict[str, deque[str]] = defaultdict(deque)  # ids by candidate, oldest first
        self._at: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for observation in observations:
            self._add(observation)

    def following(self, observations: Sequence[Observation]) -> HistoryIndex:
        """Return the index of other observations: this one, updated, if they only add newer and drop old ones."""
        left, came = difference(self._observations, observations)
        is_newer = tuple(came) == tuple(observations[len(observations) - len(came) :])
        is_erasure = bool(left) and not came
        if is_erasure or not is_newer or any(observation.id in self._numbers for observation in left):
            return HistoryIndex(observations)
        if len(self._candidates) > 2 * len(self._numbers) + NEWEST:  # most texts do not count any more
            return HistoryIndex(observations)
        self._observations = observations
        for observation in came:
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
        """Return the similarity of a text to each candidate's most similar success, from 0 to 1."""
        near: dict[int, float] = defaultdict(float)
        for place, weight in _scaled(unpacked(features)):
            for number, other in self._at.get(place, ()):
                near[number] += weight * other
        best: dict[str, float] = {}
        for number, likeness in near.items():
            if name := self._candidates[number]:
                best[name] = min(max(likeness, best.get(name, 0.0)), 1.0)
        return best


def _scaled(pairs: Sequence[tuple[int, int]]) -> Iterable[tuple[int, float]]:
    length = sqrt(sum(each * each for _, each in pairs)) or 1.0
    return ((place, each / length) for place, each in pairs)
