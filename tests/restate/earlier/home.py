"""An engine that an earlier release filled: unpacked, begun, and served by the present one."""

import asyncio
import json
import subprocess
import sys
import tarfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError

from gatechart.errors import EngineRefusedError
from gatechart.restate import RestateRuntime, register
from gatechart.stores import upgrade_store
from tests.ports import free_ports
from tests.restate.earlier.agents import GRAPHS, LATER, NAMESPACE
from tests.restate.engines import CONFIG, ROOT, Engine, environment, eventually

ARCHIVE = Path(__file__).parent / "engine.tar.xz"
SMALL = CONFIG.replace("default-num-partitions = 4", "default-num-partitions = 1")


class Service:
    """The service of one phase, in a process of its own."""

    def __init__(self, folder, port, phase):
        self.port = port
        arguments = [str(port), folder / "ledger", f"sqlite+aiosqlite:///{folder}/projection.db", phase]
        command = [sys.executable, "-m", "tests.restate.earlier.agents", *arguments]
        with (folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=log, stderr=log)

    async def registered(self, engine):
        """Returns once the engine knows what it offers."""

        async def is_known():
            with suppress(EngineRefusedError):
                return bool(await register(engine.admin, f"http://127.0.0.1:{self.port}"))

        await eventually(is_known, within_s=50)

    def end(self):
        """Its exit code, once it was told to go."""
        self._process.terminate()
        return self._process.wait(timeout=20)

    def kill(self):
        """As by the machine: what it does is left as it is."""
        self._process.kill()
        self._process.wait()


@contextmanager
def refilled(folder):
    """The engine as it was left, with a service of the present release; and what it has a step leave its lines in.

    Invocations under way go on with the service that they were begun with, so that is told to be at another address.
    """
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(folder, filter="data")
    asyncio.run(upgrade_store(f"sqlite+aiosqlite:///{folder}/projection.db"))  # as one does after an upgrade
    engine, (port,) = Engine(folder, config=SMALL), free_ports(1)
    try:
        engine.begin()
        service = Service(folder, port, LATER)
        try:
            _tell_address(engine, f"http://127.0.0.1:{port}/")
            yield engine, service
        finally:
            service.kill()
    finally:
        engine.kill()


def _tell_address(engine, address):
    """Have the engine call the service there. An engine that has just begun may refuse that for a while."""
    deadline = time.monotonic() + 30
    while True:
        try:
            (known,) = json.loads(engine.admin_call("GET", "deployments"))["deployments"]
            engine.admin_call("PATCH", f"deployments/{known['id']}", {"uri": address})
        except HTTPError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def opened(engine, phase, folder):
    """A runtime on the engine, with what the service of a phase knows."""
    projection = f"sqlite+aiosqlite:///{folder}/projection.db"
    return RestateRuntime.open(
        engine.ingress, graphs=GRAPHS[phase], projection=projection, namespace=NAMESPACE, close_s=0.1
    )
