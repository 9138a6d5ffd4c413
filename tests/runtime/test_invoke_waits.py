"""What invokes record and wait for: the framework's marks beside the results of steps, and waits that are durable."""

from datetime import UTC, datetime

import pytest

from gatechart.graph import Invoke
from gatechart.testing import VirtualClock
from tests.runtime.busy_agents import Services, busy, noted, opened

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def services():
    return Services()


@pytest.mark.parametrize("name", ["gatechart.", "gatechart.retry.0.1.label"])
async def test_a_step_cannot_have_a_name_that_only_the_framework_gives(place, clock, services, name):
    async def steps(context, work):
        await work.step(name, work.services.call, "label")

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[event, payload]] = await noted(agent, 1)
        assert (event, payload["type"]) == ("error.invoke.steps", "PayloadError")
        assert "names that begin with 'gatechart.' are the framework's own" in payload["message"]
        assert services.calls["label"] == 0
