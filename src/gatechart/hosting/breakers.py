"""The circuit breakers of a runtime: who may call, what came of it, and where changes of state are kept."""

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

MOST_IDLE: Final = 1000  # breakers in memory before those that are as good as unused are forgotten
LONGEST_REASON: Final = 500  # characters of what opened a breaker
BY_DEFAULT: Final = BreakerPolicy()

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
"""Runs work in a task that no caller can cancel. Its second argument says what it is for, if it fails."""


class Breakers(Protocol):
    """Where calls ask for a permit, and report what came of them. Every permit is given back by one of three calls."""

    async def acquire(self, name: str, policy: BreakerPolicy) -> Admission:
        """Return a permit for one call, or a rejection that says when to ask again."""
        ...

    async def succeed(self, permit: Permit) -> None:
        """Report that the call went well. A change of state is durable when this returns."""
        ...

    async def fail(self, permit: Permit, reason: str) -> None:
        """Report that the call failed, and why. A change of state is durable when this returns."""
        ...

    def state(self, name: str) -> BreakerState:
        """Return the state of a breaker, as far as it is known here."""
        ...

    def release(self, permit: Permit) -> None:
        """Report that the call was given up, which says nothing of what it called."""
        ...


class OwnBreakers:
    """The breakers of a runtime that owns its database: its memory decides, and changes of state are stored.

    Fulfils Breakers. Calls are not stored, nor are the counts of a closed breaker.
    """

    def __init__(
        self, now: Callable[[], datetime], store: Callable[[BreakerRecord], Awaitable[object]], spawn: Spawn
    ) -> None:
        """Bind to a clock. store: keeps a record, or forgets it if the breaker is closed."""
        self._now = now
        self._store = store
        self._spawn = spawn
        self._kept: dict[str, _Kept] = {}

    def load(self, records: Iterable[BreakerRecord]) -> None:
        """Go on with breakers that an earlier runtime left open."""
        self._kept |= {record.name: _Kept(_breaker(record.name, record), record) for record in records}

    @property
    def records(self) -> Sequence[BreakerRecord]:
        """Those that are not closed, by name."""
        found = (kept.breaker.record for kept in self._kept.values())
        return sorted((each for each in found if each.state is not BreakerState.CLOSED), key=lambda each: each.name)

    async def acquire(self, name: str, policy: BreakerPolicy) -> Admission:
        """See Breakers. The beginning of a trial is stored in the background."""
        kept = self._get(name)
        entry = kept.breaker.entry
        admission = kept.breaker.ask(policy, self._now())
        if kept.breaker.entry != entry:
            self._begin_save(kept)
        return admission

    async def succeed(self, permit: Permit) -> None:
        """See Breakers."""
        await self._noted(permit.name, lambda breaker: breaker.succeed(permit, self._now()))

    async def fail(self, permit: Permit, reason: str) -> None:
        """See Breakers."""
        text = one_line(reason)[:LONGEST_REASON]
        await self._noted(permit.name, lambda breaker: breaker.fail(permit, self._now(), text))

    def state(self, name: str) -> BreakerState:
        """See Breakers."""
        return self._get(name).breaker.state

    def record(self, name: str) -> BreakerRecord:
        """Return a breaker as it is."""
        return self._get(name).breaker.record

    def release(self, permit: Permit) -> None:
        """See Breakers."""
        self._get(permit.name).breaker.release(permit, self._now())

    async def isolate(self, name: str, reason: str) -> BreakerRecord:
        """Let no call through until an operator closes it."""
        return await self._noted(name, lambda breaker: breaker.isolate(self._now(), reason))

    async def close(self, name: str) -> BreakerRecord:
        """Let calls through again."""
        return await self._noted(name, lambda breaker: breaker.close(self._now()))

    async def _noted(self, name: str, note: Callable[[Breaker], None]) -> BreakerRecord:
        kept = self._get(name)
        entry = kept.breaker.entry
        note(kept.breaker)
        if kept.breaker.entry != entry:
            await asyncio.shield(self._begin_save(kept))
        return kept.breaker.record

    def _get(self, name: str) -> _Kept:
        kept = self._kept.get(name)
        if kept is None:
            if len(self._kept) >= MOST_IDLE:
                self._kept = {name: each for name, each in self._kept.items() if not each.is_idle}
            kept = self._kept[name] = _Kept(_breaker(name))
        return kept

    def _begin_save(self, kept: _Kept) -> asyncio.Task[None]:
        """Store the breaker as it is by the time that earlier changes are stored, so that none overtakes another."""
        if kept.saving is None or kept.saving.done():
            kept.saving = self._spawn(self._save(kept), "keep a circuit breaker")
        return kept.saving

    async def _save(self, kept: _Kept) -> None:
        while kept.saved != (record := kept.breaker.record):
            await self._store(record)
            kept.saved = record


def refusal_of(it: Rejection) -> BreakerOpenError:
    """Return the error of a caller that a circuit breaker has refused."""
    return BreakerOpenError(it.name, it.state.value, it.retry_at, it.reason, it.open_since, it.refused)


def breaker_page(known: Sequence[BreakerRecord], command: BreakersCommand) -> Sequence[BreakerRecord]:
    """Return the part of the breakers that a command asks for. known: all, by name."""
    return [each for each in known if command.after is None or each.name > command.after][: command.limit]


def _breaker(name: str, stored: BreakerRecord | None = None) -> Breaker:
    from gatechart.tools.breaker import Breaker  # noqa: PLC0415  a runtime without breakers does without their chart

    return Breaker(name, stored)


class _Kept:
    """A breaker in memory, and what is stored of it."""

    __slots__ = ("breaker", "saved", "saving")

    def __init__(self, breaker: Breaker, saved: BreakerRecord | None = None) -> None:
        self.breaker = breaker
        self.saved = saved
        self.saving: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return self.breaker.is_fresh and (self.saving is None or self.saving.done())


class GuardedCall:
    """A call through a circuit breaker, by `async with`. An exception of the block counts as its failure."""

    def __init__(
        self,
        breakers: Breakers,
        name: str,
        policy: BreakerPolicy = BY_DEFAULT,
        failures: type[Exception] | tuple[type[Exception], ...] = Exception,
    ) -> None:
        """Prepare a call. failures: the exceptions that count; with any other the breaker sees a success."""
        self._breakers = breakers
        self._name = name
        self._policy = policy
        self._failures = failures
        self._failure: str | None = None
        self._permit: Permit | None = None

    def fail(self, reason: str) -> None:
        """Let the call count as failed although the block raises nothing, as for a reply that reports an error."""
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
