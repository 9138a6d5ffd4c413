"""Circuit breakers on the engine: an object takes the changes and gives out trials, processes count the calls."""

import asyncio

import pytest

from gatechart import BreakerPolicy, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import BreakerOpenError
from gatechart.graph import ANY, Invoke
from gatechart.values import BreakerState
from tests.runtime.busy_agents import Services, Task, note
from tests.runtime.support import eventually

PERMITS = 3
BRIEF = BreakerPolicy(failures_in_a_row=2, break_s=0.3)
LONG = BreakerPolicy(failures_in_a_row=2, break_s=600)


def caller(policy, function=None):
    """A graph whose agents call once when they begin, and again with each CALLED."""

    async def guarded(context, work):
        async with work.breaker("crm", policy):
            return work.services.call("crm")

    invoke = Invoke(function or guarded)
    ended = [f"{kind}.invoke.{invoke.id}" for kind in ("done", "error")]
    return StateTransitionGraph(
        "caller",
        context=Task,
        states=[State("CALLING", invoke=invoke)],
        transitions=[
            *(Transition(ANY, event, actions=note) for event in ended),
            Transition(ANY, "CALLED", "CALLING"),
        ],
        entry_points=["CALLING"],
    )


@pytest.fixture
def services():
    return Services()


def outcomes(agent):
    return [payload.get("result", payload.get("type")) for _, payload in agent.context.notes]


async def called(agent):
    await eventually(lambda: outcomes(agent))
    before = len(outcomes(agent))
    await agent.send("CALLED")
    await eventually(lambda: len(outcomes(agent)) > before)
    return outcomes(agent)[-1]


async def broken(runtime, services):
    services.fails["crm"] = 2
    agent = await runtime.start("caller", at="CALLING")
    await called(agent)
    assert outcomes(agent) == ["LookupError", "LookupError"]
    return agent


async def test_one_that_is_open_stays_so_when_the_service_begins_anew(restate_place, services):
    async with Runtime.open(restate_place, graphs=caller(LONG), services=services) as runtime:
        agent = await broken(runtime, services)
        assert await called(agent) == "BreakerOpenError"
        [breaker] = await runtime.breakers()
        assert (breaker.name, breaker.state, breaker.breaks) == ("crm", BreakerState.OPEN, 1)
        assert breaker.reason == "LookupError: crm is not there"
        assert (breaker.retry_at - breaker.since).total_seconds() == 600
    async with Runtime.open(restate_place, graphs=caller(LONG), services=services) as runtime:
        agent = await runtime.resume(agent.id)
        assert await called(agent) == "BreakerOpenError"
        assert services.calls["crm"] == 2
        assert (await runtime.close_breaker("crm")).state is BreakerState.CLOSED
        assert not await runtime.breakers()
        await asyncio.sleep(1.1)  # so long the process may go by what it knew
        assert await called(agent) == "crm 3"


async def test_it_closes_after_a_trial_and_opens_again_after_one_that_fails(restate_place, services):
    async with Runtime.open(restate_place, graphs=caller(BRIEF), services=services) as runtime:
        agent = await broken(runtime, services)
        await asyncio.sleep(0.4)
        services.fails["crm"] = 1
        assert await called(agent) == "LookupError"
        [breaker] = await runtime.breakers()
        assert (breaker.state, breaker.breaks) == (BreakerState.OPEN, 2)
        await asyncio.sleep(0.4)
        assert await called(agent) == "crm 4"
        assert not await runtime.breakers()


async def test_of_a_hundred_callers_at_half_open_exactly_the_permits_get_through(restate_place, services):
    policy = BreakerPolicy(failures_in_a_row=2, break_s=8, permits=PERMITS)

    async def crowd(context, work):
        async def one():
            try:
                async with work.breaker("crm", policy):
                    services.call("crm")
                    await services.open.wait()
            except (BreakerOpenError, LookupError) as error:
                services.seen.append(type(error).__name__)

        await asyncio.gather(*(one() for _ in range(20)))

    async with Runtime.open(restate_place, graphs=caller(policy, crowd), services=services) as runtime:
        permit = await tripped(runtime, services)
        await asyncio.sleep(8.1)
        services.seen.clear()
        await asyncio.gather(*(runtime.start("caller", at="CALLING") for _ in range(5)))
        async with asyncio.timeout(8):  # then the permits would be given again
            while len(services.seen) < 100 - PERMITS:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert services.calls["crm"] == permit + PERMITS
        services.open.set()
        await asyncio.sleep(1)
        assert not await runtime.breakers()
        assert set(services.seen) == {"BreakerOpenError"}


async def tripped(runtime, services):
    """How many calls it took to open the breaker."""
    services.fails["crm"] = 20
    await runtime.start("caller", at="CALLING")
    async with asyncio.timeout(10):
        while not [each for each in await runtime.breakers() if each.state is BreakerState.OPEN]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    services.fails["crm"] = 0
    return services.calls["crm"]


async def test_an_operator_isolates_a_breaker_for_every_process(restate_place, services):
    async with Runtime.open(restate_place, graphs=caller(LONG), services=services) as runtime:
        agent = await runtime.start("caller", at="CALLING")
        isolated = await runtime.isolate_breaker("crm", reason="the CRM moves")
        assert list(await runtime.breakers()) == [isolated]
        await asyncio.sleep(1.1)
        assert await called(agent) == "BreakerOpenError"
        for name in ("b", "a"):
            await runtime.isolate_breaker(name, reason="a test")
        assert [each.name for each in await runtime.breakers(after="a", limit=1)] == ["b"]
