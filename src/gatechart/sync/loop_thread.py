"""An event loop in a separate thread, which runs calls for other threads."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Final, TypeVar

from gatechart.errors.operation import InsideLoopError, RuntimeClosedError
from gatechart.hosting.turn_guard import check_outside_turns

T = TypeVar("T")

NAME: Final = "gatechart.sync"


class LoopThread:
    """An event loop in a separate thread. Open it with `with LoopThread.open() as thread`.

    A call waits for its result, and Ctrl-C cancels the work in the loop. Several threads may call at the same time.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        # A daemon, so that a process can end without closing the loop or waiting for it: accepted work is in the store.
        self._thread = threading.Thread(target=self._serve, name=NAME, daemon=True)
        # No call may follow `_closing`: the loop would end without running it, and its caller would wait for ever.
        self._lock = threading.Lock()
        self._is_open = True

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[LoopThread]:
        """Start the thread; on exit, cancel the calls that still run in it, and wait for its end."""
        thread = cls()
        thread._thread.start()
        try:
            yield thread
        finally:
            thread._close()

    def run(self, call: str, function: Callable[[], Awaitable[T]]) -> T:
        """Call a function in the loop, await its awaitable, and return the result.

        call: name of the verb, for errors. Raises RuntimeClosedError, and InsideTurnError or InsideLoopError if the
        caller runs in the loop itself.
        """
        return self._result(call, self._submit(call, function))

    @contextmanager
    def entered(self, call: str, opens: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
        """Enter a context manager in the loop, and leave it on exit. Raises as `run` does."""
        entered: Future[T] = Future()
        leaving = asyncio.Event()

        # The same task enters and leaves, as task groups and time limits inside the context manager require.
        async def hold() -> None:
            try:
                async with opens() as value:
                    entered.set_result(value)
                    await leaving.wait()
            except BaseException as error:
                if entered.done():
                    raise
                entered.set_exception(error)

        held = self._submit(call, hold)
        entered.add_done_callback(lambda ended: ended.cancelled() and held.cancel())
        value = self._result(call, entered)
        try:
            yield value
        finally:
            if self._call_soon(leaving.set):
                self._result(call, held)

    def _submit(self, call: str, function: Callable[[], Awaitable[T]]) -> Future[T]:
        if threading.current_thread() is self._thread:
            check_outside_turns(call)
            raise InsideLoopError(call)

        async def await_result() -> T:
            return await function()

        with self._lock:
            if not self._is_open:
                raise RuntimeClosedError(call)
            return asyncio.run_coroutine_threadsafe(await_result(), self._loop)

    def _result(self, call: str, future: Future[T]) -> T:
        try:
            return future.result()
        except (CancelledError, asyncio.CancelledError):
            raise RuntimeClosedError(call) from None
        finally:
            future.cancel()  # has an effect only if Ctrl-C has ended the wait

    def _call_soon(self, callback: Callable[[], Any], *, is_last: bool = False) -> bool:
        """Schedule a function in the loop. Return whether the loop will call it: not once the interpreter is ending."""
        with self._lock:
            runs = self._is_open and not sys.is_finalizing()
            self._is_open = runs and not is_last
            if runs:
                self._loop.call_soon_threadsafe(callback)
        return runs

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._closing.wait())

    def _close(self) -> None:
        if self._call_soon(self._closing.set, is_last=True):
            self._thread.join()


class Items(Iterator[T]):
    """The items of an asynchronous iterator, awaited in the loop. It continues after an error if the source does."""

    def __init__(self, thread: LoopThread, call: str, source: AsyncIterator[T]) -> None:
        self._thread = thread
        self._call = call
        self._source = source

    def __next__(self) -> T:
        try:
            return self._thread.run(self._call, lambda: anext(self._source))
        except StopAsyncIteration:
            raise StopIteration from None
