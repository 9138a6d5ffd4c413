"""One run of a tool's function, which may go on after nobody waits for it any more."""

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
    """A function under way: an async one in a task, a plain one in a thread, which nothing can end from outside."""

    def __init__(self, function: Callable[..., Any], call: Callable[[], Any], ended: Callable[[], None]) -> None:
        """Begin. function: tells whether it is async. call: calls it with its arguments. ended: called at its end."""
        self._call = call
        self._is_given_up = False
        self.has_begun = False  # a thread may have to wait for another one to end
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
        """Return the function's result, and raise what it raises. Whoever is cancelled here does not end it."""
        with contained():
            found = await asyncio.shield(self._run)
            return await found if isawaitable(found) else found

    def give_up(self) -> None:
        """Cancel the task, or keep the thread from beginning. A thread that has begun goes on."""
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
        run.exception()  # nobody may be left to whom it could be told
    ended()
