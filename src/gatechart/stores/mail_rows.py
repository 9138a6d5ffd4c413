"""Between mail and invocations and the rows of their tables."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from gatechart.stores.rows import Texts, from_us, to_json, to_us, without_nulls
from gatechart.values import Invocation, Mail, MailStatus, Running


def mail_row(mail: Mail, texts: Texts | None = None) -> dict[str, Any]:
    """A row of `mail`. texts: of payloads that stand in other rows, too."""
    text = to_json if texts is None else texts.of
    return {
        "number": mail.number,
        "recipient": mail.recipient,
        "event": mail.event,
        "payload": text(mail.payload) if mail.payload else None,
        "accepted_us": to_us(mail.accepted),
        "event_id": mail.id,
        "sender": mail.sender,
        "due_us": _us_or_null(mail.due),
        "key": mail.key,
        "state": mail.state,
        "epoch": mail.epoch,
        "status": mail.status.value,
        "attempts": mail.attempts,
        "retry_us": _us_or_null(mail.retry_at),
        "reason": mail.reason or None,
        "operator_reason": mail.operator_reason or None,
    }


def new_mail_row(mail: Mail, texts: Texts) -> dict[str, Any]:
    """A row of `mail`, without the columns that are NULL. texts: see `mail_row`."""
    return without_nulls(**mail_row(mail, texts))


def to_mail(row: Row[Any]) -> Mail:
    """The mail of a row of `mail`."""
    return Mail(
        number=row.number,
        recipient=row.recipient,
        event=row.event,
        payload={} if row.payload is None else json.loads(row.payload),
        accepted=from_us(row.accepted_us),
        id=row.event_id,
        sender=row.sender,
        due=_moment_or_none(row.due_us),
        key=row.key,
        state=row.state,
        epoch=row.epoch,
        status=MailStatus(row.status),
        attempts=row.attempts,
        retry_at=_moment_or_none(row.retry_us),
        reason=row.reason or "",
        operator_reason=row.operator_reason or "",
    )


def to_running(row: Row[Any]) -> Running:
    """The invocation of a row of `invokes`, with its agent's id, graph and graph version."""
    return Running(Invocation(row.id, row.state, row.epoch, row.invoke), row.graph, row.graph_version, row.context)


def _us_or_null(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def _moment_or_none(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_us(microseconds)
