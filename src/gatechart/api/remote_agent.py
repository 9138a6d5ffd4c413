"""The handle of an agent that another process hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol

from gatechart.api.errors import ended_elsewhere
from gatechart.errors.event import DeadMailError, NotReachedError
from gatechart.errors.operation import RuntimeClosedError
from gatechart.graph.graph import AnyGraph
from gatechart.turn.mail import fatal_mail
from gatechart.values.agents import Awaited, Outcome, Snapshot, Status
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import AgentId, Name
from gatechart.values.possibilities import AcceptedEvent
from gatechart.values.queries import HistoryEntry

_FIRST_POLL_S: Final = 0.02
_LONGEST_POLL_S: Final = 0.5


class _Home(Protocol):
    """The verbs of `AgentHome` that a handle uses."""

    def graph_of(self, snapshot: Snapshot) -> AnyGraph: ...

    async def read(self, agent_id: AgentId) -> Snapshot: ...

    async def send(self, to: AgentId, event: Name, payload: Any = None, *, event_id: str | None = None) -> Outcome: ...

    async def accepts(self, agent_id: AgentId) -> Sequence[AcceptedEvent]: ...

    async def can(self, agent_id: AgentId, event: Name, payload: Any = None) -> AcceptedEvent: ...

    async def history(
        self, agent_id: AgentId, *, after: int = 0, limit: int | None = None
    ) -> Sequence[HistoryEntry]: ...

    async def mail(
        self, to: AgentId | None = None, *, status: MailStatus | str | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[Mail]: ...

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot: ...

    async def rollback(
        self, agent_id: AgentId, version: int, *, reason: str, idempotency_key: str | None = None
    ) -> Snapshot: ...


class RemoteAgent:
    """A Host that uses the verbs of a home. `snapshot` is the agent as of the last call through the handle."""

    __slots__ = ("_home", "snapshot")

    def __init__(self, home: _Home, snapshot: Snapshot) -> None:
        self._home = home
        self.snapshot = snapshot

    @property
    def graph(self) -> AnyGraph:
        """See Host. Raises ElsewhereError if the home was opened without its graphs."""
        return self._home.graph_of(self.snapshot)

    async def send(self, event: Name, payload: Any, event_id: str | None) -> Outcome:
        """See Host."""
        outcome = await self._home.send(self.snapshot.agent_id, event, payload, event_id=event_id)
        if outcome.version > self.snapshot.version:
            await self._newest()  # an outcome does not contain the context
        return outcome

    async def accepts(self) -> Sequence[AcceptedEvent]:
        """See Host."""
        return await self._home.accepts(self.snapshot.agent_id)

    async def can(self, event: Name, payload: Any) -> AcceptedEvent:
        """See Host."""
        return await self._home.can(self.snapshot.agent_id, event, payload)

    async def history(self, *, after: int, limit: int | None) -> Sequence[HistoryEntry]:
        """See Host."""
        return await self._home.history(self.snapshot.agent_id, after=after, limit=limit)

    async def snapshot_at(self, version: int) -> Snapshot:
        """See Host."""
        return await self._home.snapshot_at(self.snapshot.agent_id, version)

    async def rollback(self, version: int, reason: str, idempotency_key: str | None) -> Snapshot:
        """See Host."""
        restored = await self._home.rollback(
            self.snapshot.agent_id, version, reason=reason, idempotency_key=idempotency_key
        )
        return self.see(restored)

    async def until(self, awaited: Awaited, timeout_s: float | None) -> Snapshot:
        """See Host. Reads all turns since the handle's snapshot, so it does not miss states that were left quickly."""
        scope = asyncio.timeout(timeout_s)
        try:
            async with scope:
                return await self._until(awaited)
        except RuntimeClosedError as closed:  # report the call that was running
            raise RuntimeClosedError("until") from closed
        except TimeoutError:
            if not scope.expired():
                raise
            now = self.snapshot
            raise NotReachedError(now.agent_id, str(awaited), now.configuration, timeout_s or 0.0) from None

    async def _until(self, awaited: Awaited) -> Snapshot:
        seen, now, pause_s = self.snapshot.version, await self._newest(), _FIRST_POLL_S
        if awaited.is_reached_in(now):
            return now
        while True:
            for turn in await self._turns(seen, now):
                if not awaited.leaves.isdisjoint(turn.target):
                    return self.see(await self.snapshot_at(turn.version))
                seen = turn.version
            if awaited.is_reached_in(now):  # the history of some homes lags
                return now
            if now.status is not Status.ACTIVE:
                raise ended_elsewhere(now, awaited)
            await self._check_dead_mail(awaited, now)
            await asyncio.sleep(pause_s)
            pause_s, now = min(pause_s * 2, _LONGEST_POLL_S), await self._newest()

    async def _check_dead_mail(self, awaited: Awaited, now: Snapshot) -> None:
        """Raise DeadMailError if mail is dead and no other mail is waiting for the agent."""
        dead = await self._home.mail(now.agent_id, status=MailStatus.DEAD)
        if not dead:
            return
        waiting = await self._home.mail(now.agent_id, status=MailStatus.WAITING)
        newest = await self._newest()  # mail that no longer waits may have been applied
        fatal = fatal_mail(self.graph, newest, dead, waiting) if newest.version == now.version else None
        if fatal is not None:
            raise DeadMailError(now.agent_id, str(awaited), fatal.number, fatal.event, fatal.reason)

    async def _turns(self, after: int, now: Snapshot) -> Sequence[HistoryEntry]:
        """Return the turns after a version. `now` was read first, so the history has every turn up to it."""
        return await self.history(after=after, limit=now.version - after) if now.version > after else ()

    def see(self, newest: Snapshot) -> Snapshot:
        """Keep this snapshot unless the handle has a newer one. Returns the argument."""
        if newest.version > self.snapshot.version:
            self.snapshot = newest
        return newest

    async def _newest(self) -> Snapshot:
        return self.see(await self._home.read(self.snapshot.agent_id))
