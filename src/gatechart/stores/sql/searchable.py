"""Searchable fields of contexts: their declarations and their values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import BindParameter, Connection, Row, Select, and_, bindparam, delete, insert, select, update

from gatechart.stores.sql.columns import UNREADABLE, number_of, text_of
from gatechart.stores.sql.statements import Many
from gatechart.stores.sql.tables import agents, found_values, searchable
from gatechart.values.agents import Snapshot
from gatechart.values.search import Searchable, keys_in

_AGENT: Final[BindParameter[int]] = bindparam("of_agent")
_FIELD: Final[BindParameter[str]] = bindparam("of_field")

FORGET: Final = Many(delete(found_values).where(found_values.c.agent == _AGENT, found_values.c.field == _FIELD), [])
KEEP: Final = Many(insert(found_values))

_BY_FIELD: Final = select(searchable).order_by(searchable.c.graph, searchable.c.field)


class FoundValues:
    """Collects the rows of values that the turns of a commit change."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        """Create an empty collection. fields: the declared fields, by graph."""
        self._fields = fields
        self._changed: dict[tuple[int, str], str | None] = {}  # by agent and field: the new key, None for no value

    def add(self, agent: int, before: Snapshot | None, after: Snapshot) -> None:
        """Add the changes of a turn of the agent with this key."""
        fields = self._fields.get(after.graph)
        if not fields or (before is not None and before.context_text == after.context_text):
            return
        old = {} if before is None else keys_in(before.context_text, fields)
        new = keys_in(after.context_text, fields)
        for field in fields:
            if old.get(field) != new.get(field):
                self._changed[agent, field] = new.get(field)

    def write(self, connection: Connection) -> None:
        """Write the collected values."""
        if not self._changed:
            return
        FORGET.run(connection, [{_AGENT.key: agent, _FIELD.key: field} for agent, field in self._changed])
        KEEP.run(
            connection,
            [
                {"agent": agent, "field": field, "value": value}
                for (agent, field), value in self._changed.items()
                if value is not None
            ],
        )


def declared(connection: Connection) -> Sequence[Searchable]:
    """Return the declared fields, by graph and field."""
    return [Searchable(row.graph, row.field, row.filled is None) for row in _sound(connection, _BY_FIELD)]


def _sound(connection: Connection, wanted: Select[Any]) -> list[Row[Any]]:
    """Return the readable rows; fields with damaged rows are declared again."""
    found = connection.execute(wanted)
    return [row for row in found if _is_sound(row.graph) and _is_sound(row.field)]


def _is_sound(name: object) -> bool:
    """Whether a column contains text, with only characters that a query can contain."""
    return isinstance(name, str) and name == text_of(name)


def declare(connection: Connection, fields: Mapping[str, Sequence[str]]) -> None:
    """Declare the fields of these graphs, and delete fields that the graphs no longer declare."""
    known = {(field.graph, field.field) for field in declared(connection) if field.graph in fields}
    wanted = {(graph, field) for graph, some in fields.items() for field in some}
    for graph, field in sorted(known - wanted):
        of_graph = select(agents.c.key).where(agents.c.graph == graph)
        connection.execute(
            delete(found_values).where(found_values.c.field == field, found_values.c.agent.in_(of_graph))
        )
        connection.execute(delete(searchable).where(searchable.c.graph == graph, searchable.c.field == field))
    for graph, field in sorted(wanted - known):
        first = connection.execute(select(agents.c.key).where(agents.c.graph == graph).limit(1)).first()
        connection.execute(insert(searchable).values(graph=graph, field=field, filled=None if first is None else 0))


def fill(connection: Connection, limit: int) -> bool:
    """Add the values of at most `limit` agents of one graph. Return whether agents of any graph remain."""
    open_fields = _sound(connection, _BY_FIELD.where(searchable.c.filled.is_not(None)))
    if not open_fields:
        return False
    graph, reached = open_fields[0].graph, number_of(open_fields[0].filled)
    # Fields that were declared together are filled together; other fields of the graph follow later.
    fields = [row.field for row in open_fields if (row.graph, number_of(row.filled)) == (graph, reached)]
    found = select(agents.c.key, agents.c.context).where(agents.c.graph == graph, agents.c.key > reached)
    rows = connection.execute(found.order_by(agents.c.key).limit(limit)).all()
    _keep(connection, fields, {row.key: row.context for row in rows})
    of_these = and_(searchable.c.graph == graph, searchable.c.field.in_(fields))
    filled = rows[-1].key if len(rows) == limit else None
    connection.execute(update(searchable).where(of_these).values(filled=filled))
    return filled is not None or len(open_fields) > len(fields)


def _keep(connection: Connection, fields: Sequence[str], contexts: Mapping[int, str]) -> None:
    """Write the values of agents, and replace values that their turns have written meanwhile."""
    values: dict[int, Mapping[str, str]] = defaultdict(dict)
    for agent, context in contexts.items():
        try:
            values[agent] = keys_in(context, fields)
        except UNREADABLE:  # a damaged row cannot be found by its values
            continue
    FORGET.run(connection, [{_AGENT.key: agent, _FIELD.key: field} for agent in contexts for field in fields])
    KEEP.run(
        connection,
        [
            {"agent": agent, "field": field, "value": value}
            for agent, some in values.items()
            for field, value in some.items()
        ],
    )
