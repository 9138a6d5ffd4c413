"""Clients that try again, under the same ids, while `gatechart serve` and the database server are killed."""

import asyncio
from contextlib import ExitStack

import pytest

from gatechart.clients import HttpClient
from gatechart.errors import AgentExistsError, OutsideError
from gatechart.values.delays import Retry
from tests.crash.havoc import havoc, until_done
from tests.ports import free_ports
from tests.serving.conftest import process

pytestmark = pytest.mark.usefixtures("unmeasured")

AGENTS, EVENTS = 4, 20
ONCE = Retry(attempts=1)  # what fails is for us to see
ENDS_S = 75


class Host:
    """`gatechart serve`, at a port that it keeps."""

    def __init__(self, store, log):
        self._store, self._log, (self._port,) = store, log, free_ports(1)
        self.url = f"http://127.0.0.1:{self._port}"
        self._opened = ExitStack()
        self.server = None

    def begin(self):
        log = self._opened.enter_context(self._log.open("a"))
        self.server = self._opened.enter_context(process(self._store, "--port", str(self._port), log=log))

    def kill(self):
        if self.server is not None:
            self.server.popen.kill()
        self._opened.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.processes])])
def kept(request):
    """Where the agents are kept, and the server of the database, if there is one."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_url"), None
    server = request.getfixturevalue("safe_server")
    return server.url(server.new()), server


class Customer:
    """Sends notes to an agent, one after the other, every other one by post; each until it gets through."""

    def __init__(self, url, agent):
        self._url, self.agent = url, agent
        self.done = 0
        self.failures = 0

    async def work(self):
        async with HttpClient(self._url, retry=ONCE) as client:
            await until_done(lambda: self._begun(client))
            for number in range(EVENTS):
                await until_done(lambda number=number: self._told(client, number))
                self.done += 1

    async def _begun(self, client):
        try:
            await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id=self.agent)
        except AgentExistsError:
            return

    async def _told(self, client, number):
        tell = client.post if number % 2 else client.send
        try:
            await tell(self.agent, "NOTED", {"note": f"{number}"}, event_id=f"e{number}")
        except OutsideError:
            self.failures += 1
            raise


async def moments(customers, kills):
    """As the work goes on, with some left to be done."""
    for kill in range(1, kills + 1):
        while sum(each.done for each in customers) < kill * AGENTS * EVENTS / (kills + 1):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        yield


async def check(client, agent):
    """Each note was taken once, in the order in which they were sent."""
    expected = [f"{number}" for number in range(EVENTS)]
    async with asyncio.timeout(60):
        while len((await client.read(agent)).context["notes"]) < EVENTS:  # noqa: ASYNC110  posts wait
            await asyncio.sleep(0.02)
    assert (await client.read(agent)).context["notes"] == expected
    history = await client.history(agent)
    assert [entry.version for entry in history] == list(range(1, EVENTS + 2))
    assert [entry.event.id for entry in history[1:]] == [f"e{number}" for number in range(EVENTS)]


async def test_clients_that_try_again_double_and_lose_nothing_whatever_is_killed(kept, tmp_path):
    url, server = kept
    host = Host(url, tmp_path / "host.log")
    groups = [(host,)] if server is None else [(host,), (server,), (server, host)]
    customers = [Customer(host.url, f"a{number}") for number in range(AGENTS)]
    host.begin()
    try:
        async with asyncio.timeout(ENDS_S * len(groups)), asyncio.TaskGroup() as tasks:
            for customer in customers:
                tasks.create_task(customer.work())
            killing = tasks.create_task(havoc(groups, moments(customers, len(groups))))
        assert killing.result() == len(groups)
        assert sum(customer.failures for customer in customers) > 0
        async with HttpClient(host.url) as client:
            for customer in customers:
                await check(client, customer.agent)
        assert (await asyncio.to_thread(host.server.end))[0] == 0
    finally:
        host.kill()
