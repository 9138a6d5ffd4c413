"""Agents of the ring in processes that are killed in the middle: all end, or are with a person, within their steps."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gatechart import Runtime
from gatechart.contrib.human_desk import human_desk
from gatechart.values.agents import Status
from statecharts.tool_ring.play import ended_in
from statecharts.tool_ring.ring import MOST_STEPS
from tests.statecharts import ring_process

ROOT = Path(__file__).parents[2]


def live(url, agents, life, result, until_s):
    """Let a process play, and kill it after some seconds. Return whether it came to its end before."""
    given = [url, str(agents), str(life), str(result)]
    process = subprocess.Popen([sys.executable, "-m", ring_process.__name__, *given], cwd=ROOT)
    try:
        return process.wait(until_s) == 0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        return False


@pytest.mark.slow
@pytest.mark.parametrize(("agents", "first_s"), [(20, 4.0), (2_000, 60.0)], ids=["few", "many"])
async def test_all_end_or_are_with_a_person_whatever_is_killed(processes, tmp_path, agents, first_s):
    url, result = f"sqlite+aiosqlite:///{tmp_path / 'ring.db'}", tmp_path / "result.json"
    chances, life = random.Random(1), 0
    while not live(url, agents, life, result, first_s * chances.uniform(0.5, 1.5) * 1.3**life):
        life += 1
    assert life
    told = json.loads(result.read_text())
    assert sum(told["ends"].values()) == agents
    assert not told["ends"]["EXHAUSTED"]
    assert told["most"] <= MOST_STEPS
    await check_records(url, agents)


async def check_records(url, agents):
    """Check that every agent has ended, and that nothing was taken back from the record of its escapes."""
    graph = ring_process.SITUATION.graph
    async with Runtime.open(url, graphs=[graph, human_desk], services=ring_process.SITUATION.services) as runtime:
        for number in range(0, agents, max(agents // 100, 1)):
            agent = await runtime.resume(f"ring-{number}")
            assert agent.snapshot.status is not Status.ACTIVE, ended_in(agent)
            attempts = [turn for turn in await agent.history() if turn.event.name.startswith("escape.")]
            escapes = agent.snapshot.trail.escapes
            assert escapes.count == sum(turn.event.name != "escape.none" for turn in attempts)
            assert [each.number for each in escapes.tried] == sorted({each.number for each in escapes.tried})
