"""Between mail and invocations and the rows of their tables."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row

from gatechart.stores.sql.agent_rows import Texts, from_us, to_json, to_us, without_nulls
from gatechart.stores.sql.damage import UNREADABLE, check_row, json_object, kinds_of, number_of, tell, text_of
from gatechart.stores.sql.tables import invokes
from gatechart.stores.sql.tables import mail as mail_table
from gatechart.values import ActiveInvocation, Invocation, Mail, MailStatus

_MAIL: Final = kinds_of(mail_table)
_INVOKE: Final = kinds_of(invokes, "id", "graph", "graph_version")


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
    """The mail of a row of `mail`. Raises one of UNREADABLE where the row is damaged."""
    check_row(row, _MAIL)
    return Mail(
        number=row.number,
        recipient=row.recipient,
        event=row.event,
        payload=json_object(row.payload, "payload"),
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


def to_shown(row: Row[Any]) -> Mail:
    """The mail of a row of `mail`; of one that is damaged, what can be shown of it."""
    try:
        return to_mail(row)
    except UNREADABLE as error:
        return Mail(
            number=row.number,
            recipient=text_of(row.recipient),
            event=text_of(row.event),
            payload={},
            accepted=from_us(number_of(row.accepted_us)),
            id=text_of(row.event_id) or None,
            sender=text_of(row.sender) or None,
            status=MailStatus.UNREADABLE,
            reason=tell(row, error, "mail", "number"),
        )


def to_running(row: Row[Any]) -> ActiveInvocation:
    """The invocation of a row of `invokes`, with its agent's id, graph and graph version.

    Raises one of UNREADABLE where the row is damaged.
    """
    check_row(row, _INVOKE)
    return ActiveInvocation(
        Invocation(row.id, row.state, row.epoch, row.invoke), row.graph, row.graph_version, row.context
    )


def _us_or_null(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def _moment_or_none(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_us(microseconds)
