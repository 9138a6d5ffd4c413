"""Searches among the agents of the store in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import dropwhile, islice

from gatechart.stores.memory_tables import Tables
from gatechart.values import BY_CHANGE, ActiveIn, AgentId, Page, Query, Snapshot


def found_page(tables: Tables, query: Query) -> Page:
    """Return the agents that match a query, a page of them. Raises UnknownAgentError, see `AgentStore.find`."""
    ordered = _by_change(tables, query) if query.order.by == BY_CHANGE else _by_start(tables, query)
    found = ((tables.turns[each][-1].snapshot, place) for each, place in ordered)
    matching = (each for each in found if _matches(each[0], query))
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
    newest = [(place, each) for each, place in tables.newest.items() if _is_behind(place, query)]
    newest.sort(reverse=query.order.is_descending)
    return ((each, str(place)) for place, each in newest)


def _is_behind(place: int, query: Query) -> bool:
    if query.after is None:
        return True
    return place < int(query.after) if query.order.is_descending else place > int(query.after)


def _matches(snapshot: Snapshot, query: Query) -> bool:
    return (
        query.graph in (None, snapshot.graph)
        and query.status in (None, snapshot.status)
        and (query.active is None or any(_is_active(snapshot, wanted) for wanted in query.active))
    )


def _is_active(snapshot: Snapshot, wanted: ActiveIn) -> bool:
    return wanted.graph in (None, snapshot.graph) and not set(wanted.leaves).isdisjoint(snapshot.configuration)
