"""The queue of an agent's jobs and mail, taken one at a time; mail is applied, refused, retried or given up."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from gatechart.errors.event import UnknownAgentError
from gatechart.errors.operation import RuntimeClosedError
from gatechart.errors.outside import OwnershipLostError, StaleAgentError
from gatechart.errors.root import OutsideError
from gatechart.runtime.core import Core
from gatechart.runtime.offers import give_up, is_pending, waits
from gatechart.tasks import start_task
from gatechart.turn.choices import asks_for_choice
from gatechart.turn.handoff_turns import error_mail
from gatechart.turn.mail import after_failure, after_refusal, in_order, is_awaited, is_word_of_handoff
from gatechart.values.agents import Outcome
from gatechart.values.commits import MailChange, MailEnd, Posting, TurnRecord, Verdict
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import OFFERED

logger = logging.getLogger(__name__)

_MAIL: Final = "%(event)s of agent %(agent_id)s, graph %(graph)s"  # of `_facts`

STORE_PAUSE_S: Final = 1.0
NOT_WAITING: Final = (Verdict.STALE, Verdict.REPEATED, Verdict.REUSED)  # verdicts on mail that is no longer waiting

T = TypeVar("T")
Job: TypeAlias = Callable[[], Coroutine[Any, Any, T]]
_Jobs: TypeAlias = deque[tuple[Job[Any], asyncio.Future[Any] | None]]


class JobQueue:
    """Runs the jobs of one agent in tasks of the runtime.

    Cancelling a caller withdraws its job if it has not started; a job that has started runs to its end.
    """

    __slots__ = ("_core", "_jobs", "_judged_at", "_ripe", "deferred", "leaves_mail", "mail")

    def __init__(self, core: Core) -> None:
        self._core = core
        self._jobs: _Jobs | None = None  # None while idle
        self.mail: dict[int, Mail] = {}  # queued or being taken, by number; mail removed here is not taken
        self.deferred: dict[int, tuple[Recipient, Job[None]]] = {}  # mail passed over, by number, and how to take it
        self._judged_at: Hashable = None  # the recipient's position when deferred mail was last judged
        self._ripe: Sequence[int] = ()  # deferred mail to take at the recipient's position, by number
        self.leaves_mail = False  # the runtime is closing: further mail is left to the next one, to keep its order

    @property
    def is_idle(self) -> bool:
        """Whether no job is running or waiting."""
        return self._jobs is None

    def run(self, job: Job[T]) -> asyncio.Future[T]:
        """Run the job after all jobs queued before it; the future gets its result or exception."""
        waiting: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        # The first job's caller starts the task that runs all jobs, so the other jobs bring their own trace context.
        self._add(job if self._jobs is None else self._core.telemetry.as_the_caller(job), waiting)
        return waiting

    def put(self, mail: Mail, recipient: Recipient, finished: Callable[[Mail], None]) -> None:
        """Queue mail after everything queued before, unless it is already there. finished: called at its end."""
        if mail.number not in self.mail:
            self.mail[mail.number] = mail
            self._add(partial(self._take, mail.number, recipient, finished), None)

    def defer(self, mail: Mail, recipient: Recipient, finished: Callable[[Mail], None]) -> None:
        """Keep mail until the recipient reaches a position that does not pass it over; it then precedes all jobs."""
        if not self.deferred:
            self._judged_at = recipient.position
        self.mail[mail.number] = mail
        self.deferred[mail.number] = recipient, partial(self._take, mail.number, recipient, finished)

    def wake(self, position: Hashable) -> None:
        """Take deferred mail that is no longer passed over, if no job is running. position: the recipient's."""
        if self.deferred and self._jobs is None and position != self._judged_at:
            self._begin()

    def _next_deferred(self) -> Job[None] | None:
        """Return the job for the first deferred mail that is not passed over; None if there is none. Some is deferred.

        All deferred mail is judged again only after the recipient has moved: a guard that refused is not evaluated
        again before.
        """
        recipient, _ = next(iter(self.deferred.values()))
        if recipient.position != self._judged_at:
            self._judged_at = recipient.position
            ripe = in_order(self.mail[number] for number in self.deferred if not recipient.passes(self.mail[number]))
            self._ripe = tuple(mail.number for mail in ripe)
        while self._ripe:
            number, self._ripe = self._ripe[0], self._ripe[1:]
            _, job = self.deferred.pop(number, (recipient, None))
            if job is not None:
                return job
        return None

    def _add(self, job: Job[Any], waiting: asyncio.Future[Any] | None) -> None:
        jobs = self._begin() if self._jobs is None else self._jobs
        jobs.append((job, waiting))

    def _begin(self) -> _Jobs:
        """Start a task of the runtime for jobs to come. It leaves the runtime's tasks by itself, without a callback."""
        jobs: _Jobs = deque()
        self._jobs = jobs
        self._core.tasks.add(start_task(self._work(jobs)))
        return jobs

    async def _work(self, jobs: _Jobs) -> None:
        try:
            while (deferred := self._next_deferred() if self.deferred else None) is not None or jobs:
                if deferred is not None:
                    await _do(deferred)
                    continue
                job, waiting = jobs[0]
                if waiting is None:
                    await _do(job)
                elif not waiting.cancelled():
                    await _answer(waiting, job)
                jobs.popleft()
        finally:
            self._jobs = None
            self._core.tasks.discard(cast("asyncio.Task[Any]", asyncio.current_task()))
            if jobs:
                self._give_up([waiting for _, waiting in jobs if waiting is not None])

    async def _take(self, number: int, recipient: Recipient, finished: Callable[[Mail], None]) -> None:
        mail = self.mail.get(number)  # with the changes made since it was queued; None if it was cancelled
        if mail is None:
            self._core.doubted.discard(number)
            return
        try:
            if not await take(recipient, mail):
                self.leaves_mail = True
        finally:
            if number not in self.deferred and self.mail.pop(number, None) is not None:
                finished(mail)

    def _give_up(self, callers: Iterable[asyncio.Future[Any]]) -> None:
        """Fail callers whose jobs get no result: one did not end in time, or the event loop is shutting down."""
        for waiting in callers:
            if self._core.is_open or waiting.done():
                waiting.cancel()
            else:
                waiting.set_exception(RuntimeClosedError("send"))


def run_at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never suspends, without a task.

    >>> async def double(number):
    ...     return 2 * number
    >>> run_at_once(double(21))
    42
    """
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError(f"{work!r} suspended, though its store and its graph declare that they never do")


async def _answer(waiting: asyncio.Future[T], job: Job[T]) -> None:
    """Run the job, and pass its result or exception to the caller, who may have stopped waiting."""
    try:
        result = await job()
    except Exception as error:
        if waiting.cancelled():
            logger.exception("a turn failed after its sender had stopped waiting")
        else:
            waiting.set_exception(error)
    else:
        if not waiting.cancelled():
            waiting.set_result(result)


async def _do(job: Job[Any]) -> None:
    try:
        await job()
    except Exception:
        logger.exception("a job of an agent failed")


class Recipient(Protocol):
    """Something that takes mail, one piece at a time."""

    @property
    def core(self) -> Core:
        """The core of its runtime."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether it is an agent, rather than one that does not exist yet."""
        ...

    @property
    def position(self) -> Hashable:
        """Its position: while this is the same, it passes over the same mail."""
        ...

    def passes(self, mail: Mail) -> bool:
        """Return whether it passes over the mail at its position, whatever its guards return."""
        ...

    def holds(self, mail: Mail) -> bool:
        """Return whether the mail is still to be taken."""
        ...

    def graph_of(self, mail: Mail) -> str:
        """Return the name of the recipient's graph, or of the graph that the mail would start it on."""
        ...

    async def apply(self, mail: Mail, dead: Mail | None) -> TurnRecord | Outcome | None:
        """Process the event of the mail. Return its turn, or its outcome without one; None if the mail is settled.

        dead: the mail in its final form, if every attempt failed and only its agent has yet to know.
        """
        ...

    def accept(self, mail: Mail) -> None:
        """Send committed mail on to its recipient."""
        ...

    def lose(self) -> None:
        """Record that mail to it may be dead."""
        ...


async def take(recipient: Recipient, mail: Mail) -> bool:
    """Take the mail; return False if the runtime closes first. Until it is done, the mail blocks the queue.

    If every attempt at a reply or a withdrawal failed, the agent records it without its chart, so that no agent waits
    for its effect for ever.
    """
    core, dead = recipient.core, None
    if mail.number in core.doubted:
        return await _take_if_accepted(recipient, mail)
    tries = 0  # tries that neither succeeded nor failed
    while True:
        is_to_wait = (mail.retry_at is not None or not core.is_open) and recipient.holds(mail)
        if is_to_wait and not await _is_time(core, mail):
            return False
        after = await _try(recipient, mail, dead, tries)
        if after is None:
            return True
        if after is mail:
            tries += 1
            await _wait_between(core, mail, tries)
            continue
        if after.status is MailStatus.DEAD and dead is None and recipient.is_live and is_word_of_handoff(mail):
            dead = after
            continue
        verdict = await _keep(recipient, after, tells=recipient.is_live and is_awaited(after))
        if after.status is not MailStatus.WAITING or verdict in NOT_WAITING:
            return True
        mail = after


async def _take_if_accepted(recipient: Recipient, mail: Mail) -> bool:
    """Take mail whose posting failed as `take` does, unless the store does not hold it."""
    core = recipient.core
    try:
        is_there = await core.ask(lambda: core.committer.is_written(Posting(mail)))
    except OutsideError:
        logger.debug("the runtime closed before it knew whether the store has mail", exc_info=True)
        return False
    core.doubted.discard(mail.number)
    return await take(recipient, mail) if is_there else True


async def _keep(recipient: Recipient, changed: Mail, *, tells: bool) -> Verdict | None:
    """Store the changed mail. tells: if it is dead, notify the agent, which may wait for it, in the same commit."""
    core = recipient.core
    if changed.status is not MailStatus.DEAD:
        return await core.persist(MailChange(changed))
    try:
        if not tells:
            return await core.persist(MailChange(changed))
        notice = error_mail(changed, core.store.numbers(1), core.clock.now())
        core.dead_letters += 1
        return await core.persist(MailChange(changed, notice), lambda: recipient.accept(notice))
    finally:
        recipient.lose()  # only once it is stored: a search for dead mail before that would find none


async def _is_time(core: Core, mail: Mail) -> bool:
    """Wait for the next attempt; return False if the runtime closes first.

    The clock may have been wrong when the moment was stored, so the wait never exceeds the policy's longest one.
    """
    if mail.retry_at is None or mail.retry_at <= core.clock.now():
        return core.is_open
    return await core.pause(core.limits.mail_retry.most_s, mail.retry_at, mail.number)


async def _wait_between(core: Core, mail: Mail, tries: int) -> None:
    """Pause if an offer is STALE repeatedly: another turn explains that once, but not every time."""
    if mail.event.startswith(OFFERED) and tries > 1:
        await core.pause(STORE_PAUSE_S)


def _facts(recipient: Recipient, mail: Mail) -> dict[str, Any]:
    return {"agent_id": mail.recipient, "graph": recipient.graph_of(mail), "event": mail.event}


async def _try(recipient: Recipient, mail: Mail, dead: Mail | None, tries: int) -> Mail | None:
    """Try once; return the changed mail, the same mail to try again, or None if the agent is done with it."""
    core = recipient.core
    try:
        outcome = await recipient.apply(mail, dead)
    except (OutsideError, RuntimeClosedError) as error:
        return mail if await _is_still_to_try(recipient, mail, error, tries) else None
    except Exception as error:
        is_erased = isinstance(error, UnknownAgentError)  # its mail was erased too
        return None if is_erased else await _failed(recipient, mail, error)
    if not isinstance(outcome, Outcome):
        return None
    if outcome.refusal is not None and mail.state is None:
        return after_refusal(mail, str(outcome.refusal), recipient.graph_of(mail))
    if outcome.refusal is not None:  # not an error for mail of a state: the state may simply not handle it
        facts = {**_facts(recipient, mail), "reason": str(outcome.refusal)}
        text = f"mail of a state was refused: {_MAIL}: %(reason)s"
        logger.debug(text, facts, extra=facts)
    if outcome.refusal is not None or outcome.repeat:
        await core.persist(MailEnd(mail.number))
    return None


async def _failed(recipient: Recipient, mail: Mail, error: Exception) -> Mail | None:
    """Return the mail after another failed attempt; None for an offer that is given up."""
    core = recipient.core
    failed = after_failure(mail, error, core.clock.now(), core.limits.mail_retry, recipient.graph_of(mail))
    is_offer = failed.event.startswith(OFFERED) or asks_for_choice(failed, failed.recipient)
    is_lost = failed.status is MailStatus.DEAD and is_offer
    return None if is_lost and await give_up(core, failed, recipient.accept) else failed


async def _is_still_to_try(
    recipient: Recipient, mail: Mail, error: OutsideError | RuntimeClosedError, tries: int
) -> bool:
    """Return whether to try the mail again, perhaps after a pause. It may have been cancelled."""
    core = recipient.core
    if isinstance(error, OwnershipLostError):
        return False  # the new owner has the mail
    if isinstance(error, RuntimeClosedError):
        return not core.is_open  # an open runtime has lost the mail to another owner
    if not isinstance(error, StaleAgentError):
        facts = {**_facts(recipient, mail), "attempts": tries + 1, "problem": str(error)}
        text = f"mail waits for the store: {_MAIL} (attempt %(attempts)d): %(problem)s"
        logger.warning(text, facts, extra=facts, exc_info=None if tries else error)
        await core.pause(STORE_PAUSE_S)
        return True
    if mail.event.startswith(OFFERED) and not await is_pending(core, mail):
        await core.persist(MailEnd(mail.number))
        return False
    return await waits(core, mail)
