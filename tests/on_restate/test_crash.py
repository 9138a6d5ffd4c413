"""`kill -9` of the service, of the engine, of both in turn, while events come in."""

import asyncio
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from gatechart.restate import RestateRuntime, register
from tests.crash.havoc import every, havoc
from tests.on_restate.conftest import there_or_skipped
from tests.on_restate.engines import ROOT, environment, eventually, free_ports
from tests.on_restate.fleet import counting

ENDS_S = 300
KILLS = 3


@pytest.fixture(autouse=True)
def _ends():
    """The campaigns have ends of their own, and need longer than other tests."""


class Service:
    """A service in a process of its own, at a port that it keeps."""

    def __init__(self, folder):
        self.ledger = folder / "ledger"
        self.projection = f"sqlite+aiosqlite:///{folder}/projection.db"
        (self.port,) = free_ports(1)
        self._log = folder / "service.log"
        self._process = None

    def begin(self):
        arguments = [sys.executable, "-m", "tests.on_restate.fleet", str(self.port), self.ledger, self.projection]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(arguments, cwd=ROOT, env=environment(), stdout=log, stderr=log)

    def kill(self):
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
            return bool(await register(engine.admin, f"http://127.0.0.1:{service.port}"))
        except Exception:
            return False

    await eventually(is_known)


async def load(runtime, agents, rounds, rng_every=7):
    """Sends each agent its numbers in order, one behind the other; every other one by post."""

    async def drive(place, agent_id):
        agent = await runtime.start("counting", at="COUNTING", id=agent_id)
        for n in range(1, rounds + 1):
            told = {"n": n, "rings": n % rng_every == 0}
            if n % 3 == 0:
                told["neighbour"] = agents[(place + 1) % len(agents)]
            if n % 2:
                await runtime.post(agent_id, "COUNTED", told, id=f"n{n}")
            else:
                await agent.send("COUNTED", told, id=f"n{n}")
            if n % 10 == 0:
                await runtime.post(agent_id, "CHARGED")

    await asyncio.gather(*(drive(place, agent_id) for place, agent_id in enumerate(agents)))


async def check(runtime, service, agents, rounds):
    """Nothing lost, nothing doubled, order kept, no recorded step run again."""
    expected = list(range(1, rounds + 1))

    async def is_settled():
        found = [(await runtime.resume(agent_id)) for agent_id in agents]
        return all(
            each.configuration == ("COUNTING",)
            and len(each.context.seen) == rounds
            and each.context.rings == rounds // 7
            and len(each.context.passed) >= rounds // 3
            for each in found
        )

    await eventually(is_settled, ENDS_S)
    charged = Counter()
    for place, agent_id in enumerate(agents):
        context = (await runtime.resume(agent_id)).context
        assert context.seen == expected, agent_id
        before = agents[place - 1]
        assert context.passed == [[before, n] for n in expected if n % 3 == 0], agent_id
        assert set(context.receipts) <= {"first second"}
        charged[agent_id] = len(context.receipts)
        await runtime.caught_up(agent_id)
        history = await runtime.history(agent_id)
        assert [entry.version for entry in history] == list(range(1, len(history) + 1))
        assert [entry.event.payload["n"] for entry in history if entry.event.name == "COUNTED"] == expected
    steps = defaultdict(list)
    for line in service.ledger.read_text().splitlines():
        agent_id, _, name = line.split()
        steps[agent_id, name].append(line)
    for agent_id in agents:
        # A step may be taken twice only where the process died before its result was written down.
        assert charged[agent_id] <= len(steps[agent_id, "first"]) <= charged[agent_id] + KILLS


async def campaign(folder, agents, rounds, pause_s, turns):
    names = [f"agent-{n}" for n in range(agents)]
    with there_or_skipped(folder) as engine:
        service = Service(folder)
        service.begin()
        try:
            await registered(engine, service)
            async with RestateRuntime.open(
                engine.ingress, graphs=[counting], projection=None, patience_s=60
            ) as runtime:
                kills = havoc([(service,), (engine,), (service, engine)], every(pause_s, turns))
                await asyncio.gather(load(runtime, names, rounds), kills)
            async with RestateRuntime.open(
                engine.ingress, graphs=[counting], projection=service.projection, patience_s=60
            ) as runtime:
                await check(runtime, service, names, rounds)
            assert service.stop() == 0
        finally:
            service.kill()


async def test_nothing_is_lost_or_doubled_when_the_service_the_engine_and_both_are_killed(tmp_path):
    await campaign(tmp_path, agents=50, rounds=40, pause_s=1.5, turns=KILLS)


@pytest.mark.slow
async def test_nothing_is_lost_or_doubled_in_a_long_campaign_of_kills(tmp_path):
    await campaign(tmp_path, agents=200, rounds=100, pause_s=8, turns=KILLS)
