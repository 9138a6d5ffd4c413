"""The record of an agent's ways out over HTTP: with its snapshot, and as turns of its history."""

from gatechart.clients import HttpClient
from gatechart.escape import GiveUp, Nudge
from gatechart.values import CameTo
from tests.runtime.test_escapes import go_round, ring
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
