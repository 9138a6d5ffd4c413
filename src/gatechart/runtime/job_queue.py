"""Queue of one agent's jobs, run one at a time in order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from gatechart.errors import RuntimeClosedError
from gatechart.runtime.core import Core
from gatechart.runtime.telemetry import as_the_caller

logger = logging.getLogger(__name__)

T = TypeVar("T")
Job: TypeAlias = Callable[[], Coroutine[Any, Any, T]]


class JobQueue:
    """Runs the jobs of one agent in tasks of the runtime.

    Cancelling a caller withdraws its job if it has not begun; a job that has begun runs to its end.
    """

    __slots__ = ("_core", "_jobs")

    def __init__(self, core: Core) -> None:
        self._core = core
        self._jobs: deque[tuple[Job[Any], asyncio.Future[Any] | None]] | None = None  # None while idle

    @property
    def is_idle(self) -> bool:
        """Whether no job is running or waiting."""
        return self._jobs is None

    def run(self, job: Job[T]) -> asyncio.Future[T]:
        """Run the job after all jobs queued before it; the future gets its result or exception."""
        waiting: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        # The first job's caller starts the task that runs all jobs, so the other jobs bring their own trace context.
        self._add(job if self._jobs is None else as_the_caller(job), waiting)
        return waiting

    def put(self, job: Job[None]) -> None:
        """Queue a job that nobody waits for."""
        self._add(job, None)

    def _add(self, job: Job[Any], waiting: asyncio.Future[Any] | None) -> None:
        if self._jobs is None:
            self._jobs = deque()
            self._core.spawn(self._work(self._jobs))
        self._jobs.append((job, waiting))

    async def _work(self, jobs: deque[tuple[Job[Any], asyncio.Future[Any] | None]]) -> None:
        try:
            while jobs:
                job, waiting = jobs[0]
                if waiting is None:
                    await _do(job)
                elif not waiting.cancelled():
                    try:
                        _succeed(waiting, await job())
                    except Exception as error:
                        _fail(waiting, error)
                jobs.popleft()
        finally:
            self._jobs = None
            for _, waiting in jobs:  # none, unless the task is being cancelled; then the first was running
                if waiting is not None:
                    self._give_up(waiting)

    def _give_up(self, waiting: asyncio.Future[Any]) -> None:
        """Fail a caller whose job gets no result: it did not end in time, or the event loop is shutting down."""
        if self._core.is_open or waiting.done():
            waiting.cancel()
        else:
            waiting.set_exception(RuntimeClosedError("send"))


def _succeed(waiting: asyncio.Future[T], result: T) -> None:
    if not waiting.cancelled():
        waiting.set_result(result)


def _fail(waiting: asyncio.Future[Any], error: Exception) -> None:
    if waiting.cancelled():
        logger.error("a turn failed after its sender had stopped waiting", exc_info=error)
    else:
        waiting.set_exception(error)


async def _do(job: Job[None]) -> None:
    try:
        await job()
    except Exception:
        logger.exception("a job of an agent failed")
