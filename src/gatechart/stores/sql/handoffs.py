"""The handoffs in a database: what some units find of them, and what they leave."""

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
    insert,
    literal_column,
    not_,
    or_,
    select,
    update,
)

from gatechart.handoff import is_open
from gatechart.stores.ledger import Book, settles_of
from gatechart.stores.sql.agent_rows import Texts, to_json
from gatechart.stores.sql.damage import is_key
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.handoff_rows import NAMELESS, entry_row, handoff_row, public_id, to_entry, to_shown
from gatechart.stores.sql.statements import Ask, Many
from gatechart.stores.sql.tables import IS_OPEN, handoffs, places
from gatechart.values import Answer, ChangeHandoff, HandoffQuery, HandoffStatus, Offer, ReserveSlot, TurnRecord, Unit

_ID: Final[BindParameter[str]] = bindparam("of_id")

STANDING: Final = Ask(
    select(handoffs.c.id, handoffs.c.status, handoffs.c.changes, handoffs.c.result).where(handoffs.c.id.in_(listed()))
)
HELD: Final = Ask(
    select(places.c.graph, func.count().label("held")).where(places.c.graph.in_(listed())).group_by(places.c.graph)
)
HOLDING: Final = Ask(select(places.c.handoff, places.c.graph).where(places.c.handoff.in_(listed())))
OFFER: Final = Many(insert(handoffs), [column.name for column in handoffs.c if column is not handoffs.c.key])
CHANGE: Final = Many(update(handoffs).where(handoffs.c.id == _ID), ["status", "changes", "result"])
TAKE_PLACE: Final = Many(insert(places))
GIVE_PLACES: Final = Many(delete(places).where(places.c.handoff.in_(listed())))

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


def read_book(connection: Connection, units: Sequence[Unit]) -> Book:
    """What stands of the handoffs and places that the units are about."""
    ids = {each.handoff for unit in units if isinstance(unit, TurnRecord) for each in settles_of(unit)}
    ids |= {unit.settle.handoff for unit in units if isinstance(unit, Answer)}
    asked = [unit for unit in units if isinstance(unit, ReserveSlot)]
    ids |= {unit.handoff for unit in asked}
    found = STANDING.all(connection, to_json(sorted(ids))) if ids else ()
    entries = {handoff: to_entry(*columns) for handoff, *columns in found}
    if not asked:
        return Book(entries, {}, {})
    holding = HOLDING.all(connection, to_json(sorted(ids)))
    held = HELD.all(connection, to_json(sorted({unit.graph for unit in asked})))
    return Book(entries, dict(holding), dict(held))


def write_book(connection: Connection, book: Book, texts: Texts) -> None:
    """Leaves the database as the units leave the handoffs. texts: of their packets, as far as they are made."""
    OFFER.run(connection, (handoff_row(each, texts) for each in book.offered))
    changed = ({**entry_row(book.entries[handoff]), _ID.key: handoff} for handoff in book.touched)
    CHANGE.run(connection, changed)
    if book.over:
        GIVE_PLACES.run(connection, [{"values": to_json(book.over)}])
    TAKE_PLACE.run(connection, ({"handoff": handoff, "graph": graph} for handoff, graph in book.reserved.items()))


def forget_handoffs(connection: Connection, agent_ids: Sequence[str]) -> None:
    """Forgets those in which the agents have a part. One that another agent has taken keeps its place."""
    wanted = {"values": to_json(list(agent_ids))}
    connection.execute(FREE, wanted)
    connection.execute(FORGET, wanted)


def forget_damaged(connection: Connection, handoff: str) -> bool:
    """Forgets a handoff whose row cannot be read, with its place; False where there is no such row."""
    for row in connection.execute(select(handoffs).where(_is_named(handoff))):
        if public_id(row) == handoff and to_shown(row).status is HandoffStatus.UNREADABLE:
            is_it = handoffs.c.key == row.key
            connection.execute(delete(places).where(places.c.handoff.in_(select(handoffs.c.id).where(is_it))))
            connection.execute(delete(handoffs).where(is_it))
            return True
    return False


def _is_named(handoff: str) -> ColumnElement[bool]:
    """Whether it is the handoff of this id, or that for whose damaged id this one stands."""
    is_it = handoffs.c.id == handoff
    key = handoff.removeprefix(NAMELESS)
    return or_(is_it, handoffs.c.key == int(key)) if key != handoff and is_key(key) else is_it


def is_offered(connection: Connection, agent_id: str) -> bool:
    """Whether an offer to the agent is neither taken nor answered."""
    ((count,),) = OFFERED_TO.all(connection, to_json([agent_id]))
    return bool(count)


def touches_handoffs(units: Sequence[Unit]) -> bool:
    """Whether any unit offers, settles or reserves."""
    return any(map(_touches_handoffs, units))


def _touches_handoffs(unit: Unit) -> bool:
    if isinstance(unit, TurnRecord):
        return bool(unit.effects) and any(isinstance(effect, Offer | ChangeHandoff) for effect in unit.effects)
    return isinstance(unit, Answer | ReserveSlot)


def found_handoffs(query: HandoffQuery) -> Select[Any]:
    """Rows of handoffs that may fit a query: whether a row can be read is seen when it is."""
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
        asked.append(IS_OPEN)  # literally, as its index has it; what else is asked has an index that narrows more
    return found.where(*asked)
