"""A move whose process is killed, and that is then begun again."""

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from gatechart.errors import UnknownAgentError
from gatechart.stores import open_store
from gatechart.stores.sql.ownership import moved_to
from gatechart.values.homes import Role
from tests.restate.engines import ROOT, eventually
from tests.restate.moving import home
from tests.restate.travellers import fill, finish

COPIES = 8


@pytest.fixture(autouse=True)
def _ends():
    """It has an end of its own, and needs longer than other tests."""


@pytest.mark.slow
async def test_a_move_killed_before_and_after_the_seal_loses_and_doubles_nothing(
    engine, tmp_path, sqlite_url, unmeasured
):
    await fill(sqlite_url, copies=COPIES)
    async with home(engine, tmp_path) as (namespace, tools, opened), opened() as runtime:
        command = ["move", "--store", sqlite_url, "--to", engine.ingress, "--namespace", namespace, "--json"]

        async def is_sealed():
            async with open_store(sqlite_url, role=Role.READER) as store:
                return await store.read(moved_to) is not None

        interrupted = await ended_when(command, signal.SIGINT, lambda: is_there(runtime, "plain-0"))
        assert interrupted == (130, "the move is not finished; run the command again and it continues")
        await ended_when(command, signal.SIGKILL, lambda: is_there(runtime, f"helper-{COPIES - 1}"))
        assert not await is_sealed()
        await ended_when(command, signal.SIGKILL, is_sealed)
        done = await begun(command, stdout=subprocess.PIPE)
        told, _ = await done.communicate()
        assert done.returncode == 0
        assert json.loads(told)["awakened"] > 0
        await finish(runtime, tools, COPIES)
    assert tools.calls == {"second": COPIES}


async def begun(command, **pipes):
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "gatechart", *command, cwd=ROOT, **pipes)


async def ended_when(command, signum, holds):
    """The exit code of the command, and what it says of its interruption."""
    child = await begun(command, stderr=subprocess.PIPE)
    await eventually(holds, 60)
    child.send_signal(signum)
    _, told = await child.communicate()
    return child.returncode, json.loads(told)["message"].removeprefix("interrupted; ") if told else ""


async def is_there(runtime, agent_id):
    try:
        return bool(await runtime.resume(agent_id))
    except UnknownAgentError:
        return False
