"""Group commit: turns that finish while a commit is under way go together into the next one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from gatechart.errors import (
    OutsideError,
    OwnershipLostError,
    StoreBusyError,
    StoreMissingError,
    StoreReadOnlyError,
)
from gatechart.ports import Store
from gatechart.values import AgentId, TurnRecord, Verdict

logger = logging.getLogger(__name__)

MOST_TURNS = 1000  # of one transaction
NOBODY_CAN_WRITE = (OwnershipLostError, StoreBusyError, StoreMissingError, StoreReadOnlyError)


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    turn: TurnRecord
    verdict: asyncio.Future[Verdict]


class Committer:
    """Takes turns to the store, one transaction at a time, as many turns in each as have finished by then."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Waiting] = []
        self._writer: asyncio.Task[None] | None = None

    async def commit(self, turn: TurnRecord) -> Verdict:
        """The store's verdict of the turn. Raises what the store raises, and then nothing of the turn is written."""
        if self._store.is_instant:
            return (await self._store.commit((turn,)))[0]
        waiting = _Waiting(turn, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        return await waiting.verdict

    async def _write(self) -> None:
        try:
            while self._waiting:
                await self._commit_group(self._next_group())
        finally:
            self._writer = None

    def _next_group(self) -> Sequence[_Waiting]:
        """The turns that waited longest, one for each agent: two starts under one id must see one another."""
        group: dict[AgentId, _Waiting] = {}
        rest = []
        for waiting in self._waiting:
            agent_id = waiting.turn.snapshot.agent_id
            if agent_id in group or len(group) >= MOST_TURNS:
                rest.append(waiting)
            else:
                group[agent_id] = waiting
        self._waiting = rest
        return tuple(group.values())

    async def _commit_group(self, group: Sequence[_Waiting]) -> None:
        try:
            verdicts = await self._store.commit([waiting.turn for waiting in group])
            for waiting, verdict in zip(group, verdicts, strict=True):
                waiting.verdict.set_result(verdict)
        except asyncio.CancelledError:  # the event loop is being torn down
            for waiting in group:
                waiting.verdict.cancel()
            raise
        except NOBODY_CAN_WRITE as error:
            for waiting in group:
                waiting.verdict.set_exception(error)
        except Exception as error:
            await self._commit_each([waiting for waiting in group if not waiting.verdict.done()], error)

    async def _commit_each(self, group: Sequence[_Waiting], cause: Exception) -> None:
        """One turn that cannot be written must not take the others with it."""
        if len(group) > 1:
            logger.warning("a group of turns failed; each is tried alone", extra={"turns": len(group)}, exc_info=cause)
        for waiting in group:
            try:
                waiting.verdict.set_result(await self._commit_alone(waiting.turn))
            except Exception as error:
                waiting.verdict.set_exception(error)

    async def _commit_alone(self, turn: TurnRecord) -> Verdict:
        """The verdict of a turn whose group failed: after its commit, perhaps, and then it stands there already."""
        if await self._is_written(turn):
            return Verdict.COMMITTED
        try:
            verdict = (await self._store.commit((turn,)))[0]
        except OutsideError:
            if await self._is_written(turn):
                return Verdict.COMMITTED
            raise
        return Verdict.COMMITTED if verdict is Verdict.STALE and await self._is_written(turn) else verdict

    async def _is_written(self, turn: TurnRecord) -> bool:
        """Whether the store holds just this turn: agent, version and event say so."""
        version = turn.snapshot.version
        try:
            found = await self._store.history(turn.snapshot.agent_id, after=version - 1, limit=1)
        except Exception:
            return False
        return bool(found) and found[0].event == turn.event
