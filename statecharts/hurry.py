"""A clock that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from gatechart import Runtime
from gatechart.testing import VirtualClock

_PATIENCE: Final = 50  # rounds of the event loop before the threads of a database get a turn
_NAP_S: Final = 0.001


@asynccontextmanager
async def hurried(clock: VirtualClock, runtime: Runtime) -> AsyncIterator[None]:
    """Move the clock to the next moment at which something is due, whenever all work of the runtime waits for it."""

    async def hurry() -> None:
        idle = 0
        while True:
            await asyncio.sleep(0 if idle < _PATIENCE else _NAP_S)
            due = clock.next_due
            is_waiting = due is not None and runtime.pending_work == clock.sleeping
            idle = 0 if is_waiting else idle + 1
            if due is not None and is_waiting:
                clock.at = due

    hurrying = asyncio.create_task(hurry())
    try:
        yield
    finally:
        hurrying.cancel()
        with suppress(asyncio.CancelledError):
            await hurrying
