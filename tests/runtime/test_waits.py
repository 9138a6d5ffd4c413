"""Waits before another attempt: none is longer than its policy has it, whatever the clock said. Each can be lifted."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import Field

from gatechart import AgentContext, EntryPoint, Invoke, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import UnknownMailError
from gatechart.graph.handoff import Fallbacks, SameTarget
from gatechart.hosting.limits import Limits
from gatechart.runtime import core
from gatechart.testing import VirtualClock
from gatechart.values.delays import Retry
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus
from tests.runtime.support import at_rest, eventually, soon

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
YEAR = timedelta(days=365)
MOST_S = 60.0
POLICY = Retry(attempts=9, first_s=40.0, factor=2.0, most_s=MOST_S)
PATIENT = Limits(mail_retry=POLICY)


class Notes(AgentContext):
    notes: list[str] = Field(default_factory=list)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch):
    """A clock that is set back is noticed soon."""
    monkeypatch.setattr(core, "LONGEST_NAP_S", 0.01)


class Services:
    def __init__(self):
        self.is_up = False
        self.calls = 0

    def call(self):
        self.calls += 1
        if not self.is_up:
            raise ConnectionError("down")


def ask(context, event, turn):
    turn.services.call()
    context.notes.append(event.name)


def note(context, event):
    context.notes.append(event.name)


async def work_on(context, work):
    work.services.call()


async def hang(context, work):
    work.services.calls += 1
    await asyncio.Event().wait()


line = StateTransitionGraph(
    "line",
    context=Notes,
    transitions=[Transition("OPEN", "ASKED", actions=ask), Transition("OPEN", "NOTED", actions=note)],
    entry_points=["OPEN"],
)


def invoking(function, **more):
    return StateTransitionGraph(
        "invoking",
        context=Notes,
        states=[State("BUSY", invoke=Invoke(function, id="it", **more))],
        transitions=[
            Transition("BUSY", "done.invoke.it", "DONE", actions=note),
            Transition("BUSY", "error.invoke.it", "FAILED", actions=note),
        ],
        entry_points=["BUSY"],
    )


def opened(place, clock, services, *graphs):
    return Runtime.open(place, graphs=graphs or [line], services=services, clock=clock, limits=PATIENT)


async def failed_once(runtime, clock, services):
    """The numbers of two pieces of mail: of one that failed and waits for another attempt, and of one behind it."""
    await runtime.start("line", at="OPEN", agent_id="l-1")
    asked = await runtime.post("l-1", "ASKED")
    noted = await runtime.post("l-1", "NOTED")
    await eventually(lambda: services.calls == 1)
    await at_rest(runtime, clock)
    return asked.number, noted.number


async def applied(runtime):
    agent = await runtime.resume("l-1")
    await eventually(lambda: len(agent.context.notes) == 2)
    assert agent.context.notes == ["ASKED", "NOTED"]


@pytest.mark.needs("takes_a_clock")
async def test_a_clock_that_was_ahead_while_mail_failed_holds_it_no_longer_than_the_policy(place, clock):
    services = Services()
    async with opened(place, clock, services) as runtime:
        clock.at += YEAR
        await failed_once(runtime, clock, services)
        clock.at = NOON
        services.is_up = True
        await eventually_at(clock, NOON + timedelta(seconds=MOST_S))
        clock.advance(MOST_S)
        await applied(runtime)
        assert services.calls == 2


@pytest.mark.needs("takes_a_clock")
async def test_a_moment_of_a_clock_that_was_ahead_holds_mail_no_longer_after_a_restart(place, clock):
    services = Services()
    clock.at += YEAR
    async with opened(place, clock, services) as runtime:
        number, _ = await failed_once(runtime, clock, services)
        [waiting] = await runtime.mail(after=number - 1, limit=1)
        assert waiting.retry_at > NOON + YEAR
    clock.at = NOON
    services.is_up = True
    async with opened(place, clock, services) as runtime:
        await at_rest(runtime, clock)
        assert services.calls == 1
        clock.advance(MOST_S)
        await applied(runtime)


@pytest.mark.needs("takes_a_clock")
async def test_the_wait_of_mail_is_lifted_in_its_place(place, clock):
    services = Services()
    async with opened(place, clock, services) as runtime:
        number, behind = await failed_once(runtime, clock, services)
        with pytest.raises(UnknownMailError):
            await runtime.retry(behind)  # which waits for its turn alone
        with pytest.raises(UnknownMailError):
            await runtime.discard(number)
        lifted = await soon(runtime.retry(number))
        assert (lifted.status, lifted.attempts, lifted.retry_at) == (MailStatus.WAITING, 1, None)
        await eventually(lambda: services.calls == 2)
        await at_rest(runtime, clock)
        [again] = await runtime.mail(after=number - 1, limit=1)
        assert (again.attempts, again.retry_at) == (2, NOON + timedelta(seconds=MOST_S))
        services.is_up = True
        await runtime.retry(number)
        await applied(runtime)


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_wait_is_lifted_where_nobody_hosts_the_agent_yet(place, clock):
    services = Services()
    async with opened(place, clock, services) as runtime:
        number, _ = await failed_once(runtime, clock, services)
    async with Runtime.open(place, graphs=(), role=Role.VISITOR) as visitor:
        assert (await visitor.retry(number)).retry_at is None
    services.is_up = True
    async with opened(place, clock, services) as runtime:
        await applied(runtime)


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_is_tried_again_though_the_clock_was_set_back(place, clock):
    services = Services()
    async with opened(place, clock, services, invoking(work_on, retry=POLICY)) as runtime:
        clock.at += YEAR
        agent = await runtime.start("invoking", at="BUSY")
        await eventually(lambda: services.calls == 1)
        await at_rest(runtime, clock)
        clock.at = NOON
        services.is_up = True
        await eventually_at(clock, NOON + timedelta(seconds=40))
        clock.advance(MOST_S)
        await soon(agent.until("DONE"))


@pytest.mark.needs("takes_a_clock")
async def test_the_time_limit_of_an_invoke_holds_though_the_clock_was_set_back(place, clock):
    services = Services()
    async with opened(place, clock, services, invoking(hang, timeout_s=30)) as runtime:
        clock.at += YEAR
        agent = await runtime.start("invoking", at="BUSY")
        await eventually(lambda: services.calls == 1)
        clock.at = NOON
        await eventually_at(clock, NOON + timedelta(seconds=30))
        clock.advance(30)
        await soon(agent.until("FAILED"))


async def eventually_at(clock, moment):
    """Returns when somebody sleeps until that moment, or one before it."""
    await eventually(lambda: clock.next_due is not None and clock.next_due <= moment)


def ask_others(context, event, turn):
    turn.handoff("busy", at="TAKING", fallbacks=Fallbacks(SameTarget(attempts=3, first_s=40.0, most_s=MOST_S)))


asker = StateTransitionGraph(
    "asker",
    states=["GIVEN"],
    transitions=[
        Transition("OPEN", "ASKED", "ASKING", actions=ask_others),
        Transition("ASKING", "handoff.accepted", "GIVEN"),
    ],
    entry_points=["OPEN"],
)


def is_open(context, event):
    return Doors.are_open


class Doors:
    are_open = False


busy = StateTransitionGraph("busy", states=["TAKING"], entry_points=[EntryPoint("TAKING", guard=is_open)])


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_handoff_is_offered_again_though_the_clock_was_set_back(place, clock, restarts, monkeypatch):
    monkeypatch.setattr(Doors, "are_open", False)
    graphs = asker, busy
    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(opened(place, clock, None, *graphs))
        clock.at += YEAR
        agent = await runtime.start("asker", at="OPEN", agent_id="a-1")
        await agent.send("ASKED")
        await eventually(lambda: clock.next_due == NOON + YEAR + timedelta(seconds=40))
        clock.at = NOON
        Doors.are_open = True
        if restarts:
            await stack.aclose()
            runtime = await stack.enter_async_context(opened(place, clock, None, *graphs))
        await eventually_at(clock, NOON + timedelta(seconds=MOST_S))
        clock.advance(MOST_S)
        await soon((await runtime.resume("a-1")).until("GIVEN"))
