"""Trails and fired signals that somebody has spoilt in the database: they keep nobody from going on."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from gatechart import Invoke, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import StoreCorruptError
from gatechart.signals import NoProgress, handing_on, looping
from gatechart.values.agents import Status
from tests.homes import DATABASE_URLS
from tests.runtime.spoiling import by_hand

ROUND = StateTransitionGraph(
    "round",
    transitions=[Transition("HERE", "GO", "THERE"), Transition("THERE", "GO", "HERE")],
    entry_points=["HERE"],
    signals=[*handing_on(), *looping()],
)
MARKS = "SELECT noticed FROM agents WHERE id = 'spoilt'"


@pytest.fixture(params=DATABASE_URLS)
def url(request: Any) -> Any:
    return request.getfixturevalue(request.param)


async def lived(url: str, moves: int = 3) -> None:
    """Two agents that have gone round."""
    async with Runtime.open(url, graphs=[ROUND]) as runtime:
        for name in ("spoilt", "sound"):
            agent = await runtime.start(ROUND, at="HERE", agent_id=name)
            for number in range(moves):
                await agent.send("GO", {"number": number})


async def spoil(url: str, column: str, content: str) -> None:
    text = content.replace("'", "''")
    await by_hand(url, f"UPDATE agents SET {column} = '{text}' WHERE id = 'spoilt'", "SELECT 1")


@pytest.mark.parametrize(
    "noticed",
    ["{", "[]", "7", '{"slots":7}', '{"slots":["-"]}', '{"marks":"8ab9fc"}', '{"best":"high"}', '{"working":"work"}'],
)
async def test_an_agent_whose_detectors_cannot_be_read_is_unreadable_and_the_others_go_on(
    url: str, noticed: str
) -> None:
    await lived(url)
    await spoil(url, "noticed", noticed)
    async with Runtime.open(url, graphs=[ROUND]) as runtime:
        with pytest.raises(StoreCorruptError):
            await runtime.resume("spoilt")
        assert [each.agent_id for each in (await runtime.find(status=Status.UNREADABLE)).agents] == ["spoilt"]
        assert (await (await runtime.resume("sound")).send("GO")).refusal is None
        await runtime.erase("spoilt")
        assert (await runtime.find(status=Status.UNREADABLE)).agents == ()


async def test_a_detector_that_cannot_read_its_slot_is_told_and_breaks_no_turn(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    await lived(url)
    ((noticed,),) = await by_hand(url, MARKS)
    slots, _, rest = noticed.partition("]")
    await spoil(url, "noticed", '{"slots":[' + ",".join(['"-spoilt"'] * (slots.count(",") + 1)) + "]" + rest)
    async with Runtime.open(url, graphs=[ROUND]) as runtime:
        agent = await runtime.resume("spoilt")
        with caplog.at_level(logging.WARNING, "gatechart.turn.watch"):
            assert (await agent.send("GO", {"number": 9})).refusal is None
        assert len(agent.snapshot.trail.slots) == slots.count(",") + 1


@pytest.mark.parametrize("line", ["x\n", "mTHERE\n", "cHERE\t1\n", "no end of line"])
async def test_a_line_that_cannot_be_read_keeps_no_agent_from_going_on(url: str, line: str) -> None:
    await lived(url)
    await spoil(url, "trail", line)
    async with Runtime.open(url, graphs=[ROUND]) as runtime:
        agent = await runtime.resume("spoilt")
        for _ in range(8):
            await agent.send("GO")
        fired = [turn.fired for turn in await runtime.history("spoilt") if turn.fired is not None]
        assert [each.signal for each in fired] == ["repeats"]
        assert "is no entry of a trail" in fired[0].evidence[0]["problem"]


async def test_a_fired_signal_that_cannot_be_read_spoils_the_entry_of_its_turn_alone(url: str) -> None:
    await lived(url)
    await by_hand(url, "UPDATE history SET fired = '{\"signal\":7}' WHERE version = 3", "SELECT 1")
    async with Runtime.open(url, graphs=[ROUND]) as runtime:
        statuses = [turn.status for turn in await runtime.history("spoilt")]
        assert statuses == [Status.ACTIVE, Status.ACTIVE, Status.UNREADABLE, Status.ACTIVE]
        assert (await (await runtime.resume("spoilt")).send("GO")).refusal is None


async def test_a_slot_of_time_that_cannot_be_read_breaks_no_turn(url: str) -> None:
    work: asyncio.Event = asyncio.Event()

    async def wait(_context: Any, _work: Any) -> None:
        await work.wait()

    graph = StateTransitionGraph(
        "waiting",
        states=[State("WORKING", invoke=Invoke(wait, id="work")), "DONE"],
        transitions=[Transition("WORKING", "LATER"), Transition("WORKING", "done.invoke.work", "DONE")],
        entry_points=["WORKING"],
        signals=NoProgress(seconds=1000),
    )
    async with Runtime.open(url, graphs=[graph]) as runtime:
        await runtime.start(graph, at="WORKING", agent_id="spoilt")
    ((noticed,),) = await by_hand(url, MARKS)
    slot = noticed.partition('["')[2].partition('"')[0]
    await spoil(url, "noticed", noticed.replace(slot, "-spoilt").replace('"is_timed":true,', ""))
    async with Runtime.open(url, graphs=[graph]) as runtime:
        agent = await runtime.resume("spoilt")
        await agent.send("LATER")
        assert agent.snapshot.trail.is_timed
        work.set()
        await agent.until("DONE")
