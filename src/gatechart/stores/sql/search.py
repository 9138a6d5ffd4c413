"""Searches among the agents of a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    exists,
    false,
    func,
    not_,
    null,
    or_,
    select,
    true,
    union,
)

from gatechart.stores.sql.agent_rows import public_id, stored_agent, to_shown
from gatechart.stores.sql.columns import UNREADABLE, json_names, readable_page, text_of, to_us
from gatechart.stores.sql.dialects import items_of
from gatechart.stores.sql.framework_ids import begins, is_framework, is_of
from gatechart.stores.sql.searchable import declared
from gatechart.stores.sql.tables import agents, found_values, history
from gatechart.values.agents import Snapshot, Status
from gatechart.values.framework import (
    OWN_GRAPHS,
    OWN_KINDS,
)
from gatechart.values.names import FRAMEWORK, StateName
from gatechart.values.queries import BY_CHANGE, ActiveIn, GraphCount, Page, Query
from gatechart.values.search import COMPARE, Condition

_others: Final = agents.alias("others")


def found_page(connection: Connection, query: Query) -> Page:
    """Return a page of the agents that match a query. Raises UnknownAgentError, see `AgentStore.find`."""

    def shown(row: Row[Any]) -> tuple[Snapshot, str] | None:
        snapshot = to_shown(row)
        return (snapshot, _cursor_of(row, query)) if _is_wanted(snapshot, query) else None

    after, wanted = _position_before(connection, query), query.limit + 1
    found = readable_page(connection, lambda *part: found_rows(query, *part), after, wanted, shown, _position)
    return Page.of(found, query.limit, _incomplete(connection, query))


def _incomplete(connection: Connection, query: Query) -> tuple[str, ...]:
    """Return the fields of the query that no owner has filled yet for agents older than the declaration."""
    fields = {condition.field for condition in query.where} | ({query.order.field} if query.order.field else set())
    known = [field for field in declared(connection) if query.graph in (None, field.graph)] if fields else []
    open_fields = {field.field for field in known if not field.is_complete}
    return tuple(sorted(fields & open_fields | fields - {field.field for field in known}))


def counted(connection: Connection, graph: str | None) -> tuple[GraphCount, ...]:
    """Count the agents of each graph, or of this one."""
    parts = (agents.c.graph, agents.c.configuration, agents.c.status)
    found = select(*parts, func.count().label("agents")).group_by(*parts)
    if graph is not None:
        found = found.where(agents.c.graph == graph)
    return GraphCount.of(map(_count_row, connection.execute(found)))


def _count_row(row: Row[Any]) -> tuple[str, Sequence[StateName], Status, int]:
    try:
        return row.graph, json_names(row.configuration, "configuration"), Status(row.status), row.agents
    except UNREADABLE:
        return text_of(row.graph), (), Status.UNREADABLE, row.agents


def _position_before(connection: Connection, query: Query) -> tuple[Any, ...] | None:
    """Return the position before the page; None for the first page."""
    if query.after is None:
        return None
    if query.order.field is not None:
        key, _, value = query.after.partition(":")
        return value, int(key)
    return (int(query.after) if query.order.by == BY_CHANGE else int(stored_agent(connection, query.after).key),)


def _cursor_of(row: Row[Any], query: Query) -> str:
    if query.order.field is not None:
        return f"{row.key}:{row.value}"
    return str(row.place) if query.order.by == BY_CHANGE else public_id(row)


def _position(row: Row[Any]) -> tuple[Any, ...]:
    return (row.place,) if row.value is None else (row.value, row.place)


def _is_wanted(snapshot: Snapshot, query: Query) -> bool:
    """Whether the agent matches after its row is read: a damaged row has no active state."""
    is_readable = snapshot.status is not Status.UNREADABLE
    return query.status in (None, snapshot.status) and (is_readable or query.active is None)


def found_rows(query: Query, after: tuple[Any, ...] | None, limit: int) -> Select[Any]:
    """Select rows of agents that may match. The reader filters out unreadable rows."""
    value, place = _ordering(query)
    found = select(agents, place.label("place"), (null() if value is None else value).label("value"))
    if query.order.by == BY_CHANGE:
        found = found.join(history, and_(history.c.agent == agents.c.key, history.c.version == agents.c.version))
    if query.order.field is not None:
        has_field = and_(found_values.c.agent == agents.c.key, found_values.c.field == query.order.field)
        found = found.join(found_values, has_field)
    columns: list[ColumnElement[Any]] = [place] if value is None else [value, place]
    if after is not None:
        found = found.where(_is_behind(columns, after, is_descending=query.order.is_descending))
    ordered = [column.desc() if query.order.is_descending else column for column in columns]
    return found.where(*_conditions(query)).order_by(*ordered).limit(limit)


def _ordering(query: Query) -> tuple[ColumnElement[str] | None, ColumnElement[int]]:
    """Return the columns that order the agents: the value of a field, if any, then a number."""
    if query.order.field is not None:
        return found_values.c.value, found_values.c.agent
    # By change, the key of the newest turn: keys follow the order of commits, so no extra column is needed.
    return None, history.c.key if query.order.by == BY_CHANGE else agents.c.key


def _is_behind(
    columns: Sequence[ColumnElement[Any]], after: Sequence[Any], *, is_descending: bool
) -> ColumnElement[bool]:
    """Whether a row is after a position: by the first column, then by the next one where the first is equal."""
    first, position = columns[0], after[0]
    is_past: ColumnElement[bool] = first < position if is_descending else first > position
    if len(columns) == 1:
        return is_past
    return or_(is_past, and_(first == position, _is_behind(columns[1:], after[1:], is_descending=is_descending)))


def _conditions(query: Query) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if query.graph is not None:
        # The concatenation keeps SQLite from using the index of graphs: the index of values is more selective.
        graph = agents.c.graph.concat("") if query.where else agents.c.graph
        found.append(graph == query.graph)
    if not query.framework:
        found.append(not_(begins(agents.c.graph, FRAMEWORK)))
    if query.misplaced:
        found.append(_is_misplaced())
    if query.status not in (None, Status.UNREADABLE):
        found.append(agents.c.status == str(query.status))
    if query.active is not None:
        found.append(or_(false(), *map(_is_active, query.active)))
    return [*found, *map(_holds, query.where)]


def _is_misplaced() -> ColumnElement[bool]:
    """Whether an id or a graph wrongly belongs to the framework, by the rule of `is_misplaced`.

    Each part of the union reads one index, which is smaller than the rows with their contexts.
    """
    named = select(_others.c.key).where(is_framework(_others.c.id))
    foreign = select(_others.c.key).where(begins(_others.c.graph, FRAMEWORK), _others.c.graph.not_in(OWN_GRAPHS))
    is_own = or_(*(and_(is_of(kind, agents.c.id), agents.c.graph == kind.graph) for kind in OWN_KINDS))
    return and_(agents.c.key.in_(union(named, foreign)), not_(is_own))


def _holds(condition: Condition) -> ColumnElement[bool]:
    value = found_values.c.value
    wanted = [COMPARE[name](value, key) for name, key in condition.bounds]
    if condition.among is not None:
        wanted.append(value.in_(condition.among))
    return agents.c.key.in_(select(found_values.c.agent).where(found_values.c.field == condition.field, *wanted))


def _is_active(wanted: ActiveIn) -> ColumnElement[bool]:
    leaves, leaf = items_of(agents.c.configuration)
    is_active = exists(select(leaf).select_from(leaves).where(leaf.in_(wanted.leaves)))
    of_graph = true() if wanted.graph is None else agents.c.graph == wanted.graph
    is_quiet = true() if wanted.quiet_since is None else agents.c.changed_us <= to_us(wanted.quiet_since)
    return and_(of_graph, is_quiet, is_active)
