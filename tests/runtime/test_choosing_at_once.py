"""However many agents hand on their work at once, nobody whom a selection finds takes more than their places."""

import asyncio
from collections import Counter

import pytest

from gatechart import Handoff, Runtime, StateTransitionGraph, Transition
from gatechart.graph.handoff import Accepts
from gatechart.selection import Best, Needs, Profile
from gatechart.selection.explaining import explanation_of
from tests.homes import DATABASE_URLS
from tests.runtime.handovers import ACCEPTED, CHOOSING, PENDING, REJECTED, Talk, note, worker

MANY, PLACES = 1000, 10

asking = StateTransitionGraph(
    "asking",
    context=Talk,
    transitions=[
        Transition("TALKING", "ASK", "WAITING", actions=Handoff(Best(Needs(domains=("refunds",)), order="load"))),
        Transition("WAITING", "handoff.accepted", "HANDED_ON"),
        Transition("WAITING", "handoff.failed", "FAILED", actions=note),
    ],
    entry_points=["TALKING"],
)


def team(size):
    """So many graphs that take refunds, each with places for ten."""
    profile = Profile(domains=("refunds",))
    return [worker(f"taker{each:02}", accepts=Accepts(PLACES), profile=profile) for each in range(size)]


@pytest.fixture(params=DATABASE_URLS)
def database(request):
    return request.getfixturevalue(request.param)


async def ends_of(agents):
    """Hand on the work of all agents at once; return how many of them ended in each state."""
    await asyncio.gather(*(agent.send("ASK") for agent in agents))
    await asyncio.gather(*(agent.until("HANDED_ON", "FAILED") for agent in agents))
    return Counter(agent.configuration for agent in agents)


@pytest.mark.slow
async def test_a_thousand_handoffs_at_once_overbook_none_of_the_targets(database):
    async with Runtime.open(database, graphs=[asking, *team(100)]) as runtime:
        agents = await asyncio.gather(*(runtime.start("asking", at="TALKING") for _ in range(MANY)))
        assert await ends_of(agents) == {("HANDED_ON",): MANY}
        taken = await runtime.handoffs(status=ACCEPTED, limit=2 * MANY)
        assert set(Counter(each.target_graph for each in taken).values()) == {PLACES}
        assert {each.source for each in taken} == {agent.id for agent in agents}
        assert len({each.target for each in taken}) == MANY
        assert not [each for status in (CHOOSING, PENDING) for each in await runtime.handoffs(status=status)]


@pytest.mark.slow
async def test_whom_a_thousand_handoffs_at_once_leave_no_place_for_is_told_why_nobody_takes_it(database):
    async with Runtime.open(database, graphs=[asking, *team(60)]) as runtime:
        agents = await asyncio.gather(*(runtime.start("asking", at="TALKING") for _ in range(MANY)))
        assert await ends_of(agents) == {("HANDED_ON",): 600, ("FAILED",): 400}
        taken = await runtime.handoffs(status=ACCEPTED, limit=2 * MANY)
        assert set(Counter(each.target_graph for each in taken).values()) == {PLACES}
        for agent in agents:
            if agent.configuration == ("FAILED",):
                *refused, nobody = await runtime.handoffs(source=agent.id)
                assert {each.status for each in (*refused, nobody)} == {REJECTED}
                fell = {each.id: each.fell for each in explanation_of(nobody.choice).judged}
                assert {each.target_graph for each in refused} == {
                    name.partition(".")[0] for name, why in fell.items() if why == "refused: it already had the offer"
                }
                assert set(fell.values()) <= {"refused: it already had the offer", "place: 10 of 10 places taken"}
                assert len(fell) == 60
                assert agent.context.told[-1]["reason"] == "no match"
