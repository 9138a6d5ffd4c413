"""Circuit breakers as processes of a service see them, with one object between them, and a clock set by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from gatechart.restate import process_breakers
from gatechart.restate.breaker_objects import changed
from gatechart.restate.process_breakers import InvocationBreakers, ProcessBreakers
from gatechart.tools import Breaker, BreakerPolicy
from gatechart.values.breakers import BreakerState, Permit, Rejection

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
POLICY = BreakerPolicy(failures_in_a_row=2, break_s=60, permits=3)


class Engine:
    """An object of a breaker, and the time of all processes."""

    def __init__(self):
        self.seconds = 0.0
        self.object = Breaker("crm")
        self.asked = []
        self.is_lost = False  # whether calls do not arrive

    def now(self):
        return NOON + timedelta(seconds=self.seconds)

    async def ask(self, _name, call, told):
        self.asked.append(call)
        if self.is_lost:
            raise ConnectionError("the process is cut off")
        return changed(self.object, call, told, self.now())

    def send(self, name, call, told):
        self.asked.append(call)
        changed(self.object, call, told, self.now())

    def process(self):
        return InvocationBreakers(ProcessBreakers(self.now), self.ask, self.send)


@pytest.fixture
def engine(monkeypatch):
    made = Engine()
    monkeypatch.setattr(process_breakers, "monotonic", lambda: made.seconds)
    return made


async def failed(process, times=1):
    for _ in range(times):
        permit = await process.acquire("crm", POLICY)
        assert isinstance(permit, Permit)
        await process.fail(permit, "503")


async def test_a_closed_one_is_asked_about_once_a_second(engine):
    process = engine.process()
    for _ in range(100):
        await process.succeed(await process.acquire("crm", POLICY))
    assert engine.asked == ["ask"]
    engine.seconds += 1
    await process.succeed(await process.acquire("crm", POLICY))
    assert engine.asked == ["ask", "ask"]


async def test_a_change_is_known_to_every_process_after_a_second(engine):
    one, other = engine.process(), engine.process()
    await failed(other)
    await failed(one, times=2)
    assert engine.object.state is BreakerState.OPEN
    assert isinstance(await one.acquire("crm", POLICY), Rejection)
    assert isinstance(await other.acquire("crm", POLICY), Permit)
    engine.seconds += 1
    assert isinstance(await other.acquire("crm", POLICY), Rejection)

    engine.object.close(engine.now())
    engine.seconds += 1
    assert isinstance(await one.acquire("crm", POLICY), Permit)
    assert isinstance(await other.acquire("crm", POLICY), Permit)


async def test_processes_share_the_permits_at_half_open(engine):
    processes = [engine.process() for _ in range(4)]
    await failed(processes[0], times=2)
    engine.seconds += 60
    asked = [(each, await each.acquire("crm", POLICY)) for _ in range(25) for each in processes]
    given = [(each, permit) for each, permit in asked if isinstance(permit, Permit)]
    assert len(given) == POLICY.permits
    given[0][0].release(given[0][1])
    again = await processes[3].acquire("crm", POLICY)
    assert isinstance(again, Permit)
    for each, permit in [*given[1:], (processes[3], again)]:
        await each.succeed(permit)
    assert engine.object.state is BreakerState.CLOSED


async def test_failures_that_were_counted_before_a_change_count_no_more(engine):
    process = engine.process()
    early = await process.acquire("crm", POLICY)
    await failed(process)
    engine.object.isolate(engine.now(), "a test")
    engine.object.close(engine.now())
    engine.seconds += 1
    await failed(process)
    await process.fail(early, "an answer from long ago")
    assert engine.object.state is BreakerState.CLOSED
    await failed(process)
    assert engine.object.state is BreakerState.OPEN


async def test_a_process_that_could_not_tell_the_object_counts_anew_when_it_can(engine):
    process = engine.process()
    await failed(process)
    permit = await process.acquire("crm", POLICY)
    engine.is_lost = True
    with pytest.raises(ConnectionError):
        await process.fail(permit, "503")
    assert isinstance(await process.acquire("crm", POLICY), Rejection)
    engine.is_lost = False
    engine.seconds += 1
    await failed(process, times=2)
    assert engine.object.record.state is BreakerState.OPEN


async def test_what_is_as_good_as_unused_is_forgotten(engine, monkeypatch):
    monkeypatch.setattr(process_breakers, "MOST_IDLE", 5)
    shared = ProcessBreakers(engine.now)
    process = InvocationBreakers(shared, engine.ask, engine.send)
    for number in range(20):
        await process.succeed(await process.acquire(f"crm {number}", POLICY))
        engine.seconds += 1
    assert len(shared._seen) <= 5
