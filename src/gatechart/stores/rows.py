"""Between the values of gatechart and the rows of its tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Row

from gatechart.stores.entries import entry_of
from gatechart.values import AgentId, Event, GuardError, HistoryEntry, Snapshot, Status, TurnRecord

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)

_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)  # json.dumps makes one for each call


def to_us(moment: datetime) -> int:
    """Microseconds since 1970, UTC.

    >>> to_us(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (moment - EPOCH) // MICROSECOND


def from_us(microseconds: int) -> datetime:
    """The aware moment, UTC, so many microseconds after 1970."""
    return EPOCH + microseconds * MICROSECOND


def to_json(value: Any) -> str:
    """JSON text without white space."""
    return _ENCODER.encode(value)


def snapshot_row(snapshot: Snapshot) -> dict[str, Any]:
    """A row of `agents`, without its key."""
    return {
        "id": snapshot.agent_id,
        "graph": snapshot.graph,
        "graph_version": snapshot.graph_version,
        "fingerprint": snapshot.fingerprint,
        "configuration": to_json(snapshot.configuration),
        "context": snapshot.context,
        "version": snapshot.version,
        "status": snapshot.status.value,
        "memory": _json_or_null(snapshot.memory),
    }


def to_snapshot(row: Row[Any]) -> Snapshot:
    """The snapshot of a row of `agents`."""
    return Snapshot(
        agent_id=row.id,
        graph=row.graph,
        graph_version=row.graph_version,
        fingerprint=row.fingerprint,
        configuration=tuple(json.loads(row.configuration)),
        context=row.context,
        version=row.version,
        status=Status(row.status),
        memory=tuple((history, tuple(states)) for history, states in _json_or(row.memory, ())),
    )


def history_row(turn: TurnRecord, key: int) -> dict[str, Any]:
    """A row of `history` for the agent of this key."""
    entry = entry_of(turn)
    return {
        "agent": key,
        "version": entry.version,
        "event": entry.event.name,
        "event_id": entry.event.id,
        "payload": _json_or_null(entry.event.payload),
        "sender": entry.event.sender,
        "time_us": to_us(entry.event.time),
        "source": to_json(entry.source),
        "target": to_json(entry.target),
        "taken": _json_or_null(entry.taken),
        "changed": _json_or_null(entry.changed),
        "status": entry.status.value,
        "took_us": entry.took_us,
        "guard_errors": _json_or_null([astuple(error) for error in entry.guard_errors]),
    }


def to_entry(row: Row[Any], agent_id: AgentId) -> HistoryEntry:
    """The history entry of a row of `history`."""
    event = Event(row.event, _json_or(row.payload, {}), from_us(row.time_us), row.event_id, row.sender)
    return HistoryEntry(
        agent_id=agent_id,
        version=row.version,
        event=event,
        source=tuple(json.loads(row.source)),
        target=tuple(json.loads(row.target)),
        taken=tuple(_json_or(row.taken, ())),
        changed=_json_or(row.changed, {}),
        status=Status(row.status),
        took_us=row.took_us,
        guard_errors=tuple(GuardError(*each) for each in _json_or(row.guard_errors, ())),
    )


def _json_or_null(value: Mapping[str, Any] | list[Any] | tuple[Any, ...]) -> str | None:
    return to_json(value) if value else None


def _json_or(text: str | None, empty: Any) -> Any:
    return empty if text is None else json.loads(text)
