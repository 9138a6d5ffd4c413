"""Processes that host the fleet's agents, begun, killed and begun again by tests."""

import subprocess
import sys

from gatechart.restate import register
from tests.ports import free_ports
from tests.restate.engines import ROOT, environment, eventually


class Service:
    """A service in a process of its own, at a port that it keeps. role: as of the fleet."""

    def __init__(self, folder, role="here", port=None):
        self.ledger = folder / "ledger"
        self.projection = f"sqlite+aiosqlite:///{folder}/projection.db"
        self.port = port or free_ports(1)[0]
        self.pids = set()
        self._role = role
        self._log = folder / "service.log"
        self._process = None

    @property
    def address(self):
        """Where the engine reaches it."""
        return f"http://127.0.0.1:{self.port}"

    def begin(self):
        """Returns at once; it answers a little later."""
        arguments = [str(self.port), self.ledger, self._role, self.projection]
        command = [sys.executable, "-m", "tests.restate.fleet", *arguments]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=log, stderr=log)
        self.pids.add(str(self._process.pid))

    def kill(self):
        """As by the machine: it has no time for anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self):
        """Its exit code, once it was told to go."""
        self._process.terminate()
        return self._process.wait(timeout=20)


async def registered(engine, service):
    """Returns once the engine knows what the service offers."""

    async def is_known():
        try:
            return bool(await register(engine.admin, service.address))
        except Exception:
            return False

    await eventually(is_known)
