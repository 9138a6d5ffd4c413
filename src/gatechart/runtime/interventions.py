"""Turns that callers request between an agent's events: a rollback, a handoff; each once, even if repeated."""

from __future__ import annotations

from collections.abc import Callable

from gatechart.graph.graph import AnyGraph
from gatechart.hosting.idempotency import request_of, turn_of
from gatechart.hosting.rollback import check_given_away
from gatechart.hosting.turn_guard import OpenTurn
from gatechart.runtime.core import Core
from gatechart.turn.handoff_turns import REQUESTED, requested
from gatechart.turn.rollback import rollback_event, rolled_back
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord


async def decide_rollback(
    core: Core, graph: AnyGraph, now: Snapshot, version: int, reason: str, idempotency_key: str | None
) -> TurnRecord | Snapshot:
    """Return the turn that rolls an agent back, or its snapshot afterwards if an earlier call has done so.

    Raises RollbackError, OpenHandoffError and EventIdReusedError.
    """
    event = rollback_event(version, reason, core.clock.now(), idempotency_key)
    done = await turn_of(core.store, now.agent_id, event)
    if done is not None:
        return await core.store.snapshot_at(now.agent_id, done.version)
    target = await core.store.snapshot_at(now.agent_id, version)
    await check_given_away(core.store, now, target)
    with OpenTurn(now.agent_id):
        return rolled_back(graph, now, target, event, core.services)


async def decide_handoff(
    core: Core, graph: AnyGraph, now: Snapshot, ask: Callable[[Turn], str], idempotency_key: str | None
) -> tuple[TurnRecord | None, str]:
    """Return the turn that offers a handoff, and the id of the request; no turn if an earlier call has offered it.

    ask: calls `Turn.handoff`. Raises its exceptions, EventIdReusedError, and EventRefusedError after the agent's end.
    """
    event = Event(REQUESTED, {}, core.clock.now(), idempotency_key)
    done = await turn_of(core.store, now.agent_id, event)
    if done is not None:
        return None, await request_of(core.store, done)
    request_ids: list[str] = []
    with OpenTurn(now.agent_id):
        turn = requested(graph, now, event, lambda turn: request_ids.append(ask(turn)), core.services)
    return turn, request_ids[0]
