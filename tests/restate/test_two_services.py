"""Two processes behind one engine, at one address, and a third that projects: killed one by one, and both in turn."""

import pytest

from gatechart.restate import RestateRuntime
from tests.ports import free_ports
from tests.restate.campaigns import again, amid, judged, under_load
from tests.restate.conftest import there_or_skipped
from tests.restate.fleet import counting
from tests.restate.services import Service, registered
from tests.restate.verdicts import Load


@pytest.fixture(autouse=True)
def _ends():
    """The campaigns have ends of their own, and need longer than other tests."""


def in_brief(first, second, _):
    """One is killed and comes back after a while; then both are at once."""
    return [(0.2, amid(first.ledger, first.kill)), (0.5, first.begin), (0.75, again(first, second))]


def at_length(first, second, projector):
    """One is killed and comes back after a while; then each is, and both are at once."""
    one_by_one = [(0.5, again(second)), (0.6, again(projector)), (0.7, again(first))]
    return [(0.2, amid(first.ledger, first.kill)), (0.4, first.begin), *one_by_one, (0.85, again(first, second))]


async def campaign(folder, agents, load, script):
    names = [f"agent-{n}" for n in range(agents)]
    (port,) = free_ports(1)
    first, second = (Service(folder, "elsewhere", port) for _ in range(2))
    projector = Service(folder, "only")
    deeds = script(first, second, projector)
    with there_or_skipped(folder) as engine:
        for each in (first, second, projector):
            each.begin()
        try:
            await registered(engine, first)
            await registered(engine, projector)
            async with RestateRuntime.open(
                engine.ingress, graphs=[counting], projection=projector.projection, patience_s=60
            ) as runtime:
                await under_load(runtime, names, load, deeds)
                assert await judged(runtime, first.ledger, names, load, len(deeds), engine.is_idle) == []
            assert [each.stop() for each in (first, second, projector)] == [0, 0, 0]
        finally:
            for each in (first, second, projector):
                each.kill()
    took_part = {line.split()[-1] for line in first.ledger.read_text().splitlines()}
    assert took_part & first.pids
    assert took_part & second.pids


async def test_nothing_is_lost_or_doubled_when_one_of_two_services_and_both_are_killed(tmp_path):
    await campaign(tmp_path, agents=12, load=Load(20), script=in_brief)


@pytest.mark.slow
async def test_nothing_is_lost_or_doubled_in_a_long_campaign_with_two_services(tmp_path):
    await campaign(tmp_path, agents=100, load=Load(100), script=at_length)
