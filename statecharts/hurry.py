"""A clock that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from gatechart import Runtime
from gatechart.testing import VirtualClock


@asynccontextmanager
async def hurried(clock: VirtualClock, runtime: Runtime) -> AsyncIterator[None]:
    """Move the clock to the next moment at which something is due, whenever all work of the runtime waits for it."""

    async def hurry() -> None:
        while True:
            await asyncio.sleep(0)
            due = clock.next_due
            if due is not None and runtime.pending_work == clock.sleeping:
                clock.at = due

    hurrying = asyncio.create_task(hurry())
    try:
        yield
    finally:
        hurrying.cancel()
        with suppress(asyncio.CancelledError):
            await hurrying
