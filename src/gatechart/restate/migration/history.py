"""The history of agents, on its way to the projection of an engine's service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from gatechart.restate.migration.departure import PAGE_BYTES, Luggage, as_turns, handoffs_of
from gatechart.restate.migration.engine import Engine, Terms
from gatechart.restate.state import TURN, Turn
from gatechart.stores.sql.export import oldest_version, turns_of
from gatechart.stores.sql.store import SqlStore

PAGE: Final = 200  # turns read together


@dataclass(frozen=True, slots=True)
class Past:
    """The range of an agent's turns that travel."""

    after: int  # only versions above this one
    turns: int
    left: int  # turns left behind


async def bring_past(store: SqlStore, engine: Engine, each: Luggage, most: int | None, terms: Terms) -> Past:
    """Send the agent's newest turns, at most `most`, and all handoffs that it offered."""
    assert each.state.snapshot is not None
    newest = each.state.snapshot.version
    first = (await store.history(each.agent_id, limit=1))[0].version
    if not terms.projects:
        return Past(newest, 0, newest - first + 1)
    after = await store.read(partial(oldest_version, agent_id=each.agent_id)) - 1
    if most is not None:
        after = max(after, newest - most)
    handoffs = {newest: tuple(await handoffs_of(store, each.agent_id))}
    last = after
    while found := await store.read(partial(turns_of, agent_id=each.agent_id, after=last, limit=PAGE)):
        for part in _parts(as_turns(found, handoffs)):
            await engine.bring(each.agent_id, part)
        last = found[-1][0].version
    return Past(after, newest - after, after - first + 1)


def _parts(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Split turns into parts of a size suited to messages."""
    parts: list[list[Turn]] = [[]]
    size = 0
    for turn in turns:
        size += len(TURN.dump_json(turn))
        if size > PAGE_BYTES and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(turn)
    return parts
