"""The record of an agent's ways out over HTTP: with its snapshot, and as turns of its history."""

import asyncio

import httpx

from gatechart.clients import HttpClient
from gatechart.escape import GiveUp, Nudge, Restart
from gatechart.values.escapes import CameTo
from tests.runtime.test_escapes import go_round, ring
from tests.runtime.test_undoing import PIN, Desk, book_two, trip
from tests.serving.conftest import TOKEN, serving


async def test_a_client_sees_what_an_agent_tried_and_what_came_of_it(sqlite_url):
    graph = ring(Nudge(), last=GiveUp(), cooldown="0s")
    async with (
        serving(sqlite_url, token=TOKEN, graphs=[graph]) as served,
        HttpClient(served.url, token=TOKEN) as client,
    ):
        agent = await client.start("ring", at="A")
        await go_round(agent)
        escapes = (await client.read(agent.id)).trail.escapes
        assert [(each.strategy, each.signal, each.came_to) for each in escapes.tried] == [
            ("nudge", "repeats", CameTo.NOTHING),
            ("give_up", "repeats", CameTo.NOTHING),
        ]
        names = [turn.event.name for turn in await client.history(agent.id) if turn.event.name.startswith("escape.")]
        assert names == ["escape.nudge", "escape.give_up"]


async def test_a_client_sees_no_secret_of_the_calls_that_are_being_taken_back(sqlite_url):
    graph, opened = trip(book_two, Restart()), asyncio.Event()
    async with (
        serving(sqlite_url, token=TOKEN, graphs=[graph], services=Desk(opened=opened)) as served,
        HttpClient(served.url, token=TOKEN) as client,
        httpx.AsyncClient(base_url=served.url, headers={"Authorization": f"Bearer {TOKEN}"}) as raw,
    ):
        await client.start("trip", at="BUYING", agent_id="a")
        async with asyncio.timeout(30):
            while "UNDOING" not in (await client.read("a")).configuration:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        for path in ("agents/a", "agents/a/history", "agents", "mail"):
            answer = await raw.get(path)
            assert answer.status_code == 200, path
            assert PIN not in answer.text
        assert "cancel" in (await raw.get("agents/a")).text
        opened.set()
