"""Handoffs in a database: finding them and forgetting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    func,
    literal_column,
    not_,
    or_,
    select,
)

from gatechart.handoff import is_open
from gatechart.stores.sql.agent_rows import to_json
from gatechart.stores.sql.damage import is_key
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.handoff_rows import NAMELESS, public_id, to_shown
from gatechart.stores.sql.statements import Ask
from gatechart.stores.sql.tables import IS_OPEN, handoffs, places
from gatechart.values import HandoffQuery, HandoffStatus

_ID: Final[BindParameter[str]] = bindparam("of_id")

_IS_TARGET: Final = handoffs.c.target.in_(listed())
_IS_SOURCE: Final = handoffs.c.source.in_(listed())
_IS_TAKEN: Final = handoffs.c.status == HandoffStatus.ACCEPTED.value
FREE: Final = delete(places).where(
    places.c.handoff.in_(select(handoffs.c.id).where(or_(_IS_TARGET, and_(_IS_SOURCE, not_(_IS_TAKEN)))))
)
FORGET: Final = delete(handoffs).where(or_(_IS_TARGET, _IS_SOURCE))
OFFERED_TO: Final = Ask(
    select(func.count()).where(handoffs.c.target.in_(listed()), handoffs.c.status == literal_column("'pending'"))
)


def forget_handoffs(connection: Connection, agent_ids: Sequence[str]) -> None:
    """Forget the handoffs in which the agents have a part. One that another agent has accepted keeps its slot."""
    wanted = {"values": to_json(list(agent_ids))}
    # Slots go first, because only the handoffs tell which slots to free.
    connection.execute(FREE, wanted)
    connection.execute(FORGET, wanted)


def forget_damaged(connection: Connection, handoff: str) -> bool:
    """Forget a handoff whose row cannot be read, and free its slot. Return False if there is no such row."""
    for row in connection.execute(select(handoffs).where(_is_named(handoff))):
        if public_id(row) == handoff and to_shown(row).status is HandoffStatus.UNREADABLE:
            is_it = handoffs.c.key == row.key
            connection.execute(delete(places).where(places.c.handoff.in_(select(handoffs.c.id).where(is_it))))
            connection.execute(delete(handoffs).where(is_it))
            return True
    return False


def _is_named(handoff: str) -> ColumnElement[bool]:
    """Whether a row is the handoff with this id, or the one whose damaged id this one replaces."""
    is_it = handoffs.c.id == handoff
    key = handoff.removeprefix(NAMELESS)
    return or_(is_it, handoffs.c.key == int(key)) if key != handoff and is_key(key) else is_it


def is_offered(connection: Connection, agent_id: str) -> bool:
    """Whether an offer to the agent is still pending."""
    ((count,),) = OFFERED_TO.all(connection, to_json([agent_id]))
    return bool(count)


def found_handoffs(query: HandoffQuery) -> Select[Any]:
    """Select rows of handoffs that may match a query. Whether a row is readable shows only when it is read."""
    found = select(handoffs).where(handoffs.c.key > query.after).order_by(handoffs.c.key).limit(query.limit)
    wanted = {
        handoffs.c.request: query.request,
        handoffs.c.source: query.source,
        handoffs.c.target: query.target,
        handoffs.c.status: None if query.status in (None, HandoffStatus.UNREADABLE) else str(query.status),
    }
    asked: list[ColumnElement[bool]] = [column == value for column, value in wanted.items() if value is not None]
    if query.id is not None:
        asked.append(_is_named(query.id))
    if query.status is not None and is_open(query.status) and len(asked) == 1:
        asked.append(IS_OPEN)  # as a literal, to match the partial index; other filters have better indexes
    return found.where(*asked)
