"""Turns made by hand, and what a store says of them."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from pydantic_core import to_json

from gatechart.errors import UnknownAgentError
from gatechart.ports import Store
from gatechart.values import STARTED, Event, Query, Snapshot, Status, TurnRecord, Unit, Verdict

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
    """The turn that starts an agent."""
    text = as_json(context or {})
    snapshot = Snapshot(agent_id, graph, "1", "f" * 32, (target,), text, 1, Status.ACTIVE)
    return TurnRecord(None, snapshot, Event(f"{STARTED}{target}", {}, NOON, event_id), (), 17)


def as_json(context: dict[str, Any]) -> str:
    """A context as its text, as `write_context` writes it."""
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
    """The turn that an event makes after another turn; what is left out stays as it was."""
    previous = turn.snapshot
    snapshot = replace(
        previous,
        configuration=previous.configuration if target is None else (target,),
        context=previous.context if context is None else as_json(context),
        version=previous.version + 1,
        status=status,
    )
    happened = Event(event, payload or {}, NOON + timedelta(seconds=previous.version), event_id)
    return TurnRecord(previous, snapshot, happened, (f"{previous.configuration[0]} --{event}",), 17)


async def lives(store: Store, agent_ids: str, *, turns: int) -> list[list[TurnRecord]]:
    """Agents with so many turns each, committed side by side; turn n of agent `a` has the event id `a-n`."""
    all_turns = [[started(agent_id, event_id=f"{agent_id}-1")] for agent_id in agent_ids]
    await store.commit([agent[0] for agent in all_turns])
    for version in range(2, turns + 1):
        for agent in all_turns:
            event_id = f"{agent[0].snapshot.agent_id}-{version}"
            agent.append(going_on(agent[-1], "TOLD", context={"n": version}, event_id=event_id))
        await store.commit([agent[-1] for agent in all_turns])
    return all_turns


async def verdicts(store: Store, *units: Unit) -> list[Verdict]:
    """What the store says of the units of one commit."""
    return list(await store.commit(units))


async def commit_each(store: Store, *turns: TurnRecord) -> None:
    """Each in a commit of its own."""
    for turn in turns:
        assert await verdicts(store, turn) == [COMMITTED]


async def found(store: Store, query: Query | None = None) -> list[str]:
    """The ids that a query finds, in order."""
    return [snapshot.agent_id for snapshot in (await store.find(query or Query())).agents]


async def assert_stale(store: Store, turn: TurnRecord) -> None:
    """The turn loses, and everything the store says of its agent is as it was before."""
    agent_id = turn.snapshot.agent_id
    before = await store.load(agent_id), await store.history(agent_id), await store.find(Query())
    assert await verdicts(store, turn) == [STALE]
    assert (await store.load(agent_id), await store.history(agent_id), await store.find(Query())) == before
    assert turn.event.id is None or await store.applied(agent_id, turn.event.id) is None


async def assert_unknown(store: Store, agent_id: str, event_id: str) -> None:
    """The store knows nothing of the agent."""
    with pytest.raises(UnknownAgentError, match=repr(agent_id)):
        await store.load(agent_id)
    with pytest.raises(UnknownAgentError, match=repr(agent_id)):
        await store.history(agent_id)
    assert await store.applied(agent_id, event_id) is None


def at_once(call: Coroutine[Any, Any, T]) -> T:
    """The result of a call that ends at its first step."""
    try:
        call.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    call.close()
    raise AssertionError("the call suspended")
