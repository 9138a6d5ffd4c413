"""What is asked about mail and invocations."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, Select, exists, func, literal, select, tuple_

from gatechart.stores.sql.agent_rows import to_us
from gatechart.stores.sql.tables import TIMED, WAITS, agents, invokes, mail, steps
from gatechart.values import EARLIEST, LATEST, AgentId, Backlog, Invocation, MailQuery, MailStatus

_BEFORE_ALL: Final = -(2**63)
_LATEST_US: Final = to_us(LATEST)


def found_mail(query: MailQuery) -> Select[Any]:
    """Rows of mail that may fit a query: whether a row can be read is seen when it is."""
    found = _mail(query.after, query.limit)
    if query.recipient is not None:
        found = found.where(mail.c.recipient == query.recipient)
    if query.status not in (None, MailStatus.UNREADABLE):
        found = found.where(mail.c.status == str(query.status))
    return found


def waiting_mail(after: int, limit: int) -> Select[Any]:
    """Waiting mail without a due time."""
    return _mail(after, limit).where(WAITS, mail.c.due_us.is_(None))


def due_mail(after: tuple[datetime, int], limit: int) -> Select[Any]:
    """Waiting mail with a due time, beyond a place in its order.

    Not what is due later than any moment that there is. What is due earlier counts as due at the first one, and there
    the database knows the order.
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
    """How much mail without a sender waits in a backlog, counted no further than `most`."""
    is_unclaimed = WAITS & ~exists().where(agents.c.id == mail.c.recipient)
    in_it = is_unclaimed if backlog is Backlog.UNCLAIMED else TIMED
    found = select(mail.c.number).where(in_it, mail.c.sender.is_(None)).limit(most)
    return select(func.count()).select_from(found.subquery())


def running_invokes(agent_id: AgentId | None, after: int, limit: int) -> Select[Any]:
    """Invocations in the order begun, of an agent or of all, each with what is its agent's."""
    of_agent = agents.c.id, agents.c.graph, agents.c.graph_version
    with_agents = select(invokes, *of_agent).select_from(invokes.join(agents))
    found = with_agents.where(invokes.c.key > after).order_by(invokes.c.key).limit(limit)
    if agent_id is None:
        return found
    return found.where(invokes.c.agent == select(agents.c.key).where(agents.c.id == agent_id).scalar_subquery())


def recorded_steps(invocation: Invocation) -> Select[Any]:
    """The names and results of an invocation's steps."""
    of_it = (agents.c.id, invokes.c.state, invokes.c.epoch, invokes.c.invoke)
    wanted = (invocation.agent_id, invocation.state, invocation.epoch, invocation.invoke)
    found = select(steps.c.name, steps.c.result).select_from(steps.join(invokes).join(agents))
    return found.where(*(column == value for column, value in zip(of_it, wanted, strict=True)))


def _mail(after: int, limit: int) -> Select[Any]:
    return select(mail).where(mail.c.number > after).order_by(mail.c.number).limit(limit)
