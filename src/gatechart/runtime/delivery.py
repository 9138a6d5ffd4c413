"""Delivery of mail to its recipient: it is applied, refused, retried later or given up."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

from gatechart.errors import (
    OutsideError,
    OwnershipLostError,
    RuntimeClosedError,
    StaleAgentError,
    UnknownAgentError,
)
from gatechart.runtime.core import Core
from gatechart.runtime.offers import give_up, is_pending, waits
from gatechart.turn import after_failure, after_refusal, error_mail, is_awaited, is_word_of_handoff
from gatechart.values import OFFERED, Event, Mail, MailChange, MailEnd, MailStatus, Outcome, Posting, Verdict

logger = logging.getLogger(__name__)

STORE_PAUSE_S: Final = 1.0
NOT_WAITING: Final = (Verdict.STALE, Verdict.REPEATED, Verdict.REUSED)  # verdicts on mail that is no longer waiting


Process: TypeAlias = Callable[[Event, int], Awaitable[Outcome]]  # takes an event and the number of its mail
Note: TypeAlias = Callable[[Event, Mail], Awaitable[Outcome]]  # takes an event and its mail, marked as dead


class Recipient(Protocol):
    """Something that takes mail, one piece at a time."""

    @property
    def core(self) -> Core:
        """The core of its runtime."""
        ...

    def newest(self, mail: Mail) -> Mail:
        """Return the mail with the changes made since it was queued."""
        ...

    def holds(self, mail: Mail) -> bool:
        """Return whether the mail is still to be taken."""
        ...

    def is_over(self, mail: Mail) -> bool:
        """Return whether the mail belongs to a state that was left."""
        ...

    async def refresh(self) -> None:
        """Read from the store whatever is in doubt in memory."""
        ...

    async def process(self, event: Event, consumes: int) -> Outcome:
        """Process the event of the mail with this number."""
        ...

    def accept(self, mail: Mail) -> None:
        """Send committed mail on to its recipient."""
        ...


async def take(recipient: Recipient, mail: Mail, note: Note | None = None) -> bool:
    """Take the mail; return False if the runtime closes first. Until it is done, the mail blocks the queue.

    note: called for a reply or a withdrawal whose every attempt failed, so that nobody waits for its effect forever.
    """
    core, mail = recipient.core, recipient.newest(mail)
    process: Process = recipient.process
    is_agent = note is not None  # rather than one that does not exist yet
    tries = 0  # that neither succeeded nor failed
    while recipient.holds(mail):
        if not await _is_time(core, mail):
            return False
        after = await _try(recipient, mail, process)
        if after is None:
            return True
        if after is mail:
            tries += 1
            await _wait_between(core, mail, tries)
            continue
        is_offer = after.status is MailStatus.DEAD and after.event.startswith(OFFERED)
        if is_offer and await give_up(core, after, recipient.accept):
            return True
        if after.status is MailStatus.DEAD and note is not None and is_word_of_handoff(mail):
            process, note = _noting(core, note, after), None
            continue
        verdict = await _keep(recipient, after, tells=is_agent and is_awaited(after))
        if after.status is not MailStatus.WAITING or verdict in NOT_WAITING:
            return True
        mail = after
    return True


async def take_if_accepted(recipient: Recipient, mail: Mail, note: Note) -> bool:
    """Take mail as `take` does, unless its posting failed and the store does not hold it."""
    core = recipient.core
    if mail.number in core.doubted:
        try:
            is_there = await core.ask(lambda: core.committer.is_written(Posting(mail)))
        except OutsideError:
            logger.debug("the runtime closes before it knows of mail", exc_info=True)
            return False
        core.doubted.discard(mail.number)
        if not is_there:
            return True
    return await take(recipient, mail, note)


def _noting(core: Core, note: Note, dead: Mail) -> Process:
    async def process(event: Event, _consumes: int) -> Outcome:
        outcome = await note(event, dead)
        core.dead_letters += 1
        return outcome

    return process


async def _keep(recipient: Recipient, changed: Mail, *, tells: bool) -> Verdict | None:
    """Store the changed mail. tells: if it is dead, tell the agent, which may wait for it, in the same commit."""
    core = recipient.core
    if changed.status is not MailStatus.DEAD or not tells:
        return await core.persist(MailChange(changed))
    told = error_mail(changed, core.store.numbers(1), core.clock.now())
    core.dead_letters += 1
    return await core.persist(MailChange(changed, told), lambda: recipient.accept(told))


async def _is_time(core: Core, mail: Mail) -> bool:
    """Wait for the next attempt; return False if the runtime closes first.

    The clock may have been wrong when the moment was stored, so the wait is never longer than the policy's longest.
    """
    if mail.retry_at is not None and mail.retry_at > core.clock.now():
        return await core.pause(core.limits.mail_retry.most_s, mail.retry_at, mail.number)
    return core.is_open


async def _wait_between(core: Core, mail: Mail, tries: int) -> None:
    """Pause if an offer is STALE repeatedly: another turn explains that once, but not every time."""
    if mail.event.startswith(OFFERED) and tries > 1:
        await core.pause(STORE_PAUSE_S)


async def _try(recipient: Recipient, mail: Mail, process: Process) -> Mail | None:
    """Try once; return what the mail becomes, the same mail to try again, or None if the agent is done with it."""
    core = recipient.core
    try:
        await recipient.refresh()
        if not recipient.holds(mail):  # a turn whose commit was in doubt has applied it
            return None
        if recipient.is_over(mail):
            await core.persist(MailEnd(mail.number))  # it died, its state was left, and then it was retried
            return None
        outcome = await process(mail.happens(core.clock.now()), mail.number)
    except (OutsideError, RuntimeClosedError) as error:
        return mail if await _stands(core, mail, error) else None
    except Exception as error:
        is_erased = isinstance(error, UnknownAgentError)  # and its mail with it
        return None if is_erased else after_failure(mail, error, core.clock.now(), core.limits.mail_retry)
    if outcome.refusal is not None and mail.state is None:
        return after_refusal(mail, str(outcome.refusal))
    if outcome.refusal is not None:  # mail of a state is not reported if refused: the state may simply not handle it
        facts = {"agent_id": mail.recipient, "event": mail.event, "reason": str(outcome.refusal)}
        logger.debug("mail of a state was refused", extra=facts)
    if outcome.refusal is not None or outcome.repeat:
        await core.persist(MailEnd(mail.number))
    return None


async def _stands(core: Core, mail: Mail, error: OutsideError | RuntimeClosedError) -> bool:
    """Return whether the mail is still to be tried, perhaps after a pause. It may have been cancelled."""
    if isinstance(error, OwnershipLostError):
        return False  # the new owner has the mail
    if isinstance(error, RuntimeClosedError):
        return not core.is_open  # if this runtime is open, another owner has the mail
    if not isinstance(error, StaleAgentError):
        logger.warning("mail waits for the store", extra={"agent_id": mail.recipient}, exc_info=error)
        await core.pause(STORE_PAUSE_S)
        return True
    if mail.event.startswith(OFFERED) and not await is_pending(core, mail):
        await core.persist(MailEnd(mail.number))
        return False
    return await waits(core, mail)
