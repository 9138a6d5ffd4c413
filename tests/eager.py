"""Event loops whose tasks take their first step while they are created."""

import asyncio

import pytest

HAS_EAGER_TASKS = hasattr(asyncio, "eager_task_factory")

needs_eager_tasks = pytest.mark.skipif(not HAS_EAGER_TASKS, reason="eager tasks need Python 3.12")


def eager_loop():
    """Return a new event loop with eager tasks."""
    loop = asyncio.new_event_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    return loop


class EagerLoops:
    """A plugin that runs every asynchronous test in an event loop with eager tasks."""

    def __init__(self):
        if not HAS_EAGER_TASKS:
            raise pytest.UsageError("--eager-tasks needs Python 3.12")

    def pytest_asyncio_loop_factories(self):
        return {"eager": eager_loop}
