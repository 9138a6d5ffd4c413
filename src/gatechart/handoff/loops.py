"""Detect handoffs that go round in circles, from the path so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gatechart.handoff.packet import PathStep

MOST_HOPS: Final = 8
"""Total number of handoffs above which the number alone counts as a loop."""


def has_achieved(steps: Sequence[PathStep]) -> bool:
    """Return whether one of the steps reports an achievement."""
    return any(step.achieved.strip() for step in steps)


def loop_in(
    path: Sequence[PathStep],
    graph: str,
    most_hops: int = MOST_HOPS,
    progressed: Callable[[Sequence[PathStep]], bool] = has_achieved,
) -> str:
    """Return the evidence that a handoff to `graph` would close a loop, in one line; "" if it would not.

    path: the agents so far, oldest first; the last one hands the work on.
    progressed: called with the steps after the last one of `graph`, if there are any, or with that step if it is
        the last.

    A loop is a return to a graph after steps without any achievement. A handoff is also a loop if it would be number
    `most_hops + 1`. Cost O(n). Raises only the exceptions of `progressed`.

    >>> def way(**achieved):
    ...     return [PathStep(agent=f"{graph}-1", graph=graph, achieved=text) for graph, text in achieved.items()]
    >>> loop_in(way(orders="", refunds=""), "orders")
    'orders → refunds → orders: nothing was achieved since orders had it'
    >>> loop_in(way(orders="", refunds="the policy was read out"), "orders")
    ''
    """
    graphs = [step.graph for step in path]
    hops = len(path)
    if hops > most_hops:
        return f"{_drawn(graphs, graph)}: the work would be handed on {hops} times; the limit is {most_hops}"
    if graph not in graphs:
        return ""
    last = hops - 1 - graphs[::-1].index(graph)
    if progressed(path[last + 1 :] or path[last:]):
        return ""
    return f"{_drawn(graphs[last:], graph)}: nothing was achieved since {graph} had it"


def _drawn(graphs: Sequence[str], graph: str) -> str:
    return " → ".join((*graphs, graph))
