"""Group commit: units that arrive during a commit share the next transaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from gatechart.errors.event import UnknownAgentError
from gatechart.errors.operation import UnwritableError
from gatechart.errors.outside import (
    OwnershipLostError,
    StoreBusyError,
    StoreMissingError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from gatechart.errors.root import OutsideError
from gatechart.ports import Store
from gatechart.tasks import start_task
from gatechart.values.commits import (
    BreakerChange,
    InvokeReport,
    JournalRecord,
    MailChange,
    MailEnd,
    Posting,
    RejectionReport,
    ReserveSlot,
    StepRecord,
    TurnRecord,
    Unit,
    Verdict,
    refuse_unknown_unit,
)
from gatechart.values.frozen import value
from gatechart.values.mail import Mail
from gatechart.values.names import AgentId
from gatechart.values.queries import MailQuery

logger = logging.getLogger(__name__)

MOST_UNITS = 1000  # per transaction
NOBODY_CAN_WRITE = (  # these errors mean that nothing was written
    OwnershipLostError,
    StoreBusyError,
    StoreMissingError,
    StoreReadOnlyError,
    StoreUnreachableError,
)


def nothing() -> None:
    """Do nothing after a commit."""


def _do(then: Callable[[], None]) -> None:
    try:
        then()
    except Exception:
        logger.exception("a callback after a commit failed")


@value
class _Waiting:
    unit: Unit
    then: Callable[[], None]
    verdict: asyncio.Future[Verdict]

    def settle(self, verdict: Verdict) -> None:
        """Report the verdict, even if the caller has stopped waiting."""
        if verdict is Verdict.COMMITTED and self.then is not nothing:
            _do(self.then)
        if not self.verdict.done():
            self.verdict.set_result(verdict)

    def fail(self, error: Exception) -> None:
        """Report why there is no verdict."""
        if not self.verdict.done():
            self.verdict.set_exception(error)


class Committer:
    """Commits units, one transaction at a time. Each transaction contains all units that are waiting."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.units = 0  # number of units received so far
        self._waiting: list[_Waiting] = []
        self._writer: asyncio.Task[None] | None = None

    def commit(self, unit: Unit, then: Callable[[], None] = nothing) -> Awaitable[Verdict]:
        """Return the store's verdict on the unit. If it raises, nothing of the unit is written.

        then: called as soon as the unit is committed, even if the caller has been cancelled. Its exceptions are only
        logged, because the unit is committed, and other callers wait for their verdicts.
        """
        self.units += 1
        if self._store.is_instant:
            return self._commit_now(unit, then)
        waiting = _Waiting(unit, then, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._writer is None:
            self._writer = start_task(self._write())
        return waiting.verdict

    async def _commit_now(self, unit: Unit, then: Callable[[], None]) -> Verdict:
        verdict = (await self._store.commit((unit,)))[0]
        if verdict is Verdict.COMMITTED and then is not nothing:
            _do(then)
        return verdict

    async def end(self) -> None:
        """Wait until no write is running."""
        while self._writer is not None:
            await asyncio.wait((self._writer,))

    async def _write(self) -> None:
        try:
            while self._waiting:
                await self._commit_group(self._next_group())
        finally:
            # There is no await between the last check of `_waiting` and this line, so no unit is left without a writer.
            self._writer = None

    def _next_group(self) -> Sequence[_Waiting]:
        """Take the oldest waiting units, with one turn per agent: a start must see earlier starts with the same id."""
        group: list[_Waiting] = []
        rest: list[_Waiting] = []
        agents: set[AgentId] = set()
        for waiting in self._waiting:
            agent_id = waiting.unit.snapshot.agent_id if isinstance(waiting.unit, TurnRecord) else None
            if agent_id in agents or len(group) >= MOST_UNITS:
                rest.append(waiting)
                continue
            group.append(waiting)
            if agent_id is not None:
                agents.add(agent_id)
        self._waiting = rest
        return group

    async def _commit_group(self, group: Sequence[_Waiting]) -> None:
        try:
            verdicts = await self._store.commit([waiting.unit for waiting in group])
        except asyncio.CancelledError:  # the event loop is being torn down
            for waiting in group:
                waiting.verdict.cancel()
            raise
        except NOBODY_CAN_WRITE as error:
            for waiting in group:
                waiting.fail(error)
        except Exception as error:
            await self._commit_each(group, error)
        else:
            for waiting, verdict in zip(group, verdicts, strict=True):
                waiting.settle(verdict)

    async def _commit_each(self, group: Sequence[_Waiting], cause: Exception) -> None:
        """Commit the units of a failed group separately, so that one unwritable unit does not fail the others."""
        if len(group) > 1:
            logger.warning(
                "a group of units failed; its units are committed separately",
                extra={"units": len(group)},
                exc_info=cause,
            )
        for position, waiting in enumerate(group):
            try:
                waiting.settle(await self._commit_alone(waiting.unit))
            except NOBODY_CAN_WRITE as error:
                # The group may have been committed, and only its answer was lost. This error just means that this
                # attempt wrote nothing. The remaining units therefore fail with the group's error, and their callers
                # look up whether they were written.
                for remaining in group[position:]:
                    remaining.fail(cause if isinstance(cause, OutsideError) else error)
                return
            except Exception as error:
                waiting.fail(error)

    async def _commit_alone(self, unit: Unit) -> Verdict:
        """Return the verdict on a unit whose group failed, perhaps after it was committed.

        Raises OutsideError if it is unknown whether the store holds the unit.
        """
        if await self._seems_written(unit):
            return Verdict.COMMITTED
        try:
            verdict = (await self._store.commit((unit,)))[0]
        except OutsideError:
            if await self._seems_written(unit):
                return Verdict.COMMITTED
            raise
        except UnwritableError:  # perhaps because the store already holds it
            if await self.is_written(unit):
                return Verdict.COMMITTED
            raise
        is_stored = verdict is Verdict.COMMITTED or await self.is_written(unit)  # by this commit or the group's
        return Verdict.COMMITTED if is_stored else verdict

    async def _seems_written(self, unit: Unit) -> bool:
        """Return whether the store confirms that it holds the unit; False if the store does not answer."""
        try:
            return await self.is_written(unit)
        except OutsideError:
            return False

    async def is_written(self, unit: Unit) -> bool:
        """Return whether the store holds exactly this unit; False for a unit that can be repeated without harm.

        Raises OutsideError if the store does not answer.
        """
        match unit:
            case TurnRecord():
                return await self._is_committed(unit)
            case (
                Posting(mail)
                | InvokeReport(mail=mail)
                | RejectionReport(reply=mail)
                | MailChange(raises=Mail() as mail)
            ):
                return mail in await self._store.mail(MailQuery(mail.recipient, after=mail.number - 1, limit=1))
            case StepRecord():
                return (await self._store.steps(unit.invocation)).get(unit.name) == unit.result
            case JournalRecord(invocation, journal, name, entry):
                return (await self._store.journal(invocation.agent_id, journal)).get(name) == entry
            case MailChange() | MailEnd() | ReserveSlot() | BreakerChange():
                return False
            case _:
                return refuse_unknown_unit(unit)

    async def _is_committed(self, turn: TurnRecord) -> bool:
        """Return whether the turn's event brought the agent to the turn's version."""
        after = turn.snapshot
        try:
            entries = await self._store.history(after.agent_id, after=after.version - 1, limit=1)
        except UnknownAgentError:
            return False
        return bool(entries) and (entries[0].version, entries[0].event) == (after.version, turn.event)
