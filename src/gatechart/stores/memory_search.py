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
    """Return the agents that match a query, a page of them. Raises UnknownAgentError, see `AgentStore.find`.

    searchable: the declared fields, by graph.
    """
    if query.order.field is not None:
        ordered = _by_field(tables, query, query.order.field, searchable)
    else:
        ordered = _by_change(tables, query) if query.order.by == BY_CHANGE else _by_start(tables, query)
    found = ((tables.turns[each][-1].snapshot, place) for each, place in ordered)
    matching = (each for each in found if _matches(each[0], query, searchable))
    return Page.of(list(islice(matching, query.limit + 1)), query.limit)


def _by_start(tables: Tables, query: Query) -> Iterator[tuple[AgentId, str]]:
    """Yield the agents behind the place in the order started, each with its own place."""
    agents: Iterable[AgentId] = reversed(tables.turns) if query.order.is_descending else iter(tables.turns)
    if query.after is not None:
        tables.turns_of(query.after)
        agents = islice(dropwhile(lambda each: each != query.after, agents), 1, None)
    return ((each, each) for each in agents)


def _by_change(tables: Tables, query: Query) -> Iterator[tuple[AgentId, str]]:
    """Yield the agents behind the place in the order of their newest turns, each with its own place."""
    after = None if query.after is None else int(query.after)
    newest = [(place, each) for each, place in tables.newest.items()]
    return ((each, str(place)) for place, each in _behind(newest, after, query))


def _by_field(
    tables: Tables, query: Query, field: str, searchable: Mapping[str, Sequence[str]]
) -> Iterator[tuple[AgentId, str]]:
    """Yield the agents behind the place in the order of their values of a field, each with its own place."""
    found = []
    for each, turns in tables.turns.items():
        key = _keys(turns[-1].snapshot, (field,), searchable).get(field)
        if key is not None:
            found.append((key, tables.started[each], each))
    number, _, value = (query.after or "").partition(":")
    after = (value, int(number)) if number else None
    ordered = _behind([((key, place), each) for key, place, each in found], after, query)
    return ((each, f"{place}:{key}") for (key, place), each in ordered)


def _behind(placed: list[tuple[P, AgentId]], after: P | None, query: Query) -> list[tuple[P, AgentId]]:
    """Return those behind a place, in the order wanted."""
    is_descending = query.order.is_descending
    found = [each for each in placed if after is None or (each[0] < after if is_descending else each[0] > after)]
    return sorted(found, reverse=is_descending)


def _keys(snapshot: Snapshot, fields: Iterable[str], searchable: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the keys of those of the fields that the agent's graph declares."""
    declared = [field for field in fields if field in searchable.get(snapshot.graph, ())]
    return keys_in(snapshot.context_text, declared) if declared else {}


def _matches(snapshot: Snapshot, query: Query, searchable: Mapping[str, Sequence[str]]) -> bool:
    is_there = (
        query.graph in (None, snapshot.graph)
        and (query.framework or not is_framework_graph(snapshot.graph))
        and (not query.misplaced or is_misplaced(snapshot.agent_id, snapshot.graph))
        and query.status in (None, snapshot.status)
        and (query.active is None or any(_is_active(snapshot, wanted) for wanted in query.active))
    )
    if not is_there or not query.where:
        return is_there
    keys = _keys(snapshot, {each.field for each in query.where}, searchable)
    return all(each.holds(keys) for each in query.where)


def _is_active(snapshot: Snapshot, wanted: ActiveIn) -> bool:
    is_there = wanted.graph in (None, snapshot.graph) and not set(wanted.leaves).isdisjoint(snapshot.configuration)
    if not is_there or wanted.quiet_since is None:
        return is_there
    return snapshot.changed is not None and snapshot.changed <= wanted.quiet_since
