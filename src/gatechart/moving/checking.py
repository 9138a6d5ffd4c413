"""What cannot travel, found before anything does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from gatechart.errors import MoveError
from gatechart.moving.engine import Terms
from gatechart.moving.luggage import Luggage
from gatechart.restate.arriving import HERE, NOWHERE
from gatechart.stores.sql.export import agents_of, asked_now
from gatechart.stores.sql.store import SqlStore
from gatechart.values import AgentId

MOST_BYTES: Final = 8_000_000  # of an agent with its mail and ids: a quarter of what the engine takes as one message

Fail = Callable[[str, str, Sequence[AgentId]], MoveError]


async def check_terms(store: SqlStore, terms: Terms, fail: Fail) -> None:
    """Raises MoveError where the service does not know graphs, or somebody waits for an owner's answer."""
    asked = await store.read(partial(asked_now, now=datetime.now(UTC)))
    if asked:
        raise fail(f"{asked} requests of other processes wait for its host", "let `gatechart run --once` do them", ())
    lost = await _agents(store, terms, NOWHERE, with_steps=False)
    if lost:
        raise fail("the service knows no version of their graphs that they fit", "serve it there, or migrate", lost)
    moving_on = tuple(home for home in set(terms.graphs.values()) if home not in (HERE, NOWHERE))
    for home in moving_on:
        losing = await _agents(store, terms, home, with_steps=True)
        if losing:
            problem = "the service has only a newer version of their graphs, and steps of theirs would run again"
            raise fail(
                problem, "migrate them first with `gatechart migrate`, or serve the version that they have", losing
            )


async def _agents(store: SqlStore, terms: Terms, home: str, *, with_steps: bool) -> list[AgentId]:
    found: list[AgentId] = []
    for graph in (graph for graph, becomes in terms.graphs.items() if becomes == home):
        found += await store.read(partial(agents_of, graph=graph, with_steps=with_steps))
    return found


def too_large(luggage: Luggage, terms: Terms) -> bool:
    """Whether the agent could take no turn there."""
    return luggage.snapshot_size() > terms.most_bytes or luggage.size() > MOST_BYTES
