"""Circuit breakers around what invokes call: shared by all agents, durable when open, tried by a few at half-open."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import Runtime, State, StateTransitionGraph, Transition
from gatechart.clients.database import open_database_client
from gatechart.errors import PayloadError, ReadOnlyError
from gatechart.graph.definition import ANY, Invoke
from gatechart.stores import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.tools import BreakerPolicy
from gatechart.values.breakers import BreakerRecord, BreakerState
from tests.homes import POSTGRESQL
from tests.insides import core_of
from tests.runtime.busy_agents import Services, Task, note, noted, opened
from tests.runtime.support import eventually

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
TWICE = BreakerPolicy(failures_in_a_row=2, break_s=60)
PERMITS = 3


@pytest.fixture(params=["memory", "sqlite", POSTGRESQL])
def database(request):
    """A place whose clock can be set, and that holds what was kept there before."""
    urls = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}
    return MemoryStore() if request.param == "memory" else request.getfixturevalue(urls[request.param])


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def services():
    return Services()


async def guarded(context, work):
    async with work.breaker("crm", TWICE):
        return work.services.call("crm")


def caller(function=guarded):
    """A graph whose agents call once when they begin, and again with each CALLED."""
    ended = [f"{kind}.invoke.{function.__name__}" for kind in ("done", "error")]
    return StateTransitionGraph(
        "caller",
        context=Task,
        states=[State("CALLING", invoke=Invoke(function))],
        transitions=[
            *(Transition(ANY, event, actions=note) for event in ended),
            Transition(ANY, "CALLED", "CALLING"),
            Transition(ANY, "LEFT", "RESTING"),
        ],
        entry_points=["CALLING"],
    )


def outcomes(agent):
    """What came of each call: its result, or the name of the exception."""
    return [payload.get("result", payload.get("type")) for _, payload in agent.context.notes]


async def called(agent):
    """The outcome of one more call."""
    before = len(await noted(agent, 1))  # that with which it begins
    await agent.send("CALLED")
    await noted(agent, before + 1)
    return outcomes(agent)[-1]


async def broken(runtime, services):
    """An agent whose calls have opened the breaker."""
    services.fails["crm"] = 2
    agent = await runtime.start("caller", at="CALLING")
    await called(agent)
    assert outcomes(agent) == ["LookupError", "LookupError"]
    return agent


async def test_it_opens_after_failures_in_a_row_and_closes_after_a_trial(database, clock, services):
    async with opened(database, caller(), services, clock) as runtime:
        agent = await broken(runtime, services)
        assert await called(agent) == "BreakerOpenError"
        _, payload = agent.context.notes[-1]
        assert payload["message"] == (
            "the circuit breaker 'crm' is OPEN (LookupError: crm is not there), so the call was not made; "
            "try again at 2030-01-01 12:01:00 UTC, or close it with close_breaker('crm')"
        )
        assert services.calls["crm"] == 2

        clock.advance("60s")
        assert [await called(agent), await called(agent)] == ["crm 3", "crm 4"]


async def test_one_that_is_open_is_open_to_every_agent(database, clock, services):
    async with opened(database, caller(), services, clock) as runtime:
        await broken(runtime, services)
        other = await runtime.start("caller", at="CALLING")
        await noted(other, 1)
        assert outcomes(other) == ["BreakerOpenError"]


async def test_one_that_is_open_stays_so_in_the_next_runtime(database, clock, services):
    async with opened(database, caller(), services, clock) as runtime:
        agent_id = (await broken(runtime, services)).id
    clock.advance("59s")
    async with opened(database, caller(), services, clock) as runtime:
        agent = await runtime.resume(agent_id)
        assert await called(agent) == "BreakerOpenError"
        clock.advance("1s")
        services.fails["crm"] = 1
        assert [await called(agent), await called(agent)] == ["LookupError", "BreakerOpenError"]
    async with Runtime.open(database, graphs=[caller()], clock=clock) as runtime:
        again = NOON + timedelta(seconds=60)
        opened_again = BreakerRecord(
            "crm", BreakerState.OPEN, again, again + timedelta(seconds=60), 2, "LookupError: crm is not there"
        )
        assert list(await runtime.breakers()) == [opened_again]


async def test_of_a_hundred_agents_at_half_open_exactly_the_permits_get_through(database, clock, services):
    async def waiting(context, work):
        async with work.breaker("crm", BreakerPolicy(failures_in_a_row=2, break_s=60, permits=PERMITS)):
            result = work.services.call("crm")
            await work.services.open.wait()
            return result

    services.open.set()
    async with opened(database, caller(waiting), services, clock) as runtime:
        await broken(runtime, services)
        services.open.clear()
        clock.advance("60s")
        agents = [await runtime.start("caller", at="CALLING") for _ in range(100)]
        await asyncio.gather(*(noted(agent, 1) for agent in agents[PERMITS:]))
        assert services.calls["crm"] == 2 + PERMITS
        assert {outcome for agent in agents for outcome in outcomes(agent)} == {"BreakerOpenError"}

        services.open.set()
        await asyncio.gather(*(noted(agent, 1) for agent in agents))
        assert sum(outcomes(agent) != ["BreakerOpenError"] for agent in agents) == PERMITS
        assert not await runtime.breakers()


async def test_a_trial_whose_state_is_left_gives_its_permit_back(database, clock, services):
    async def waiting(context, work):
        async with work.breaker("crm", TWICE):
            result = work.services.call("crm")
            await work.services.open.wait()
            return result

    services.open.set()
    async with opened(database, caller(waiting), services, clock) as runtime:
        agent = await broken(runtime, services)
        services.open.clear()
        clock.advance("60s")
        await agent.send("CALLED")
        await eventually(lambda: services.calls["crm"] == 3)
        await agent.send("LEFT")
        services.open.set()
        assert await called(agent) == "crm 4"


async def test_the_caller_says_what_counts_as_a_failure(database, clock, services):
    async def choosy(context, work):
        async with work.breaker("crm", TWICE, failures=ConnectionError):
            return work.services.call("crm")

    async def reporting(context, work):
        async with work.breaker("erp", TWICE) as call:
            call.fail("503")
            return "503"

    async with opened(database, [caller(choosy)], services, clock) as runtime:
        services.fails["crm"] = 5
        agent = await runtime.start("caller", at="CALLING")
        assert [await called(agent) for _ in range(4)] == ["LookupError"] * 4
    async with opened(MemoryStore(), [caller(reporting)], services, clock) as runtime:
        agent = await runtime.start("caller", at="CALLING")
        assert [await called(agent) for _ in range(2)] == ["503", "BreakerOpenError"]


async def test_a_name_that_no_store_can_keep_is_refused(database, clock, services):
    async def misnamed(context, work):
        async with work.breaker("x" * 301):
            return work.services.call("crm")

    async with opened(database, caller(misnamed), services, clock) as runtime:
        agent = await runtime.start("caller", at="CALLING")
        await noted(agent, 1)
        assert outcomes(agent) == ["PayloadError"]


async def test_breakers_that_are_as_good_as_unused_are_forgotten(clock, services, monkeypatch):
    monkeypatch.setattr("gatechart.hosting.breakers.MOST_IDLE", 5)

    async def many(context, work):
        for number in range(20):
            async with work.breaker(f"crm {number}"):
                pass

    async with opened(MemoryStore(), caller(many), services, clock) as runtime:
        await broken_by_name(runtime)
        agent = await runtime.start("caller", at="CALLING")
        await noted(agent, 1)
        assert len(core_of(runtime).breakers._kept) <= 5
        assert [each.name for each in await runtime.breakers()] == ["erp"]


async def broken_by_name(runtime):
    for _ in range(2):
        permit = await core_of(runtime).breakers.acquire("erp", TWICE)
        await core_of(runtime).breakers.fail(permit, "503")


async def test_an_operator_isolates_a_breaker_until_one_closes_it(database, clock, services):
    async with opened(database, caller(), services, clock) as runtime:
        isolated = await runtime.isolate_breaker("crm", reason="the CRM moves")
        assert isolated == BreakerRecord("crm", BreakerState.ISOLATED, NOON, reason="the CRM moves")
        agent = await runtime.start("caller", at="CALLING")
        await noted(agent, 1)
        assert outcomes(agent) == ["BreakerOpenError"]
    clock.advance("30d")
    async with opened(database, caller(), services, clock, role="visitor") as runtime:
        assert list(await runtime.breakers()) == [isolated]
        closed = await runtime.close_breaker("crm")
        assert (closed.state, closed.since) == (BreakerState.CLOSED, clock.now())
        assert await runtime.close_breaker("crm") == closed  # it can be repeated
    async with opened(database, caller(), services, clock) as runtime:
        assert not await runtime.breakers()
        assert await called(await runtime.resume(agent.id)) == "crm 1"


async def test_whoever_only_reads_sees_what_the_owner_stored_and_changes_nothing(sqlite_url, clock, services):
    async with opened(sqlite_url, caller(), services, clock) as runtime:
        await broken(runtime, services)
        async with opened(sqlite_url, caller(), services, clock, role="reader") as reader:
            assert list(await reader.breakers()) == list(await runtime.breakers())
            for change in (reader.isolate_breaker("crm", reason="no"), reader.close_breaker("crm")):
                with pytest.raises(ReadOnlyError):
                    await change


async def test_another_process_asks_the_owner_to_isolate_and_close_it(sqlite_url, clock, services):
    async with opened(sqlite_url, caller(), services, clock) as runtime:
        agent = await runtime.start("caller", at="CALLING")
        assert await called(agent) == "crm 2"
        async with open_database_client(sqlite_url) as client:
            isolated = await client.isolate_breaker("crm", reason="the CRM moves")
            assert list(await client.breakers()) == [isolated]
            assert await called(agent) == "BreakerOpenError"
            assert (await client.close_breaker("crm")).state is BreakerState.CLOSED
            assert await called(agent) == "crm 3"


async def test_breakers_are_listed_by_name_a_page_at_a_time(database, clock, services):
    async with opened(database, caller(), services, clock) as runtime:
        for name in ("c", "a", "b"):
            await runtime.isolate_breaker(name, reason="a test")
        assert [each.name for each in await runtime.breakers()] == ["a", "b", "c"]
        assert [each.name for each in await runtime.breakers(after="a", limit=1)] == ["b"]


@pytest.mark.parametrize("name", ["", "x" * 301, "a\0b"])
async def test_operators_cannot_name_what_no_store_can_keep(clock, services, name):
    async with opened(MemoryStore(), caller(), services, clock) as runtime:
        for change in (runtime.isolate_breaker(name, reason="a test"), runtime.close_breaker(name)):
            with pytest.raises(PayloadError):
                await change
        with pytest.raises(PayloadError, match="reason"):
            await runtime.isolate_breaker("crm", reason="")
