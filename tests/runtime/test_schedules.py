"""Schedules: agents that are started again and again, once for each moment, on every home."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from gatechart import AgentContext, EntryPoint, Runtime, State, StateTransitionGraph, Transition, sync
from gatechart.checks import check
from gatechart.clients.database import open_database_client
from gatechart.errors import (
    AgentExistsError,
    EntryRefusedError,
    PayloadError,
    UnknownGraphError,
    UnknownScheduleError,
)
from gatechart.hosting.own_agents import own_agents_of
from gatechart.schedules.graph import Terms, schedule_graph
from gatechart.stores import MemoryStore, open_store
from gatechart.testing import VirtualClock
from gatechart.values.framework import SCHEDULE_GRAPH
from gatechart.values.recurrence import Every
from gatechart.values.schedules import Overlap
from tests.homes import DATABASE_URLS
from tests.runtime.support import WrappedStore, at_rest, nothing_changes

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class Report(AgentContext):
    topic: str = ""
    notes: list[str] = Field(default_factory=list)


class Asked(BaseModel):
    topic: str


def burst(context, event):
    raise RuntimeError("the press is broken")


report = StateTransitionGraph(
    "report",
    context=Report,
    states=["WRITING", State("BROKEN", on_entry=burst), State("SENT", final=True)],
    transitions=[Transition("WRITING", "DONE", "SENT")],
    entry_points=["WRITING", EntryPoint("WRITING", "ASKED", takes=Asked), "SENT", "BROKEN"],
)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
async def runtime(place, clock):
    async with Runtime.open(place, graphs=[report], clock=clock) as runtime:
        yield runtime


async def seen(runtime, holds):
    """The schedule, as soon as this holds of it."""
    async with asyncio.timeout(60):
        while True:
            [schedule] = await runtime.schedules()
            if holds(schedule):
                return schedule
            await asyncio.sleep(0.01)


def settled_at(moment):
    return lambda schedule: schedule.last == moment and (schedule.started or schedule.skipped or schedule.problem)


def started(count):
    return lambda schedule: len(schedule.started) == count


def at(*moments):
    return tuple(f"nightly@{moment.isoformat().replace('+00:00', 'Z')}" for moment in moments)


async def ids(runtime):
    return [agent.agent_id for agent in (await runtime.find(graph="report")).agents]


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_is_started_at_each_moment_as_start_would_start_it(runtime, clock):
    made = await runtime.schedule("nightly", report, at="ASKED", payload=Asked(topic="sales"), every="1d")
    assert (made.next, made.last, made.started, made.every) == (NOON + DAY, None, (), Every("1d"))
    for day in (1, 2, 3):
        clock.at = NOON + day * DAY
        found = await seen(runtime, started(day))
        await runtime.send(found.started[-1], "DONE")
    assert found.started == at(NOON + DAY, NOON + 2 * DAY, NOON + 3 * DAY)
    assert (found.next, found.last, found.skipped, found.problem) == (NOON + 4 * DAY, NOON + 3 * DAY, 0, "")
    agent = await runtime.resume(found.started[0])
    assert agent.context.topic == "sales"
    assert (await agent.history())[0].event.name == "agent.started.ASKED"


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize(
    ("overlap", "days", "skipped"), [("skip", [1, 4], 2), ("start", [1, 2, 3, 4], 0), ("queue_one", [1, 2, 4], 1)]
)
async def test_the_overlap_policy_decides_while_the_agent_of_the_last_moment_lives(
    runtime, clock, overlap, days, skipped
):
    await runtime.schedule("nightly", report, at="WRITING", every="1d", overlap=overlap)
    for day in (1, 2, 3):
        clock.at = NOON + day * DAY
        found = await seen(runtime, settled_at(clock.at))
        await at_rest(runtime, clock)
    for agent_id in await ids(runtime):
        await runtime.send(agent_id, "DONE")
    if overlap == "queue_one":
        clock.advance("10s")
        found = await seen(runtime, started(2))
        await runtime.send(found.started[-1], "DONE")
    clock.at = NOON + 4 * DAY
    found = await seen(runtime, started(len(days)))
    assert found.started == at(*(NOON + day * DAY for day in days))
    assert (found.skipped, found.overlap) == (skipped, Overlap(overlap))


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize(("missed", "days"), [("one", [1]), ("each", [1, 2, 3]), ("none", [])])
async def test_moments_that_passed_while_no_process_ran_are_made_up_for_as_said(place, clock, missed, days):
    async with Runtime.open(place, graphs=[report], clock=clock) as runtime:
        await runtime.schedule("nightly", report, at="SENT", every="1d", missed=missed)
    clock.at = NOON + 3.5 * DAY
    async with Runtime.open(place, graphs=[report], clock=clock) as runtime:
        found = await seen(runtime, lambda each: each.next == NOON + 4 * DAY and len(each.started) == len(days))
        assert found.started == at(*(NOON + day * DAY for day in days))
        clock.at = NOON + 4 * DAY
        assert (await seen(runtime, started(len(days) + 1))).started[-1:] == at(NOON + 4 * DAY)


@pytest.mark.needs("takes_a_clock")
async def test_a_schedule_follows_the_clocks_of_its_zone(runtime, clock):
    pytest.importorskip("cronsim", reason="NOT TESTED on cron expressions: `make test` installs cronsim")
    clock.at = datetime(2030, 3, 29, 12, tzinfo=UTC)  # the clocks go forward on Sunday
    made = await runtime.schedule("nightly", report, at="SENT", cron="30 2 * * *", zone="Europe/Berlin")
    told = ("2030-03-30T01:30Z", "2030-03-31T01:00Z", "2030-04-01T00:30Z")
    moments = [datetime.fromisoformat(moment) for moment in told]
    assert made.next == moments[0]
    for count, moment in enumerate(moments, 1):
        clock.at = moment
        found = await seen(runtime, started(count))
    assert found.started == at(*moments)
    clock.at = datetime(2030, 10, 26, 12, tzinfo=UTC)  # and back on this Sunday: half past two comes twice
    found = await seen(runtime, lambda each: each.next > clock.at)
    assert found.next == datetime(2030, 10, 27, 0, 30, tzinfo=UTC)
    clock.at = found.next
    found = await seen(runtime, settled_at(clock.at))
    assert found.next == datetime(2030, 10, 28, 1, 30, tzinfo=UTC)


@pytest.mark.needs("takes_a_clock")
async def test_a_paused_schedule_starts_nothing_and_goes_on_from_when_it_is_resumed(runtime, clock):
    await runtime.schedule("nightly", report, at="SENT", every="1d")
    for _ in range(2):
        paused = await runtime.pause_schedule("nightly")
        assert (paused.is_paused, paused.next) == (True, None)
    clock.at = NOON + 5.5 * DAY
    await at_rest(runtime, clock)
    assert await ids(runtime) == []
    for _ in range(2):
        resumed = await runtime.resume_schedule("nightly")
        assert (resumed.is_paused, resumed.next) == (False, NOON + 6.5 * DAY)
    clock.at = NOON + 6.5 * DAY
    assert (await seen(runtime, started(1))).started == at(NOON + 6.5 * DAY)


@pytest.mark.sample_on_restate
@pytest.mark.parametrize("pauses", [True, False])
async def test_an_agent_is_started_now_and_the_next_moment_stays(runtime, pauses):
    made = await runtime.schedule("nightly", report, at="SENT", every="1d")
    if pauses:
        made = await runtime.pause_schedule("nightly")
    await runtime.run_schedule("nightly", idempotency_key="1")
    found = await seen(runtime, started(1))
    assert (found.next, found.is_paused) == (made.next, pauses)
    await runtime.run_schedule("nightly", idempotency_key="1")
    assert await ids(runtime) == list(found.started)
    assert (await runtime.resume(found.started[0])).configuration == ("SENT",)


async def test_the_overlap_policy_holds_for_an_agent_that_is_started_now(runtime):
    await runtime.schedule("nightly", report, at="WRITING", every="1d")
    await runtime.run_schedule("nightly")
    await seen(runtime, started(1))
    await runtime.run_schedule("nightly")
    assert len((await seen(runtime, lambda each: each.skipped == 1)).started) == 1


async def test_a_paused_schedule_queues_no_agent(runtime):
    await runtime.schedule("nightly", report, at="WRITING", every="1d", overlap="queue_one")
    await runtime.pause_schedule("nightly")
    for _ in range(2):
        await runtime.run_schedule("nightly")
        found = await seen(runtime, lambda each: each.started)
    found = await seen(runtime, lambda each: each.skipped)
    assert (found.is_paused, found.skipped, len(found.started)) == (True, 1, 1)
    assert (await runtime.resume("schedule:nightly")).configuration == ("PAUSED",)


async def test_moments_come_by_the_clock_of_the_machine(place):
    async with Runtime.open(place, graphs=[report]) as runtime:
        await runtime.schedule("nightly", report, at="SENT", every="300ms", overlap="start")
        found = await seen(runtime, lambda each: len(each.started) > 1)
        await runtime.delete_schedule("nightly")
    assert (found.skipped, found.problem) == (0, "")


async def test_a_schedule_said_again_goes_on_and_one_that_differs_is_changed(runtime):
    made = await runtime.schedule("nightly", report, at="SENT", every="1d")
    assert await runtime.schedule("nightly", report, at="SENT", every=DAY) != made  # "1d" and "86400s" are two texts
    made = await runtime.schedule("nightly", report, at="SENT", every="1d")
    assert await runtime.schedule("nightly", report, at="SENT", every="1d") == made
    changed = await runtime.schedule(
        "nightly", "report", at="ASKED", payload={"topic": "x"}, every="2d", overlap="start"
    )
    assert (changed.at, changed.payload, changed.overlap) == ("ASKED", {"topic": "x"}, Overlap.START)
    assert changed.next - made.next > DAY - timedelta(minutes=1)
    await runtime.pause_schedule("nightly")
    changed = await runtime.schedule("nightly", report, at="SENT", every="1w")
    assert changed.is_paused
    assert [each.every for each in await runtime.schedules()] == [Every("1w")]


@pytest.mark.needs("finds_at_once")
async def test_schedules_are_listed_in_the_order_made_a_page_at_a_time(runtime):
    for name in ("b", "a", "c"):
        await runtime.schedule(name, report, at="SENT", every="1d")
    assert [each.name for each in await runtime.schedules(limit=2)] == ["b", "a"]
    assert [each.name for each in await runtime.schedules(after="a")] == ["c"]


@pytest.mark.needs("takes_a_clock")
async def test_the_next_moment_stays_if_only_what_is_started_changes(runtime, clock):
    made = await runtime.schedule("nightly", report, at="ASKED", payload={"topic": "a"}, every="2d")
    clock.at = NOON + DAY
    changed = await runtime.schedule("nightly", report, at="ASKED", payload={"topic": "b"}, every="2d", missed="one")
    assert (changed.next, changed.payload) == (made.next, {"topic": "b"})
    clock.at = NOON + 2 * DAY
    [agent_id] = (await seen(runtime, started(1))).started
    assert (await runtime.resume(agent_id)).context.topic == "b"
    assert (await runtime.schedule("nightly", report, at="SENT", every="1d")).next == NOON + 3 * DAY


async def test_a_deleted_schedule_starts_no_more_and_its_agents_go_on(runtime):
    await runtime.schedule("nightly", report, at="WRITING", every="1d")
    await runtime.run_schedule("nightly")
    found = await seen(runtime, started(1))
    await runtime.delete_schedule("nightly")
    assert await runtime.schedules() == ()
    assert await runtime.mail("schedule:nightly") == []
    assert (await runtime.send(found.started[0], "DONE")).applied
    again = await runtime.schedule("nightly", report, at="WRITING", every="1d")
    assert again.started == ()


@pytest.mark.parametrize("verb", ["pause_schedule", "resume_schedule", "run_schedule", "delete_schedule"])
async def test_a_schedule_that_is_not_there_is_unknown(runtime, verb):
    await own_agents_of(runtime).start("report", at="WRITING", agent_id="schedule:report")
    for name in ("nightly", "report"):
        with pytest.raises(UnknownScheduleError, match=f"no schedule '{name}'"):
            await getattr(runtime, verb)(name)
    with pytest.raises(UnknownScheduleError):
        await runtime.schedules(after="nightly")


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        ({"graph": "novel"}, UnknownGraphError, "'report'"),
        ({"at": "PRINTING"}, EntryRefusedError, "WRITING"),
        ({"at": "ASKED"}, PayloadError, "topic"),
        ({"payload": {"topic": "x"}}, PayloadError, "takes no payload"),
        ({"every": "often"}, PayloadError, "'often' is not a duration"),
        ({"every": "0s"}, PayloadError, "too short a period"),
        ({"cron": "0 9 * * *"}, PayloadError, "neither or both of a period and cron"),
        ({"every": None}, PayloadError, "neither or both of a period and cron"),
        ({"every": None, "cron": "0 9"}, PayloadError, "is not a cron expression"),
        ({"every": None, "cron": "0 9 * * *", "zone": "Mars"}, PayloadError, "unknown time zone 'Mars'"),
        ({"zone": "Europe/Berlin"}, PayloadError, "a period is the same in all zones"),
        ({"missed": "all"}, PayloadError, "'one', 'each' or 'none'"),
        ({"overlap": "stop"}, PayloadError, "'skip', 'queue_one' or 'start'"),
        ({"name": ""}, PayloadError, "name"),
        ({"name": "n" * 201}, PayloadError, "name"),
        ({"name": "a\0b"}, PayloadError, "NUL"),
    ],
)
async def test_what_cannot_be_scheduled_is_refused_and_changes_nothing(runtime, wrong, error, text):
    await runtime.schedule("nightly", report, at="SENT", every="1d")
    async with nothing_changes(runtime):
        with pytest.raises(error, match=text):
            await runtime.schedule(**{"name": "nightly", "graph": "report", "at": "SENT", "every": "1d", **wrong})
    assert len(await runtime.schedules()) == 1


async def test_an_agent_that_has_the_id_of_a_schedules_own_agent_is_left_alone(runtime):
    await own_agents_of(runtime).start("report", at="WRITING", agent_id="schedule:nightly")
    with pytest.raises(AgentExistsError, match="schedule:nightly"):
        await runtime.schedule("nightly", report, at="SENT", every="1d")


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_that_cannot_be_started_is_told_as_a_problem_and_the_next_moment_comes(place, clock, caplog):
    async with Runtime.open(place, graphs=[report], clock=clock) as runtime:
        await runtime.schedule("nightly", report, at="ASKED", payload={"topic": "x"}, every="1d")
    older = StateTransitionGraph("report", context=Report, states=["WRITING"], entry_points=["WRITING"])
    clock.at = NOON + DAY
    async with Runtime.open(place, graphs=[older], clock=clock) as runtime:
        found = await seen(runtime, lambda each: each.problem)
        assert "cannot be entered at 'ASKED'" in found.problem
        assert (found.next, found.started) == (NOON + 2 * DAY, ())
        assert "schedule nightly could not start an agent of graph report: " in caplog.text
    clock.at = NOON + 2 * DAY
    async with Runtime.open(place, graphs=[report], clock=clock) as runtime:
        assert (await seen(runtime, started(1))).problem == ""


@pytest.mark.needs("takes_a_clock")
async def test_an_entry_action_that_raises_is_tried_again_a_while_before_it_is_told(runtime, clock):
    await runtime.schedule("nightly", report, at="BROKEN", every="1d")
    await runtime.run_schedule("nightly")
    for _ in range(12):
        await at_rest(runtime, clock)
        clock.advance("1m")
    found = await seen(runtime, lambda each: each.problem)
    assert "the press is broken" in found.problem


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_that_was_erased_holds_up_none(runtime, clock):
    await runtime.schedule("nightly", report, at="WRITING", every="1d", overlap="queue_one")
    clock.at = NOON + DAY
    first = await seen(runtime, started(1))
    clock.at = NOON + 2 * DAY
    await seen(runtime, settled_at(clock.at))
    await at_rest(runtime, clock)
    await runtime.erase(first.started[0])
    clock.advance("10s")
    assert (await seen(runtime, started(2))).started == at(NOON + DAY, NOON + 2 * DAY)


@pytest.mark.needs("takes_a_clock")
async def test_pausing_drops_the_agent_that_was_queued(runtime, clock):
    await runtime.schedule("nightly", report, at="WRITING", every="1d", overlap="queue_one")
    for day in (1, 2):
        clock.at = NOON + day * DAY
        found = await seen(runtime, settled_at(clock.at))
    await (await runtime.resume("schedule:nightly")).until("BEHIND")
    paused = await runtime.pause_schedule("nightly")
    assert (paused.is_paused, paused.skipped) == (True, 1)
    await runtime.send(found.started[0], "DONE")
    await at_rest(runtime, clock)
    assert await ids(runtime) == list(found.started)


@pytest.mark.needs("takes_a_clock")
async def test_a_start_whose_report_is_lost_is_not_made_twice(sqlite_url, clock):
    async with open_store(sqlite_url) as store:
        lossy = LossyStore(store)
        async with Runtime.open(lossy, graphs=[report], clock=clock) as runtime:
            await runtime.schedule("nightly", report, at="WRITING", every="1d", overlap="start")
            lossy.loses = True
            clock.at = NOON + DAY
            async with asyncio.timeout(60):
                while not await ids(runtime):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        assert lossy.lost
        lossy.loses = False
        async with Runtime.open(lossy, graphs=[report], clock=clock) as runtime:
            assert (await seen(runtime, started(1))).started == at(NOON + DAY)
            assert await ids(runtime) == list(at(NOON + DAY))


class LossyStore(WrappedStore):
    """A store that does not take the reports of a schedule's invokes, while a test says so."""

    loses = False
    lost = 0

    async def commit(self, units):
        if self.loses and any("schedule:nightly" in repr(each) and "done.invoke" in repr(each) for each in units):
            self.lost += 1
            raise OSError("the line is down")
        return await self.store.commit(units)


async def test_the_framework_s_graph_is_sound_and_not_listed_among_the_users(runtime):
    graph = schedule_graph(runtime)
    assert {each.code for each in check(graph)} <= {"GC302"}
    assert [each.name for each in runtime.graphs] == ["report"]


@pytest.mark.parametrize("url", DATABASE_URLS)
async def test_who_asks_the_owner_of_a_database_has_schedules_too(request, url):
    place = request.getfixturevalue(url)
    async with Runtime.open(place, graphs=[report]) as owner, open_database_client(place) as other:
        made = await other.schedule("nightly", "report", at="SENT", every="1d")
        assert await owner.schedules() == await other.schedules() == (made,)
        await other.run_schedule("nightly")
        assert len((await seen(owner, started(1))).started) == 1
        assert (await other.pause_schedule("nightly")).is_paused
        with pytest.raises(EntryRefusedError):
            await other.schedule("nightly", "report", at="NOWHERE", every="1d")
        await other.delete_schedule("nightly")
        with pytest.raises(UnknownScheduleError):
            await other.resume_schedule("nightly")


def test_schedules_are_there_without_await(tmp_path):
    with sync.open(f"sqlite+aiosqlite:///{tmp_path / 'agents.db'}", graphs=[report]) as runtime:
        made = runtime.schedule("nightly", report, at="SENT", every="1d")
        assert runtime.schedules() == (made,)
        assert runtime.pause_schedule("nightly").is_paused


DOINGS = st.lists(
    st.integers(1, 60).map(lambda hours: ("advance", hours)) | st.sampled_from(["reopen", "pause", "resume", "run"]),
    max_size=8,
)


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(doings=DOINGS)
def test_every_moment_between_pauses_has_its_agent_whatever_else_is_done(doings):
    wanted, found = asyncio.run(done_and_wanted(doings))
    assert found == wanted


async def done_and_wanted(doings):
    """The agents that there should be after all that is done, by a simple model; and those that there are."""
    clock, store = VirtualClock(NOON), MemoryStore()
    following, wanted = NOON + DAY, set()
    async with AsyncExitStack() as stack:
        opened = {"graphs": [report], "clock": clock}
        runtime = await stack.enter_async_context(Runtime.open(store, **opened))
        await runtime.schedule("nightly", report, at="SENT", every="1d", missed="each", overlap="start")
        for doing in doings:
            if isinstance(doing, tuple):
                clock.advance(f"{doing[1]}h")
                while following is not None and following <= clock.at:
                    wanted.add(following)
                    following += DAY
            elif doing == "reopen":
                await stack.aclose()
                runtime = await stack.enter_async_context(Runtime.open(store, **opened))
            else:
                await getattr(runtime, f"{doing}_schedule")("nightly")
                wanted |= {clock.at} if doing == "run" else set()
                is_kept = doing == "run" or (doing == "resume" and following is not None)
                following = following if is_kept else clock.at + DAY if doing == "resume" else None
            await at_rest(runtime, clock)
        found = await ids(runtime)
    return sorted(at(*wanted)), sorted(found)


@pytest.mark.parametrize("every", ["1ms", "99ms", 0.001, timedelta(milliseconds=50)])
async def test_a_period_that_would_start_too_many_agents_is_refused_with_the_shortest(runtime, every):
    with pytest.raises(PayloadError, match=r"too short a period.*Expected: 100 milliseconds or more"):
        await runtime.schedule("often", report, at="SENT", every=every)
    assert await runtime.schedules() == ()


async def test_no_more_agents_than_said_live_at_once(runtime, clock):
    terms = {"at": "WRITING", "every": "1d", "overlap": "start", "most_running": 2}
    made = await runtime.schedule("nightly", report, **terms)
    assert (made.most_running, await runtime.schedule("nightly", report, **terms)) == (2, made)
    for number in (1, 2):
        await runtime.run_schedule("nightly")
        found = await seen(runtime, lambda each, number=number: len(each.started) == number)
        clock.advance(1)
    await runtime.run_schedule("nightly")
    found = await seen(runtime, lambda each: each.skipped)
    assert (len(found.started), found.skipped) == (2, 1)
    await runtime.stop(found.started[0])
    clock.advance(1)
    await runtime.run_schedule("nightly")
    found = await seen(runtime, lambda each: len(each.started) == 3)
    assert found.skipped == 1


@pytest.mark.parametrize("most", [0, -1, 1_001, True, "2"])
async def test_how_many_may_live_at_once_is_a_number_from_1_to_1000(runtime, most):
    with pytest.raises(PayloadError, match="most_running"):
        await runtime.schedule("nightly", report, at="SENT", every="1d", overlap="start", most_running=most)


async def test_a_stored_schedule_with_a_shorter_period_is_slowed_down_and_says_so(runtime):
    terms = Terms(name="often", graph="report", at="SENT", period="1ms", overlap=Overlap.START)
    await own_agents_of(runtime).start(SCHEDULE_GRAPH, at="MADE", payload=terms, agent_id="schedule:often")
    [found] = await runtime.schedules()
    assert (found.every, found.problem) == (
        Every("100ms"),
        "its period of 1ms is too short; it starts an agent every 100ms",
    )
    await runtime.pause_schedule("often")
