"""Reading the history: entries, and an agent's snapshots at earlier versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Row, Select, and_, bindparam, func, select

from gatechart.context import patched
from gatechart.errors import UnknownVersionError
from gatechart.stores.sql.agent_rows import to_epochs, to_memory, to_open
from gatechart.stores.sql.damage import json_names, json_object
from gatechart.stores.sql.tables import agents, history
from gatechart.values import AgentId, Snapshot, Status

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


def entries_of(agent_id: AgentId) -> Select[Any]:
    """Select the rows of an agent's history, in the form that `to_entry` reads."""
    return ENTRIES.where(agents.c.id == agent_id)


def snapshot_at(connection: Connection, agent: Row[Any], version: int) -> Snapshot:
    """Return the snapshot of an agent, a row of `agents`, at a version. Raises UnknownVersionError."""
    rows = connection.execute(NEEDED, {"of_agent": agent.key, "of_version": version}).all()
    if not rows or rows[-1].version != version:
        oldest = connection.execute(OLDEST, {"of_agent": agent.key}).scalar_one()
        raise UnknownVersionError(agent.id, version, oldest, agent.version)
    return snapshot_of(agent, rows)


def snapshot_of(agent: Row[Any], rows: Sequence[Row[Any]]) -> Snapshot:
    """Build a snapshot from rows that begin with a full copy. Raises one of UNREADABLE if a row is damaged."""
    whole, last = rows[0], rows[-1]
    context = patched(whole.context, [(row.changed, row.appended) for row in rows[1:]])
    json_object(context, "context")  # an agent must not go back to a context that cannot be read
    return Snapshot(
        agent_id=agent.id,
        graph=agent.graph,
        graph_version=whole.graph_version,
        fingerprint=whole.fingerprint,
        configuration=json_names(last.target, "target"),
        context=context,
        version=last.version,
        status=Status(last.status or Status.ACTIVE),
        memory=to_memory(_newest([row.memory for row in rows])),
        entered=to_epochs(_newest([row.entered for row in rows])),
        handoffs=to_open(_newest([row.handoffs for row in rows])),
    )


def _newest(texts: Sequence[str | None]) -> str | None:
    return next((text for text in reversed(texts) if text is not None), None)
