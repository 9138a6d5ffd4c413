"""What an agent remembers lasts: through migrations, pruning, rest, another owner and a backup, on every home."""

import gc
from datetime import UTC, datetime

import pytest

from gatechart import ANY, Migration, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import OwnershipLostError
from gatechart.graph.definition import Invoke
from gatechart.graph.signals import Signal
from gatechart.signals import NoProgress, Repeats, VisitsOver
from gatechart.testing import VirtualClock
from gatechart.values.homes import Role
from tests.homes import DATABASE_URLS
from tests.noticing import go_round
from tests.runtime.support import at_rest

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MOVES = 5
"""With which an agent has been in HERE and in THERE three times each."""

CIRCLE = Signal(Repeats(), "circle")


def rounds(*signals, version="1", **more):
    """A graph that goes round, and rests once it notices."""
    answer = Transition(ANY, "signal.circle", "REST")
    return go_round(answer, signals=signals, version=version, **more)


async def goes(agent, count):
    """Where the agent is after each of so many moves."""
    return [(await agent.send("GO")).configuration for _ in range(count)]


async def begun(place, graph=None):
    """Has an agent make all moves but the last two."""
    async with Runtime.open(place, graphs=[graph or rounds(CIRCLE)]) as runtime:
        agent = await runtime.start("round", at="HERE", agent_id="a")
        assert ("REST",) not in await goes(agent, MOVES - 2)


async def notices(runtime):
    """Whether the agent notices with the last of its moves, not before."""
    return await goes(await runtime.resume("a"), 2) == [("HERE",), ("REST",)]


@pytest.mark.sample_on_restate
async def test_what_is_remembered_goes_along_when_a_graph_migrates_and_gets_other_signals(place):
    await begun(place)
    step = Migration("1", "2", lambda stored: stored)
    other = Signal(VisitsOver("HERE", 9), "visits")
    async with Runtime.open(place, graphs=[rounds(other, CIRCLE, version="2", migrations=[step])]) as runtime:
        assert await notices(runtime)
        assert (await runtime.resume("a")).snapshot.graph_version == "2"


async def test_signals_that_a_migration_brings_begin_with_it(place):
    await begun(place, rounds())
    step = Migration("1", "2", lambda stored: stored)
    async with Runtime.open(place, graphs=[rounds(CIRCLE, version="2", migrations=[step])]) as runtime:
        agent = await runtime.resume("a")
        assert ("REST",) not in await goes(agent, MOVES - 1)
        assert ("REST",) in await goes(agent, 2)


async def test_signals_that_a_migration_takes_away_leave_no_trail(place):
    await begun(place)
    step = Migration("1", "2", lambda stored: stored)
    async with Runtime.open(place, graphs=[rounds(version="2", migrations=[step])]) as runtime:
        agent = await runtime.resume("a")
        assert ("REST",) not in await goes(agent, MOVES)
        assert (agent.snapshot.trail.text, agent.snapshot.trail.slots) == ("", ())


@pytest.mark.needs("prunes")
async def test_pruning_forgets_turns_and_nothing_of_what_is_remembered(place):
    await begun(place)
    async with Runtime.open(place, graphs=[rounds(CIRCLE)]) as runtime:
        assert (await runtime.prune(keep_turns=1)).turns > 0
        assert await notices(runtime)


@pytest.mark.sample_on_restate
async def test_an_agent_with_the_id_of_an_erased_one_remembers_nothing_of_it(place):
    await begun(place)
    async with Runtime.open(place, graphs=[rounds(CIRCLE)]) as runtime:
        await runtime.erase("a")
        agent = await runtime.start("round", at="HERE", agent_id="a")
        assert ("REST",) not in await goes(agent, MOVES - 1)
        assert await goes(agent, 1) == [("REST",)]


@pytest.mark.parametrize("url", DATABASE_URLS)
async def test_who_takes_over_from_an_owner_notices_as_it_would_have(url, request):
    place, graph = request.getfixturevalue(url), rounds(CIRCLE)
    await begun(place)
    async with Runtime.open(place, graphs=[graph]) as frozen:
        agent = await frozen.resume("a")
        async with Runtime.open(place, graphs=[graph], role=Role.TAKE_OVER) as runtime:
            assert await notices(runtime)
            with pytest.raises(OwnershipLostError):
                await agent.send("GO")


async def test_an_agent_restored_from_a_backup_notices_as_the_one_that_went_on(backup):
    await begun(backup.url)
    async with Runtime.open(backup.url, graphs=[rounds(CIRCLE)]) as runtime:
        backup.take()
        assert await notices(runtime)
    async with Runtime.open(backup.restored_url, graphs=[rounds(CIRCLE)], role=Role.TAKE_OVER) as runtime:
        assert await notices(runtime)


# Time


async def wait(context, work):
    await work.sleep("waiting", "1d")


def slow(seconds):
    """A graph whose state WORKING waits, and which asks for help without progress."""
    return StateTransitionGraph(
        "slow",
        states=[State("WORKING", invoke=Invoke(wait)), "RESTING", "HELPED"],
        transitions=[
            Transition("WORKING", "done.invoke.wait", "RESTING"),
            Transition("WORKING", "PAUSED", "RESTING"),
            Transition("RESTING", "RESUMED", "WORKING"),
            Transition("WORKING", "TOLD", actions=progress),
            Transition(ANY, "signal.no_progress", "HELPED"),
        ],
        entry_points=["WORKING"],
        signals=NoProgress(seconds=seconds),
    )


def progress(context, event, turn):
    turn.progressed()


async def fired_after(runtime, clock, seconds):
    """Whether the agent has asked for help so many seconds later."""
    clock.advance(seconds)
    await at_rest(runtime, clock)
    return "HELPED" in (await runtime.resume("a")).configuration


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def opened(place, clock):
    def opening():
        return Runtime.open(place, graphs=[slow(15)], clock=clock)

    return opening


async def timers(runtime):
    return [each for each in await runtime.mail("a") if each.event == "trail.due"]


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_that_nobody_holds_is_woken_when_its_time_without_progress_is_over(opened, clock):
    async with opened() as runtime:
        await runtime.start("slow", at="WORKING", agent_id="a")
        gc.collect()
        assert not await fired_after(runtime, clock, 14.9)
        gc.collect()
        assert await fired_after(runtime, clock, 0.2)


@pytest.mark.needs("takes_a_clock")
async def test_time_without_progress_goes_on_through_a_restart(opened, clock):
    async with opened() as runtime:
        await runtime.start("slow", at="WORKING", agent_id="a")
        assert not await fired_after(runtime, clock, 10)
    async with opened() as runtime:
        assert not await fired_after(runtime, clock, 4)
        assert await fired_after(runtime, clock, 2)


@pytest.mark.needs("takes_a_clock")
async def test_progress_sets_no_timer_and_the_one_that_fires_too_early_is_set_again(opened, clock):
    async with opened() as runtime:
        agent = await runtime.start("slow", at="WORKING", agent_id="a")
        (first,) = await timers(runtime)
        for _ in range(3):
            clock.advance(3)
            await agent.send("TOLD")
            assert await timers(runtime) == [first]
        assert not await fired_after(runtime, clock, 7)  # it fired at 15, and found progress at 9
        (second,) = await timers(runtime)
        assert (second.due - first.due).total_seconds() == 9
        assert not await fired_after(runtime, clock, 7)
        assert await fired_after(runtime, clock, 2)
        assert not await timers(runtime)


@pytest.mark.needs("takes_a_clock")
async def test_rest_is_no_time_without_progress(opened, clock):
    async with opened() as runtime:
        agent = await runtime.start("slow", at="WORKING", agent_id="a")
        clock.advance(10)
        await agent.send("PAUSED")
        assert not await fired_after(runtime, clock, 3600)
        assert not await timers(runtime)
        await agent.send("RESUMED")
        assert len(await timers(runtime)) == 1


@pytest.mark.sample_on_restate
async def test_time_without_progress_is_noticed_on_every_home_by_the_machines_clock(place):
    async with Runtime.open(place, graphs=[slow(0.2)]) as runtime:
        agent = await runtime.start("slow", at="WORKING", agent_id="a")
        await agent.until("HELPED", timeout=20)
        (fired,) = [each.fired for each in await agent.history() if each.fired]
        assert fired.evidence[0]["seconds"] >= 0.2


async def test_an_agent_that_is_erased_while_its_timer_is_pending_leaves_none(place):
    async with Runtime.open(place, graphs=[slow(60)]) as runtime:
        await runtime.start("slow", at="WORKING", agent_id="a")
        await runtime.erase("a")
        assert not await timers(runtime)
