"""A process killed while a circuit breaker is open, or as it opens: whoever was told of it finds it open."""

import logging
import signal

import pytest

from gatechart import Runtime
from gatechart.values.breakers import BreakerState
from tests.crash.breaker_agents import caller, live


@pytest.fixture(autouse=True)
def _quiet():
    """What fails on purpose is not logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


async def test_one_that_is_open_stays_so_when_its_process_is_killed(forks, crash_url):
    assert forks.live("breaker_agents", crash_url, "nowhere", 1) == -signal.SIGKILL

    async with Runtime.open(crash_url, graphs=[caller]) as runtime:
        [crm] = await runtime.breakers()
        assert (crm.name, crm.state, crm.breaks) == ("crm", BreakerState.OPEN, 1)
        assert (crm.retry_at - crm.since).total_seconds() == 3600
        agent = await runtime.resume("a")
        assert agent.context.outcomes == ["ConnectionError", "ConnectionError", "BreakerOpenError"]
        await agent.send("CALLED")
        await agent.until("RESTING")
        assert agent.context.outcomes[-1] == "BreakerOpenError"


@pytest.mark.parametrize(
    ("point", "nth"),
    [
        ("after INSERT breakers", 1),
        *((point, nth) for point in ("before COMMIT", "after COMMIT") for nth in range(5, 12)),
    ],
)
async def test_an_agent_is_told_of_the_failure_that_opens_it_only_when_it_is_stored(forks, crash_url, point, nth):
    assert forks.live("breaker_agents", crash_url, point, nth) in (0, -signal.SIGKILL)
    async with Runtime.open(crash_url, graphs=[caller], role="reader") as reader:
        agents = [await reader.resume(each.agent_id) for each in (await reader.find()).agents]
        told = [outcome for agent in agents for outcome in agent.context.outcomes]
        is_open = [each.state for each in await reader.breakers()] == [BreakerState.OPEN]
    assert is_open or len(told) < 2
    assert (await live(crash_url))[-1] == "BreakerOpenError"


def test_the_process_is_killed_as_the_breaker_is_stored(forks, crash_url):
    """So that the points above are some that it passes."""
    assert forks.live("breaker_agents", crash_url, "after INSERT breakers", 1) == -signal.SIGKILL
