"""Searches among the agents of the store in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, islice
from typing import TypeVar

from gatechart.stores.memory_tables import Tables
from gatechart.values.agents import Snapshot
from gatechart.values.framework import (
    is_framework_graph,
    is_misplaced,
)
from gatechart.values.names import AgentId
from gatechart.values.queries import BY_CHANGE, ActiveIn, Page, Query
from gatechart.values.search import keys_in

P = TypeVar("P", int, tuple[str, int])


def found_page(tables: Tables, query: Query, searchable: Mapping[str, Sequence[str]]) -> Page:
    """Return a page of the agents that match a query. Raises UnknownAgentError, see `AgentStore.find`.

    searchable: the declared fields, by graph.
    """
    if query.order.field is not None:
        ordered = _by_field(tables, query, query.order.field, searchable)
    else:
        ordered = _by_change(tables, query) if query.order.by == BY_CHANGE else _by_start(tables, query)
    found = ((tables.turns[agent_id][-1].snapshot, cursor) for agent_id, cursor in ordered)
    matching = ((agent, cursor) for agent, cursor in found if _matches(agent, query, searchable))
    return Page.of(list(islice(matching, query.limit + 1)), query.limit)


def _by_start(tables: Tables, query: Query) -> Iterator[tuple[AgentId, str]]:
    """Yield the agents after the query's cursor in the order started, each with its cursor."""
    agents: Iterable[AgentId] = reversed(tables.turns) if query.order.is_descending else iter(tables.turns)
    if query.after is not None:
        tables.turns_of(query.after)
        agents = islice(dropwhile(lambda agent_id: agent_id != query.after, agents), 1, None)
    return ((agent_id, agent_id) for agent_id in agents)


def _by_change(tables: Tables, query: Query) -> Iterator[tuple[AgentId, str]]:
    """Yield the agents after the query's cursor in the order of their newest turns, each with its cursor."""
    after = None if query.after is None else int(query.after)
    newest = [(number, agent_id) for agent_id, number in tables.newest.items()]
    return ((agent_id, str(number)) for number, agent_id in _behind(newest, after, query))


def _by_field(
    tables: Tables, query: Query, field: str, searchable: Mapping[str, Sequence[str]]
) -> Iterator[tuple[AgentId, str]]:
    """Yield the agents after the query's cursor in the order of a field's values, each with its cursor."""
    found = []
    for agent_id, turns in tables.turns.items():
        key = _keys(turns[-1].snapshot, (field,), searchable).get(field)
        if key is not None:
            found.append((key, tables.started[agent_id], agent_id))
    number, _, value = (query.after or "").partition(":")
    after = (value, int(number)) if number else None
    ordered = _behind([((key, number), agent_id) for key, number, agent_id in found], after, query)
    return ((agent_id, f"{number}:{key}") for (key, number), agent_id in ordered)


def _behind(placed: list[tuple[P, AgentId]], after: P | None, query: Query) -> list[tuple[P, AgentId]]:
    """Return the agents after a position, in the query's order."""
    is_descending = query.order.is_descending
    found = [item for item in placed if after is None or (item[0] < after if is_descending else item[0] > after)]
    return sorted(found, reverse=is_descending)


def _keys(snapshot: Snapshot, fields: Iterable[str], searchable: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the sort keys of the fields, where the agent's graph declares them."""
    declared = [field for field in fields if field in searchable.get(snapshot.graph, ())]
    return keys_in(snapshot.context_text, declared) if declared else {}


def _matches(snapshot: Snapshot, query: Query, searchable: Mapping[str, Sequence[str]]) -> bool:
    has_facts = (
        query.graph in (None, snapshot.graph)
        and (query.framework or not is_framework_graph(snapshot.graph))
        and (not query.misplaced or is_misplaced(snapshot.agent_id, snapshot.graph))
        and query.status in (None, snapshot.status)
        and (query.active is None or any(_is_active(snapshot, wanted) for wanted in query.active))
    )
    if not has_facts or not query.where:
        return has_facts
    keys = _keys(snapshot, {condition.field for condition in query.where}, searchable)
    return all(condition.holds(keys) for condition in query.where)


def _is_active(snapshot: Snapshot, wanted: ActiveIn) -> bool:
    is_in_state = wanted.graph in (None, snapshot.graph) and not set(wanted.leaves).isdisjoint(snapshot.configuration)
    if not is_in_state or wanted.quiet_since is None:
        return is_in_state
    return snapshot.changed is not None and snapshot.changed <= wanted.quiet_since
