"""Three nodes of the engine on loopback that are one cluster, each of which may be killed and begun again."""

import json
import re
import subprocess
import time
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from tests.ports import free_ports
from tests.restate.blobs import blobs_in
from tests.restate.engines import CONFIG, ROOT, Engine, EngineMissingError

CLUSTER = (
    """
cluster-name = "agents"
auto-provision = false
default-replication = 2
"""
    + CONFIG
    + """
[metadata-client]
addresses = {metadata}
[worker]
trim-delay-interval = "1s"
[worker.snapshots]
destination = "{snapshots}"
snapshot-interval-num-records = 500
"""
)
SETTLES_S = 90
PARTITIONS = 4  # as many as the configuration says
LEADERS = """
SELECT nodes.name, partition_state.partition_id FROM partition_state
JOIN nodes ON nodes.gen_node_id = partition_state.gen_node_id
WHERE partition_state.effective_mode = 'Leader' AND nodes.state = 'alive'
"""


@cache
def programs():
    """What a cluster needs beside the server: restatectl, and the emulator of an object store; else why not."""
    command = ["sh", ROOT / ".ci/restate-cluster", ROOT / "build/restate-cluster"]
    installed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    if installed.returncode:
        return installed.stderr.strip()
    return [Path(line).resolve() for line in installed.stdout.splitlines()]


class Cluster:
    """The nodes. Their data outlives their processes."""

    def __init__(self, folder, restatectl, blobs, nodes=3):
        self._restatectl = restatectl
        self._blobs = blobs
        self._folder = folder
        ports = [free_ports(3) for _ in range(nodes)]
        self._metadata = [f"http://127.0.0.1:{node}/" for node, _, _ in ports]  # whom a node asks where it belongs
        self.nodes = [self.node(f"n{n}", each) for n, each in enumerate(ports, 1)]

    def node(self, name, ports=None):
        """One more, which joins the others once it is begun."""
        folder = self._folder / name
        folder.mkdir()
        facts = {"metadata": json.dumps(self._metadata), "snapshots": self._blobs.destination}
        return Engine(folder, name, CLUSTER, ports or free_ports(3), self._blobs.variables, **facts)

    @property
    def ingresses(self):
        """Where callers reach the nodes."""
        return [node.ingress for node in self.nodes]

    def begin(self):
        """Returns when all nodes answer. Together: one alone is too few to do anything."""
        for node in self.nodes:
            node.spawn()
        for node in self.nodes:
            node.begin()

    def provision(self):
        """Makes one cluster of nodes that have never run."""
        for node in self.nodes:
            node.spawn()
        end = time.monotonic() + SETTLES_S
        while not self._is_provisioned():
            if time.monotonic() > end:
                raise TimeoutError("the cluster cannot be provisioned")
            time.sleep(0.2)
        self.begin()
        self.awaited()

    def kill(self):
        """All of them at once."""
        for node in self.nodes:
            node.kill()

    def leaders(self):
        """Which node leads each partition, by the partition's number; only nodes that live."""
        rows = json.loads(self.control("sql", "--json", LEADERS) or "[]")
        return {row["partition_id"]: row["name"] for row in rows}

    def awaited(self, without=None):
        """Returns when each partition has a leader. without: the node that leads none."""
        end = time.monotonic() + SETTLES_S
        while time.monotonic() < end:
            leaders = self.leaders()
            if len(leaders) == PARTITIONS and (without is None or without.name not in leaders.values()):
                return
            time.sleep(0.2)
        raise TimeoutError(f"partitions have no leaders: {leaders}")

    def busiest(self):
        """The node that leads the most partitions."""
        names = list(self.leaders().values())
        return max(self.nodes, key=lambda node: names.count(node.name))

    def replace(self, lost, name):
        """A new node in the place of one whose disk is lost. Returns when the cluster has forgotten that one."""
        joined = self.node(name)
        joined.begin()
        number = json.loads(
            self.control("sql", "--json", f"SELECT plain_node_id FROM nodes WHERE name = '{lost.name}'")
        )
        number = number[0]["plain_node_id"]
        self.nodes = [joined if node is lost else node for node in self.nodes]
        self.control("metadata-server", "remove-node", number)
        self.control("nodes", "set-worker-state", "--nodes", number, "--worker-state", "draining")
        self.control("nodes", "set-storage-state", "--nodes", number, "--storage-state", "read-only")
        for log in range(PARTITIONS):
            self.control("logs", "reconfigure", "--log-id", str(log))
        end = time.monotonic() + SETTLES_S
        while "emoved" not in self.control("nodes", "remove", "--nodes", number):
            if time.monotonic() > end:
                raise TimeoutError(f"the cluster does not let go of {number}")
            for log, place in re.findall(r"log (\d+) @ LSN >= (\d+)", self.control("snapshots", "create")):
                self.control("logs", "trim", log, "--trim-point", place)
            time.sleep(1)
        return joined

    def control(self, *arguments):
        """What restatectl says, as an operator uses it; what it says on failures is in a log."""
        alive = ",".join(node.address for node in self.nodes if node.runs)  # it gives up where the first is dead
        command = [self._restatectl, *arguments, "--address", alive]
        said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SETTLES_S)
        with (self._folder / "operator.log").open("a") as log:
            log.write(f"$ {' '.join(arguments)}\n{said.stdout}{said.stderr}\n")
        return said.stdout

    def _is_provisioned(self):
        return "successfully provisioned" in self.control("provision", "--yes")


@contextmanager
def cluster_in(folder):
    """A cluster that runs, with a store for its snapshots. All of it is killed at the end."""
    found = programs()
    if isinstance(found, str):
        raise EngineMissingError(found)
    restatectl, emulator = found
    with ExitStack() as stack:
        blobs = stack.enter_context(blobs_in(emulator, folder / "blobs"))
        cluster = Cluster(folder, restatectl, blobs)
        stack.callback(cluster.kill)
        cluster.provision()
        yield cluster
