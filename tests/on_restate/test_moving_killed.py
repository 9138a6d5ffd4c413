"""A move whose process is killed, and that is then begun again."""

import asyncio
import json
import subprocess
import sys

import pytest

from gatechart.errors import UnknownAgentError
from gatechart.stores import open_store
from gatechart.stores.sealing import moved_to
from tests.on_restate.engines import ROOT, eventually
from tests.on_restate.moving import home
from tests.on_restate.travellers import fill, finish

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

        async def is_begun():
            return await is_there(runtime, f"plain-{COPIES // 2}")

        async def is_sealed():
            async with open_store(sqlite_url, read_only=True) as store:
                return await store.read(moved_to) is not None

        await killed_when(command, is_begun)
        assert not await is_sealed()
        await killed_when(command, is_sealed)
        done = await begun(command, stdout=subprocess.PIPE)
        told, _ = await done.communicate()
        assert done.returncode == 0
        assert json.loads(told)["awakened"] > 0
        await finish(runtime, tools, COPIES)
    assert tools.calls == {"second": COPIES}


async def begun(command, **pipes):
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "gatechart", *command, cwd=ROOT, **pipes)


async def killed_when(command, holds):
    child = await begun(command)
    await eventually(holds, 60)
    child.kill()
    await child.wait()


async def is_there(runtime, agent_id):
    try:
        return bool(await runtime.resume(agent_id))
    except UnknownAgentError:
        return False
