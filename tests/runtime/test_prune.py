"""Forgetting the past while agents go on."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import Retention, Runtime
from gatechart.errors import PayloadError, ReadOnlyError, UnknownAgentError
from gatechart.testing import VirtualClock
from gatechart.values.agents import Status
from gatechart.values.homes import Role
from gatechart.values.queries import Forgotten
from tests.runtime.ledgers import Faults, ledger
from tests.runtime.support import at_rest, nothing_changes, soon

pytestmark = pytest.mark.needs("prunes")

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
async def runtime(place, clock):
    async with Runtime.open(place, graphs=[ledger], clock=clock, services=Faults()) as opened:
        yield opened


async def days(clock, agent, *names):
    """Sends an event a day."""
    for name in names:
        await agent.send(name)
        clock.advance(DAY.total_seconds())


async def test_turns_are_forgotten_by_age_or_count(runtime, clock):
    agent = await runtime.start("ledger", at="OPEN", agent_id="a")
    await days(clock, agent, *["NOTED"] * 9)
    assert await runtime.prune(turns_before=timedelta(days=8, hours=1)) == Forgotten(turns=2)
    assert await runtime.prune(turns_before=NOON + 2.5 * DAY) == Forgotten(turns=2)
    assert await runtime.prune(keep_turns=3) == Forgotten(turns=3)
    assert [entry.version for entry in await agent.history()] == [8, 9, 10]
    assert (await agent.send("NOTED")).version == 11


async def test_an_ended_agent_is_erased_in_memory_too_and_those_who_wait_are_told(runtime, clock):
    ended, active = [await runtime.start("ledger", at="OPEN", agent_id=each) for each in ("ended", "active")]
    await days(clock, ended, "ENDED")
    assert await runtime.prune(ended_before=DAY - timedelta(seconds=1), ids_for=timedelta()) == Forgotten(agents=1)
    with pytest.raises(UnknownAgentError):
        await ended.send("NOTED")
    with pytest.raises(UnknownAgentError):
        await runtime.resume("ended")
    assert (await active.send("NOTED")).applied
    again = await runtime.start("ledger", at="OPEN", agent_id="ended")
    assert (await again.send("NOTED")).version == 2
    with pytest.raises(UnknownAgentError):
        await ended.send("NOTED")  # another one of that id


async def test_what_is_needed_to_recognise_a_repeat_stays(runtime, clock):
    agent = await runtime.start("ledger", at="OPEN", agent_id="a")
    await agent.send("NOTED", event_id="first")
    await days(clock, agent, *["NOTED"] * 5)
    assert await runtime.prune(keep_turns=1) == Forgotten(turns=1)
    assert (await agent.send("NOTED", event_id="first")).repeat
    assert await runtime.prune(keep_turns=1, ids_for=DAY) == Forgotten(turns=5)
    assert not (await agent.send("NOTED", event_id="first")).repeat


async def test_refused_mail_is_forgotten_by_age_and_waiting_mail_never(runtime, clock):
    await runtime.start("ledger", at="OPEN", agent_id="a")
    await runtime.post("a", "UNHEARD_OF")
    await runtime.post("a", "NOTED", due=NOON + 30 * DAY)
    await at_rest(runtime, clock)
    clock.advance(DAY.total_seconds())
    assert await runtime.prune(mail_before=2 * DAY) == Forgotten()
    assert await runtime.prune(mail_before=timedelta()) == Forgotten(mail=1)
    assert [mail.event for mail in await runtime.mail()] == ["NOTED"]


async def test_progress_is_told_part_by_part_and_turns_go_on_in_between(runtime, clock):
    agents = [await runtime.start("ledger", at="OPEN") for _ in range(250)]
    for agent in agents:
        await agent.send("ENDED")
    going_on = await runtime.start("ledger", at="OPEN", agent_id="z")
    clock.advance(DAY.total_seconds())
    told, sent = [], []

    def progress(so_far):
        told.append(so_far.agents)
        sent.append(asyncio.ensure_future(going_on.send("NOTED")))

    done = await runtime.prune(ended_before=timedelta(hours=1), ids_for=timedelta(), on_progress=progress)
    assert done.agents == told[-1] == 250
    assert len(told) >= 3
    assert told == sorted(told)
    assert {(await soon(each)).applied for each in sent} == {True}


async def test_a_pruning_that_is_given_up_has_forgotten_what_it_told(runtime, clock):
    for _ in range(250):
        await (await runtime.start("ledger", at="OPEN")).send("ENDED")
    clock.advance(DAY.total_seconds())
    told = []

    def stop(so_far):
        told.append(so_far.agents)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await runtime.prune(ended_before=timedelta(hours=1), ids_for=timedelta(), on_progress=stop)
    assert len((await runtime.find(limit=1000)).agents) == 250 - told[0]


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    "bounds",
    [
        {"keep_turns": 0},
        {"keep_turns": "1"},
        {"turns_before": timedelta(-1)},
        {"ended_before": datetime(2030, 1, 1)},  # noqa: DTZ001
        {"mail_before": 30},
        {"ended_before": timedelta.max},
        {"ids_for": timedelta(-1)},
        {"ids_for": NOON},
        {"ended_before": DAY, "status": "active"},
        {"ended_before": DAY, "status": "finished"},
        {"keep_turns": 1, "status": "done"},  # of all agents, one might think
    ],
)
async def test_a_bound_that_is_none_is_refused(runtime, bounds):
    agent = await runtime.start("ledger", at="OPEN", agent_id="a")
    async with nothing_changes(runtime, agent):
        with pytest.raises(PayloadError, match="prune"):
            await runtime.prune(**bounds)


async def test_agents_are_erased_by_how_they_ended(runtime, clock):
    done, stopped = [await runtime.start("ledger", at="OPEN", agent_id=each) for each in ("done", "stopped")]
    await done.send("ENDED")
    await runtime.stop("stopped")
    clock.advance(DAY.total_seconds())
    bounds = {"ended_before": timedelta(hours=1), "ids_for": timedelta()}
    assert await runtime.prune(status="stopped", dry_run=True, **bounds) == Forgotten(agents=1)
    assert await runtime.prune(status="stopped", **bounds) == Forgotten(agents=1)
    assert [agent.agent_id for agent in (await runtime.find()).agents] == ["done"]
    assert await runtime.prune(status=Status.DONE, **bounds) == Forgotten(agents=1)
    with pytest.raises(UnknownAgentError):
        await stopped.send("NOTED")


async def test_a_dry_run_tells_part_by_part_what_would_go_and_forgets_nothing(runtime, clock):
    agents = [await runtime.start("ledger", at="OPEN") for _ in range(120)]
    for agent in agents:
        await agent.send("ENDED")
    going_on = await runtime.start("ledger", at="OPEN", agent_id="z")
    await days(clock, going_on, *["NOTED"] * 5)
    await runtime.post("z", "UNHEARD_OF")
    await at_rest(runtime, clock)
    clock.advance(DAY.total_seconds())
    told = []
    bounds = {
        "ended_before": timedelta(),
        "keep_turns": 2,
        "mail_before": timedelta(),
        "ids_for": timedelta(),
        "on_progress": told.append,
    }
    async with nothing_changes(runtime, going_on, *agents):
        would_go = await runtime.prune(**bounds, dry_run=True)
        assert would_go == told[-1] == Forgotten(agents=120, turns=4, mail=1)
        assert len(told) >= 2
        assert len(await runtime.mail()) == 1
    assert (await agents[0].history())[-1].event.name == "ENDED"
    assert await runtime.prune(**bounds) == would_go


async def test_a_reader_tells_what_would_go(sqlite_url, clock):
    async with Runtime.open(sqlite_url, graphs=[ledger], clock=clock) as runtime:
        await days(clock, await runtime.start("ledger", at="OPEN", agent_id="a"), *["NOTED"] * 5)
        async with Runtime.open(sqlite_url, graphs=(), clock=clock, role=Role.READER) as reader:
            assert await reader.prune(keep_turns=2, dry_run=True) == Forgotten(turns=4)
        assert await runtime.prune(keep_turns=2) == Forgotten(turns=4)


async def test_a_reader_forgets_nothing(sqlite_url):
    async with Runtime.open(sqlite_url, graphs=[ledger]) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="a")
    async with Runtime.open(sqlite_url, graphs=[ledger], role=Role.READER) as runtime:
        with pytest.raises(ReadOnlyError):
            await runtime.prune(keep_turns=1)


async def test_an_age_may_be_written_as_a_duration(runtime, clock):
    await runtime.start("ledger", at="OPEN", agent_id="a")
    by_text = await runtime.prune(turns_before="90d", mail_before="P1D", ids_for="1h30m", dry_run=True)
    by_delta = await runtime.prune(
        turns_before=timedelta(days=90), mail_before=DAY, ids_for=timedelta(minutes=90), dry_run=True
    )
    assert by_text == by_delta


async def test_a_runtime_deletes_as_it_goes_what_it_does_not_keep(place, clock):
    keeping = Retention(ended_before="10d", keep_turns=2, ids_for="0s", every="1d")
    async with Runtime.open(place, graphs=[ledger], clock=clock, services=Faults(), retention=keeping) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="a")
        await runtime.start("ledger", at="OPEN", agent_id="b")
        await runtime.stop("b")
        for _ in range(5):
            await agent.send("NOTED")
        await at_rest(runtime, clock)
        assert len(await agent.history()) == 6
        clock.advance(DAY.total_seconds())
        await at_rest(runtime, clock)
        assert [each.version for each in await agent.history()] == [5, 6]
        assert (await runtime.resume("b")).status is Status.STOPPED
        for _ in range(10):
            await at_rest(runtime, clock)
            clock.advance(DAY.total_seconds())
        await at_rest(runtime, clock)
        with pytest.raises(UnknownAgentError):
            await runtime.resume("b")
        assert (await agent.send("NOTED")).applied


async def test_only_the_owner_deletes_as_it_goes(sqlite_url, clock):
    keeping = Retention(keep_turns=1, ids_for="0s")
    async with Runtime.open(sqlite_url, graphs=[ledger], clock=clock, services=Faults()) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="a")
        await agent.send("NOTED")
    for role in (Role.READER, Role.VISITOR):
        async with Runtime.open(sqlite_url, graphs=[ledger], clock=clock, role=role, retention=keeping) as runtime:
            clock.advance(DAY.total_seconds())
            await at_rest(runtime, clock)
            assert len(await runtime.history("a")) == 2
    async with Runtime.open(sqlite_url, graphs=[ledger], clock=clock, services=Faults(), retention=keeping) as runtime:
        await at_rest(runtime, clock)
        assert len(await runtime.history("a")) == 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "it deletes nothing"),
        ({"ids_for": "1d"}, "it deletes nothing"),
        ({"ended_before": NOON}, "an age, such as '90d'"),
        ({"mail_before": 7}, "mail_before is 7"),
        ({"keep_turns": 0}, "keep_turns is 0"),
        ({"status": "done", "keep_turns": 1}, "ended_before beside it"),
        ({"keep_turns": 1, "every": "0s"}, "every is '0s'"),
        ({"keep_turns": 1, "every": 60}, "every is 60"),
    ],
)
def test_rules_that_cannot_be_are_refused_when_they_are_made(wrong, told):
    with pytest.raises(PayloadError, match=told):
        Retention(**wrong)
