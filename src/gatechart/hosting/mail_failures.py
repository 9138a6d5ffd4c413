"""Mail policy after a refusal, a failed attempt or a reply. Pure except for logging."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime, timedelta

from gatechart.errors import EventIdReusedError
from gatechart.turn import told
from gatechart.values import Event, Mail, MailStatus, Outcome, Retry, Status

logger = logging.getLogger(__name__)


def after_refusal(mail: Mail, reason: str) -> Mail:
    """Return the mail marked as refused by its recipient."""
    facts = {"agent_id": mail.recipient, "event": mail.event, "reason": reason}
    logger.warning("mail was refused: %(event)s of agent %(agent_id)s: %(reason)s", facts, extra=facts)
    return replace(mail, status=MailStatus.REFUSED, reason=reason)


def after_failure(mail: Mail, error: Exception, now: datetime, retry: Retry) -> Mail:
    """Return the mail after another failed attempt: to be tried again, dead, or refused because its id was reused."""
    if isinstance(error, EventIdReusedError):  # another attempt would fail the same way
        return after_refusal(mail, str(error))
    attempts = mail.attempts + 1
    wait_s = retry.wait_s(attempts)
    failed = replace(mail, attempts=attempts, reason=told(error))
    known = {"agent_id": mail.recipient, "event": mail.event, "number": mail.number}
    known |= {"attempts": attempts, "reason": failed.reason}
    if wait_s is None:
        logger.error("mail is dead: every attempt failed", extra=known, exc_info=error)
        return replace(failed, status=MailStatus.DEAD, retry_at=None)
    logger.warning("mail failed; it is tried again", extra={**known, "wait_s": wait_s}, exc_info=error)
    return replace(failed, retry_at=now + timedelta(seconds=wait_s))


def unchanged(event: Event) -> Outcome:
    """Return the outcome of handoff mail that was answered without a turn."""
    return Outcome(event.name, (), 0, Status.ACTIVE)
