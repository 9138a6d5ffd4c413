"""How tasks of the technical support are played and scored, on small worlds, and on the benchmark where it is there."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from gatechart import Runtime
from gatechart.stores.memory import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.values.breakers import BreakerRecord, BreakerState
from gatechart.values.commits import BreakerChange
from gatechart.values.handoffs import Reason
from statecharts.hurry import hurried
from statecharts.telecom_support import __main__ as command
from statecharts.telecom_support.graph import graphs
from statecharts.telecom_support.play import POLICY_TIME, Chances, play, sample
from statecharts.telecom_support.score import Score, Scored, tables
from statecharts.telecom_support.tau2 import BenchmarkMissingError, Tau2Task, tasks_in
from statecharts.telecom_support.tools import Services
from statecharts.telecom_support.world import ToolDownError, Used, World
from tests.skipped import LOUD
from tests.statecharts.small_world import NO_DATA, NO_SERVICE, SmallWorld

SHARED = Path(__file__).parents[3] / "shared" / "data" / "tau2_telecom" / "tau2_telecom.tar.gz"


@dataclass(frozen=True)
class SmallTask:
    """A task about a small world, which is repaired when there is fast data."""

    id: str
    ticket: str = NO_DATA
    is_repairable: bool = True
    gold: tuple[Used, ...] = ()
    broken: SmallWorld = field(default_factory=SmallWorld)

    def begin(self) -> World:
        return replace(self.broken)

    def holds(self, world: World) -> bool:
        assert isinstance(world, SmallWorld)
        return ("Excellent" in world.run_speed_test()) is self.is_repairable


FLIGHT = SmallTask("flight", gold=(Used("toggle_airplane_mode", {}),), broken=SmallWorld(airplane_mode=True))
LOCKED = SmallTask("locked", NO_SERVICE, is_repairable=False, broken=SmallWorld(sim="locked"))
FAR = SmallTask("far", gold=(Used("toggle_roaming", {}),), broken=SmallWorld(is_abroad=True))  # which no ticket says
BROKEN_APN = SmallTask("apn", gold=(Used("reboot_device", {}),), broken=SmallWorld(apn="broken", mobile_data=False))


async def played(*tasks: SmallTask | Tau2Task, failing: float = 0.0, seed: int = 0) -> tuple[Scored, ...]:
    """What became of the tasks, in their order."""
    clock, services, scored = VirtualClock(POLICY_TIME), Services(), list[Scored]()
    async with (
        Runtime.open("memory:", graphs=graphs, services=services, clock=clock) as runtime,
        hurried(clock, runtime),
    ):
        await play(tasks, runtime, services, Chances(failing, seed), on_scored=scored.append)
    return tuple(sorted(scored, key=lambda each: [task.id for task in tasks].index(each.task)))


async def test_a_task_is_right_if_it_was_repaired_or_if_a_person_has_what_cannot_be():
    flight, locked, far, apn = await played(FLIGHT, LOCKED, FAR, BROKEN_APN)
    assert [each.is_right for each in (flight, locked, far, apn)] == [True, True, False, True]
    assert [each.is_needless_transfer for each in (flight, locked, far, apn)] == [False, False, True, False]
    assert (flight.gold_made, flight.beyond_gold) == (1, 0)
    assert (far.gold_made, far.beyond_gold) == (0, 0)
    assert (apn.gold_made, apn.beyond_gold) == (1, 2)


async def test_failures_are_the_same_with_the_same_seed_whatever_else_is_played():
    alone = await played(BROKEN_APN, failing=0.3, seed=3)
    _, beside, _ = await played(FLIGHT, BROKEN_APN, LOCKED, failing=0.3, seed=3)
    assert alone == (beside,)
    assert beside.failures > 0


async def test_the_error_of_a_task_ends_the_play():
    class Unplayable(SmallTask):
        def begin(self) -> World:
            raise LookupError("no such world")

    with pytest.raises(LookupError, match="no such world"):
        await played(FLIGHT, Unplayable("odd"))


def test_a_sample_is_drawn_by_its_seed_and_keeps_the_order():
    tasks = [SmallTask(str(number)) for number in range(50)]
    drawn = sample(tasks, 5, seed=1)
    assert drawn == sample(tasks, 5, seed=1) != sample(tasks, 5, seed=2)
    assert sorted(drawn, key=tasks.index) == list(drawn)
    assert sample(tasks, None, seed=1) == sample(tasks, 99, seed=1) == tuple(tasks)


async def test_a_score_tells_what_went_wrong_and_how_often():
    scored = await played(FLIGHT, LOCKED, FAR, replace(FAR, id="farther"))
    score = Score(scored, took_s=2)
    assert (score.right, score.needless) == (0.5, 2 / 3)
    text = shown(score)
    assert "2 of 4 (50.00%)" in text
    assert "There is no mobile data, though everything is turned on" in text
    assert "farther" not in text  # it went wrong like the first
    assert "0 of 0" in shown(Score((), took_s=0))


def shown(score: Score) -> str:
    console = Console(file=StringIO(), width=160)
    console.print(tables(score))
    return console.file.getvalue()


def run(*arguments: str, data: str | None = None) -> tuple[int, str]:
    """Exit code and output of the command."""
    app = typer.Typer()
    app.command()(command.main)
    result = CliRunner().invoke(app, list(arguments), env={"GATECHART_TAU2_TELECOM": data})
    return result.exit_code, result.output


def test_the_command_says_what_is_missing(tmp_path):
    assert run() == (2, "nothing to play; name tau2_telecom.tar.gz, or set GATECHART_TAU2_TELECOM\n")
    code, text = run(str(tmp_path))
    assert (code, "has no tasks.py; name the folder" in text) == (2, True)
    code, text = run(str(tmp_path / "none.tar.gz"))
    assert (code, "cannot be unpacked" in text) == (2, True)
    (tmp_path / "tasks.py").write_text("import no_such_package")
    code, text = run(str(tmp_path))
    assert (code, "the benchmark needs no_such_package; run `pip install loguru" in text) == (2, True)


BENCHMARK = """
from types import SimpleNamespace as Some
from tests.statecharts.small_world import NO_SERVICE, SmallWorld

class Environment:
    def __init__(self): self.world = SmallWorld()
    def make_tool_call(self, tool_name, requestor, **arguments): return self.world.use(tool_name, arguments)
    def sync_tools(self): pass
    def to_json_str(self, answer): return __import__("json").dumps(answer)
    def _is_mutating_tool(self, tool): return self.world.is_change(tool)
    def run_env_assertion(self, assertion, raise_assertion_error): return self.world.has_service

def get_environment(solo_mode): return Environment()
def begin(task):
    environment = get_environment(solo_mode=True)
    environment.world.sim = "missing"
    return environment

def all_tasks():
    criteria = Some(actions=[Some(name="reseat_sim_card", arguments={})], env_assertions=["there is service"])
    task = Some(id="task", ticket=NO_SERVICE, evaluation_criteria=criteria)
    return [task] * 3
"""


@pytest.fixture
def small_benchmark(tmp_path: Path) -> Path:
    """An archive like the benchmark's, of three tasks about small worlds."""
    (tmp_path / "tasks.py").write_text(BENCHMARK)
    with tarfile.open(tmp_path / "benchmark.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "tasks.py", "tasks.py")
    return tmp_path / "benchmark.tar.gz"


def test_the_command_plays_an_archive_and_shows_the_score(small_benchmark):
    code, text = run("--failing", "0.3", "--seed", "1", data=str(small_benchmark))
    assert code == 0
    assert "3 of 3 (100.00%)" in text
    code, text = run(str(small_benchmark), "--tasks", "2")
    assert (code, "2 of 2 (100.00%)" in text) == (0, True)


def test_ctrl_c_ends_the_command_with_the_score_so_far(small_benchmark, monkeypatch):
    def interrupted(tasks, chances, on_scored, *, presumes_consent):
        on_scored(Scored("task 0", "no service", True, "RESOLVED", "", True, 1, 1, 0, 9, 0))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "play_all", interrupted)
    code, text = run(str(small_benchmark))
    assert (code, "1 of 1 (100.00%)" in text) == (130, True)


@pytest.fixture(scope="session")
def benchmark() -> Iterator[tuple[Tau2Task, ...]]:
    """The tasks of the benchmark."""
    data = Path(os.environ.get("GATECHART_TAU2_TELECOM") or SHARED)
    if not data.exists():
        pytest.skip(f"{LOUD}tau2-bench: no benchmark at {data}; name tau2_telecom.tar.gz with GATECHART_TAU2_TELECOM")
    try:
        with tasks_in(data) as tasks:
            yield tasks
    except BenchmarkMissingError as error:
        pytest.skip(f"{LOUD}tau2-bench: {error}")


@pytest.mark.parametrize("failing", [0.0, 0.3])
async def test_a_sample_of_the_benchmark_is_repaired_or_handed_over(benchmark, failing):
    scored = await played(*sample(benchmark, 60, seed=2), failing=failing)
    assert [each for each in scored if not each.is_right] == []


@pytest.mark.parametrize("failing", [0.0, 0.3])
async def test_no_signal_fires_while_a_sample_of_the_benchmark_is_repaired(benchmark, failing):
    clock, services, tasks = VirtualClock(POLICY_TIME), Services(), sample(benchmark, 40, seed=4)
    opened = Runtime.open("memory:", graphs=graphs, services=services, clock=clock)
    async with opened as runtime, hurried(clock, runtime):
        await play(tasks, runtime, services, Chances(failing, seed=4))
        cases = (await runtime.find(graph="telecom_support", limit=len(tasks))).agents
        fired = [turn.fired for case in cases for turn in await runtime.history(case.agent_id) if turn.fired]
    assert (len(cases), fired) == (len(tasks), [])


@pytest.mark.parametrize("tool", ["check_status_bar", "get_details_by_id", "run_speed_test"])
async def test_a_breaker_that_is_open_while_tools_fail_costs_no_task_and_leads_into_no_circle(benchmark, tool):
    clock, services, tasks, scored = VirtualClock(POLICY_TIME), Services(), sample(benchmark, 30, seed=6), []
    retry_at = POLICY_TIME + timedelta(minutes=1)
    store = MemoryStore()
    await store.commit([BreakerChange(BreakerRecord(tool, BreakerState.OPEN, POLICY_TIME, retry_at, 1, "it was down"))])
    opened = Runtime.open(store, graphs=graphs, services=services, clock=clock)
    async with opened as runtime, hurried(clock, runtime):
        await play(tasks, runtime, services, Chances(0.3, seed=6), on_scored=scored.append)
        cases = (await runtime.find(graph="telecom_support", limit=len(tasks))).agents
        fired = [turn.fired for case in cases for turn in await runtime.history(case.agent_id) if turn.fired]
    whole = await played(*tasks)
    assert sum(each.is_right for each in scored) >= sum(each.is_right for each in whole) - 0.02 * len(tasks)
    assert [each for each in fired if each.reason is Reason.LOOP_DETECTED] == []
    assert clock.now() > retry_at  # somebody had to wait for it


@dataclass(frozen=True)
class Planted:
    """A task of the benchmark in whose world a tool stays down."""

    task: Tau2Task
    tool: str

    @property
    def id(self) -> str:
        return self.task.id

    @property
    def ticket(self) -> str:
        return self.task.ticket

    @property
    def is_repairable(self) -> bool:
        return False

    @property
    def gold(self) -> tuple[Used, ...]:
        return ()

    def begin(self) -> World:
        return Down(self.task.begin(), self.tool)

    def holds(self, world: World) -> bool:
        return True


class Down:
    """A world in which a tool is down for good."""

    def __init__(self, world: World, tool: str) -> None:
        self._world, self._tool = world, tool
        self.is_change = world.is_change

    def use(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        if tool == self._tool:
            raise ToolDownError(f"{tool} is down")
        return self._world.use(tool, arguments)


async def test_each_failure_that_is_planted_into_a_sample_of_the_benchmark_is_noticed(benchmark):
    clock, services = VirtualClock(POLICY_TIME), Services()
    tasks = [Planted(each, each.gold[0].tool) for each in sample(benchmark, 40, seed=4) if each.gold]
    opened = Runtime.open("memory:", graphs=graphs, services=services, clock=clock)
    async with opened as runtime, hurried(clock, runtime):
        await play(tasks, runtime, services)
        noticed = []
        for number in range(1, len(tasks) + 1):
            fired = [turn.fired for turn in await runtime.history(f"case-{number}") if turn.fired]
            noticed.append([(each.signal, each.evidence[0]["tool"]) for each in fired])
    assert len(noticed) > 20
    assert noticed == [[("tool_failures", task.tool)] for task in tasks]


@pytest.mark.slow
@pytest.mark.parametrize("failing", [0.0, 0.3])
async def test_the_benchmark_is_repaired_or_handed_over(benchmark, failing):
    score = Score(await played(*benchmark, failing=failing, seed=5), took_s=0)
    assert score.right >= 0.97
    assert score.needless <= 0.01
