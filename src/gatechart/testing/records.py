"""Hand-built turns, and assertions about a store's answers for them."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from pydantic_core import to_json

from gatechart.errors.event import UnknownAgentError
from gatechart.ports import Store
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import TurnRecord, Unit, Verdict
from gatechart.values.names import STARTED
from gatechart.values.queries import Query

T = TypeVar("T")

COMMITTED, STALE = Verdict.COMMITTED, Verdict.STALE
NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)


def started(
    agent_id: str,
    *,
    graph: str = "g",
    target: str = "A",
    context: dict[str, Any] | None = None,
    event_id: str | None = None,
) -> TurnRecord:
    """Build the turn that starts an agent."""
    text = as_json(context or {})
    snapshot = Snapshot(agent_id, graph, "1", "f" * 32, (target,), text, 1, Status.ACTIVE, started=NOON, changed=NOON)
    return TurnRecord(None, snapshot, Event(f"{STARTED}{target}", {}, NOON, event_id), (), 17)


def as_json(context: dict[str, Any]) -> str:
    """Write a context as `write_context` does."""
    return to_json(context).decode()


def going_on(
    turn: TurnRecord,
    event: str,
    *,
    target: str | None = None,
    context: dict[str, Any] | None = None,
    payload: dict[str, Any] | None = None,
    event_id: str | None = None,
    status: Status = Status.ACTIVE,
) -> TurnRecord:
    """Build the turn of an event after another turn. Omitted fields do not change."""
    previous = turn.snapshot
    happened = Event(event, payload or {}, NOON + timedelta(seconds=previous.version), event_id)
    snapshot = replace(
        previous,
        configuration=previous.configuration if target is None else (target,),
        context_text=previous.context_text if context is None else as_json(context),
        version=previous.version + 1,
        status=status,
        changed=happened.time,
    )
    return TurnRecord(previous, snapshot, happened, (f"{previous.configuration[0]} --{event}",), 17)


async def lives(store: Store, agent_ids: str, *, turns: int) -> list[list[TurnRecord]]:
    """Commit agents with `turns` turns each, side by side. Turn n of agent `a` has the event id `a-n`."""
    all_turns = [[started(agent_id, event_id=f"{agent_id}-1")] for agent_id in agent_ids]
    await store.commit([agent[0] for agent in all_turns])
    for version in range(2, turns + 1):
        for agent in all_turns:
            event_id = f"{agent[0].snapshot.agent_id}-{version}"
            agent.append(going_on(agent[-1], "TOLD", context={"n": version}, event_id=event_id))
        await store.commit([agent[-1] for agent in all_turns])
    return all_turns


async def verdicts(store: Store, *units: Unit) -> list[Verdict]:
    """Commit the units in one batch, and return the store's verdicts."""
    return list(await store.commit(units))


async def commit_each(store: Store, *turns: TurnRecord) -> None:
    """Commit each turn separately."""
    for turn in turns:
        assert await verdicts(store, turn) == [COMMITTED]


async def found(store: Store, query: Query | None = None) -> list[str]:
    """Return the ids of the agents that match a query, in order."""
    return [snapshot.agent_id for snapshot in (await store.find(query or Query())).agents]


async def assert_stale(store: Store, turn: TurnRecord) -> None:
    """Assert that the turn is stale, and that the store's answers for its agent do not change."""
    agent_id = turn.snapshot.agent_id
    before = await store.load(agent_id), await store.history(agent_id), await store.find(Query())
    assert await verdicts(store, turn) == [STALE]
    assert (await store.load(agent_id), await store.history(agent_id), await store.find(Query())) == before
    assert turn.event.id is None or await store.applied(agent_id, turn.event.id) is None


async def assert_unknown(store: Store, agent_id: str, event_id: str) -> None:
    """Assert that the store does not know the agent."""
    with pytest.raises(UnknownAgentError, match=repr(agent_id)):
        await store.load(agent_id)
    with pytest.raises(UnknownAgentError, match=repr(agent_id)):
        await store.history(agent_id)
    assert await store.applied(agent_id, event_id) is None


def at_once(call: Coroutine[Any, Any, T]) -> T:
    """Return the result of a call that must not suspend."""
    try:
        call.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    call.close()
    raise AssertionError("the call suspended")
