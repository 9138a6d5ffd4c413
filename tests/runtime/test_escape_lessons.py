"""What agents learn from their escapes, on every home: kept once for a graph, and gone by with the next agent."""

import pytest

from gatechart import EscapePlan, Runtime
from gatechart.escape import GiveUp, Nudge, Reroute
from gatechart.hosting.lessons import keeper_of, lessons_kept
from gatechart.signals import looping
from gatechart.testing import VirtualClock
from gatechart.values.agents import Status
from gatechart.values.lessons import NO_LESSONS
from tests.runtime.handovers import rest
from tests.runtime.region_rings import CIRCLE as ROUND
from tests.runtime.region_rings import going_round, in_regions, standing
from tests.runtime.rings import CIRCLE, NOON, WAY_OUT, attempts, go_round, ring
from tests.runtime.seekers import Desk, seeker

GRAPH = ring(Nudge(), Reroute(), transitions=[*CIRCLE, *WAY_OUT], doors=("A", "E"), last=GiveUp(), cooldown="0s")
AGENTS = 7


def hosted(place, graph=GRAPH, clock=None):
    return Runtime.open(place, graphs=[graph], clock=clock or VirtualClock(NOON))


async def lived(runtime, name):
    """An agent that went round until it got out, and the names of its attempts."""
    agent = await runtime.start("ring", at="A", agent_id=name)
    await go_round(agent)
    assert agent.snapshot.status is Status.DONE
    return [turn.event.name for turn in await attempts(agent)]


async def learned(runtime):
    await rest(runtime)
    return lessons_kept(await runtime.read(keeper_of("ring")))


@pytest.mark.sample_on_restate
async def test_what_attempts_came_to_is_kept_for_the_graph(place):
    async with hosted(place) as runtime:
        for number in range(2):
            assert await lived(runtime, f"a-{number}") == ["escape.nudge", "escape.reroute"]
        known = await learned(runtime)
    assert known.strategies == {"repeats nudge": (0, 2), "repeats reroute": (2, 0)}
    assert known.places["E"] == (2, 0)
    assert known.places["DONE"] == (2, 0)
    well, badly = known.places["A"]
    assert well == 0
    assert badly >= 2


async def test_what_went_well_often_is_tried_earlier_by_later_agents_and_after_a_restart(place):
    async with hosted(place) as runtime:
        for number in range(AGENTS):
            found = await lived(runtime, f"a-{number}")
            await rest(runtime)
        assert found == ["escape.reroute"]
    async with hosted(place) as runtime:
        assert await lived(runtime, "b") == ["escape.reroute"]


async def test_a_pinned_order_stays_whatever_was_learned(place):
    pinned = ring(Nudge(), Reroute(), transitions=[*CIRCLE, *WAY_OUT], doors=("A", "E"), cooldown="0s", learns=False)
    async with hosted(place, pinned) as runtime:
        for number in range(AGENTS):
            assert await lived(runtime, f"a-{number}") == ["escape.nudge", "escape.reroute"]


async def test_which_tools_fail_is_kept_by_what_they_can_do_and_by_the_kind_of_error(place):
    async with Runtime.open(place, graphs=seeker(), services=Desk(), clock=VirtualClock(NOON)) as runtime:
        agent = await runtime.start("seeker", at="LOOKING")
        await agent.until("DONE", timeout=30)
        await rest(runtime)
        known = lessons_kept(await runtime.read(keeper_of("seeker")))
    failed = (0, 2)
    assert (known.tools, known.errors) == ({"search": failed}, {"search ConnectionError": failed})
    assert known.capabilities == dict.fromkeys(("find", "read", "find ConnectionError", "read ConnectionError"), failed)


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_region_in_which_another_went_round_is_not_blamed_for_it(place, is_first):
    regions = [going_round(), standing()]
    graph = in_regions(
        *(regions if is_first else regions[::-1]),
        transitions=ROUND,
        entry_points=["BOTH", "C"],
        signals=looping(),
        escape=EscapePlan({"repeats": Reroute("C")}),
    )
    async with hosted(place, graph) as runtime:
        agent = await runtime.start("both", at="BOTH")
        await go_round(agent)
        await rest(runtime)
        known = lessons_kept(await runtime.read(keeper_of("both")))
    assert {name for name, (_, badly) in known.places.items() if badly} == {"A", "B", "GO --> A", "GO --> B"}


async def test_other_graphs_learn_nothing_from_it(place):
    async with hosted(place) as runtime:
        await lived(runtime, "a")
        await rest(runtime)
        assert [each.agent_id for each in (await runtime.find(graph="gatechart.lessons")).agents] == ["lessons:ring"]


@pytest.mark.sample_on_restate
async def test_lessons_that_were_forgotten_are_learned_from_the_start(place):
    async with hosted(place) as runtime:
        await lived(runtime, "a")
        assert (await learned(runtime)) != NO_LESSONS
        await runtime.forget_lessons("ring")
        assert await lived(runtime, "b") == ["escape.nudge", "escape.reroute"]
        known = await learned(runtime)
    assert known.strategies == {"repeats nudge": (0, 1), "repeats reroute": (1, 0)}


async def test_an_agent_that_has_the_id_of_an_erased_one_teaches_anew(place):
    clock = VirtualClock(NOON)
    async with hosted(place, clock=clock) as runtime:
        await lived(runtime, "a")
        await runtime.erase("a")
        clock.advance(1)
        await lived(runtime, "a")
        known = await learned(runtime)
    assert known.strategies == {"repeats nudge": (0, 2), "repeats reroute": (2, 0)}


def test_a_plan_says_whether_it_goes_by_what_was_learned():
    assert EscapePlan({"repeats": Nudge()}).learns
    assert not EscapePlan({"repeats": Nudge()}, learns=False).learns
