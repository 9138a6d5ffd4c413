"""Rows of mail and of invocations, and their queries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, Row, Select, exists, func, literal, not_, select, tuple_

from gatechart.stores.sql.columns import (
    UNREADABLE,
    check_row,
    from_us,
    json_object,
    kinds_of,
    moment_or_none,
    number_of,
    tell,
    text_of,
    to_json,
    to_us,
    us_or_null,
    without_nulls,
)
from gatechart.stores.sql.framework_ids import is_framework
from gatechart.stores.sql.tables import TIMED, WAITS, agents, invokes, journals, mail, steps
from gatechart.stores.sql.tables import mail as mail_table
from gatechart.values.mail import ActiveInvocation, Backlog, Invocation, Mail, MailStatus
from gatechart.values.names import EARLIEST, LATEST, AgentId, Payload
from gatechart.values.queries import MailQuery

_MAIL: Final = kinds_of(mail_table)
_INVOKE: Final = kinds_of(invokes, "id", "graph", "graph_version")


def mail_row(mail: Mail, text: Callable[[Payload], str] = to_json) -> dict[str, Any]:
    """Build a row of `mail`. text: serializes the payload."""
    return {
        "number": mail.number,
        "recipient": mail.recipient,
        "event": mail.event,
        "payload": text(mail.payload) if mail.payload else None,
        "accepted_us": to_us(mail.accepted),
        "event_id": mail.id,
        "sender": mail.sender,
        "due_us": us_or_null(mail.due),
        "key": mail.key,
        "state": mail.state,
        "epoch": mail.epoch,
        "status": mail.status.value,
        "attempts": mail.attempts,
        "retry_us": us_or_null(mail.retry_at),
        "reason": mail.reason or None,
        "operator_reason": mail.operator_reason or None,
    }


def new_mail_row(mail: Mail, text: Callable[[Payload], str]) -> dict[str, Any]:
    """Build a row of `mail` without NULL columns. text: serializes the payload."""
    return without_nulls(**mail_row(mail, text))


def to_mail(row: Row[Any]) -> Mail:
    """Read mail from a row of `mail`. Raises one of UNREADABLE if the row is damaged."""
    check_row(row, _MAIL)
    return Mail(
        number=row.number,
        recipient=row.recipient,
        event=row.event,
        payload=json_object(row.payload, "payload"),
        accepted=from_us(row.accepted_us),
        id=row.event_id,
        sender=row.sender,
        due=moment_or_none(row.due_us),
        key=row.key,
        state=row.state,
        epoch=row.epoch,
        status=MailStatus(row.status),
        attempts=row.attempts,
        retry_at=moment_or_none(row.retry_us),
        reason=row.reason or "",
        operator_reason=row.operator_reason or "",
    )


def to_shown(row: Row[Any]) -> Mail:
    """Read mail from a row of `mail`. If the row is damaged, return its readable parts."""
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
    """Read an invocation from a row of `invokes` that includes its agent's id, graph and graph version.

    Raises one of UNREADABLE if the row is damaged.
    """
    check_row(row, _INVOKE)
    return ActiveInvocation(
        Invocation(row.id, row.state, row.epoch, row.invoke), row.graph, row.graph_version, row.context
    )


_BEFORE_ALL: Final = -(2**63)
_LATEST_US: Final = to_us(LATEST)


def found_mail(query: MailQuery) -> Select[Any]:
    """Select rows of mail that may match a query. The reader filters out unreadable rows."""
    found = _mail(query.after, query.limit)
    if query.recipient is not None:
        found = found.where(mail.c.recipient == query.recipient)
    if query.status not in (None, MailStatus.UNREADABLE):
        found = found.where(mail.c.status == str(query.status))
    if query.since is not None:
        found = found.where(mail.c.accepted_us >= to_us(query.since))
    if not query.framework:
        found = found.where(not_(is_framework(mail.c.recipient)))
    return found


def waiting_mail(after: int, limit: int) -> Select[Any]:
    """Select waiting mail without a due time."""
    return _mail(after, limit).where(WAITS, mail.c.due_us.is_(None))


def due_mail(after: tuple[datetime, int], limit: int) -> Select[Any]:
    """Select waiting mail with a due time, after a position in its order.

    Omits mail that is due after the last moment of datetime. Mail that is due before the first one counts as due at
    that moment, where the database compares the stored times.
    """
    moment, number = after
    due_us: Any = to_us(moment)
    if moment <= EARLIEST:
        known = select(mail.c.due_us).where(mail.c.number == number).scalar_subquery()
        due_us = func.coalesce(known, literal(_BEFORE_ALL, BigInteger()))
    order = tuple_(mail.c.due_us, mail.c.number)
    beyond = order > tuple_(due_us, number)
    return (
        select(mail)
        .where(TIMED, beyond, mail.c.due_us <= _LATEST_US)
        .order_by(mail.c.due_us, mail.c.number)
        .limit(limit)
    )


def backlog_size(backlog: Backlog, most: int) -> Select[Any]:
    """Count the waiting mail without a sender in a backlog, up to `most`."""
    is_unclaimed = WAITS & ~exists().where(agents.c.id == mail.c.recipient)
    is_member = is_unclaimed if backlog is Backlog.UNCLAIMED else TIMED
    found = select(mail.c.number).where(is_member, mail.c.sender.is_(None)).limit(most)
    return select(func.count()).select_from(found.subquery())


def running_invokes(agent_id: AgentId | None, after: int, limit: int) -> Select[Any]:
    """Select invocations in the order started, of one agent or of all, each with its agent's id and graph."""
    of_agent = agents.c.id, agents.c.graph, agents.c.graph_version
    with_agents = select(invokes, *of_agent).select_from(invokes.join(agents))
    found = with_agents.where(invokes.c.key > after).order_by(invokes.c.key).limit(limit)
    if agent_id is None:
        return found
    return found.where(invokes.c.agent == select(agents.c.key).where(agents.c.id == agent_id).scalar_subquery())


def recorded_steps(invocation: Invocation) -> Select[Any]:
    """Select the names and results of an invocation's steps."""
    columns = (agents.c.id, invokes.c.state, invokes.c.epoch, invokes.c.invoke)
    wanted = (invocation.agent_id, invocation.state, invocation.epoch, invocation.invoke)
    found = select(steps.c.name, steps.c.result).select_from(steps.join(invokes).join(agents))
    return found.where(*(column == value for column, value in zip(columns, wanted, strict=True)))


def journal_of(agent_id: AgentId, journal: str) -> Select[Any]:
    """Select the names and entries of an agent's journal, in the order written."""
    found = select(journals.c.name, journals.c.entry).select_from(journals.join(agents))
    return found.where(agents.c.id == agent_id, journals.c.journal == journal).order_by(journals.c.key)


def _mail(after: int, limit: int) -> Select[Any]:
    return select(mail).where(mail.c.number > after).order_by(mail.c.number).limit(limit)
