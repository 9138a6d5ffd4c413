"""Start asyncio tasks in an order that does not depend on the event loop's task factory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

__all__ = ["start_task"]

T = TypeVar("T")


def start_task(work: Awaitable[T], context: Context | None = None) -> asyncio.Task[T]:
    """Create a task for the work. It takes its first step only once the caller has suspended.

    The caller can therefore record the task, or give it more to do, before the work runs. With `asyncio.create_task`
    that fails under `asyncio.eager_task_factory` (Python 3.12), which runs the first step inside the call. So this
    function bypasses the task factory of the event loop. context: of the task; a copy of the caller's if None. Raises
    RuntimeError outside an event loop.
    """
    coroutine = work if isinstance(work, Coroutine) else _awaited(work)
    return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), context=context)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work
