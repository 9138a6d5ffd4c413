"""Rows of agents and of their graphs, and their queries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, bindparam, select

from gatechart.errors.event import UnknownAgentError
from gatechart.stores.sql.columns import (
    UNREADABLE,
    check_row,
    is_key,
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
    us_or_null,
)
from gatechart.stores.sql.tables import agents, graphs
from gatechart.stores.sql.trail_rows import changed_columns, from_trail, to_trail
from gatechart.values.agents import Snapshot, Status
from gatechart.values.handoffs import Mode, OpenHandoff, Reason, Side
from gatechart.values.migrations import KnownGraph
from gatechart.values.names import AgentId, EntryVersions, Memory, unkept
from gatechart.values.trail import NO_TRAIL
from gatechart.values.transfers import TransferCounts

NAMELESS_AGENT: Final = "unreadable agent "  # followed by its key

_AGENT: Final = kinds_of(agents)
_GRAPH: Final = kinds_of(graphs)
_BY_ID: Final = select(agents).where(agents.c.id == bindparam("of_id"))


def snapshot_row(snapshot: Snapshot) -> dict[str, Any]:
    """Build a row of `agents`, without its key. Empty columns are omitted, and become NULL."""
    row: dict[str, Any] = {
        "id": snapshot.agent_id,
        "graph": snapshot.graph,
        "graph_version": snapshot.graph_version,
        "fingerprint": snapshot.fingerprint,
        "configuration": names_json(snapshot.configuration),
        "context": snapshot.context_text,
        "version": snapshot.version,
        "status": snapshot.status.value,
    }
    if snapshot.memory:
        row["memory"] = to_json(snapshot.memory)
    if snapshot.entered:
        row["entered"] = to_json(snapshot.entered)
    if snapshot.transfers:
        row["transfers"] = from_counts(snapshot.transfers)
    if snapshot.trail is not NO_TRAIL:
        row |= from_trail(snapshot.trail)
    if snapshot.handoffs:
        row["handoffs"] = from_open(snapshot.handoffs)
    row["started_us"] = us_or_null(snapshot.started)
    row["changed_us"] = us_or_null(snapshot.changed)
    return row


def changes_row(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return the columns of `agents` that a turn sets.

    Omits columns that seldom change if they are unchanged: SQLite would bind them, and update the index of the status.
    """
    row: dict[str, Any] = {
        "configuration": names_json(after.configuration),
        "context": after.context_text,
        "version": after.version,
    }
    if before.fingerprint != after.fingerprint or before.graph_version != after.graph_version:
        row |= {"graph_version": after.graph_version, "fingerprint": after.fingerprint}
    if before.status is not after.status:
        row["status"] = after.status.value
    if before.memory != after.memory:
        row["memory"] = json_or_null(after.memory)
    if before.entered != after.entered:
        row["entered"] = json_or_null(after.entered)
    if before.handoffs != after.handoffs:
        row["handoffs"] = from_open(after.handoffs)
    if before.transfers != after.transfers:
        row["transfers"] = from_counts(after.transfers)
    if before.trail is not after.trail:
        row |= changed_columns(before.trail, after.trail)
    row["changed_us"] = us_or_null(after.changed)
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
        context_text=row.context,
        version=row.version,
        status=Status(row.status),
        memory=to_memory(row.memory),
        entered=to_epochs(row.entered),
        handoffs=to_open(row.handoffs),
        started=moment_or_none(row.started_us),
        changed=moment_or_none(row.changed_us),
        transfers=to_counts(row.transfers),
        trail=to_trail(row.trail, row.noticed),
    )


def to_shown(row: Row[Any]) -> Snapshot:
    """Read a snapshot from a row of `agents`. If the row is damaged, return its readable parts."""
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
            context_text="{}",
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
    """Read the memory of the history states."""
    return tuple((history, tuple(states)) for history, states in json_or(text, ()))


def to_epochs(text: str | None) -> EntryVersions:
    """Read the states with timers or invokes, and their epochs."""
    return tuple((state, epoch) for state, epoch in json_or(text, ()))


_COUNTS: Final[TypeAdapter[TransferCounts]] = TypeAdapter(TransferCounts)


def from_counts(counts: TransferCounts) -> str | None:
    """Return the counts of transfers as JSON text, or None if there are none."""
    return _COUNTS.dump_json(counts, exclude_defaults=True).decode() if counts else None


def to_counts(text: str | None) -> TransferCounts:
    """Read counts of transfers from the text that `from_counts` wrote."""
    return () if text is None else _COUNTS.validate_json(text)


_DEFAULTS: Final = {column.name: column.default for column in fields(OpenHandoff) if column.default is not MISSING}
_MORE: Final = attrgetter(*_DEFAULTS)


def from_open(handoffs: Iterable[OpenHandoff]) -> str | None:
    """Return the open handoffs of an agent as JSON text, or None if there are none."""
    kept = [_from_open(handoff) for handoff in handoffs]
    return to_json(kept) if kept else None


def to_open(text: str | None) -> tuple[OpenHandoff, ...]:
    """Read handoffs from the text that `from_open` wrote."""
    return () if text is None else tuple(map(_to_open, json.loads(text)))


def _from_open(handoff: OpenHandoff) -> dict[str, Any]:
    """Return the fields of a handoff that differ from their defaults."""
    kept: dict[str, Any] = {
        "id": handoff.id,
        "side": handoff.side.value,
        "peer": handoff.peer,
        "mode": handoff.mode.value,
        "since": handoff.since,
    }
    for (name, default), held in zip(_DEFAULTS.items(), _MORE(handoff), strict=True):
        if held != default:
            kept[name] = held
    return kept


def _to_open(kept: dict[str, Any]) -> OpenHandoff:
    tuples: dict[str, Sequence[Any]] = {name: tuple(kept[name]) for name in ("states", "path") if name in kept}
    side, mode, reason = Side(kept["side"]), Mode(kept["mode"]), Reason(kept.get("reason", Reason.OTHER))
    return OpenHandoff(**kept | tuples | {"side": side, "mode": mode, "reason": reason})


def stored_agent(connection: Connection, agent_id: AgentId) -> Any:
    """Return the row of an agent. Raises UnknownAgentError."""
    row = connection.execute(_BY_ID, {"of_id": agent_id}).one_or_none()
    if row is None and agent_id.startswith(NAMELESS_AGENT):
        row = _nameless(connection, agent_id)
    if row is None:
        raise UnknownAgentError(agent_id)
    return row


def _nameless(connection: Connection, agent_id: AgentId) -> Any:
    """Return the row of an agent whose id is damaged, by its replacement id; None if there is none."""
    key = agent_id.removeprefix(NAMELESS_AGENT)
    if not is_key(key):
        return None
    row = connection.execute(select(agents).where(agents.c.key == int(key))).one_or_none()
    return row if row is not None and public_id(row) == agent_id else None
