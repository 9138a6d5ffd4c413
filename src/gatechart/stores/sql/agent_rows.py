"""Rows of agents and of their history, and the values they are read from and written as."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, astuple, fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import pydantic_core
from sqlalchemy import Row

from gatechart.stores.sql.damage import (
    UNREADABLE,
    check_row,
    json_names,
    json_object,
    kinds_of,
    number_of,
    tell,
    text_of,
)
from gatechart.stores.sql.deltas import Delta
from gatechart.stores.sql.tables import agents, graphs, history
from gatechart.values import (
    EARLIEST,
    LATEST,
    AgentId,
    EntryVersions,
    Event,
    EventName,
    GuardError,
    HistoryEntry,
    KnownGraph,
    Memory,
    Mode,
    OpenHandoff,
    Payload,
    Reason,
    Side,
    Snapshot,
    StateName,
    Status,
    TurnRecord,
    unkept,
)

NAMELESS_AGENT: Final = "unreadable agent "  # followed by its key

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)

_AGENT: Final = kinds_of(agents)
_GRAPH: Final = kinds_of(graphs)
_TURN: Final = kinds_of(history)
_APART: Final = ("memory", "entered", "handoffs")  # columns of `agents` in which `history` keeps what has changed
_WHOLE: Final = (*_APART, "context", "graph_version", "fingerprint")  # see `whole_copy`


def to_us(moment: datetime) -> int:
    """Return a moment as microseconds since 1970, UTC.

    >>> to_us(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (moment - EPOCH) // MICROSECOND


def from_us(microseconds: int) -> datetime:
    """Return the aware UTC moment this many microseconds after 1970, limited to the range of datetime.

    >>> from_us(2**62), from_us(-(2**62)) == EARLIEST
    (datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc), True)
    """
    try:
        return EPOCH + microseconds * MICROSECOND
    except OverflowError:
        return LATEST if microseconds > 0 else EARLIEST


def to_json(value: Any) -> str:
    """Return JSON text without white space."""
    return pydantic_core.to_json(value).decode()  # several times as fast as the json module


class Texts:
    """JSON texts of payloads that stay in memory meanwhile. Each is written once, for all rows that hold it."""

    def __init__(self) -> None:
        self._made: dict[int, str] = {}  # by the identity of the payload

    def of(self, payload: Payload) -> str:
        """Return the JSON text of a payload."""
        text = self._made.get(id(payload))
        if text is None:
            text = self._made[id(payload)] = to_json(payload)
        return text


@lru_cache(maxsize=1024)
def names_json(names: tuple[str, ...]) -> str:
    """Return names as JSON text. Cached, because agents of one graph share few configurations."""
    return to_json(names)


def snapshot_row(snapshot: Snapshot) -> dict[str, Any]:
    """Return a row of `agents`, without its key."""
    return {
        "id": snapshot.agent_id,
        "graph": snapshot.graph,
        "graph_version": snapshot.graph_version,
        "fingerprint": snapshot.fingerprint,
        "configuration": names_json(snapshot.configuration),
        "context": snapshot.context,
        "version": snapshot.version,
        "status": snapshot.status.value,
        "memory": _json_or_null(snapshot.memory),
        "entered": _json_or_null(snapshot.entered),
        "handoffs": from_open(snapshot.handoffs),
    }


def changes_row(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return the columns of `agents` that a turn sets.

    The status is left out if it stays the same, because SQLite would write to its index, too.
    """
    row = {
        "graph_version": after.graph_version,
        "fingerprint": after.fingerprint,
        "configuration": names_json(after.configuration),
        "context": after.context,
        "version": after.version,
    }
    if before.status is not after.status:
        row["status"] = after.status.value
    if before.memory != after.memory:
        row["memory"] = _json_or_null(after.memory)
    if before.entered != after.entered:
        row["entered"] = _json_or_null(after.entered)
    if before.handoffs != after.handoffs:
        row["handoffs"] = from_open(after.handoffs)
    return row


def to_snapshot(row: Row[Any]) -> Snapshot:
    """Read a snapshot from a row of `agents`. Raises one of UNREADABLE if the row is damaged."""
    check_row(row, _AGENT)
    json_object(row.context, "context")
    return Snapshot(
        agent_id=row.id,
        graph=row.graph,
        graph_version=row.graph_version,
        fingerprint=row.fingerprint,
        configuration=json_names(row.configuration, "configuration"),
        context=row.context,
        version=row.version,
        status=Status(row.status),
        memory=to_memory(row.memory),
        entered=to_epochs(row.entered),
        handoffs=to_open(row.handoffs),
    )


def to_shown(row: Row[Any]) -> Snapshot:
    """Read a snapshot from a row of `agents`. If the row is damaged, return the parts that can be shown."""
    try:
        return to_snapshot(row)
    except UNREADABLE as error:
        tell(row, error, "agents", "key")
        return Snapshot(
            agent_id=public_id(row),
            graph=text_of(row.graph),
            graph_version=text_of(row.graph_version),
            fingerprint=text_of(row.fingerprint),
            configuration=(),
            context="{}",
            version=number_of(row.version),
            status=Status.UNREADABLE,
        )


def public_id(row: Row[Any]) -> AgentId:
    """Return the id in a row of `agents`. If it is damaged, return an id under which the agent can be erased."""
    return row.id if isinstance(row.id, str) and row.id and not unkept(row.id) else f"{NAMELESS_AGENT}{row.key}"


def to_known(row: Row[Any]) -> KnownGraph:
    """Read a graph from a row of `graphs`. Raises one of UNREADABLE if the row is damaged."""
    check_row(row, _GRAPH)
    return KnownGraph(row.fingerprint, row.name, row.version, json_object(row.paths, "paths"))


def to_memory(text: str | None) -> Memory:
    """Read what the history states remember."""
    return tuple((history, tuple(states)) for history, states in _json_or(text, ()))


def to_epochs(text: str | None) -> EntryVersions:
    """Read the states that have timers or invokes, each with its epoch."""
    return tuple((state, epoch) for state, epoch in _json_or(text, ()))


def history_row(turn: TurnRecord, key: int, delta: Delta, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `history` for the agent with this key. Its own key and NULL columns are left out.

    row: the columns of `agents` that the turn sets. Values that both tables hold are serialized once.
    """
    event, before, after = turn.event, turn.previous, turn.snapshot
    usual = _usual_label(before.configuration if before else (), event.name, after.configuration)
    return {
        "agent": key,
        "version": after.version,
        "event": event.name,
        "time_us": to_us(event.time),
        "target": row["configuration"],
        "took_us": turn.took_us,
        **without_nulls(
            event_id=event.id,
            payload=_json_or_null(event.payload),
            sender=event.sender,
            operator_reason=event.operator_reason or None,
            taken=None if turn.taken == (usual,) else names_json(turn.taken),
            changed=delta.changed,
            appended=delta.appended,
            status=None if after.status is Status.ACTIVE else after.status.value,
            guard_errors=_json_or_null([astuple(error) for error in turn.guard_errors]),
            **(_whole(before, after, row) if delta.is_whole else _kept_apart(row)),
        ),
    }


def without_nulls(**columns: Any) -> dict[str, Any]:
    """Return the columns that are not NULL."""
    return {name: value for name, value in columns.items() if value is not None}


def whole_copy(snapshot: Snapshot) -> dict[str, str | None]:
    """Return the columns that let a row of `history` give its snapshot without the rows before it."""
    return {
        "memory": _json_or_null(snapshot.memory),
        "entered": _json_or_null(snapshot.entered),
        "handoffs": from_open(snapshot.handoffs),
        "context": snapshot.context,
        "graph_version": snapshot.graph_version,
        "fingerprint": snapshot.fingerprint,
    }


def to_shown_entry(row: Row[Any], agent_id: AgentId) -> HistoryEntry:
    """Read an entry as `to_entry` does. If the row is damaged, return the parts that can be shown."""
    try:
        return to_entry(row, agent_id)
    except UNREADABLE as error:
        problem = tell(row, error, "history", "key")
        told = Event(text_of(row.event), {}, from_us(number_of(row.time_us)), text_of(row.event_id) or None)
        return HistoryEntry(agent_id, number_of(row.version), told, (), (), (problem,), {}, Status.UNREADABLE, 0)


def to_entry(row: Row[Any], agent_id: AgentId) -> HistoryEntry:
    """Read a history entry from a row of `history`, with the target of the version before it as `came_from`.

    Raises one of UNREADABLE if the row is damaged.
    """
    check_row(row, _TURN)
    source = tuple(_json_or(row.came_from if row.source is None else row.source, ()))
    target = json_names(row.target, "target")
    changed = row.context if row.changed is None and row.version == 1 else row.changed
    return HistoryEntry(
        agent_id=agent_id,
        version=row.version,
        event=to_event(row),
        source=source,
        target=target,
        taken=(_usual_label(source, row.event, target),) if row.taken is None else tuple(json.loads(row.taken)),
        changed=_json_or(changed, {}),
        status=Status(row.status or Status.ACTIVE),
        took_us=row.took_us,
        guard_errors=tuple(GuardError(*each) for each in _json_or(row.guard_errors, ())),
        appended={name: tuple(items) for name, items in _json_or(row.appended, {}).items()},
    )


def to_event(row: Row[Any]) -> Event:
    """Read the event from a row of `history`."""
    payload, reason = json_object(row.payload, "payload"), row.operator_reason or ""
    return Event(row.event, payload, from_us(row.time_us), row.event_id, row.sender, reason)


def _whole(before: Snapshot | None, after: Snapshot, row: Mapping[str, Any]) -> Mapping[str, str | None]:
    return whole_copy(after) if before is not None else {name: row[name] for name in _WHOLE}


def _kept_apart(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of a `history` row that change independently of the context."""
    return {name: row[name] or "[]" for name in _APART if name in row}


def _usual_label(source: Sequence[StateName], event: EventName, target: Sequence[StateName]) -> str:
    """Return the label of the transition between two leaves, or within one. The row implies it, so it is not stored.

    >>> _usual_label(["IDLE"], "STARTED", ["WORKING"]), _usual_label(["IDLE"], "NOTED", ["IDLE"])
    ('IDLE --STARTED--> WORKING', 'IDLE --NOTED')
    """
    arrow = f"{', '.join(source)} --{event}"
    return arrow if source == target else f"{arrow}--> {', '.join(target)}"


def _json_or_null(value: Mapping[str, Any] | list[Any] | tuple[Any, ...]) -> str | None:
    return to_json(value) if value else None


def _json_or(text: str | None, empty: Any) -> Any:
    return empty if text is None else json.loads(text)


_DEFAULTS: Final = {each.name: each.default for each in fields(OpenHandoff) if each.default is not MISSING}
_MORE: Final = attrgetter(*_DEFAULTS)


def from_open(handoffs: Iterable[OpenHandoff]) -> str | None:
    """Return the handoffs in which an agent has a part as JSON text, or None if there are none."""
    kept = [_from_open(each) for each in handoffs]
    return to_json(kept) if kept else None


def to_open(text: str | None) -> tuple[OpenHandoff, ...]:
    """Read handoffs from the text that `from_open` wrote."""
    return () if text is None else tuple(map(_to_open, json.loads(text)))


def _from_open(each: OpenHandoff) -> dict[str, Any]:
    """Return the fields of a handoff that differ from their defaults."""
    kept: dict[str, Any] = {
        "id": each.id,
        "side": each.side.value,
        "peer": each.peer,
        "mode": each.mode.value,
        "since": each.since,
    }
    for (name, default), held in zip(_DEFAULTS.items(), _MORE(each), strict=True):
        if held != default:
            kept[name] = held
    return kept


def _to_open(kept: dict[str, Any]) -> OpenHandoff:
    tuples: dict[str, Sequence[Any]] = {name: tuple(kept[name]) for name in ("states", "path") if name in kept}
    side, mode, reason = Side(kept["side"]), Mode(kept["mode"]), Reason(kept.get("reason", Reason.OTHER))
    return OpenHandoff(**kept | tuples | {"side": side, "mode": mode, "reason": reason})
