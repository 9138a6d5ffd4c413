"""What a server has to serve with: nothing yet, a runtime, or a runtime that is about to close."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from secrets import token_hex
from typing import Final

from gatechart.api import EntryDocument
from gatechart.errors import FeedLaggedError, RuntimeClosedError
from gatechart.hosting.subscriptions import Subscription
from gatechart.runtime import Runtime
from gatechart.serving.problems import RETRY_AFTER, Refused
from gatechart.serving.tape import Tape
from gatechart.values import HistoryEntry

logger = logging.getLogger(__name__)

TAPE_BYTES: Final = 32 * 2**20


class Phase(StrEnum):
    """Where a server is in its life."""

    STARTING = "starting"  # the runtime recovers
    OPEN = "open"
    STOPPING = "stopping"  # what is under way ends


class Stage:
    """The runtime, as soon as there is one, and the tape of what it commits."""

    def __init__(self, *, tape: int = 10_000, tape_bytes: int = TAPE_BYTES) -> None:
        self.phase = Phase.STARTING
        self.tape = Tape(token_hex(8), tape, tape_bytes)
        self._runtime: Runtime | None = None

    @property
    def runtime(self) -> Runtime:
        """The runtime. Raises Refused where it is not there yet, or not any more."""
        if self._runtime is None:
            raise self._not_ready()
        return self._runtime

    def check_open(self) -> None:
        """Raises Refused where the server starts or stops."""
        if self.phase is not Phase.OPEN:
            raise self._not_ready()

    def _not_ready(self) -> Refused:
        message = f"the server is {self.phase}; ask again in a moment"
        return Refused(503, "NotReady", message, retry_after=RETRY_AFTER["retry-after"])

    @asynccontextmanager
    async def hosting(self, runtime: Runtime) -> AsyncIterator[None]:
        """Serves with the runtime meanwhile."""
        async with runtime.changes() as changes:
            recording = asyncio.create_task(self._record(changes))
            self._runtime, self.phase = runtime, Phase.OPEN
            try:
                yield
            finally:
                self.stop()
                self._runtime = None
                recording.cancel()
                await asyncio.wait((recording,))

    def stop(self) -> None:
        """Is no longer ready, and ends the streams; requests are answered as long as somebody brings them."""
        self.phase = Phase.STOPPING
        self.tape.close()

    async def _record(self, changes: Subscription[HistoryEntry]) -> None:
        while True:
            try:
                entry = await anext(changes)
            except FeedLaggedError as error:
                logger.warning("turns were committed faster than they were noted", extra={"lost": error.lost})
                self.tape.skip(error.lost)
            except RuntimeClosedError:
                return
            else:
                self._note(entry)

    def _note(self, entry: HistoryEntry) -> None:
        try:
            document = EntryDocument.of(entry)
            item = document.__pydantic_serializer__.to_json(document)
        except Exception:  # it would end the tape for all
            logger.exception("a turn cannot be told", extra={"agent_id": entry.agent_id, "version": entry.version})
            self.tape.skip(1)
        else:
            self.tape.add(item)
