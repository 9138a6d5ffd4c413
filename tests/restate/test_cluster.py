"""`kill -9` of nodes of a cluster of three, one and all, while events come in."""

from shutil import rmtree

import pytest

from gatechart.restate import RestateRuntime
from tests.restate.campaigns import judged, under_load
from tests.restate.clusters import cluster_in
from tests.restate.conftest import there_or_skipped
from tests.restate.fleet import counting
from tests.restate.services import Service, registered
from tests.restate.verdicts import Load

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _ends():
    """The campaigns have ends of their own, and need longer than other tests."""


async def campaign(folder, agents, load, script):
    """script: from the cluster to shares of the load, and what to do then."""
    names = [f"agent-{n}" for n in range(agents)]
    service = Service(folder)
    with there_or_skipped(folder, cluster_in) as cluster:
        service.begin()
        try:
            await registered(cluster.nodes[0], service)
            async with RestateRuntime.open(
                cluster.ingresses, graphs=[counting], projection=service.projection, patience_s=120
            ) as runtime:
                deeds = script(cluster, service)
                await under_load(runtime, names, load, deeds)
                is_idle = cluster.nodes[-1].is_idle
                assert await judged(runtime, service.ledger, names, load, len(deeds), is_idle) == []
            assert service.stop() == 0
        finally:
            service.kill()


def kills(cluster, service):
    """The node that leads the most is killed, and comes back once others have led for a while; then all are killed."""
    gone = []

    def kill_the_leader():
        gone.append(cluster.busiest())
        gone[0].kill()
        cluster.awaited(without=gone[0])

    def kill_all():
        cluster.kill()
        cluster.begin()

    def kill_all_and_the_service():
        service.kill()
        kill_all()
        service.begin()

    return [
        (0.15, kill_the_leader),
        (0.4, lambda: gone[0].begin()),
        (0.6, kill_all),
        (0.8, kill_all_and_the_service),
    ]


def replaces(cluster, service):
    """A node loses its disk and is replaced by a new one, without which another cannot be spared a moment later."""
    lost = cluster.busiest()

    def lose():
        lost.kill()
        rmtree(lost.folder)
        cluster.awaited(without=lost)

    def spare_another():
        other = cluster.nodes[0]
        other.kill()
        cluster.awaited(without=other)
        other.begin()

    return [(0.15, lose), (0.3, lambda: cluster.replace(lost, "n4")), (0.7, spare_another)]


async def test_nothing_is_lost_or_doubled_when_one_node_and_all_are_killed(tmp_path):
    await campaign(tmp_path, 50, Load(60), kills)


async def test_nothing_is_lost_or_doubled_when_a_node_that_lost_its_disk_is_replaced(tmp_path):
    await campaign(tmp_path, 30, Load(60), replaces)
