"""Start asyncio tasks in the same order under every task factory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

__all__ = ["awaited", "start_task"]

T = TypeVar("T")

start_task: Final = asyncio.Task
"""Create a task for a coroutine. It takes its first step only once the caller has suspended.

The caller can therefore record the task, or give it more to do, before the work runs. With `asyncio.create_task` that
fails under `asyncio.eager_task_factory` (Python 3.12), which runs the first step inside the call. The class itself
bypasses the task factory of the event loop. Raises TypeError for a future: wrap it with `awaited`.
"""


async def awaited(work: Awaitable[T]) -> T:
    """Return the result of the work. A task can be created for this coroutine, but not for every awaitable."""
    return await work
