"""Real servers on loopback: in this process, or in one of their own."""

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from gatechart import Runtime
from gatechart.clients import HttpClient
from gatechart.runtime.runtime import DEFAULTS
from gatechart.serving import Application, Lifecycle, Server, ServerLimits, listening
from tests.forked import COMMAND, PIPE, Forked, fork
from tests.serving.shop import graphs

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-of-the-tests"
PATIENCE_S = 30


@dataclass
class Served:
    """A server in this process, and what is behind it."""

    url: str
    runtime: Runtime
    lifecycle: Lifecycle
    server: Server


def state_of(server):
    """The open connections of a server, and the tasks that answer them."""
    return server._uvicorn.server_state


@asynccontextmanager
async def serving(
    store="memory:",
    *,
    token=None,
    lifecycle=None,
    port=0,
    grace_s=2.0,
    limits=DEFAULTS,
    server=None,
    graphs=graphs,
    services=None,
    registrants=None,
    alarmists=None,
    operators=None,
):
    """A server of the shop, or of other graphs, at a free port."""
    lifecycle, server = lifecycle or Lifecycle(), server or ServerLimits()
    named = {"registrants": registrants or {}, "alarmists": alarmists or {}, "operators": operators or {}}
    application = Application(lifecycle, graphs, token=token, limits=server, **named)
    opened = {"host": "127.0.0.1", "port": port, "has_token": token is not None, "grace_s": grace_s}
    async with (
        listening(application, **opened, limits=server) as listens,
        Runtime.open(store, graphs=graphs, services=services, limits=limits) as runtime,
        lifecycle.hosting(runtime),
    ):
        try:
            yield Served(listens.url, runtime, lifecycle, listens)
        finally:
            lifecycle.stop()
            await listens.close()


@pytest.fixture
async def served(place):
    """A server of the shop, on every store."""
    async with serving(place) as found:
        yield found


@pytest.fixture
async def http(served):
    """A plain HTTP client of the server."""
    async with httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
async def client(served):
    """Our client of the server."""
    async with HttpClient(served.url) as found:
        yield found


@dataclass
class Process:
    """A server in a process of its own."""

    url: str
    popen: Forked

    def end(self, number=signal.SIGTERM):
        """Sends the signal; the exit code, and what came on stderr."""
        self.popen.send_signal(number)
        _, told = self.popen.communicate(timeout=PATIENCE_S)
        return self.popen.returncode, told


@contextmanager
def process(store, *options, app="tests.serving.shop:graphs", port=0, env=None, token=None, log=PIPE):
    """`gatechart serve --json` of the shop; the caller, or the end of the block, ends it.

    log: a file for one that has much to tell, which would wait for ever for a pipe that nobody reads.
    """
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    settings = {**os.environ, "PYTHONPATH": path, **(env or {})}
    settings.pop("GATECHART_TOKEN", None)
    if token:
        settings["GATECHART_TOKEN"] = token
    command = ("serve", "--json", "--app", app, "--store", store, "--port", port, *options)
    with fork(COMMAND, *command, stdout=PIPE, stderr=log, env=settings, cwd=ROOT) as popen:
        try:
            line = popen.stdout.readline()
            assert line, popen.communicate(timeout=PATIENCE_S)[1]
            yield Process(json.loads(line)["url"], popen)
        finally:
            popen.kill()


async def within(awaitable):
    """What it gives, within a time that no working machine needs."""
    return await asyncio.wait_for(awaitable, PATIENCE_S)
