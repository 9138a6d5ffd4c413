"""Whether handing on goes round in circles, judged from the way so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gatechart.handoff.packet import PathStep

MOST_HOPS: Final = 8
"""How often work is handed on, in all, before that alone counts as a loop."""


def has_achieved(steps: Sequence[PathStep]) -> bool:
    """Whether one of the steps says what it achieved."""
    return any(step.achieved.strip() for step in steps)


def loop_in(
    path: Sequence[PathStep],
    graph: str,
    most_hops: int = MOST_HOPS,
    progressed: Callable[[Sequence[PathStep]], bool] = has_achieved,
) -> str:
    """The evidence that handing on to `graph` would close a loop, in one line; "" where there is none.

    path: the agents so far, oldest first, the one that hands on last. progressed: asked with the steps after the last
    one of `graph`, where there is one, or with that itself where it is the last; a loop is a way back on which nothing
    was achieved. Handing on is also a loop when it would be hop number `most_hops + 1`. Cost O(n). Never raises, but
    for what `progressed` does.
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
        return f"{_drawn(graphs, graph)}: it would be handed on {hops} times, and {most_hops} are the most"
    if graph not in graphs:
        return ""
    last = hops - 1 - graphs[::-1].index(graph)
    if progressed(path[last + 1 :] or path[last:]):
        return ""
    return f"{_drawn(graphs[last:], graph)}: nothing was achieved since {graph} had it"


def _drawn(graphs: Sequence[str], graph: str) -> str:
    return " → ".join((*graphs, graph))
