"""Rows of handoffs, and the values they are read from and written as."""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import Row

from gatechart.stores.handoff_rules import state_of
from gatechart.stores.operations import HandoffState
from gatechart.stores.sql.agent_rows import Texts, from_us, to_json, to_us
from gatechart.stores.sql.damage import UNREADABLE, check_row, json_object, kinds_of, tell, text_of
from gatechart.stores.sql.tables import handoffs
from gatechart.values import (
    EARLIEST,
    HandoffChange,
    HandoffRecord,
    HandoffStatus,
    Mode,
    Reason,
    unkept,
)

NAMELESS: Final = "unreadable handoff "  # followed by its key

_HANDOFF: Final = kinds_of(handoffs)


def handoff_row(record: HandoffRecord, texts: Texts) -> dict[str, Any]:
    """Return a row of `handoffs`, without its key. texts: shared with the offer's mail, which holds the same packet."""
    return {
        "id": record.id,
        "request": record.request,
        "source": record.source,
        "source_graph": record.source_graph,
        "target": record.target,
        "target_graph": record.target_graph,
        "entry_point": record.entry_point,
        "is_new": record.is_new,
        "mode": record.mode.value,
        "reason": record.reason.value,
        "packet": texts.of(record.packet),
        "deadline_us": None if record.deadline is None else to_us(record.deadline),
        **state_row(state_of(record)),
    }


def state_row(state: HandoffState) -> dict[str, Any]:
    """Return the columns of `handoffs` that change."""
    changes = [[each.status.value, to_us(each.time), each.details] for each in state.changes]
    return {
        "status": state.status.value,
        "changes": to_json(changes),
        "result": None if state.result is None else to_json(state.result),
    }


def to_state(status: str, changes: str, result: str | None) -> HandoffState:
    """Read a handoff's state from the columns that change."""
    return HandoffState(HandoffStatus(status), to_changes(changes), None if result is None else json.loads(result))


def to_changes(text: str) -> tuple[HandoffChange, ...]:
    """Read the changes of a handoff so far."""
    return tuple(HandoffChange(HandoffStatus(status), from_us(us), told) for status, us, told in json.loads(text))


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
        deadline=None if row.deadline_us is None else from_us(row.deadline_us),
        status=HandoffStatus(row.status),
        changes=to_changes(row.changes),
        result=None if row.result is None else json_object(row.result, "result"),
        number=row.key,
    )


def to_shown(row: Row[Any]) -> HandoffRecord:
    """Read a handoff from a row of `handoffs`. If the row is damaged, return the parts that can be shown."""
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
    """Return the id in a row of `handoffs`. If it is damaged, return an id under which the handoff can be forgotten."""
    return row.id if isinstance(row.id, str) and row.id and not unkept(row.id) else f"{NAMELESS}{row.key}"
