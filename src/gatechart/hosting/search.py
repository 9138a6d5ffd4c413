"""Searches for agents: what callers ask, in the terms of a store."""

from __future__ import annotations

from gatechart.api import CountsCommand, FindCommand
from gatechart.errors import UnknownFieldError, UnknownPlaceError, UnknownStateError
from gatechart.hosting.registry import Registry
from gatechart.turn import check_limit, known_id
from gatechart.values import BY_CHANGE, BY_START, HIGHEST_NUMBER, ActiveIn, Order, Query, StateName


def agent_query(registry: Registry, command: FindCommand) -> Query:
    """Return the query of a command. Raises as `AgentHome.find` does."""
    check_limit("find", command.limit)
    order = checked_order(command.order, command.after)
    graph = None if command.graph is None else registry.graph(command.graph).name
    active = None if command.state is None else _leaves(registry, graph, command.state)
    return Query(graph, active, command.status, command.after, command.limit, order)


def counted_graph(registry: Registry, command: CountsCommand) -> str | None:
    """Return the graph whose agents are to be counted; None for all. Raises UnknownGraphError."""
    return None if command.graph is None else registry.graph(command.graph).name


def checked_order(text: str, after: str | None) -> Order:
    """Return an order, and check that `after` is a place in it. Raises as `AgentHome.find` does."""
    order = Order.of(text)
    if order.by not in (BY_START, BY_CHANGE):
        raise UnknownFieldError("", order.by, (BY_START, BY_CHANGE))
    if after is not None and order.by == BY_START:
        known_id(after)
    elif after is not None and not _is_place(after):
        raise UnknownPlaceError(after, text)
    return order


def _is_place(after: str) -> bool:
    return after.isascii() and after.isdecimal() and len(after) < len(str(HIGHEST_NUMBER))


def _leaves(registry: Registry, graph: str | None, state: StateName) -> tuple[ActiveIn, ...]:
    searched = registry.graphs if graph is None else (registry.graph(graph),)
    holding = [each for each in searched if state in each.states]
    if not holding:
        states = tuple(dict.fromkeys(name for each in searched for name in each.states))
        raise UnknownStateError(graph or "", state, states)
    return tuple(ActiveIn(each.name, each.leaves(state)) for each in holding)
