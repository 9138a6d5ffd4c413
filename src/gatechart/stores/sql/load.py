"""What stands in the database of the mail and the invocations that some units are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, and_, select

from gatechart.context import canonical_json
from gatechart.stores.sql.agent_rows import to_json
from gatechart.stores.sql.damage import UNREADABLE, json_object
from gatechart.stores.sql.dialects import listed, unpacked
from gatechart.stores.sql.mail_rows import to_shown
from gatechart.stores.sql.tables import WAITS, agents, history, invokes, mail, steps
from gatechart.values import AgentId, EventName, Invocation, Mail

MailId: TypeAlias = tuple[AgentId, str]  # recipient and id
Content: TypeAlias = tuple[EventName, str]  # with the payload as canonical JSON

_IDS: Final = unpacked(recipient=str, event_id=str)
_STEPS: Final = unpacked(place=int, agent=str, state=str, epoch=int, invoke=str, name=str)

NUMBERED: Final = select(mail).where(mail.c.number.in_(listed(int)))
NAMED: Final = select(mail).join(
    _IDS, and_(mail.c.recipient == _IDS.c.recipient, mail.c.event_id == _IDS.c.event_id, WAITS)
)
APPLIED: Final = (
    select(agents.c.id, history.c.event_id, history.c.event, history.c.payload)
    .join(agents, agents.c.key == history.c.agent)
    .join(_IDS, and_(agents.c.id == _IDS.c.recipient, history.c.event_id == _IDS.c.event_id))
)
_CALLS: Final = and_(
    invokes.c.agent == agents.c.key,
    invokes.c.state == _STEPS.c.state,
    invokes.c.epoch == _STEPS.c.epoch,
    invokes.c.invoke == _STEPS.c.invoke,
)
_RECORDED: Final = and_(steps.c.invocation == invokes.c.key, steps.c.name == _STEPS.c.name)
UNDER_WAY: Final = select(_STEPS.c.place, invokes.c.key, steps.c.name.label("recorded")).select_from(
    _STEPS.join(agents, agents.c.id == _STEPS.c.agent).join(invokes, _CALLS).outerjoin(steps, _RECORDED)
)


def content_of(each: Mail) -> Content:
    """What two pieces of mail of one id must have in common."""
    return each.event, canonical_json(each.payload)


def numbered(connection: Connection, numbers: Sequence[int]) -> dict[int, Mail]:
    """The mail of these numbers."""
    if not numbers:
        return {}
    return {row.number: to_shown(row) for row in connection.execute(NUMBERED, {"values": to_json(numbers)})}


def waiting(connection: Connection, ids: Iterable[MailId]) -> dict[MailId, Mail]:
    """The mail that waits under these ids."""
    found = _found(connection, NAMED, ids)
    return {(row.recipient, row.event_id): to_shown(row) for row in found}


def applied(connection: Connection, ids: Iterable[MailId]) -> dict[MailId, Content]:
    """The content of the events of these ids that were applied."""
    found = _found(connection, APPLIED, ids)
    return {(row.id, row.event_id): (row.event, _canonical(row.payload)) for row in found}


def _canonical(payload: Any) -> str:
    """The payload of a row as canonical JSON; of one that is damaged, a text that is none."""
    try:
        return canonical_json(json_object(payload, "payload"))
    except UNREADABLE:
        return "unreadable"


def under_way(
    connection: Connection, asked: Sequence[tuple[Invocation, str]]
) -> tuple[dict[Invocation, int], set[tuple[Invocation, str]]]:
    """Of invocations with names of steps: the keys of those that are not over, and the steps that are recorded."""
    if not asked:
        return {}, set()
    rows = [
        (place, call.agent_id, call.state, call.epoch, call.invoke, name) for place, (call, name) in enumerate(asked)
    ]
    found = connection.execute(UNDER_WAY, {"rows": to_json(rows)}).all()
    keys = {asked[row.place][0]: row.key for row in found}
    return keys, {asked[row.place] for row in found if row.recorded is not None}


def _found(connection: Connection, statement: Any, ids: Iterable[MailId]) -> Sequence[Any]:
    wanted = sorted(set(ids))
    return connection.execute(statement, {"rows": to_json(wanted)}).all() if wanted else ()
