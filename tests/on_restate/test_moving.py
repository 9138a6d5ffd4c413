"""Agents that move from a database to the engine go on there as if they had stayed."""

import shutil
from contextlib import asynccontextmanager
from itertools import count

import pytest

from gatechart import Runtime
from gatechart.moving.to_engine import move_to_engine
from gatechart.restate import RestateRuntime, Terms, register, serving
from tests.on_restate.engines import free_ports
from tests.on_restate.travellers import LIMITS, QUICK, Tools, fill, finish, graphs

NUMBERS = count(1)


def quiet(doing, done, total):
    """Tells nobody."""


@asynccontextmanager
async def home(engine, tmp_path, *, terms=None, served=graphs, projects=True):
    """A service on the engine that nobody has used, its tools, and what opens a runtime."""
    (port,) = free_ports(1)
    namespace, tools = f"m{next(NUMBERS)}", Tools()
    projection = f"sqlite+aiosqlite:///{tmp_path}/projection-{namespace}.db" if projects else None
    chosen = {"projection_s": 0.001, "mail_retry": QUICK, "look_again_s": 0.2} | (terms or {})
    async with serving(
        f"127.0.0.1:{port}",
        graphs=served,
        services=tools,
        projection=projection,
        namespace=namespace,
        terms=Terms(**chosen),
        grace_s=0.1,
    ):
        await register(engine.admin, f"http://127.0.0.1:{port}")

        def opened():
            return RestateRuntime.open(
                engine.ingress, graphs=served, projection=projection, namespace=namespace, patience_s=10
            )

        yield namespace, tools, opened


@pytest.fixture(params=["sqlite", "postgresql"])
def source(request):
    """The URL of a database in which nothing is yet."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


async def test_agents_go_on_on_the_engine_as_they_would_have_where_they_were(engine, tmp_path, sqlite_url, sqlite_path):
    await fill(sqlite_url)
    stayed = f"sqlite+aiosqlite:///{shutil.copy(sqlite_path, tmp_path / 'stayed.db')}"
    async with home(engine, tmp_path) as (namespace, tools, opened):
        moved = await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            there = await finish(runtime, tools)
    assert (moved.agents, moved.unborn, moved.invokes, moved.steps, moved.places) == (15, 2, 1, 1, 1)
    here = Tools()
    async with Runtime.open(stayed, graphs=graphs, services=here, limits=LIMITS) as runtime:
        assert there == await finish(runtime, here)
    assert tools.calls == here.calls == {"second": 1}  # the first step was recorded
