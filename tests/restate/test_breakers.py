"""Circuit breakers on the engine: an object takes the changes and gives out trials, processes count the calls."""

import asyncio
import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from gatechart import Runtime, State, StateTransitionGraph, Transition
from gatechart.cli import main
from gatechart.errors import BreakerOpenError, EngineUnreachableError, OutsideError
from gatechart.graph.definition import ANY, Invoke
from gatechart.restate import RestateRuntime, register
from gatechart.tools import BreakerPolicy
from gatechart.values.breakers import BreakerState
from tests.ports import free_ports
from tests.restate.engines import ROOT, environment
from tests.restate.guarded_service import PERMITS as TRIALS
from tests.restate.guarded_service import guarded
from tests.runtime.busy_agents import Services, Task, note
from tests.runtime.support import eventually

PERMITS = 3
BRIEF = BreakerPolicy(failures_in_a_row=2, break_s=0.3)
LONG = BreakerPolicy(failures_in_a_row=2, break_s=600)


def caller(policy, function=None):
    """A graph whose agents call once when they begin, and again with each CALLED."""

    async def guarded(context, work):
        async with work.breaker("crm", policy):
            return work.services.call("crm")

    invoke = Invoke(function or guarded)
    ended = [f"{kind}.invoke.{invoke.id}" for kind in ("done", "error")]
    return StateTransitionGraph(
        "caller",
        context=Task,
        states=[State("CALLING", invoke=invoke)],
        transitions=[
            *(Transition(ANY, event, actions=note) for event in ended),
            Transition(ANY, "CALLED", "CALLING"),
        ],
        entry_points=["CALLING"],
    )


@pytest.fixture
def services():
    return Services()


def outcomes(agent):
    return [payload.get("result", payload.get("type")) for _, payload in agent.context.notes]


async def called(agent):
    await eventually(lambda: outcomes(agent))
    before = len(outcomes(agent))
    await agent.send("CALLED")
    await eventually(lambda: len(outcomes(agent)) > before)
    return outcomes(agent)[-1]


async def broken(runtime, services):
    services.fails["crm"] = 2
    agent = await runtime.start("caller", at="CALLING")
    await called(agent)
    assert outcomes(agent) == ["LookupError", "LookupError"]
    return agent


async def test_one_that_is_open_stays_so_when_the_service_begins_anew(restate_place, services):
    async with Runtime.open(restate_place, graphs=caller(LONG), services=services) as runtime:
        agent = await broken(runtime, services)
        assert await called(agent) == "BreakerOpenError"
        [breaker] = await runtime.breakers()
        assert (breaker.name, breaker.state, breaker.breaks) == ("crm", BreakerState.OPEN, 1)
        assert breaker.reason == "LookupError: crm is not there"
        assert (breaker.retry_at - breaker.since).total_seconds() == 600
    async with Runtime.open(restate_place, graphs=caller(LONG), services=services) as runtime:
        agent = await runtime.resume(agent.id)
        assert await called(agent) == "BreakerOpenError"
        assert services.calls["crm"] == 2
        assert (await runtime.close_breaker("crm")).state is BreakerState.CLOSED
        assert not await runtime.breakers()
        await asyncio.sleep(1.1)  # so long the process may go by what it knew
        assert await called(agent) == "crm 3"


async def test_it_closes_after_a_trial_and_opens_again_after_one_that_fails(restate_place, services):
    async with Runtime.open(restate_place, graphs=caller(BRIEF), services=services) as runtime:
        agent = await broken(runtime, services)
        await asyncio.sleep(0.4)
        services.fails["crm"] = 1
        assert await called(agent) == "LookupError"
        [breaker] = await runtime.breakers()
        assert (breaker.state, breaker.breaks) == (BreakerState.OPEN, 2)
        await asyncio.sleep(0.4)
        assert await called(agent) == "crm 4"
        assert not await runtime.breakers()


async def test_of_a_hundred_callers_at_half_open_exactly_the_permits_get_through(restate_place, services):
    policy = BreakerPolicy(failures_in_a_row=2, break_s=8, permits=PERMITS)

    async def crowd(context, work):
        async def one():
            try:
                async with work.breaker("crm", policy):
                    services.call("crm")
                    await services.open.wait()
            except (BreakerOpenError, LookupError) as error:
                services.seen.append(type(error).__name__)

        await asyncio.gather(*(one() for _ in range(20)))

    async with Runtime.open(restate_place, graphs=caller(policy, crowd), services=services) as runtime:
        permit = await tripped(runtime, services)
        await asyncio.sleep(8.1)
        services.seen.clear()
        await asyncio.gather(*(runtime.start("caller", at="CALLING") for _ in range(5)))
        async with asyncio.timeout(8):  # then the permits would be given again
            while len(services.seen) < 100 - PERMITS:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert services.calls["crm"] == permit + PERMITS
        services.open.set()
        await asyncio.sleep(1)
        assert not await runtime.breakers()
        assert set(services.seen) == {"BreakerOpenError"}


async def test_the_list_says_that_no_service_answers_in_place_of_waiting_for_one(restate_place, monkeypatch):
    async with Runtime.open(restate_place, graphs=caller(LONG)) as runtime:
        assert not await runtime.breakers()
    monkeypatch.setattr("gatechart.restate.agent_calls.READS_S", 0.5)
    at = {"graphs": caller(LONG), "namespace": restate_place.namespace}
    async with RestateRuntime.open(restate_place.engine.ingress, **at) as runtime:
        with pytest.raises(EngineUnreachableError, match="start `gatechart restate serve`, and register it"):
            await runtime.breakers()


async def test_the_command_line_changes_breakers_of_the_engine(restate_place, services, capfd):
    async with Runtime.open(restate_place, graphs=caller(LONG), services=services) as runtime:
        at = ("--engine", restate_place.engine.ingress, "--namespace", restate_place.namespace)
        for arguments in (("isolate", "crm", "--reason", "it moves"), ("--json",)):
            capfd.readouterr()
            assert int(await asyncio.to_thread(main, ["breakers", *arguments, *at])) == 0
        assert json.loads(capfd.readouterr().out)["breakers"][0]["state"] == "ISOLATED"
        assert int(await asyncio.to_thread(main, ["breakers", "close", "crm", *at])) == 0
        assert not await runtime.breakers()


async def tripped(runtime, services):
    """How many calls it took to open the breaker."""
    services.fails["crm"] = 20
    await runtime.start("caller", at="CALLING")
    async with asyncio.timeout(60):
        while not [each for each in await runtime.breakers() if each.state is BreakerState.OPEN]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    services.fails["crm"] = 0
    return services.calls["crm"]


async def test_an_operator_isolates_a_breaker_for_every_process(restate_place, services):
    async with Runtime.open(restate_place, graphs=caller(LONG), services=services) as runtime:
        agent = await runtime.start("caller", at="CALLING")
        isolated = await runtime.isolate_breaker("crm", reason="the CRM moves")
        assert list(await runtime.breakers()) == [isolated]
        await asyncio.sleep(1.1)
        assert await called(agent) == "BreakerOpenError"
        for name in ("b", "a"):
            await runtime.isolate_breaker(name, reason="a test")
        assert [each.name for each in await runtime.breakers(after="a", limit=1)] == ["b"]


class Processes:
    """Two processes of one service, at one address, to which the engine has been told."""

    def __init__(self, engine, folder):
        self.ledger, (self._port,) = folder / "ledger.txt", free_ports(1)
        self.namespace = f"g{self._port}"
        self._engine = engine
        self._running = []

    async def begin(self, break_s):
        arguments = [str(self._port), self.namespace, str(self.ledger), str(break_s)]
        command = [sys.executable, "-m", "tests.restate.guarded_service", *arguments]
        self._running += [subprocess.Popen(command, cwd=ROOT, env=environment()) for _ in range(2)]  # noqa: ASYNC220
        async with asyncio.timeout(30):
            while not await self._is_known():  # noqa: ASYNC110
                await asyncio.sleep(0.2)

    async def _is_known(self):
        try:
            return bool(await register(self._engine.admin, f"http://127.0.0.1:{self._port}"))
        except OutsideError:
            return False

    def kill(self):
        """As by the machine, with SIGKILL."""
        while self._running:
            process = self._running.pop()
            process.kill()
            process.wait()

    def callers(self):
        """The process of each call that was made."""
        return self.ledger.read_text().split() if self.ledger.exists() else []


@pytest.fixture
def processes_of_one(engine, tmp_path):
    processes = Processes(engine, tmp_path)
    yield processes
    processes.kill()
    engine.drop(processes.namespace)


async def rested(runtime, count):
    """Has so many new agents call at once, and returns what came of each call."""
    agents = await asyncio.gather(*(runtime.start("guarded", at="CALLING") for _ in range(count)))
    ended = await asyncio.gather(*(agent.until("RESTING", timeout="40s") for agent in agents))
    return [outcome for snapshot in ended for outcome in snapshot.context["outcomes"]]


async def opened_by_failures(runtime, processes):
    """Has agents call what is down until the breaker opens, and forgets those calls."""
    while not await runtime.breakers():
        await rested(runtime, 4)
    processes.ledger.unlink()
    [crm] = await runtime.breakers()
    return crm


def calling(engine, processes):
    return RestateRuntime.open(engine.ingress, graphs=guarded, namespace=processes.namespace, patience_s=20)


async def test_one_that_is_open_stays_so_when_all_processes_are_killed(engine, processes_of_one):
    await processes_of_one.begin(3600)
    async with calling(engine, processes_of_one) as runtime:
        before = await opened_by_failures(runtime, processes_of_one)
        processes_of_one.kill()
        await processes_of_one.begin(3600)
        assert list(await runtime.breakers()) == [before]
        assert set(await rested(runtime, 20)) == {"BreakerOpenError"}
        assert processes_of_one.callers() == []


@pytest.mark.slow
async def test_all_processes_together_get_the_permits_of_one_breaker(engine, processes_of_one):
    await processes_of_one.begin(12)
    async with calling(engine, processes_of_one) as runtime:
        crm = await opened_by_failures(runtime, processes_of_one)
        processes_of_one.ledger.with_suffix(".up").touch()
        await asyncio.sleep(max(0, (crm.retry_at - datetime.now(UTC)).total_seconds() + 0.1))
        crowd = asyncio.create_task(rested(runtime, 40))
        await asyncio.sleep(6)  # no permit is given again so soon
        assert len(processes_of_one.callers()) == TRIALS
        processes_of_one.ledger.with_suffix(".answers").touch()
        outcomes = await crowd
        assert (outcomes.count("ok"), outcomes.count("BreakerOpenError")) == (TRIALS, 40 - TRIALS)
        assert not await runtime.breakers()
        await asyncio.sleep(1.1)
        assert await rested(runtime, 10) == ["ok"] * 10
