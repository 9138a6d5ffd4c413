"""One run of a tool's function. It may continue after its caller has stopped waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from inspect import isawaitable
from typing import Any, cast

from gatechart.errors.failures import call_contained, contained
from gatechart.graph.callables import is_async
from gatechart.tasks import start_task


class ToolRun:
    """A running function: async in a task, plain in a thread. Nothing can stop the thread from outside."""

    def __init__(self, function: Callable[..., Any], call: Callable[[], Any], ended: Callable[[], None]) -> None:
        """Start the function. call: calls it with its arguments. ended: called at its end.

        function: decides whether the call runs in a task or a thread.
        """
        self._call = call
        self._is_given_up = False
        self.has_begun = False  # a call may have to wait for a free thread
        self._run: asyncio.Future[Any]
        if is_async(function):
            self._run = start_task(self._in_task())
        else:
            loop = asyncio.get_running_loop()
            self._run = loop.run_in_executor(None, copy_context().run, self._in_thread)
        self._run.add_done_callback(lambda run: _ended(run, ended))

    @property
    def is_over(self) -> bool:
        """Whether the function has ended."""
        return self._run.done()

    async def result(self) -> Any:
        """Return the function's result, or raise its exception. Cancelling the caller does not stop the function."""
        with contained():
            result = await asyncio.shield(self._run)
            return await result if isawaitable(result) else result

    def give_up(self) -> None:
        """Cancel the task, or prevent the thread from starting. A thread that has started continues."""
        self._is_given_up = True
        if isinstance(self._run, asyncio.Task):
            self._run.cancel()

    async def _in_task(self) -> Any:
        self.has_begun = True
        with contained():
            return await cast("Awaitable[Any]", self._call())

    def _in_thread(self) -> Any:
        if self._is_given_up:
            return None
        self.has_begun = True
        return call_contained(self._call)


def _ended(run: asyncio.Future[Any], ended: Callable[[], None]) -> None:
    if not run.cancelled():
        run.exception()  # marks it as retrieved: the caller may no longer wait for it
    ended()
