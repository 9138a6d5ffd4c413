"""The circuit breakers of a runtime: permits for calls, results of calls, and storage of state changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeAlias

from gatechart.api.breakers import BreakersCommand
from gatechart.errors.failures import is_failure
from gatechart.errors.operation import BreakerOpenError
from gatechart.turn.turn_context import one_line, told
from gatechart.values.breakers import Admission, BreakerPolicy, BreakerRecord, BreakerState, Permit, Rejection

if TYPE_CHECKING:
    from gatechart.tools.breaker import Breaker

MOST_IDLE: Final = 1000  # breakers in memory before idle ones are dropped
LONGEST_REASON: Final = 500  # characters of the reason that opened a breaker
BY_DEFAULT: Final = BreakerPolicy()

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
"""Runs work in a task that no caller can cancel. The second argument describes the task in the log if it fails."""


class BreakerPermits(Protocol):
    """Grants permits for calls. A permit is returned by `succeed`, `fail` or `release`, with the result of the call."""

    async def acquire(self, name: str, policy: BreakerPolicy) -> Admission:
        """Return a permit for one call, or a rejection with the time of the next try."""
        ...

    async def succeed(self, permit: Permit) -> None:
        """Report that the call succeeded. A change of state is durable when this returns."""
        ...

    async def fail(self, permit: Permit, reason: str) -> None:
        """Report that the call failed, and why. A change of state is durable when this returns."""
        ...

    def state(self, name: str) -> BreakerState:
        """Return the state of a breaker that this process knows."""
        ...

    def release(self, permit: Permit) -> None:
        """Report that the call was cancelled, which is neither a success nor a failure of the callee."""
        ...


class OwnBreakers:
    """The breakers of a runtime that owns its database: its memory decides, and changes of state are stored.

    Fulfils Breakers. Calls are not stored, nor are the counts of a closed breaker.
    """

    def __init__(
        self, now: Callable[[], datetime], store: Callable[[BreakerRecord], Awaitable[object]], spawn: Spawn
    ) -> None:
        """Bind to a clock. store: saves a record, or deletes it if the breaker is closed."""
        self._now = now
        self._store = store
        self._spawn = spawn
        self._kept: dict[str, _StoredBreaker] = {}

    def load(self, records: Iterable[BreakerRecord]) -> None:
        """Restore breakers that an earlier runtime left open."""
        self._kept |= {record.name: _StoredBreaker(_breaker(record.name, record), record) for record in records}

    @property
    def records(self) -> Sequence[BreakerRecord]:
        """The breakers that are not closed, ordered by name."""
        records = (kept.breaker.record for kept in self._kept.values())
        return sorted((one for one in records if one.state is not BreakerState.CLOSED), key=lambda one: one.name)

    async def acquire(self, name: str, policy: BreakerPolicy) -> Admission:
        """See Breakers. The start of a trial call is stored in the background."""
        kept = self._get(name)
        entry = kept.breaker.entry
        admission = kept.breaker.ask(policy, self._now())
        if kept.breaker.entry != entry:
            self._begin_save(kept)
        return admission

    async def succeed(self, permit: Permit) -> None:
        """See Breakers."""
        await self._update(permit.name, lambda breaker: breaker.succeed(permit, self._now()))

    async def fail(self, permit: Permit, reason: str) -> None:
        """See Breakers."""
        text = one_line(reason)[:LONGEST_REASON]
        await self._update(permit.name, lambda breaker: breaker.fail(permit, self._now(), text))

    def state(self, name: str) -> BreakerState:
        """See Breakers."""
        return self._get(name).breaker.state

    def record(self, name: str) -> BreakerRecord:
        """Return the current record of a breaker."""
        return self._get(name).breaker.record

    def release(self, permit: Permit) -> None:
        """See Breakers."""
        self._get(permit.name).breaker.release(permit, self._now())

    async def isolate(self, name: str, reason: str) -> BreakerRecord:
        """Let no call through until an operator closes it."""
        return await self._update(name, lambda breaker: breaker.isolate(self._now(), reason))

    async def close(self, name: str) -> BreakerRecord:
        """Let calls through again."""
        return await self._update(name, lambda breaker: breaker.close(self._now()))

    async def _update(self, name: str, change: Callable[[Breaker], None]) -> BreakerRecord:
        kept = self._get(name)
        entry = kept.breaker.entry
        change(kept.breaker)
        if kept.breaker.entry != entry:
            await asyncio.shield(self._begin_save(kept))
        return kept.breaker.record

    def _get(self, name: str) -> _StoredBreaker:
        kept = self._kept.get(name)
        if kept is None:
            if len(self._kept) >= MOST_IDLE:
                self._kept = {other: busy for other, busy in self._kept.items() if not busy.is_idle}
            kept = self._kept[name] = _StoredBreaker(_breaker(name))
        return kept

    def _begin_save(self, kept: _StoredBreaker) -> asyncio.Task[None]:
        """Store the breaker after its earlier changes are stored, so that no older state overwrites a newer one."""
        if kept.saving is None or kept.saving.done():
            kept.saving = self._spawn(self._save(kept), "save a circuit breaker")
        return kept.saving

    async def _save(self, kept: _StoredBreaker) -> None:
        while kept.saved != (record := kept.breaker.record):
            await self._store(record)
            kept.saved = record


def refusal_of(rejection: Rejection) -> BreakerOpenError:
    """Return the error for a caller whose call a circuit breaker refused."""
    return BreakerOpenError(
        rejection.name,
        rejection.state.value,
        rejection.retry_at,
        rejection.reason,
        rejection.open_since,
        rejection.refused,
    )


def breaker_page(known: Sequence[BreakerRecord], command: BreakersCommand) -> Sequence[BreakerRecord]:
    """Return the requested page of the breakers. known: all breakers, ordered by name."""
    return [record for record in known if command.after is None or record.name > command.after][: command.limit]


def _breaker(name: str, stored: BreakerRecord | None = None) -> Breaker:
    from gatechart.tools.breaker import Breaker  # noqa: PLC0415  not loaded by a runtime without breakers

    return Breaker(name, stored)


class _StoredBreaker:
    """A breaker in memory, and its stored record."""

    __slots__ = ("breaker", "saved", "saving")

    def __init__(self, breaker: Breaker, saved: BreakerRecord | None = None) -> None:
        self.breaker = breaker
        self.saved = saved
        self.saving: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return self.breaker.is_fresh and (self.saving is None or self.saving.done())


class GuardedCall:
    """A call through a circuit breaker, with `async with`. The call fails if the block raises."""

    def __init__(
        self,
        breakers: BreakerPermits,
        name: str,
        policy: BreakerPolicy = BY_DEFAULT,
        failures: type[Exception] | tuple[type[Exception], ...] = Exception,
    ) -> None:
        """Prepare a call. failures: exceptions that count as failures; any other counts as a success."""
        self._breakers = breakers
        self._name = name
        self._policy = policy
        self._failures = failures
        self._failure: str | None = None
        self._permit: Permit | None = None

    def fail(self, reason: str) -> None:
        """Count the call as failed although the block does not raise, such as for a reply that reports an error."""
        self._failure = reason

    async def __aenter__(self) -> Self:
        admission = await self._breakers.acquire(self._name, self._policy)
        if isinstance(admission, Rejection):
            raise refusal_of(admission)
        self._permit = admission
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        assert self._permit is not None  # set on entering
        if error is not None and not is_failure(error):
            self._breakers.release(self._permit)
            return
        if error is not None and (isinstance(error, self._failures) or not isinstance(error, Exception)):
            self._failure = told(error)
        if self._failure is None:
            await self._breakers.succeed(self._permit)
        else:
            await self._breakers.fail(self._permit, self._failure)
