"""Restate's server in a folder of its own on loopback, begun, killed and begun again by tests."""

import asyncio
import json
import os
import subprocess
import time
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.ports import free_ports

ROOT = Path(__file__).parents[2]
CONFIG = """
bind-ip = "127.0.0.1"
bind-port = {node}
advertised-address = "http://127.0.0.1:{node}/"
listen-mode = "tcp"
disable-telemetry = true
default-num-partitions = 4
rocksdb-total-memory-size = "256 MB"
log-filter = "error"
[ingress]
bind-port = {ingress}
[admin]
bind-port = {admin}
"""
BEGINS_S = 30
UNDER_WAY = """
SELECT id FROM sys_invocation WHERE target_service_name LIKE '{namespace}.%' AND (
    status IN ('pending', 'ready', 'running', 'backing-off', 'suspended')
    OR status = 'scheduled' AND target_handler_name IN ('project', 'projected')
)
"""
INBOXED = """
SELECT id FROM sys_invocation
WHERE target_service_name = '{namespace}.Agent' AND target_handler_name = '{handler}' AND status = 'pending'
"""
ENDED = "SELECT id FROM sys_invocation WHERE status = 'completed' AND target = '{target}'"


@cache
def server():
    """The engine's program, got by the script that installs it; else what the script says."""
    command = ["sh", ROOT / ".ci/restate", ROOT / "build/restate"]
    installed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    return Path(installed.stdout.strip()).resolve() if installed.returncode == 0 else installed.stderr.strip()


class EngineMissingError(Exception):
    """There is no engine on this machine, for the reason given."""


class Engine:
    """One node. Its data outlives its process. config: with places for its ports and the facts."""

    def __init__(self, folder, name="n1", config=CONFIG, ports=None, variables=None, **facts):
        self.folder = folder
        self.name = name
        node, ingress, admin = ports or free_ports(3)
        self.address = f"http://127.0.0.1:{node}/"  # for other nodes
        self.ingress, self.admin = f"http://127.0.0.1:{ingress}", f"http://127.0.0.1:{admin}"
        told = config.format(node=node, ingress=ingress, admin=admin, **facts)
        (folder / "restate.toml").write_text(told)
        self._variables = variables or {}
        self._process = None

    def begin(self):
        """Returns when it answers. An address that is still in use is tried again."""
        deadline = time.monotonic() + BEGINS_S
        while time.monotonic() < deadline:
            self.spawn()
            if self._answers():
                return
            time.sleep(0.05)
        raise TimeoutError((self.folder / "log").read_text()[-2000:])

    def wait_for_partitions(self):
        """Return when all partitions are led: until then the engine answers questions in SQL with an error."""
        deadline = time.monotonic() + BEGINS_S
        while not self._answers_questions():
            if time.monotonic() > deadline:
                raise TimeoutError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def spawn(self):
        """Returns at once. Does nothing where it runs."""
        program = server()
        if isinstance(program, str):
            raise EngineMissingError(program)
        if not self.runs:
            self._process = self._spawn(program)

    @property
    def runs(self):
        """Whether it has a process."""
        return self._process is not None and self._process.poll() is None

    def busy(self, namespace):
        """What the services of a namespace have to do now, and in a moment: turns wait for that to be projected."""
        return self._found(UNDER_WAY.format(namespace=namespace))

    def remembers(self, namespace, key, handler):
        """Which invocations of an object it keeps that have ended."""
        return self._found(ENDED.format(target=f"{namespace}.Agent/{key}/{handler}"))

    def waiting(self, namespace, handler):
        """Which invocations of agents wait for another one of the same agent to end."""
        return self._found(INBOXED.format(namespace=namespace, handler=handler))

    def _found(self, query):
        return [each["id"] for each in self.rows(query)]

    def drop(self, namespace):
        """Ends what a service that is gone has left undone: it would be tried for ever."""
        for left in self.busy(namespace):
            with suppress(HTTPError):  # it has ended by now
                self.admin_call("PATCH", f"invocations/{left}/kill")

    def rows(self, statement):
        """The answer to a question in SQL about what the engine does, each row a mapping."""
        return json.loads(self.admin_call("POST", "query", {"query": statement}))["rows"]

    def admin_call(self, method, path, asked=None):
        """What the engine's operator is answered, as bytes."""
        headers = {"accept": "application/json", "content-type": "application/json"}
        body = None if asked is None else json.dumps(asked).encode()
        with urlopen(Request(f"{self.admin}/{path}", body, headers, method=method), timeout=10) as response:
            return response.read()

    def kill(self):
        """As by the machine: it has no time for anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self):
        """As by its operator: it has written down all when this returns."""
        self._process.terminate()
        self._process.wait(timeout=20)
        self._process = None

    async def ask(self, statement):
        """The rows of an answer to a question in SQL about what the engine does, each a mapping."""
        return await asyncio.to_thread(self.rows, statement)

    async def is_idle(self):
        """Whether it has nothing to do: no invocation runs, waits, is tried again or was given up."""
        return await self.ask("SELECT id FROM sys_invocation WHERE status <> 'completed' LIMIT 1") == []

    def _spawn(self, program):
        command = [program, "--config-file", self.folder / "restate.toml", "--node-name", self.name]
        command += ["--base-dir", self.folder / "data"]
        with (self.folder / "log").open("ab") as log:
            variables = os.environ | self._variables
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=variables)

    def _answers(self):
        try:
            with urlopen(f"{self.admin}/health", timeout=1), urlopen(f"{self.ingress}/restate/health", timeout=1):
                return True
        except OSError:
            return False

    def _answers_questions(self):
        try:
            self.rows("SELECT id FROM sys_invocation LIMIT 1")
        except HTTPError as error:
            error.close()
            return False
        return True


@contextmanager
def engine_in(folder):
    """An engine that runs, and is killed at the end."""
    engine = Engine(folder)
    try:
        engine.begin()
        engine.wait_for_partitions()
        yield engine
    finally:
        engine.kill()


async def eventually(holds, within_s=20):
    """Returns as soon as it holds; a failure where it never would. holds: asynchronous."""
    async with asyncio.timeout(within_s):
        while not await holds():  # noqa: ASYNC110  processes tell nobody
            await asyncio.sleep(0.02)


def environment():
    """Of a child that does not measure what it covers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}
