"""What all agents of a runtime share, and the conditions under which it may be called."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count as counting
from typing import Any, Final, TypeVar

from gatechart.errors import (
    OutsideError,
    OwnershipLostError,
    ReadOnlyError,
    RuntimeClosedError,
)
from gatechart.handoff import PacketMigration
from gatechart.hosting.group_commit import Committer, nothing
from gatechart.hosting.invoke_attempt import traceback_of
from gatechart.hosting.limits import Limits
from gatechart.hosting.subscriptions import Feeds
from gatechart.hosting.system import LONGEST_NAP_S
from gatechart.hosting.turn_guard import check_outside_turns, open_turn
from gatechart.ports import Clock, Ids, Store
from gatechart.runtime.telemetry import Telemetry
from gatechart.values import Answer, HistoryEntry, Mail, Report, Retry, TurnRecord, Unit, Verdict

logger = logging.getLogger(__name__)

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
STORE_RETRY: Final = Retry(attempts=2**62, first_s=0.1, factor=2.0, most_s=10.0)

T = TypeVar("T")
UnitT = TypeVar("UnitT", bound=Unit)


@dataclass(slots=True)
class Core:
    """The store, the clock, the services and the tasks of one runtime."""

    store: Store
    committer: Committer
    services: Any
    clock: Clock
    ids: Ids
    read_only: bool
    limits: Limits
    changes: Feeds[None, HistoryEntry]
    attends: bool = True  # whether it looks after timers, invokes and mail for agents that nobody called
    packet_migrations: Sequence[PacketMigration] = ()
    telemetry: Telemetry = field(default_factory=Telemetry)
    is_open: bool = True
    dead_letters: int = 0  # so far, of agents that may wait for them
    erasures: int = 0  # so far; what was read before one may be gone, or another agent by now
    doubted: set[int] = field(default_factory=set)  # numbers of mail whose posting failed: perhaps it was accepted
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)  # that are let end when the runtime closes
    attending: set[asyncio.Task[Any]] = field(default_factory=set)  # timers and invokes, which are cancelled then
    callers: dict[asyncio.Future[Any], str] = field(default_factory=dict)  # that wait, with the call that they made
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _pauses: dict[int, asyncio.Future[None]] = field(default_factory=dict)  # before another attempt, by number of mail
    _lost: asyncio.Future[OwnershipLostError] | None = None  # once somebody has waited for it, or told it

    def admit(self, call: str, *, writes: bool) -> None:
        """Raises RuntimeClosedError, InsideTurnError or, where the call writes, ReadOnlyError."""
        if not self.is_open or open_turn.get() is not None:
            self._check_callable(call)
        if writes and self.read_only:
            raise ReadOnlyError(call)

    def admit_watcher(self, call: str, instead: str) -> None:
        """Raises as `admit`; and ReadOnlyError, for nobody tells a runtime that only reads of what the owner does.

        instead: what a reader can do.
        """
        self._check_callable(call)
        if self.read_only:
            raise ReadOnlyError(call, instead)

    def _check_callable(self, call: str) -> None:
        if not self.is_open:
            raise RuntimeClosedError(call)
        check_outside_turns(call)

    @property
    def pending_work(self) -> int:
        """How many tasks there are, those that wait for the clock included."""
        return len(self.tasks) + len(self.attending)

    def spawn(self, work: Coroutine[Any, Any, T], purpose: str = "") -> asyncio.Task[T]:
        """Runs the work in a task of the runtime's own, which no caller can cancel.

        purpose: what for, where nobody waits for the task; what it raises is logged then.
        """
        return _kept(work, self.tasks, purpose)

    def attend(self, work: Coroutine[Any, Any, T], purpose: str = "") -> asyncio.Task[T]:
        """Runs a timer or an invoke, until its end, its cancellation or the runtime's close. purpose: as of `spawn`."""
        return _kept(work, self.attending, purpose)

    def numbered(self, turn: TurnRecord, consumes: int | None = None) -> TurnRecord:
        """The turn with numbers for the mail that it asks for. consumes: the number of the mail that it applies."""
        count = turn.mail_count if turn.effects else 0
        if not count and consumes is None:
            return turn
        return turn.numbered(self.store.numbers(count) if count else 0, consumes)

    async def called(self, call: str, waiting: asyncio.Future[T]) -> T:
        """What a caller waits for. Raises RuntimeClosedError where the runtime closes before."""
        self.callers[waiting] = call
        try:
            return await waiting
        finally:
            del self.callers[waiting]

    async def sleep(self, seconds: float, until: datetime | None = None) -> None:
        """Sleeps for so many seconds, and no longer, even if the clock is set back meanwhile.

        until: wake at this moment, if it comes sooner.
        """
        wakes = min(until or _NEVER, self._in(seconds))
        while not await self.comes(wakes):
            wakes = min(wakes, self._in(seconds))

    def _in(self, seconds: float) -> datetime:
        try:
            return self.clock.now() + timedelta(seconds=seconds)
        except OverflowError:
            return _NEVER

    async def comes(self, moment: datetime) -> bool:
        """Waits for the moment; False as soon as the clock is seen to be set back, for then it may be far away."""
        seen = self.clock.now()
        sleeping = asyncio.ensure_future(self.clock.sleep_until(moment))
        try:
            while not (await asyncio.wait((sleeping,), timeout=LONGEST_NAP_S))[0]:
                before, seen = seen, self.clock.now()
                if seen < before:
                    return False
        finally:
            sleeping.cancel()
        return True

    async def pause(self, seconds: float, until: datetime | None = None, mail: int | None = None) -> bool:
        """Waits as `sleep` does; False if the runtime closes before. mail: the number of what waits, see `lift`."""
        sleeping = asyncio.ensure_future(self.sleep(seconds, until))
        closing = asyncio.ensure_future(self._closing.wait())
        if mail is not None:
            self._pauses[mail] = sleeping
        try:
            await asyncio.wait((sleeping, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            closing.cancel()
            if mail is not None:
                del self._pauses[mail]
        return self.is_open

    def lift(self, mail: int) -> bool:
        """Ends the wait of the mail of this number before its next attempt; False if it does not wait here."""
        sleeping = self._pauses.get(mail)
        return sleeping is not None and sleeping.cancel()

    async def persist(self, unit: Unit, then: Callable[[], None] = nothing) -> Verdict | None:
        """The store's verdict, however long the store cannot write for now; None where the runtime closes before."""
        return await self._persisted(lambda: unit, lambda _: then())

    async def persist_mail(self, unit: Report | Answer, accept: Callable[[Mail], None]) -> Verdict | None:
        """The verdict, as of `persist`, of a unit that sends mail, which is accepted once it is committed.

        Its mail gets a number as often as it is tried: it would come before mail that was committed meanwhile, should
        the runtime crash with both.
        """
        return await self._persisted(
            lambda: unit.numbered(self.store.numbers(1)), lambda committed: accept(committed.mail)
        )

    async def _persisted(self, made: Callable[[], UnitT], then: Callable[[UnitT], None]) -> Verdict | None:
        """made: the unit, as it is to be tried next."""
        tried: list[UnitT] = []  # the last one

        async def commit() -> Verdict:
            if tried and await self.committer.is_written(tried[0]):  # by an attempt whose answer was lost
                then(tried[0])
                return Verdict.COMMITTED
            tried[:] = [made()]
            return await self.committer.commit(tried[0], partial(then, tried[0]))

        try:
            return await self.ask(commit)
        except OwnershipLostError:
            return None
        except OutsideError:
            logger.debug("the runtime closes before the store could write")
            return None

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """What the store answers, however long it cannot do so for now.

        Raises OwnershipLostError at once, and what the store raised last where the runtime closes before.
        """
        for failed in counting(1):
            try:
                return await call()
            except OwnershipLostError as error:
                self.lose(error)
                raise
            except OutsideError as error:
                wait_s = STORE_RETRY.wait_s(failed) or 0.0
                logger.warning("the store does not answer; it is tried again", extra={"wait_s": wait_s}, exc_info=error)
                if not await self.pause(wait_s):
                    raise
        raise AssertionError("unreachable")

    def lose(self, error: OwnershipLostError) -> None:
        """Notes, and logs, that another owner has taken over."""
        lost = self.lost()
        if not lost.done():
            logger.error("another owner has taken over; nothing is hosted here any more", exc_info=error)
            lost.set_result(error)

    def lost(self) -> asyncio.Future[OwnershipLostError]:
        """Done once another owner has taken over."""
        if self._lost is None:
            self._lost = asyncio.get_running_loop().create_future()
        return self._lost

    async def close(self) -> None:
        """Takes no more calls, and lets the work under way end within a bound."""
        self.is_open = False
        self._closing.set()
        for task in self.attending:
            task.cancel()
        for waiting, call in self.callers.items():
            if not waiting.done():
                waiting.set_exception(RuntimeClosedError(call))
        try:
            await self._let_end()
        finally:  # in time, too late, or not waited for to the end
            for task in (*self.tasks, *self.attending):
                task.cancel()
        self.changes.close("changes")
        await self.committer.end()

    async def _let_end(self) -> None:
        deadline = asyncio.get_running_loop().time() + self.limits.close_s
        while under_way := self.tasks | self.attending:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                logger.error("the runtime closes without what does not end", extra={"tasks": len(under_way)})
                return
            await asyncio.wait(under_way, timeout=left_s)


def _kept(work: Coroutine[Any, Any, T], tasks: set[asyncio.Task[T]], purpose: str) -> asyncio.Task[T]:
    """A task for the work, held in the set until it ends: the event loop itself holds tasks only weakly."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(partial(_ended, tasks, purpose) if purpose else tasks.discard)
    return task


def _ended(tasks: set[asyncio.Task[Any]], purpose: str, task: asyncio.Task[Any]) -> None:
    tasks.discard(task)
    log_failure(purpose, task)


def log_failure(purpose: str, task: asyncio.Task[Any]) -> None:
    """Logs what a task raised for which nobody waits."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, Exception):
        logger.error("a task of the runtime failed: %s", traceback_of(error), extra={"purpose": purpose})
