"""Mail that is kept though its agent never takes it."""

from __future__ import annotations

from dataclasses import replace

from gatechart.errors import EventIdReusedError
from gatechart.values import EventName, Mail, MailStatus


def refused_for_its_id(mail: Mail, known_from: EventName) -> Mail:
    """The mail as refused. known_from: the event that came under its id before, with other content."""
    reason = str(EventIdReusedError(mail.recipient, mail.id or "", known_from))
    return replace(mail, status=MailStatus.REFUSED, reason=reason)
