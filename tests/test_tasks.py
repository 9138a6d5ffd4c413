"""No task may run before its creator has recorded it, whatever the task factory of the event loop."""

import ast
import asyncio
from pathlib import Path

import pytest

import gatechart
from gatechart import Runtime, StateTransitionGraph, Transition
from gatechart.tasks import awaited, start_task

from .eager import eager_loop, needs_eager_tasks

LOOPS = [asyncio.new_event_loop, pytest.param(eager_loop, marks=needs_eager_tasks)]
SOURCES = Path(gatechart.__file__).parent
HANG_GUARD_S = 60

COUNTER = StateTransitionGraph(
    "counter",
    version="1",
    states=["counting"],
    transitions=[Transition("counting", "more", "counting")],
    entry_points=["counting"],
)


@pytest.fixture(params=LOOPS, ids=["lazy", "eager"])
def runner(request):
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


def test_a_task_runs_only_after_its_creator_has_suspended(runner):
    seen = []

    async def work():
        seen.append("work")
        return "done"

    async def create():
        task = start_task(work())
        seen.append("recorded")
        return await task

    assert runner.run(create()) == "done"
    assert seen == ["recorded", "work"]


def test_a_future_can_be_awaited_by_a_task(runner):
    async def create():
        future = asyncio.get_running_loop().create_future()
        task = start_task(awaited(future))
        future.set_result("done")
        return await task

    assert runner.run(create()) == "done"


def test_a_runtime_on_sqlite_answers_what_it_is_sent(runner, sqlite_url):
    async def send():
        async with asyncio.timeout(HANG_GUARD_S), Runtime.open(sqlite_url, graphs=[COUNTER]) as runtime:
            agent = await runtime.start("counter", at="counting")
            for _ in range(3):
                await agent.send("more")
            return agent.snapshot.version

    assert runner.run(send()) == 4


def creations_of_tasks(tree):
    """Yield the calls that create a task through the event loop's factory. A TaskGroup records its tasks itself."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("group"), attr="create_task")):
                continue
            case ast.Call(
                func=ast.Attribute(attr="create_task" | "ensure_future") | ast.Name("create_task" | "ensure_future")
            ):
                yield node


def test_every_task_of_the_package_is_started_by_the_one_function():
    found = [
        f"{path.relative_to(SOURCES)}:{node.lineno}"
        for path in SOURCES.rglob("*.py")
        for node in creations_of_tasks(ast.parse(path.read_text()))
    ]
    assert found == []
