"""Prune a database, part by part."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import NoneType
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    update,
)

from gatechart.errors.event import UnknownVersionError
from gatechart.stores.sql.columns import UNREADABLE, tell, to_us
from gatechart.stores.sql.dialects import listed, unpacked
from gatechart.stores.sql.handoff_rows import forget_handoffs
from gatechart.stores.sql.history_rows import snapshot_at, whole_copy
from gatechart.stores.sql.statements import Many
from gatechart.stores.sql.tables import IS_OPEN, WAITS, agents, handoffs, history, mail
from gatechart.values.agents import Status
from gatechart.values.mail import MailStatus
from gatechart.values.queries import Pruned, Pruning

TURNS: Final = 5_000  # maximum number of turns that a part deletes; an erased agent may add a few

_CUTS: Final = unpacked(agent=int, cut=int)
_AGENT: Final[BindParameter[int]] = bindparam("of_agent")
_CUT: Final[BindParameter[int]] = bindparam("of_version")
_before = history.alias("version_before")

OLDER: Final = Many(delete(history).where(history.c.agent == _AGENT, history.c.version < _CUT))
MAKE_WHOLE: Final = Many(
    update(history)
    .where(history.c.agent == _AGENT, history.c.version == _CUT)
    .values(
        source=select(_before.c.target)
        .where(_before.c.agent == history.c.agent, _before.c.version == history.c.version - literal_column("1"))
        .scalar_subquery()
    ),
    ["memory", "entered", "handoffs", "transfers", "context", "graph_version", "fingerprint"],
)


@dataclass(frozen=True, slots=True)
class _Part:
    """The data to delete in one transaction."""

    erased: Sequence[Row[Any]]
    cuts: Sequence[tuple[Row[Any], int]]  # agents, each with the version of the oldest turn to keep
    next: int | None

    def report(self, mails: int, after: int | None) -> Pruned:
        """Return the report on this part.

        mails: the number of deleted pieces of mail. after: the position of the next part.
        """
        turns = sum(cut - agent.oldest for agent, cut in self.cuts)
        return Pruned(tuple(agent.id for agent in self.erased), turns, mails, after)


def prune_part(connection: Connection, pruning: Pruning, after: int, limit: int) -> Pruned:
    """Prune one part. See MaintenanceStore."""
    found = connection.execute(_survey(pruning, after, limit)).all()
    part = _planned(connection, pruning, found[:limit], TURNS, is_last=len(found) <= limit)
    part, copies = _copied(connection, part)
    _drop(connection, part.cuts, copies)
    _erase(connection, part.erased)
    if part.next is not None:
        return part.report(0, part.next)
    mails = _forget_mail(connection, pruning, limit)
    reached = found[-1].key if found else after
    return part.report(mails, reached if mails == limit else None)


def tell_part(connection: Connection, pruning: Pruning, after: int, limit: int) -> Pruned:
    """Count the deletions of one part: of the next agents and, after the last agent, of all mail."""
    found = connection.execute(_survey(pruning, after, limit)).all()
    part = _planned(connection, pruning, found[:limit], sys.maxsize, is_last=len(found) <= limit)
    mails = _count_mail(connection, pruning) if part.next is None else 0
    return part.report(mails, part.next)


def _survey(pruning: Pruning, after: int, limit: int) -> Select[Any]:
    """Select agents with the facts that decide which turns to keep, one more than the limit."""
    of_agent = history.c.agent == agents.c.key
    versions = select(history.c.version).where(of_agent).order_by(history.c.version).limit(1)
    young = versions.where(history.c.time_us >= to_us(pruning.turns_before)) if pruning.turns_before else versions
    columns = (agents.c.key, agents.c.id, agents.c.graph, agents.c.version, agents.c.started_us, agents.c.noticed)
    return (
        select(
            *columns,
            versions.scalar_subquery().label("oldest"),
            young.scalar_subquery().label("young"),
            _may_be_erased(pruning).label("may_be_erased"),
        )
        .where(agents.c.key > after)
        .order_by(agents.c.key)
        .limit(limit + 1)
    )


def _may_be_erased(pruning: Pruning) -> ColumnElement[bool]:
    if pruning.ended_before is None:
        return false()
    of_agent = history.c.agent == agents.c.key
    last = select(history.c.time_us).where(of_agent, history.c.version == agents.c.version).scalar_subquery()
    return and_(
        agents.c.status != Status.ACTIVE.value,
        true() if pruning.status is None else agents.c.status == pruning.status.value,
        last < to_us(pruning.ended_before),
        ~exists(select(history.c.key).where(of_agent, _is_recognised(pruning))),
        ~exists(select(mail.c.number).where(mail.c.recipient == agents.c.id, WAITS).correlate(agents)),
        ~exists(select(handoffs.c.key).where(handoffs.c.source == agents.c.id, IS_OPEN).correlate(agents)),
        ~exists(select(handoffs.c.key).where(handoffs.c.target == agents.c.id, IS_OPEN).correlate(agents)),
    )


def _is_recognised(pruning: Pruning) -> ColumnElement[bool]:
    """Whether the store must still recognise a repeat of the event."""
    return and_(history.c.event_id.is_not(None), history.c.time_us >= to_us(pruning.ids_since))


def _planned(connection: Connection, pruning: Pruning, found: Sequence[Row[Any]], room: int, *, is_last: bool) -> _Part:
    """Plan a part for these agents, up to `room` turns."""
    sound = [agent for agent in found if _is_sound(agent)]
    kept = _cuts(connection, pruning, [agent for agent in sound if not agent.may_be_erased])
    erased: list[Row[Any]] = []
    cuts: list[tuple[Row[Any], int]] = []
    reached = None
    for agent in sound:
        if room <= 0:
            return _Part(erased, cuts, reached)
        if agent.may_be_erased:
            erased.append(agent)
            room -= agent.version - agent.oldest + 1
        elif agent.oldest < kept[agent.key]:
            cut = min(kept[agent.key], agent.oldest + room)
            cuts.append((agent, cut))
            room -= cut - agent.oldest
            if cut < kept[agent.key]:
                # The next part continues with the rest of this agent's turns.
                return _Part(erased, cuts, agent.key - 1)
        reached = agent.key
    return _Part(erased, cuts, None if is_last else found[-1].key)


def _is_sound(agent: Row[Any]) -> bool:
    """Whether the versions in the agent's row and history are intact, so that its turns can be counted."""
    return type(agent.version) is int and type(agent.oldest) is int and type(agent.young) in (int, NoneType)


def _copied(connection: Connection, part: _Part) -> tuple[_Part, Sequence[dict[str, str | None]]]:
    """Return the part without cuts at damaged turns, and full copies for the other cuts."""
    cuts, copies = [], []
    reached = part.next
    for agent, cut in part.cuts:
        try:
            copy = whole_copy(snapshot_at(connection, agent, cut))
            for text in copy.values():
                _ = "" if text is None else text.encode()  # raises here if it cannot be written back
            copies.append(copy)
            cuts.append((agent, cut))
        except (*UNREADABLE, UnknownVersionError) as error:
            tell(agent, error, "history", "key")
            if reached == agent.key - 1:  # otherwise every next part would start with this agent
                reached = agent.key
    return replace(part, cuts=cuts, next=reached), copies


def _cuts(connection: Connection, pruning: Pruning, found: Iterable[Row[Any]]) -> dict[int, int]:
    """Return, by agent key, the version of the oldest turn to keep."""
    cuts = {agent.key: _cut(pruning, agent) for agent in found}
    recognised = (
        select(_CUTS.c.agent, history.c.version)
        .join(history, and_(history.c.agent == _CUTS.c.agent, history.c.version < _CUTS.c.cut))
        .where(_is_recognised(pruning))
    )
    for key, version in connection.execute(recognised, {"rows": list(cuts.items())}):
        cuts[key] = min(cuts[key], version)
    return cuts


def _cut(pruning: Pruning, agent: Row[Any]) -> int:
    """Return the version of the oldest turn to keep, regardless of event ids."""
    newest: int = agent.version
    by_age = newest if agent.young is None else agent.young
    by_count = 1 if pruning.keep_turns is None else newest - pruning.keep_turns + 1
    return min(max(by_age, by_count), newest)


def _drop(
    connection: Connection, cuts: Sequence[tuple[Row[Any], int]], copies: Sequence[dict[str, str | None]]
) -> None:
    rows = [{_AGENT.key: agent.key, _CUT.key: cut} for agent, cut in cuts]
    # First put a full copy into the oldest turn to keep, because it takes its source from the turn before it.
    MAKE_WHOLE.run(connection, [row | copy for row, copy in zip(rows, copies, strict=True)])
    OLDER.run(connection, rows)


def _erase(connection: Connection, erased: Sequence[Row[Any]]) -> None:
    if erased:
        keys, ids = [agent.key for agent in erased], [agent.id for agent in erased]
        connection.execute(delete(mail).where(mail.c.recipient.in_(listed())), {"values": ids})
        forget_handoffs(connection, ids)
        connection.execute(
            delete(agents).where(agents.c.key.in_(listed(int))), {"values": keys}
        )  # history, invocations and steps are deleted with them


def _forget_mail(connection: Connection, pruning: Pruning, limit: int) -> int:
    if pruning.mail_before is None:
        return 0
    some = select(mail.c.number).where(_is_old(pruning.mail_before, pruning)).order_by(mail.c.number).limit(limit)
    return connection.execute(delete(mail).where(mail.c.number.in_(some))).rowcount


def _count_mail(connection: Connection, pruning: Pruning) -> int:
    """Count the mail to delete, without the mail of agents to erase."""
    if pruning.mail_before is None:
        return 0
    is_of_erased = exists(select(agents.c.key).where(agents.c.id == mail.c.recipient, _may_be_erased(pruning)))
    old = select(func.count()).select_from(mail).where(_is_old(pruning.mail_before, pruning), ~is_of_erased)
    return connection.execute(old).scalar_one()


def _is_old(before: datetime, pruning: Pruning) -> ColumnElement[bool]:
    return and_(
        mail.c.status != MailStatus.WAITING.value,
        mail.c.accepted_us < to_us(before),
        or_(mail.c.event_id.is_(None), mail.c.accepted_us < to_us(pruning.ids_since)),
    )
