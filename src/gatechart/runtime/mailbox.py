"""One job at a time for each agent, in the order asked."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from gatechart.runtime.core import Core

logger = logging.getLogger(__name__)

T = TypeVar("T")
Job: TypeAlias = Callable[[], Coroutine[Any, Any, T]]


class Mailbox:
    """Runs the jobs of one agent in tasks of the runtime.

    A caller that is cancelled withdraws a job that has not begun; a job that has begun goes on to its end.
    """

    __slots__ = ("_core", "_jobs")

    def __init__(self, core: Core) -> None:
        self._core = core
        self._jobs: deque[tuple[Job[Any], asyncio.Future[Any]]] | None = None  # None while idle

    @property
    def is_idle(self) -> bool:
        """Whether no job is under way or waiting."""
        return self._jobs is None

    async def run(self, job: Job[T]) -> T:
        """The job's result, or what it raised, after all jobs that were asked for before it."""
        waiting: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._jobs is None:
            self._jobs = deque()
            self._core.spawn(self._work(self._jobs))
        self._jobs.append((job, waiting))
        return await waiting

    async def _work(self, jobs: deque[tuple[Job[Any], asyncio.Future[Any]]]) -> None:
        try:
            while jobs:
                job, waiting = jobs.popleft()
                if not waiting.cancelled():
                    await _finish(job, waiting)
        finally:
            self._jobs = None
            for _, waiting in jobs:  # none, unless the event loop itself is being torn down
                waiting.cancel()


async def _finish(job: Job[Any], waiting: asyncio.Future[Any]) -> None:
    try:
        result = await job()
    except Exception as error:
        if waiting.cancelled():
            logger.exception("a turn failed after its sender had stopped waiting")
        else:
            waiting.set_exception(error)
    except BaseException:
        waiting.cancel()
        raise
    else:
        if not waiting.cancelled():
            waiting.set_result(result)
