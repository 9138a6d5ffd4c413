"""`kill -9` of the service, of the engine, of both in turn, while events come in."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from gatechart.restate import RestateRuntime
from tests.restate.campaigns import again, amid, judged, under_load
from tests.restate.conftest import there_or_skipped
from tests.restate.engines import eventually
from tests.restate.fleet import HANGS_S, WAIT_S, calling, cooling, counting, pacing
from tests.restate.services import Service, registered
from tests.restate.verdicts import Load

pytestmark = pytest.mark.on_sqlite_too

KILLS = 3


@pytest.fixture(autouse=True)
def _ends():
    """The campaigns have ends of their own, and need longer than other tests."""


async def campaign(folder, agents, load):
    names = [f"agent-{n}" for n in range(agents)]
    with there_or_skipped(folder) as engine:
        service = Service(folder)
        script = [(0.2, amid(service.ledger, again(service))), (0.5, again(engine)), (0.8, again(service, engine))]
        service.begin()
        try:
            await registered(engine, service)
            async with RestateRuntime.open(
                engine.ingress, graphs=[counting], projection=service.projection, patience_s=60
            ) as runtime:
                await under_load(runtime, names, load, script)
                assert await judged(runtime, service.ledger, names, load, KILLS, engine.is_idle) == []
            assert service.stop() == 0
        finally:
            service.kill()


async def test_nothing_is_lost_or_doubled_when_the_service_the_engine_and_both_are_killed(tmp_path):
    await campaign(tmp_path, agents=20, load=Load(24))


@pytest.mark.slow
async def test_nothing_is_lost_or_doubled_in_a_long_campaign_of_kills(tmp_path):
    await campaign(tmp_path, agents=200, load=Load(100))


def told(service, what):
    """The times that the service's ledger has for a word."""
    lines = service.ledger.read_text().splitlines() if service.ledger.exists() else []
    return [float(time) for word, time in (line.split() for line in lines) if word == what]


async def killed_after(service, what, count, wait_s):
    """Kills the service a while after the ledger has so many lines, and begins it again."""
    await eventually(lambda: asyncio.sleep(0, len(told(service, what)) == count))
    await asyncio.sleep(wait_s)
    service.kill()
    service.begin()


@asynccontextmanager
async def served(folder, graph):
    """A service of the fleet on an engine of its own, and a runtime that calls its agents of a graph."""
    with there_or_skipped(folder) as engine:
        service = Service(folder)
        service.begin()
        try:
            await registered(engine, service)
            projection = service.projection
            async with RestateRuntime.open(
                engine.ingress, graphs=[graph], projection=projection, patience_s=60
            ) as home:
                yield service, home
        finally:
            service.kill()


async def test_an_invoke_killed_while_it_waits_counts_on_and_waits_for_the_rest(tmp_path):
    async with served(tmp_path, cooling) as (service, runtime):
        agent = await runtime.start("cooling", at="COOLING")
        await killed_after(service, "begun", 1, WAIT_S / 2)
        await killed_after(service, "tried", 1, WAIT_S / 2)
        await agent.until("FAILED", timeout=60)
    begun, tried = told(service, "begun"), told(service, "tried")
    waited_s = [later - earlier for earlier, later in zip([begun[0], *tried], tried, strict=False)]
    again_s = [each - max(moment for moment in begun if moment < each) for each in tried]
    assert [each > WAIT_S - 0.1 for each in waited_s] == [True, True]
    assert [each < WAIT_S - 0.5 for each in again_s] == [True, True]  # of the process that began the function again


async def test_a_call_killed_while_it_waits_for_its_rate_waits_for_the_rest(tmp_path):
    async with served(tmp_path, pacing) as (service, runtime):
        agent = await runtime.start("pacing", at="PACING")
        await killed_after(service, "measured", 1, WAIT_S / 2)
        await agent.until("PACED", timeout=60)
    begun, (first, second) = told(service, "paced"), told(service, "measured")
    assert len(begun) == 2
    assert second - first > WAIT_S - 0.1
    assert second - begun[1] < WAIT_S - 0.5  # of the process that began the function again


async def test_a_tool_that_must_not_be_repeated_is_not_when_its_process_was_killed_amid_the_call(tmp_path):
    async with served(tmp_path, calling) as (service, runtime):
        agent = await runtime.start("calling", at="CALLING")
        await killed_after(service, "paid", 1, HANGS_S / 2)
        await agent.until("CALLED", timeout=60)
        assert agent.context.receipts == ["found", "outcome unknown", "found"]
    assert [len(told(service, what)) for what in ("looked", "paid")] == [2, 1]
