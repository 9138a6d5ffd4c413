"""Norms for the time without a turn in a state, declared by the graph or learned from agents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil

from gatechart.graph.graph import AnyGraph
from gatechart.values.delays import seconds_of
from gatechart.values.frozen import value
from gatechart.values.names import StateName
from gatechart.values.queries import HistoryEntry
from gatechart.watchdog.terms import WatchdogTerms


@value
class Norm:
    """The normal time without a turn in a state."""

    seconds: float
    known: int = 0  # number of silences that it was learned from; 0 if it is declared

    @property
    def is_declared(self) -> bool:
        """Whether the graph declares it."""
        return not self.known


def declared_norms(graph: AnyGraph) -> Mapping[StateName, Norm]:
    """Return the norms of the leaves that declare `expects`, or inherit it from an ancestor."""
    norms: dict[StateName, Norm] = {}
    for leaf, node in graph.nodes.items():
        expected = [graph.nodes[state].expects for state in (leaf, *node.ancestors) if state in graph.nodes]
        nearest = next((seconds_of(delay) for delay in expected if delay is not None), None)
        if nearest is not None and not node.children:
            norms[leaf] = Norm(nearest)
    return norms


def silences(entries: Sequence[HistoryEntry]) -> Iterator[tuple[StateName, float]]:
    """Yield the seconds without a turn that an agent spent in its leaves. entries: turns in order.

    Silences across a gap in the versions are left out, and so is the current one, whose length is not known yet.
    """
    for before, after in pairwise(entries):
        if after.version == before.version + 1:
            seconds = (after.event.time - before.event.time).total_seconds()
            for leaf in before.target:
                yield leaf, max(seconds, 0.0)


def learned_norms(observed: Iterable[tuple[StateName, float]], terms: WatchdogTerms) -> Mapping[StateName, Norm]:
    """Return the norms of the leaves with enough known silences; other leaves have none.

    >>> few = [("ASKING", 1.0)] * 99
    >>> learned_norms(few, WatchdogTerms())
    {}
    >>> learned_norms([*few, ("ASKING", 50.0)], WatchdogTerms(quantile=1.0))
    {'ASKING': Norm(seconds=150.0, known=100)}
    """
    by_leaf: defaultdict[StateName, list[float]] = defaultdict(list)
    for leaf, seconds in observed:
        by_leaf[leaf].append(seconds)
    return {
        leaf: Norm(max(terms.factor * _quantile(known, terms.quantile), terms.least_s), len(known))
        for leaf, known in by_leaf.items()
        if len(known) >= terms.least
    }


def _quantile(known: list[float], quantile: float) -> float:
    return sorted(known)[ceil(quantile * len(known)) - 1]
