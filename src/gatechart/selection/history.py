"""How near a problem is to work that went well with a candidate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final

from gatechart.selection.observations import Observation, unpacked
from gatechart.selection.performance import SUCCESS

NEWEST: Final = 100
"""Pieces of work that went well that count for one candidate: the newest."""


class HistoryIndex:
    """Work that went well, by the features of its texts."""

    __slots__ = ("_at", "_ids")

    def __init__(self, observations: Iterable[Observation]) -> None:
        """observations: the oldest first; those whose reward is no success do not count."""
        by_candidate: dict[str, list[str]] = defaultdict(list)
        for each in observations:
            if each.reward >= SUCCESS:
                by_candidate[each.candidate].append(each.features)
        texts = [(name, unpacked(each)) for name, own in sorted(by_candidate.items()) for each in own[-NEWEST:]]
        self._ids = tuple(name for name, _ in texts)
        self._at: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for number, (_, pairs) in enumerate(texts):
            for place, weight in _scaled(pairs):
                self._at[place].append((number, weight))

    def scores(self, features: str) -> dict[str, float]:
        """Return for each candidate with work that went well how near a text is to the nearest of it, from 0 to 1."""
        near: dict[int, float] = defaultdict(float)
        for place, weight in _scaled(unpacked(features)):
            for number, other in self._at.get(place, ()):
                near[number] += weight * other
        best: dict[str, float] = {}
        for number, likeness in near.items():
            name = self._ids[number]
            best[name] = min(max(likeness, best.get(name, 0.0)), 1.0)
        return best


def _scaled(pairs: Sequence[tuple[int, int]]) -> Iterable[tuple[int, float]]:
    length = sqrt(sum(each * each for _, each in pairs)) or 1.0
    return ((place, each / length) for place, each in pairs)
