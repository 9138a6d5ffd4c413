"""Deferred mail beside recurring timers, through migrations, rollbacks and handoffs, on every home."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import Field

from gatechart import ANY, AgentContext, Every, Migration, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import UnknownMailError
from gatechart.graph.handoff import Handoff
from gatechart.testing import VirtualClock
from tests.runtime.support import at_rest, unchanged

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class Talk(AgentContext):
    said: list[str] = Field(default_factory=list)


def note(context, event):
    context.said.append(event.payload.get("text") or event.payload.get("due") or event.name)


def talk(version="1", *migrations, defer="ASKED", every=None, more=(), name="talk"):
    return StateTransitionGraph(
        name,
        version=version,
        context=Talk,
        states=[State("THINKING", defer=defer, every=every), State("OVER", final=True)],
        transitions=[
            *more,
            Transition("IDLE", "ASKED", "THINKING", actions=note),
            Transition("THINKING", "ANSWERED", "IDLE", actions=note),
            Transition("THINKING", "RESTED", actions=note),
            Transition(ANY, "CLOSED", "OVER"),
        ],
        entry_points=["THINKING", "IDLE"],
        migrations=migrations,
    )


@pytest.fixture
def clock():
    return VirtualClock(NOON)


async def said(runtime, *texts, agent_id="t-1"):
    """Waits until the agent has said this much, and checks what."""
    async with asyncio.timeout(60):
        while len(context := (await runtime.resume(agent_id)).context.said) < len(texts):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert context == list(texts)


async def ask(runtime, *texts, agent_id="t-1"):
    """Asks, once by mail and once not, in turns."""
    for number, text in enumerate(texts):
        asks = runtime.post if number % 2 else runtime.send
        await asks(agent_id, "ASKED", {"text": text}, event_id=text)


async def waiting(runtime, agent_id="t-1"):
    found = await runtime.mail(agent_id, status="waiting")
    return [(mail.payload.get("text"), mail.reason) for mail in found if mail.event == "ASKED"]


async def refused(runtime, count):
    async with asyncio.timeout(60):
        while len(found := await runtime.mail("t-1", status="refused")) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return [(mail.payload["text"], mail.reason) for mail in found]


DEFERRED = "deferred in THINKING"


# Recurring timers


@pytest.mark.needs("takes_a_clock")
async def test_a_state_that_defers_everything_does_not_defer_its_recurring_timer(place, clock):
    async with Runtime.open(place, graphs=[talk(defer="*", every={"1d": note})], clock=clock) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b")
        for day in (1, 2):
            clock.at = NOON + day * DAY
            await said(runtime, *((NOON + each * DAY).isoformat() for each in range(1, day + 1)))
        assert await waiting(runtime) == [("a", DEFERRED), ("b", DEFERRED)]


@pytest.mark.needs("takes_a_clock")
async def test_a_recurring_timer_that_leads_elsewhere_brings_deferred_mail(place, clock):
    async with Runtime.open(place, graphs=[talk(every={"1d": "IDLE"})], clock=clock) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b")
        clock.at = NOON + DAY
        await said(runtime, "a")
        await at_rest(runtime, clock)
        assert await waiting(runtime) == [("b", DEFERRED)]
        clock.at = NOON + 2 * DAY
        await said(runtime, "a", "b")


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize(("missed", "times"), [("one", 1), ("each", 3)])
async def test_missed_moments_are_made_up_for_while_mail_stays_deferred(place, clock, missed, times):
    graph = talk(every={Every("1d", missed=missed): note})
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b")
    clock.at = NOON + 3.5 * DAY
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        dues = [(NOON + day * DAY).isoformat() for day in range(1, times + 1)]
        await said(runtime, *dues)
        await at_rest(runtime, clock)
        assert await waiting(runtime) == [("a", DEFERRED), ("b", DEFERRED)]
        await runtime.send("t-1", "ANSWERED")
        await said(runtime, *dues, "ANSWERED", "a")
        assert await waiting(runtime) == [("b", DEFERRED)]


@pytest.mark.needs("takes_a_clock")
async def test_the_first_missed_moment_that_leads_elsewhere_ends_the_others_and_brings_what_was_deferred(place, clock):
    graph = talk(every={Every("1d", missed="each"): "IDLE"})
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b")
    clock.at = NOON + 3.5 * DAY
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        await said(runtime, "a")
        await at_rest(runtime, clock)
        assert await waiting(runtime) == [("b", DEFERRED)]
        assert (await runtime.resume("t-1")).configuration == ("THINKING",)


# Other versions of the graph


UPGRADE = Migration("1", "2", unchanged)
TAKES = Transition("THINKING", "ASKED", actions=note)


@pytest.mark.sample_on_restate
@pytest.mark.parametrize("ahead", [True, False])
async def test_a_version_that_takes_what_was_deferred_gets_it_in_its_order(place, ahead):
    async with Runtime.open(place, graphs=[talk()]) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b", "c")
    newer = talk("2", UPGRADE, defer=(), more=[TAKES])
    async with Runtime.open(place, graphs=[newer]) as runtime:
        if ahead and runtime.capabilities.migrates_ahead:
            assert [each.after async for each in runtime.migrate()] == ["2"]
        await runtime.send("t-1", "RESTED")  # some homes bring an agent to another version with its next event
        await said(runtime, "a", "b", "c", "RESTED")
        assert await waiting(runtime) == []
        assert (await runtime.send("t-1", "ASKED", {"text": "a"}, event_id="a")).repeat


async def test_a_version_that_neither_takes_nor_defers_it_refuses_it_as_mail(place):
    async with Runtime.open(place, graphs=[talk()]) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b")
    async with Runtime.open(place, graphs=[talk("2", UPGRADE, defer=())]) as runtime:
        await runtime.send("t-1", "RESTED")
        found = await refused(runtime, 2)
        assert [text for text, _ in found] == ["a", "b"]
        assert all("no transition in THINKING" in reason for _, reason in found)
        await runtime.send("t-1", "ANSWERED")
        for mail in await runtime.mail("t-1", status="refused"):
            await runtime.retry(mail.number, to="t-1")
        await said(runtime, "RESTED", "ANSWERED", "a")


async def test_a_version_that_defers_more_defers_what_comes_from_then_on(place):
    async with Runtime.open(place, graphs=[talk()]) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a")
    async with Runtime.open(place, graphs=[talk("2", UPGRADE, defer=["ASKED", "HINTED"])]) as runtime:
        assert (await runtime.send("t-1", "HINTED")).deferred
        await ask(runtime, "b")
        assert await waiting(runtime) == [("a", DEFERRED), ("b", DEFERRED)]
        await runtime.send("t-1", "ANSWERED")
        await said(runtime, "ANSWERED", "a")
        assert [mail.event for mail in await runtime.mail("t-1", status="waiting")] == ["HINTED", "ASKED"]


# Rollback


async def test_a_rollback_to_where_it_is_deferred_leaves_it_deferred(place):
    async with Runtime.open(place, graphs=[talk()]) as runtime:
        agent = await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b")
        await agent.send("RESTED")
        await agent.rollback(1, reason="again")
        assert await waiting(runtime) == [("a", DEFERRED), ("b", DEFERRED)]
        assert (await agent.send("ASKED", {"text": "a"}, event_id="a")).repeat
        await agent.send("ANSWERED")
        await said(runtime, "ANSWERED", "a")


async def test_a_rollback_to_before_it_was_taken_does_not_bring_it_again(place):
    async with Runtime.open(place, graphs=[talk()]) as runtime:
        agent = await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b")
        await agent.send("ANSWERED")
        await said(runtime, "ANSWERED", "a")
        await agent.rollback(1, reason="again")
        assert await waiting(runtime) == [("b", DEFERRED)]
        await agent.send("ANSWERED")
        await said(runtime, "ANSWERED", "b")


# Handoffs


desk = StateTransitionGraph(
    "desk",
    states=["WORKING", State("DONE", final=True)],
    entry_points=["WORKING"],
    transitions=[Transition("WORKING", "SOLVED", "DONE")],
)


def asking(mode):
    """Waits for a handoff in a state that defers everything."""
    return talk(
        defer="*",
        more=[
            Transition("THINKING", "STUCK", actions=Handoff("desk", at="WORKING", mode=mode)),
            Transition("THINKING", "handoff.completed", "IDLE", actions=lambda context, event: None),
            *([Transition("THINKING", "handoff.accepted")] if mode == "delegate" else []),
        ],
    )


async def worker_of(runtime):
    async with asyncio.timeout(60):
        while not (found := (await runtime.find(graph="desk")).agents):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found[0].agent_id


async def test_the_answer_to_a_handoff_is_not_deferred_and_brings_what_is(place):
    async with Runtime.open(place, graphs=[asking("delegate"), desk]) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await runtime.send("t-1", "STUCK")
        await ask(runtime, "a", "b")
        worker = await worker_of(runtime)
        assert await waiting(runtime) == [("a", DEFERRED), ("b", DEFERRED)]
        await runtime.send(worker, "SOLVED")
        await said(runtime, "a")
        assert await waiting(runtime) == [("b", DEFERRED)]


async def test_what_is_deferred_when_the_work_is_given_away_is_refused_mail(place):
    async with Runtime.open(place, graphs=[asking("transfer"), desk]) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a")
        await runtime.send("t-1", "STUCK")
        [(text, reason)] = await refused(runtime, 1)
        assert (text, "the agent has ended" in reason) == ("a", True)


async def test_work_that_is_offered_is_not_deferred(place):
    offers = StateTransitionGraph(
        "offers",
        states=["RESTING", "WAITING"],
        transitions=[
            Transition("RESTING", "STUCK", "WAITING", actions=Handoff("talk", at="IDLE", agent=lambda c, e: "t-1"))
        ],
        entry_points=["RESTING"],
    )
    graph = talk(defer="*", more=[Transition("THINKING", "handoff.offered.IDLE", "IDLE")])
    async with Runtime.open(place, graphs=[graph, offers]) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a", "b")
        source = await runtime.start("offers", at="RESTING")
        await source.send("STUCK")
        await said(runtime, "a")
        assert await waiting(runtime) == [("b", DEFERRED)]


# Operators


async def test_deferred_mail_waits_so_there_is_nothing_to_try_again_or_to_discard(place):
    async with Runtime.open(place, graphs=[talk()]) as runtime:
        await runtime.start("talk", at="THINKING", agent_id="t-1")
        await ask(runtime, "a")
        [mail] = await runtime.mail("t-1", status="waiting")
        for verb in (runtime.retry, runtime.discard):
            with pytest.raises(UnknownMailError):
                await verb(mail.number, to="t-1")
        assert await waiting(runtime) == [("a", DEFERRED)]
