"""Searches for agents: translate the commands of callers into queries of a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from gatechart.api.conditions import Bounds
from gatechart.api.search import CountsCommand, FindCommand
from gatechart.errors.event import UnknownFieldError, UnknownPlaceError, UnknownStateError
from gatechart.hosting.registry import Registry
from gatechart.ports import AgentStore
from gatechart.turn.arguments import check_limit, known_id
from gatechart.values.framework import (
    is_framework_graph,
)
from gatechart.values.names import HIGHEST_NUMBER, StateName, unkept
from gatechart.values.queries import BY_CHANGE, BY_START, ActiveIn, GraphCount, Order, Query
from gatechart.values.search import COMPARE, Comparison, Condition, kind_bounds, prefix_bounds, sort_key


def agent_query(registry: Registry, command: FindCommand) -> Query:
    """Return the query of a command. Raises as `AgentHome.find` does."""
    check_limit("find", command.limit)
    graph = None if command.graph is None else registry.graph(command.graph).name
    fields = searchable_of(registry, graph)
    order = checked_order(command.order, command.after, graph or "", fields)
    where = tuple(conditions(command, graph or "", fields))
    is_wanted = graph is not None or bool(command.framework)
    active = None if command.state is None else _leaves(registry, graph, command.state, framework=is_wanted)
    return Query(graph, active, command.status, command.after, command.limit, order, where, is_wanted)


def declared_in(registry: Registry) -> dict[str, tuple[str, ...]]:
    """Return the searchable fields of each graph, over all its versions."""
    fields: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for graph in registry.versions:
        fields[graph.name] |= dict.fromkeys(graph.searchable)
    return {name: tuple(names) for name, names in fields.items()}


def searchable_of(registry: Registry, graph: str | None) -> tuple[str, ...]:
    """Return the searchable fields of a graph, or of all graphs."""
    declared = (fields for name, fields in declared_in(registry).items() if graph in (None, name))
    return tuple(dict.fromkeys(field for fields in declared for field in fields))


def conditions(command: FindCommand, graph: str, fields: Sequence[str]) -> Iterator[Condition]:
    """Yield the conditions of a command for these fields. Raises UnknownFieldError."""
    for field, wanted in (command.where or {}).items():
        if field not in fields:
            raise UnknownFieldError(graph, field, tuple(fields))
        if isinstance(wanted, Bounds):
            yield Condition(field, bounds=tuple(_bounds(wanted)))
        else:
            keys = map(sort_key, wanted if isinstance(wanted, list) else [wanted])
            yield Condition(field, tuple(key for key in keys if key is not None))


def _bounds(wanted: Bounds) -> Iterator[tuple[Comparison, str]]:
    if wanted.prefix is not None:
        yield from prefix_bounds(wanted.prefix)
    for name in COMPARE:
        value = getattr(wanted, name)
        key = None if value is None else sort_key(value)
        if key is not None:
            yield name, key
            yield from kind_bounds(key)


async def counted(store: AgentStore, registry: Registry, command: CountsCommand) -> Sequence[GraphCount]:
    """Return the agent counts for a command. Raises UnknownGraphError."""
    if command.graph is not None:
        return await store.counts(registry.graph(command.graph).name)
    known = await store.counts()
    return tuple(count for count in known if command.framework or not is_framework_graph(count.graph))


def checked_order(text: str, after: str | None, graph: str = "", fields: Sequence[str] = ()) -> Order:
    """Return an order, and check that `after` is a position in it. Raises as `AgentHome.find` does."""
    order = Order.of(text)
    if order.field is not None and order.field not in fields:
        raise UnknownFieldError(graph, order.by, (BY_START, BY_CHANGE, *fields))
    if after is not None and order.by == BY_START:
        known_id(after)
    elif after is not None and not _is_position(after, order):
        raise UnknownPlaceError(after, text)
    return order


def _is_position(after: str, order: Order) -> bool:
    number, colon, _ = after.partition(":")
    is_number = number.isascii() and number.isdecimal() and len(number) < len(str(HIGHEST_NUMBER))
    return is_number and not unkept(after) and bool(colon) is (order.field is not None)


def _leaves(registry: Registry, graph: str | None, state: StateName, *, framework: bool) -> tuple[ActiveIn, ...]:
    searched = registry.graphs if graph is None else (registry.graph(graph),)
    if framework and graph is None:
        searched = (*searched, *registry.own_graphs)
    with_state = [candidate for candidate in searched if state in candidate.states]
    if not with_state:
        states = tuple(dict.fromkeys(name for candidate in searched for name in candidate.states))
        raise UnknownStateError(graph or "", state, states)
    return tuple(ActiveIn(match.name, match.leaves(state)) for match in with_state)
