"""Calls that are made again under their id: nothing is done again, on any home."""

import asyncio

import pytest
from pydantic import BaseModel

from gatechart import ANY, AgentContext, EntryPoint, Handoff, Runtime, StateTransitionGraph, Transition
from gatechart.errors import AgentExistsError, EventIdReusedError, NoHandoffError, UnknownEntryError
from gatechart.graph.selection import Best
from gatechart.hosting.idempotency import MOST_APPLIED_IDS
from gatechart.stores.sql.store import SqlStore
from tests.runtime.support import soon

pytestmark = pytest.mark.sqlite_is_enough


class Name(BaseModel):
    name: str


class Case(AgentContext):
    name: str = ""


giving = StateTransitionGraph(
    "giving",
    context=Case,
    states=["ASKING"],
    transitions=[Transition(ANY, "NOTED"), Transition("ASKING", "handoff.failed", "LEFT")],
    entry_points=[EntryPoint("ASKING", opens_on="CALLED", takes=Name)],
)
taking = StateTransitionGraph(
    "taking",
    context=Case,
    states=["WORKING"],
    transitions=[Transition("WORKING", "handoff.cancelled", "OVER")],
    entry_points=["WORKING"],
)
ADA = {"name": "Ada"}


@pytest.fixture
async def runtime(place):
    async with Runtime.open(place, graphs=[giving, taking]) as opened:
        yield opened


@pytest.mark.parametrize("name", [None, "g-1"])
async def test_an_agent_is_started_once(runtime, name):
    start = [
        lambda **more: runtime.start("giving", at="ASKING", **more),
        lambda **more: runtime.start_on("CALLED", **more),
    ]
    for place, begin in enumerate(start):
        named = {"idempotency_key": f"call-{place}", "agent_id": name and f"{name}-{place}"}
        first = await begin(payload=ADA, **named)
        await first.send("NOTED")
        again = await begin(payload=ADA, **named)
        assert (again.id, again.snapshot) == (first.id, first.snapshot)
        assert (again.id, again.snapshot.version) == (named["agent_id"] or f"call-{place}", 2)
        with pytest.raises(EventIdReusedError):
            await begin(payload={"name": "Bob"}, **named)
        with pytest.raises(AgentExistsError):
            await begin(payload=ADA, agent_id=first.id, idempotency_key="another call")
        with pytest.raises(AgentExistsError):
            await begin(payload=ADA, agent_id=first.id)
        await runtime.erase(first.id)
        assert (await begin(payload=ADA, **named)).snapshot.version == 1


async def test_work_is_handed_on_once(runtime):
    agent = await runtime.start("giving", at="ASKING", payload=ADA)

    def hand_on(idempotency_key):
        return runtime.handoff(
            agent.id, Handoff("taking", at="WORKING", mode="delegate"), idempotency_key=idempotency_key
        )

    first = await hand_on("h-1")
    await agent.send("NOTED")
    assert await hand_on("h-1") == first
    assert await hand_on("h-2") != first
    assert len(await runtime.handoffs(source=agent.id)) == 2


async def test_work_is_handed_on_once_to_somebody_who_has_left_the_directory_meanwhile(runtime):
    agent = await runtime.start("giving", at="ASKING", payload=ADA)
    await runtime.register_entry("anna", "taking", at="WORKING", is_person=True)
    anna = Handoff(Best(entries="anna"), mode="delegate")
    first = await runtime.handoff(agent.id, anna, idempotency_key="h-1")
    async with asyncio.timeout(60):
        while not await runtime.handoffs(source=agent.id):  # noqa: ASYNC110  a projection lags
            await asyncio.sleep(0.01)
    await runtime.deregister_entry("anna")
    assert await runtime.handoff(agent.id, anna, idempotency_key="h-1") == first
    with pytest.raises(UnknownEntryError):
        await runtime.handoff(agent.id, anna, idempotency_key="h-2")


async def test_a_handoff_is_withdrawn_once(runtime):
    agent = await runtime.start("giving", at="ASKING", payload=ADA)
    handoff = await runtime.handoff(agent.id, Handoff("taking", at="WORKING", mode="delegate"))
    assert [each.id for each in await runtime.handoffs()] == [handoff]
    await runtime.cancel_handoff(handoff, reason="never mind", idempotency_key="c-1")
    await soon(agent.until("LEFT"))
    async with asyncio.timeout(60):
        while [each.status for each in await runtime.handoffs()] != ["cancelled"]:  # noqa: ASYNC110  a projection lags
            await asyncio.sleep(0.01)
    again = await runtime.cancel_handoff(handoff, reason="never mind", idempotency_key="c-1")
    assert again.repeat
    with pytest.raises(NoHandoffError):
        await runtime.cancel_handoff(handoff, reason="another reason", idempotency_key="c-2")


async def test_an_agent_goes_back_once(runtime):
    agent = await runtime.start("giving", at="ASKING", payload=ADA)
    await agent.send("NOTED")
    back = await agent.rollback(1, reason="a slip", idempotency_key="r-1")
    assert (await agent.rollback(1, reason="a slip", idempotency_key="r-1")) == back
    with pytest.raises(EventIdReusedError):
        await agent.rollback(1, reason="another", idempotency_key="r-1")
    assert (await runtime.resume(agent.id)).snapshot.version == 3


async def test_an_agent_started_here_knows_which_ids_it_applied(tmp_path, monkeypatch):
    asked = []
    applied = SqlStore.applied

    async def counted(store, agent_id, event_id):
        asked.append(event_id)
        return await applied(store, agent_id, event_id)

    monkeypatch.setattr(SqlStore, "applied", counted)
    url = f"sqlite+aiosqlite:///{tmp_path}/agents.db"
    async with Runtime.open(url, graphs=[giving]) as runtime:
        agent = await runtime.start("giving", at="ASKING", payload=ADA, agent_id="g-1", idempotency_key="call")
        asked.clear()
        assert not (await agent.send("NOTED", event_id="n-1")).repeat
        assert not (await agent.send("NOTED", event_id="n-2")).repeat
        assert asked == []
        assert (await agent.send("NOTED", event_id="n-1")).repeat
        with pytest.raises(EventIdReusedError):
            await agent.send("NOTED", event_id="call")
        assert asked == ["n-1", "call"]
        for number in range(MOST_APPLIED_IDS):
            await agent.send("NOTED", event_id=f"m-{number}")
        assert all(
            [(await agent.send("NOTED", event_id=each)).repeat for each in ("n-1", "m-0", f"m-{MOST_APPLIED_IDS - 1}")]
        )
        version = agent.snapshot.version
    async with Runtime.open(url, graphs=[giving]) as runtime:
        agent = await runtime.resume("g-1")
        assert (await agent.send("NOTED", event_id="n-2")).repeat
        assert agent.snapshot.version == version
