"""The core that all agents of a runtime share, and the conditions for calls to the runtime."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count as counting
from typing import Any, Final, Protocol, TypeVar

from gatechart.errors.operation import ReadOnlyError, RuntimeClosedError
from gatechart.errors.outside import OwnershipLostError
from gatechart.errors.root import OutsideError
from gatechart.handoff.reading import PacketMigration
from gatechart.hosting.breakers import OwnBreakers
from gatechart.hosting.choosing import Chooser
from gatechart.hosting.directory import Gate
from gatechart.hosting.group_commit import Committer, nothing
from gatechart.hosting.invoke_attempts import traceback_of
from gatechart.hosting.lessons import LessonBook
from gatechart.hosting.limits import Limits
from gatechart.hosting.subscriptions import Feeds
from gatechart.hosting.system import LONGEST_NAP_S
from gatechart.hosting.tool_gates import ToolGates
from gatechart.hosting.turn_guard import check_outside_turns, open_turn
from gatechart.ports import Clock, Ids, Store
from gatechart.runtime.telemetry import Telemetry
from gatechart.tasks import start_task
from gatechart.values.agents import Snapshot
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import BreakerChange, Telling, TurnRecord, Unit, Verdict
from gatechart.values.delays import Retry
from gatechart.values.mail import Mail
from gatechart.values.names import AgentId
from gatechart.values.queries import HistoryEntry
from gatechart.watchdog.troubles import Troubles

logger = logging.getLogger(__name__)

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
STORE_RETRY: Final = Retry(attempts=2**62, first_s=0.1, factor=2.0, most_s=10.0)

T = TypeVar("T")
UnitT = TypeVar("UnitT", bound=Unit)


class EntryWatcher(Protocol):
    """Observes the agents that keep the entries of the directory."""

    async def gate(self, entry_id: str) -> Gate:
        """Return the gate of an entry, which admits or refuses work."""
        ...

    def see(self, snapshot: Snapshot) -> None:
        """Record the newest commit of such an agent."""
        ...

    async def disown(self, name: str) -> None:
        """Remove a user or an agent from all entries."""
        ...

    def forget(self, agent_id: AgentId) -> None:
        """Record that an agent was erased. It may be any agent."""
        ...


@dataclass(slots=True)
class Core:
    """The store, clock, services and tasks of one runtime."""

    store: Store
    committer: Committer
    services: Any
    clock: Clock
    ids: Ids
    read_only: bool
    limits: Limits
    changes: Feeds[bool, HistoryEntry]  # False: except turns of the framework's own agents
    attends: bool = True  # whether it runs timers and invokes, and delivers mail to agents that no caller has loaded
    packet_migrations: Sequence[PacketMigration] = ()
    gates: ToolGates = field(default_factory=ToolGates)
    entries: EntryWatcher | None = None  # observes the agents that keep entries of the directory
    lessons: LessonBook | None = None  # observes the agents that keep lessons
    telemetry: Telemetry = field(default_factory=Telemetry)
    is_open: bool = True
    troubles: Troubles = field(default_factory=Troubles)
    beat: Callable[[], Awaitable[None]] | None = None  # records a sign of life of this host at once
    dead_letters: int = 0  # so far, among mail that an agent may be waiting for
    erasures: int = 0  # so far; data read before an erasure may be out of date, or belong to a new agent
    doubted: set[int] = field(default_factory=set)  # numbers of mail that may be accepted although posting failed
    deferring: set[object] = field(default_factory=set)  # agents with deferred mail, which must stay in memory
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)  # given time to end when the runtime closes
    attending: set[asyncio.Task[Any]] = field(default_factory=set)  # timers and invokes, cancelled by the close
    callers: dict[asyncio.Future[Any], str] = field(default_factory=dict)  # awaited futures, with the call's name
    breakers: OwnBreakers = field(init=False)
    chooser: Chooser = field(init=False)  # set by the runtime, like `entries`
    number: Callable[[], int] = field(init=False)  # returns the next number for mail
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _pauses: dict[int, asyncio.Future[None]] = field(default_factory=dict)  # before another attempt, by mail number
    _lost: asyncio.Future[OwnershipLostError] | None = None  # created when first awaited, or when ownership is lost

    def __post_init__(self) -> None:
        def keep(breaker: BreakerRecord) -> Coroutine[Any, Any, Verdict | None]:
            return self.persist(BreakerChange(breaker))

        self.breakers = OwnBreakers(self.clock.now, keep, self.spawn)
        self.number = partial(self.store.numbers, 1)

    def publish(self, turn: HistoryEntry, *, is_framework: bool) -> None:
        """Send a committed turn to the subscribers that want it. is_framework: the agent is one of the framework's."""
        self.changes.publish(True, turn)
        if not is_framework:
            self.changes.publish(False, turn)

    async def forget_troubles(self, agent_id: AgentId) -> None:
        """Forget the troubles counted for an erased agent, also in the facts that this host reports about itself."""
        if self.troubles.forget(agent_id) and self.beat is not None:
            await self.beat()

    def admit(self, call: str, *, writes: bool) -> None:
        """Raise RuntimeClosedError, InsideTurnError or, if the call writes, ReadOnlyError."""
        if not self.is_open or open_turn.get() is not None:
            self._check_callable(call)
        if writes and self.read_only:
            raise ReadOnlyError(call)

    def admit_watcher(self, call: str, instead: str) -> None:
        """Raise as `admit` does, and ReadOnlyError if the runtime only reads: the owner's commits do not reach it.

        instead: the alternative for a reader.
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
        """The number of tasks, including tasks that wait for the clock."""
        return len(self.tasks) + len(self.attending)

    def spawn(self, work: Coroutine[Any, Any, T], purpose: str = "") -> asyncio.Task[T]:
        """Run the work in a task of the runtime, which no caller can cancel.

        purpose: of the task, for the log, if no caller waits for it; its exception is then logged.
        """
        return _kept(work, self.tasks, purpose)

    def attend(self, work: Coroutine[Any, Any, T], purpose: str = "") -> asyncio.Task[T]:
        """Run a timer or invoke until it ends, is cancelled, or the runtime closes. purpose: as in `spawn`."""
        return _kept(work, self.attending, purpose)

    async def wait_for_caller(self, call: str, waiting: asyncio.Future[T]) -> T:
        """Wait for a future on behalf of a caller. Raises RuntimeClosedError if the runtime closes first."""
        self.callers[waiting] = call
        try:
            return await waiting
        finally:
            del self.callers[waiting]

    def sleep(self, seconds: float, until: datetime | None = None) -> Coroutine[Any, Any, None]:
        """Sleep for this many seconds from the call, and no longer even if the clock is set back in the meantime.

        until: wake at this moment if it comes sooner.
        """
        return self._sleep(seconds, min(until or _NEVER, self._in(seconds)))

    async def _sleep(self, seconds: float, wakes: datetime) -> None:
        while not await self.wait_until(wakes):
            wakes = min(wakes, self._in(seconds))

    def alarm(self, seconds: float) -> asyncio.Task[None]:
        """Start a task that ends this many seconds after the call."""
        return self.attend(self.sleep(seconds))

    def _in(self, seconds: float) -> datetime:
        try:
            return self.clock.now() + timedelta(seconds=seconds)
        except OverflowError:
            return _NEVER

    async def wait_until(self, moment: datetime) -> bool:
        """Wait for the moment; return False if the clock was set back, because the wait may now be long."""
        seen = self.clock.now()
        sleeping = start_task(self.clock.sleep_until(moment))
        try:
            while not (await asyncio.wait((sleeping,), timeout=LONGEST_NAP_S))[0]:
                before, seen = seen, self.clock.now()
                if seen < before:
                    return False
        finally:
            sleeping.cancel()
        return True

    async def pause(self, seconds: float, until: datetime | None = None, mail: int | None = None) -> bool:
        """Wait as `sleep` does; return False if the runtime closes first.

        mail: the number of the waiting mail, see `retry_now`.
        """
        sleeping = start_task(self.sleep(seconds, until))
        closing = start_task(self._closing.wait())
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

    def retry_now(self, mail: int) -> bool:
        """End this mail's wait before its next attempt; return False if it is not waiting here."""
        sleeping = self._pauses.get(mail)
        return sleeping is not None and sleeping.cancel()

    def persist(self, unit: Unit, then: Callable[[], None] = nothing) -> Coroutine[Any, Any, Verdict | None]:
        """Return the store's verdict, retrying while the store cannot write; None if the runtime closes first."""
        return self._persisted(lambda: unit, lambda _: then())

    def persist_mail(self, unit: Telling, accept: Callable[[Mail], None]) -> Coroutine[Any, Any, Verdict | None]:
        """Return the verdict on a unit that may send mail, as `persist` does. The mail is accepted once committed.

        Each try gives the mail a new number. With its old number, a crash with both waiting would deliver it before
        mail committed in the meantime.
        """
        if unit.tells is None:
            return self.persist(unit)

        def accept_mail(committed: Telling) -> None:
            if committed.tells is not None:
                accept(committed.tells)

        return self._persisted(lambda: unit.numbered(self.number()), accept_mail)

    async def _persisted(self, create: Callable[[], UnitT], then: Callable[[UnitT], None]) -> Verdict | None:
        """Persist a unit, retrying. create: returns the unit for the next try. then: called with the committed unit."""
        tried: UnitT | None = None

        async def commit() -> Verdict:
            nonlocal tried
            if tried is not None and await self.committer.is_written(tried):  # by a try whose verdict was lost
                then(tried)
                return Verdict.COMMITTED
            tried = create()
            return await self.committer.commit(tried, partial(then, tried))

        try:
            return await self.ask(commit)
        except OwnershipLostError:
            return None
        except OutsideError:
            logger.debug("the runtime closed before the store could write")
            return None

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return the store's answer, retrying while the store does not respond.

        Raises OwnershipLostError at once, and the store's last error if the runtime closes first.
        """
        for failed in counting(1):
            try:
                return await call()
            except OwnershipLostError as error:
                self.lose(error)
                raise
            except OutsideError as error:
                wait_s = STORE_RETRY.wait_s(failed) or 0.0
                facts = {"attempts": failed, "wait_s": wait_s, "problem": str(error)}
                text = "the store does not answer (attempt %(attempts)d); retrying: %(problem)s"
                logger.warning(text, facts, extra=facts, exc_info=error if failed == 1 else None)
                if not await self.pause(wait_s):
                    raise
        raise AssertionError("unreachable")

    def lose(self, error: OwnershipLostError) -> None:
        """Record and log that another owner has taken over."""
        lost = self.lost()
        if not lost.done():
            logger.error("another owner has taken over; this process no longer hosts any agent", exc_info=error)
            lost.set_result(error)

    def lost(self) -> asyncio.Future[OwnershipLostError]:
        """Return a future that is done once another owner has taken over."""
        if self._lost is None:
            self._lost = asyncio.get_running_loop().create_future()
        return self._lost

    async def close(self) -> None:
        """Refuse further calls, and give the running work a limited time to end."""
        self.is_open = False
        self._closing.set()
        for task in self.attending:
            task.cancel()
        for waiting, call in self.callers.items():
            if not waiting.done():
                waiting.set_exception(RuntimeClosedError(call))
        try:
            await self._let_end()
        finally:  # on success, on timeout, and if the caller was cancelled
            for task in (*self.tasks, *self.attending):
                task.cancel()
        # After the tasks, so that subscribers still get the turns that those committed.
        self.changes.close("changes")
        await self.committer.end()

    async def _let_end(self) -> None:
        deadline = asyncio.get_running_loop().time() + self.limits.close_s
        while under_way := self.tasks | self.attending:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                logger.error("the runtime closes although some tasks have not ended", extra={"tasks": len(under_way)})
                return
            await asyncio.wait(under_way, timeout=left_s)


class Surroundings(Protocol):
    """Services that agents need beyond their turns."""

    def carry_out(self, turn: TurnRecord) -> None:
        """Carry out the effects of the committed turn."""
        ...

    def accept(self, mail: Mail) -> None:
        """Send committed mail to its recipient when it is due."""
        ...

    def finished(self, mail: Mail) -> None:
        """Record that the agent is done with this mail."""
        ...

    def forget(self, agent_id: AgentId) -> None:
        """End all running work of an erased agent, and forget its mail."""
        ...


def _kept(work: Coroutine[Any, Any, T], tasks: set[asyncio.Task[T]], purpose: str) -> asyncio.Task[T]:
    """Create a task for the work and hold it until it ends: the event loop itself holds tasks only weakly."""
    task = start_task(work)
    tasks.add(task)
    task.add_done_callback(partial(_ended, tasks, purpose) if purpose else tasks.discard)
    return task


def _ended(tasks: set[asyncio.Task[Any]], purpose: str, task: asyncio.Task[Any]) -> None:
    tasks.discard(task)
    log_failure(purpose, task)


def log_failure(purpose: str, task: asyncio.Task[Any]) -> None:
    """Log the exception of a task that no caller waits for."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, Exception):
        logger.error("a task of the runtime failed: %s", traceback_of(error), extra={"purpose": purpose})
