"""Rows of handoffs, their queries, and their deletion."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic_core import from_json
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    func,
    literal_column,
    not_,
    or_,
    select,
)

from gatechart.handoff.lifecycle import is_open
from gatechart.stores.operations import HandoffState
from gatechart.stores.sql.columns import (
    UNREADABLE,
    check_row,
    from_us,
    is_key,
    json_object,
    kinds_of,
    moment_or_none,
    tell,
    text_of,
    to_json,
    to_us,
    us_or_null,
)
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.statements import Single
from gatechart.stores.sql.tables import IS_OPEN, handoffs, places
from gatechart.values.handoffs import HandoffChange, HandoffQuery, HandoffRecord, HandoffStatus, Mode, Reason
from gatechart.values.names import EARLIEST, HIGHEST_NUMBER, Payload, unkept

NAMELESS: Final = "unreadable handoff "  # followed by its key

_HANDOFF: Final = kinds_of(handoffs)
_IS_TARGET: Final = handoffs.c.target.in_(listed())
_IS_SOURCE: Final = handoffs.c.source.in_(listed())
_IS_TAKEN: Final = handoffs.c.status == HandoffStatus.ACCEPTED.value
FREE: Final = delete(places).where(
    places.c.handoff.in_(select(handoffs.c.id).where(or_(_IS_TARGET, and_(_IS_SOURCE, not_(_IS_TAKEN)))))
)
FORGET: Final = delete(handoffs).where(or_(_IS_TARGET, _IS_SOURCE))
OFFERED_TO: Final = Single(
    select(func.count()).where(handoffs.c.target.in_(listed()), handoffs.c.status == literal_column("'pending'"))
)


def handoff_row(record: HandoffRecord, text: Callable[[Payload], str] = to_json) -> dict[str, Any]:
    """Return a row of `handoffs`, without its key. text: serializes the packet."""
    return {
        **state_row(record),
        **directed_row(record, text),
        "id": record.id,
        "request": record.request,
        "source": record.source,
        "source_graph": record.source_graph,
        "mode": record.mode.value,
        "deadline_us": us_or_null(record.deadline),
    }


STATE: Final = ("status", "changes", "result")
"""Columns of `handoffs` that change with its state."""

DIRECTED: Final = ("target", "target_graph", "entry_point", "is_new", "reason", "packet", "recipient", "choice")
"""Columns of `handoffs` that the choice of a target changes."""


def directed_row(record: HandoffRecord, text: Callable[[Payload], str] = to_json) -> dict[str, Any]:
    """Return the columns of `handoffs` for its target and the reason. text: serializes the packet."""
    return {
        "target": record.target,
        "target_graph": record.target_graph,
        "entry_point": record.entry_point,
        "is_new": record.is_new,
        "reason": record.reason.value,
        "packet": text(record.packet),
        "recipient": record.packet.get("recipient") or None,
        "choice": None if record.choice is None else to_json(record.choice),
    }


def state_row(state: HandoffState | HandoffRecord) -> dict[str, Any]:
    """Return the columns of `handoffs` that change with its state."""
    changes = [[change.status.value, to_us(change.time), change.details] for change in state.changes]
    return {
        "status": state.status.value,
        "changes": to_json(changes),
        "result": None if state.result is None else to_json(state.result),
    }


def to_state(status: str, changes: str, result: str | None) -> HandoffState:
    """Read a handoff's state from the columns that change."""
    return HandoffState(HandoffStatus(status), to_changes(changes), None if result is None else json.loads(result))


def to_changes(text: str) -> tuple[HandoffChange, ...]:
    """Read the changes of a handoff, at least the offer. Raises one of UNREADABLE if they are damaged or missing."""
    changes = tuple(_to_change(*change) for change in from_json(text))
    if not changes:
        raise ValueError("changes is empty")
    return changes


def _to_change(status: str, us: int, details: str) -> HandoffChange:
    if not isinstance(details, str):
        raise ValueError(f"changes has {details!r} for details")  # noqa: TRY004  a value of the database
    return HandoffChange(HandoffStatus(status), from_us(us), details)


def to_record(row: Row[Any]) -> HandoffRecord:
    """Read a handoff from a row of `handoffs`. Raises one of UNREADABLE if the row is damaged."""
    check_row(row, _HANDOFF)
    return HandoffRecord(
        id=row.id,
        request=row.request,
        source=row.source,
        source_graph=row.source_graph,
        target=row.target,
        target_graph=row.target_graph,
        entry_point=row.entry_point,
        is_new=bool(row.is_new),
        mode=Mode(row.mode),
        reason=Reason(row.reason),
        packet=json_object(row.packet, "packet"),
        deadline=moment_or_none(row.deadline_us),
        status=HandoffStatus(row.status),
        changes=to_changes(row.changes),
        result=None if row.result is None else json_object(row.result, "result"),
        number=row.key,
        choice=None if row.choice is None else json_object(row.choice, "choice"),
    )


def to_shown(row: Row[Any]) -> HandoffRecord:
    """Read a handoff from a row of `handoffs`. If the row is damaged, return its readable parts."""
    try:
        return to_record(row)
    except UNREADABLE as error:
        problem = tell(row, error, "handoffs", "key")
        return HandoffRecord(
            id=public_id(row),
            request=text_of(row.request),
            source=text_of(row.source),
            source_graph=text_of(row.source_graph),
            target=text_of(row.target),
            target_graph=text_of(row.target_graph),
            entry_point=text_of(row.entry_point),
            is_new=bool(row.is_new),
            mode=Mode.TRANSFER,
            reason=Reason.OTHER,
            packet={},
            deadline=None,
            status=HandoffStatus.UNREADABLE,
            changes=(HandoffChange(HandoffStatus.UNREADABLE, EARLIEST, problem),),
            number=row.key,
        )


def public_id(row: Row[Any]) -> str:
    """Return the id in a row of `handoffs`. If it is damaged, return an id that can be used to delete the handoff."""
    return row.id if isinstance(row.id, str) and row.id and not unkept(row.id) else f"{NAMELESS}{row.key}"


def forget_handoffs(connection: Connection, agent_ids: Sequence[str]) -> None:
    """Delete the handoffs of these agents. A handoff that another agent has accepted keeps its slot."""
    wanted = {"values": list(agent_ids)}
    # Free the slots first: only the handoffs contain which slots to free.
    connection.execute(FREE, wanted)
    connection.execute(FORGET, wanted)


def forget_damaged(connection: Connection, handoff: str) -> bool:
    """Delete a handoff whose row cannot be read, and free its slot. Return False if there is no such row."""
    for row in connection.execute(select(handoffs).where(_is_named(handoff))):
        if public_id(row) == handoff and to_shown(row).status is HandoffStatus.UNREADABLE:
            is_row = handoffs.c.key == row.key
            connection.execute(delete(places).where(places.c.handoff.in_(select(handoffs.c.id).where(is_row))))
            connection.execute(delete(handoffs).where(is_row))
            return True
    return False


def _is_named(handoff: str) -> ColumnElement[bool]:
    """Whether a row is the handoff with this id, or a row with a damaged id that this one replaces."""
    has_id = handoffs.c.id == handoff
    key = handoff.removeprefix(NAMELESS)
    return or_(has_id, handoffs.c.key == int(key)) if key != handoff and is_key(key) else has_id


def is_offered(connection: Connection, agent_id: str) -> bool:
    """Whether an offer to the agent is still pending."""
    ((count,),) = OFFERED_TO.all(connection, [agent_id])
    return bool(count)


def found_handoffs(query: HandoffQuery) -> Select[Any]:
    """Select rows of handoffs that may match a query. The reader filters out unreadable rows."""
    key, after = handoffs.c.key, query.after
    behind, order = (key < (after or HIGHEST_NUMBER), key.desc()) if query.newest_first else (key > after, key.asc())
    found = select(handoffs).where(behind).order_by(order).limit(query.limit)
    wanted = {
        handoffs.c.request: query.request,
        handoffs.c.source: query.source,
        handoffs.c.target: query.target,
        handoffs.c.status: None if query.status in (None, HandoffStatus.UNREADABLE) else str(query.status),
    }
    conditions: list[ColumnElement[bool]] = [column == value for column, value in wanted.items() if value is not None]
    if query.id is not None:
        conditions.append(_is_named(query.id))
    if query.status is not None and is_open(query.status) and len(conditions) == 1:
        conditions.append(IS_OPEN)  # as a literal, to match the partial index; other filters have better indexes
    return found.where(*conditions)
