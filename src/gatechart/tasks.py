"""Start asyncio tasks in the same order under every task factory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

__all__ = ["start_task"]

T = TypeVar("T")


def start_task(work: Awaitable[T], context: Context | None = None) -> asyncio.Task[T]:
    """Create a task. It does not start before the caller suspends.

    So the caller can register the task, or queue more work for it, before it runs. `asyncio.create_task` does not
    promise this: `asyncio.eager_task_factory` (Python 3.12) runs the first step inside the call. This function bypasses
    the task factory of the event loop.

    context: of the task; a copy of the caller's if None. Raises RuntimeError outside an event loop.
    """
    coroutine = work if isinstance(work, Coroutine) else _awaited(work)
    return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), context=context)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work
