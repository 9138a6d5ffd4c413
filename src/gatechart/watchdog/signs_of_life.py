"""The signs of life of this process as a host."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from gatechart.errors.outside import OwnershipLostError
from gatechart.errors.root import OutsideError
from gatechart.hosting.system import random_id
from gatechart.ports import SignsOfLife
from gatechart.tasks import start_task
from gatechart.values.homes import Role
from gatechart.values.hosts import HostRecord
from gatechart.values.names import Payload
from gatechart.watchdog.process_usage import usage_of

logger = logging.getLogger(__name__)

KEPT: Final = timedelta(days=1)
"""How long a host stays listed after its last sign of life."""


class Heart:
    """Gives signs of life, again and again. By the time of the process: a clock that stands still stops nothing."""

    def __init__(self, now: Callable[[], datetime], beat_s: float) -> None:
        """Make the host of this process. now: the clock of the runtime. beat_s: between two signs."""
        self._now = now
        self.beat_s = beat_s
        self._started = now()
        self.id = random_id()
        self.work: Callable[[], int] = int  # how much was committed so far, which says whether the host gets on
        self.troubles: Callable[[datetime], Payload] = lambda _: {}  # what else it tells of itself
        self._beats = False
        self._now_too: Callable[[], Awaitable[None]] | None = None  # gives a sign at once; None outside of `beating`

    async def beat_on(self, signs: SignsOfLife, role: Role, measure: Callable[[], Payload] = dict) -> None:
        """Give signs of life until cancelled, or until another runtime owns the database. The first comes soon."""
        with suppress(OwnershipLostError):
            while True:
                await asyncio.sleep(self.beat_s)
                await self._beat(signs, role, measure)

    async def beat(self) -> None:
        """Give a sign of life at once, in place of one that told of what is to be forgotten."""
        if self._beats and self._now_too is not None:
            with suppress(OwnershipLostError):
                await self._now_too()

    async def _beat(self, signs: SignsOfLife, role: Role, measure: Callable[[], Payload]) -> None:
        now = self._now()
        facts = {**measure(), **self.troubles(now)}
        host = HostRecord(self.id, role, socket.gethostname(), os.getpid(), self._started, now, facts)
        try:
            await signs.beat(host, forget_before=now - KEPT)
            self._beats = True
        except OwnershipLostError:
            raise
        except OutsideError:
            logger.debug("a sign of life could not be written", exc_info=True)

    @asynccontextmanager
    async def beating(self, signs: SignsOfLife, *, is_host: bool) -> AsyncIterator[None]:
        """Give signs of life within the block, as the owner's. At its end, the host is forgotten: it ends as it should.

        is_host: whether this process is one; otherwise nothing happens.
        """
        if not is_host:
            yield
            return
        measure = usage_of(lambda: self.work())
        self._now_too = partial(self._beat, signs, Role.OWNER, measure)
        beating = start_task(self.beat_on(signs, Role.OWNER, measure))
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.wait((beating,))
            if self._beats:
                with suppress(OutsideError):
                    await signs.leave(self.id)
