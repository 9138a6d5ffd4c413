"""Rows of the history, written as differences, and read back as entries and as snapshots at earlier versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Connection, Row, Select, and_, bindparam, func, select

from gatechart.context import difference, patched
from gatechart.errors.event import UnknownVersionError
from gatechart.stores.sql.agent_rows import from_counts, from_open, to_counts, to_epochs, to_memory, to_open
from gatechart.stores.sql.columns import (
    UNREADABLE,
    check_row,
    from_us,
    json_names,
    json_object,
    json_or,
    json_or_null,
    kinds_of,
    moment_or_none,
    names_json,
    number_of,
    tell,
    text_of,
    to_json,
    to_us,
)
from gatechart.stores.sql.tables import agents, history
from gatechart.stores.sql.trail_rows import entry_point_in, from_fired, to_fired
from gatechart.values.agents import Event, GuardError, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.names import AgentId, EventName, StateName
from gatechart.values.queries import HistoryEntry
from gatechart.values.trail import begun_at

LEAST: Final = 8  # minimum characters that a turn counts for, so that a rebuild reads few rows
EXTRA: Final = 256  # characters of deltas allowed in addition, so that full copies of a small context are rare

_TURN: Final = kinds_of(history)
_APART: Final = (
    "memory",
    "entered",
    "handoffs",
    "transfers",
)  # columns of `agents` whose changes `history` stores separately
_WHOLE: Final = (*_APART, "context", "graph_version", "fingerprint")  # see `whole_copy`

_before = history.alias("version_before")
_FOLLOWS: Final = and_(_before.c.agent == history.c.agent, _before.c.version == history.c.version - 1)
ENTRIES: Final = (
    select(history, _before.c.target.label("came_from"))
    .join(agents, agents.c.key == history.c.agent)
    .outerjoin(_before, _FOLLOWS)
)

_OF_AGENT: Final = history.c.agent == bindparam("of_agent")
_IS_WHOLE: Final = and_(_OF_AGENT, history.c.context.is_not(None))
_VERSION: Final = bindparam("of_version", type_=BigInteger)
_NEAREST: Final = select(func.max(history.c.version)).where(_IS_WHOLE, history.c.version <= _VERSION).scalar_subquery()

NEEDED: Final = (
    select(history).where(_OF_AGENT, history.c.version.between(_NEAREST, _VERSION)).order_by(history.c.version)
)
OLDEST: Final = select(func.min(history.c.version)).where(_IS_WHOLE)


class Delta(NamedTuple):
    """The change of the context in a history row, as JSON text. None if nothing changed."""

    changed: str | None
    appended: str | None
    deltas: int  # characters since the last full copy, the new value of `agents.deltas`

    @property
    def is_whole(self) -> bool:
        """Whether the row also contains a full copy."""
        return self.deltas == 0


def delta_of(turn: TurnRecord, deltas: int) -> Delta:
    """Compute the delta of a turn. deltas: characters of deltas since the agent's last full copy.

    The row gets a full copy if the turn starts the agent, if the graph or its fields have changed, or if the deltas
    exceed twice the context. A copy is thus paid for by twice its size of changes, so the history grows in proportion
    to the changes, however large a context is.
    """
    before, after = turn.previous, turn.snapshot
    if before is None:
        return Delta(None, None, 0)
    changed = appended = None
    is_enough = before.fingerprint == after.fingerprint and before.graph_version == after.graph_version
    if before.context_text != after.context_text:
        change = difference(before.context_text, after.context_text)
        changed, appended = change.texts()
        is_enough = is_enough and change.is_enough
    deltas += max(len(changed or "") + len(appended or ""), LEAST)
    is_enough = is_enough and deltas <= 2 * len(after.context_text) + EXTRA
    return Delta(changed, appended, deltas if is_enough else 0)


def history_row(turn: TurnRecord, key: int, delta: Delta, row: Mapping[str, Any]) -> dict[str, Any]:
    """Build a row of `history` for the agent with this key. Omits its own key and NULL columns.

    row: the columns of `agents` that the turn sets. Values in both tables are serialized once.
    """
    event, before, after = turn.event, turn.previous, turn.snapshot
    usual = _usual_label(before.configuration if before else (), event.name, after.configuration)
    apart = _whole(before, after, row) if delta.is_whole else _kept_apart(row)
    columns = {
        "agent": key,
        "version": after.version,
        "event": event.name,
        "time_us": row["changed_us"] if event.time == after.changed else to_us(event.time),
        "target": row["configuration"],
        "took_us": turn.took_us,
        "event_id": event.id,
        "payload": to_json(event.payload) if event.payload else None,
        "sender": event.sender,
        "operator_reason": event.operator_reason or None,
        "taken": None if turn.taken == (usual,) else names_json(turn.taken),
        "changed": delta.changed,
        "appended": delta.appended,
        "status": None if after.status is Status.ACTIVE else after.status.value,
        "guard_errors": to_json([astuple(error) for error in turn.guard_errors]) if turn.guard_errors else None,
        "fired": None if turn.fired is None else from_fired(turn.fired),
        **apart,
    }
    return {name: value for name, value in columns.items() if value is not None}


def whole_copy(snapshot: Snapshot) -> dict[str, str | None]:
    """Return the columns that make a row of `history` a full copy, readable without earlier rows."""
    return {
        "memory": json_or_null(snapshot.memory),
        "entered": json_or_null(snapshot.entered),
        "handoffs": from_open(snapshot.handoffs),
        "transfers": from_counts(snapshot.transfers),
        "context": snapshot.context_text,
        "graph_version": snapshot.graph_version,
        "fingerprint": snapshot.fingerprint,
    }


def _whole(before: Snapshot | None, after: Snapshot, row: Mapping[str, Any]) -> Mapping[str, str | None]:
    return whole_copy(after) if before is not None else {name: row[name] for name in _WHOLE if name in row}


def _kept_apart(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of a `history` row that change independently of the context."""
    return {name: row[name] or "[]" for name in _APART if name in row}


def _usual_label(source: Sequence[StateName], event: EventName, target: Sequence[StateName]) -> str:
    """Return the label of the transition between two leaves, or within one. It is not stored, as the row implies it.

    >>> _usual_label(["IDLE"], "STARTED", ["WORKING"]), _usual_label(["IDLE"], "NOTED", ["IDLE"])
    ('IDLE --STARTED--> WORKING', 'IDLE --NOTED')
    """
    arrow = f"{', '.join(source)} --{event}"
    return arrow if source == target else f"{arrow}--> {', '.join(target)}"


def entries_of(agent_id: AgentId) -> Select[Any]:
    """Select the rows of an agent's history, in the form that `to_entry` reads."""
    return ENTRIES.where(agents.c.id == agent_id)


def to_shown_entry(row: Row[Any], agent_id: AgentId) -> HistoryEntry:
    """Read an entry as `to_entry` does. If the row is damaged, return its readable parts."""
    try:
        return to_entry(row, agent_id)
    except UNREADABLE as error:
        problem = tell(row, error, "history", "key")
        event = Event(text_of(row.event), {}, from_us(number_of(row.time_us)), text_of(row.event_id) or None)
        return HistoryEntry(agent_id, number_of(row.version), event, (), (), (problem,), {}, Status.UNREADABLE, 0)


def to_entry(row: Row[Any], agent_id: AgentId) -> HistoryEntry:
    """Read a history entry from a row of `history`, with the target of the version before it as `came_from`.

    Raises one of UNREADABLE if the row is damaged.
    """
    check_row(row, _TURN)
    source = tuple(json_or(row.came_from if row.source is None else row.source, ()))
    target = json_names(row.target, "target")
    changed = row.context if row.changed is None and row.version == 1 else row.changed
    return HistoryEntry(
        agent_id=agent_id,
        version=row.version,
        event=to_event(row),
        source=source,
        target=target,
        taken=(_usual_label(source, row.event, target),) if row.taken is None else tuple(json.loads(row.taken)),
        changed=json_or(changed, {}),
        status=Status(row.status or Status.ACTIVE),
        took_us=row.took_us,
        guard_errors=tuple(GuardError(*error) for error in json_or(row.guard_errors, ())),
        appended={name: tuple(items) for name, items in json_or(row.appended, {}).items()},
        fired=to_fired(row.fired),
    )


def to_event(row: Row[Any]) -> Event:
    """Read the event from a row of `history`."""
    payload, reason = json_object(row.payload, "payload"), row.operator_reason or ""
    return Event(row.event, payload, from_us(row.time_us), row.event_id, row.sender, reason)


def snapshot_at(connection: Connection, agent: Row[Any], version: int) -> Snapshot:
    """Return the snapshot of an agent, a row of `agents`, at a version. Raises UnknownVersionError."""
    rows = connection.execute(NEEDED, {"of_agent": agent.key, "of_version": version}).all()
    if not rows or rows[-1].version != version:
        oldest = connection.execute(OLDEST, {"of_agent": agent.key}).scalar_one()
        raise UnknownVersionError(agent.id, version, oldest, agent.version)
    return snapshot_of(agent, rows)


def snapshot_of(agent: Row[Any], rows: Sequence[Row[Any]]) -> Snapshot:
    """Build a snapshot from rows, the first of them a full copy. Raises one of UNREADABLE if a row is damaged."""
    whole, last = rows[0], rows[-1]
    context = patched(whole.context, [(row.changed, row.appended) for row in rows[1:]])
    json_object(context, "context")  # an agent must not be rolled back to an unreadable context
    return Snapshot(
        agent_id=agent.id,
        graph=agent.graph,
        graph_version=whole.graph_version,
        fingerprint=whole.fingerprint,
        configuration=json_names(last.target, "target"),
        context_text=context,
        version=last.version,
        status=Status(last.status or Status.ACTIVE),
        memory=to_memory(_newest([row.memory for row in rows])),
        entered=to_epochs(_newest([row.entered for row in rows])),
        handoffs=to_open(_newest([row.handoffs for row in rows])),
        started=moment_or_none(agent.started_us),
        changed=from_us(last.time_us),
        transfers=to_counts(_newest([row.transfers for row in rows])),
        trail=begun_at(entry_point_in(agent.noticed)),
    )


def _newest(texts: Sequence[str | None]) -> str | None:
    return next((text for text in reversed(texts) if text is not None), None)
