"""Searches among the agents of a database."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, false, func, or_, select

from gatechart.stores.sql.agent_rows import public_id, stored_agent, to_shown
from gatechart.stores.sql.columns import UNREADABLE, json_names, readable_page, text_of
from gatechart.stores.sql.dialects import items_of
from gatechart.stores.sql.tables import agents, history
from gatechart.values import BY_CHANGE, ActiveIn, GraphCount, Page, Query, Snapshot, StateName, Status


def found_page(connection: Connection, query: Query) -> Page:
    """Return the agents that match a query, a page of them. Raises UnknownAgentError, see `AgentStore.find`."""

    def shown(row: Row[Any]) -> tuple[Snapshot, str] | None:
        snapshot = to_shown(row)
        return (snapshot, _place(row, query)) if _is_wanted(snapshot, query) else None

    after, wanted = _begin(connection, query), query.limit + 1
    found = readable_page(connection, lambda *part: _agents(query, *part), after, wanted, shown, attrgetter("place"))
    return Page.of(found, query.limit)


def counted(connection: Connection, graph: str | None) -> tuple[GraphCount, ...]:
    """Return how many agents each graph has, or this one."""
    parts = (agents.c.graph, agents.c.configuration, agents.c.status)
    found = select(*parts, func.count().label("agents")).group_by(*parts)
    if graph is not None:
        found = found.where(agents.c.graph == graph)
    return GraphCount.of(map(_counted, connection.execute(found)))


def _counted(row: Row[Any]) -> tuple[str, Sequence[StateName], Status, int]:
    try:
        return row.graph, json_names(row.configuration, "configuration"), Status(row.status), row.agents
    except UNREADABLE:
        return text_of(row.graph), (), Status.UNREADABLE, row.agents


def _begin(connection: Connection, query: Query) -> int | None:
    """Return the place after which the page begins; None for the first."""
    if query.after is None:
        return None
    return int(query.after) if query.order.by == BY_CHANGE else int(stored_agent(connection, query.after).key)


def _place(row: Row[Any], query: Query) -> str:
    return str(row.place) if query.order.by == BY_CHANGE else public_id(row)


def _is_wanted(snapshot: Snapshot, query: Query) -> bool:
    """Whether the agent matches, as far as only its row tells once it is read: damaged rows are in no state."""
    is_readable = snapshot.status is not Status.UNREADABLE
    return query.status in (None, snapshot.status) and (is_readable or query.active is None)


def _agents(query: Query, after: int | None, limit: int) -> Select[Any]:
    """Select rows of agents that may match. Whether a row is readable shows only when it is read."""
    place = _place_column(query)
    found = select(agents, place.label("place")).order_by(place.desc() if query.order.is_descending else place)
    if query.order.by == BY_CHANGE:
        found = found.join(history, and_(history.c.agent == agents.c.key, history.c.version == agents.c.version))
    if after is not None:
        found = found.where(place < after if query.order.is_descending else place > after)
    return found.where(*_conditions(query)).limit(limit)


def _place_column(query: Query) -> ColumnElement[int]:
    # By change it is the key of the newest turn: turns are stored as committed, so no column has to be kept up to date.
    return history.c.key if query.order.by == BY_CHANGE else agents.c.key


def _conditions(query: Query) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if query.graph is not None:
        found.append(agents.c.graph == query.graph)
    if query.status not in (None, Status.UNREADABLE):
        found.append(agents.c.status == str(query.status))
    if query.active is not None:
        found.append(or_(false(), *map(_is_active, query.active)))
    return found


def _is_active(wanted: ActiveIn) -> ColumnElement[bool]:
    leaves, leaf = items_of(agents.c.configuration)
    is_active = exists(select(leaf).select_from(leaves).where(leaf.in_(wanted.leaves)))
    return is_active if wanted.graph is None else and_(agents.c.graph == wanted.graph, is_active)
