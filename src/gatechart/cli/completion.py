"""Shell completion of the names of agents, graphs, states and events. Unreadable names are not offered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gatechart.cli.late_imports import late
from gatechart.cli.options import settings_of
from gatechart.values.framework import DIRECTORY_GRAPH, SCHEDULE_GRAPH
from gatechart.values.homes import Role
from gatechart.values.queries import Query

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.cli import agent_views, loading
    from gatechart.graph.graph import AnyGraph
    from gatechart.hosting import registry
    from gatechart.values.agents import Snapshot
else:
    agent_views, loading, registry, stores = late(
        "gatechart.cli.agent_views", "gatechart.cli.loading", "gatechart.hosting.registry", "gatechart.stores"
    )

_MOST: Final = 1_000  # agents that are read


def complete_agents(context: typer.Context) -> list[str]:
    """Offer the ids of agents in the database."""
    return _offered(lambda: (agent.agent_id for agent in _agents(context)))


def complete_schedules(context: typer.Context) -> list[str]:
    """Offer the names of schedules."""
    return _offered(lambda: (each.agent_id.partition(":")[2] for each in _agents(context, SCHEDULE_GRAPH)))


def complete_entries(context: typer.Context) -> list[str]:
    """Offer the ids of the entries of the directory: stored entries, and entry points of the app."""

    def known() -> Iterable[str]:
        yield from (each.agent_id.partition(":")[2] for each in _agents(context, DIRECTORY_GRAPH))
        for graph in _graphs(context):
            yield from (f"{graph.name}.{name}" for name in graph.entry_points if graph.profile_at(name) is not None)

    return _offered(known)


def complete_targets(context: typer.Context) -> list[str]:
    """Offer the targets of handoffs: graphs of the app, and entries of the directory."""
    return list(dict.fromkeys((*complete_graphs(context), *complete_entries(context))))


def complete_breakers(context: typer.Context) -> list[str]:
    """Offer the names of circuit breakers that are not closed."""

    async def read() -> Iterable[str]:
        async with stores.open_store(settings_of(context, context.params).store, role=Role.READER) as store:
            return [breaker.name for breaker in await store.breakers()]

    return _offered(lambda: asyncio.run(read()))


def complete_graphs(context: typer.Context) -> list[str]:
    """Offer the names of the graphs of the app."""
    return _offered(lambda: (graph.name for graph in _graphs(context)))


def complete_states(context: typer.Context) -> list[str]:
    """Offer the states of the named graph, or of all graphs."""
    wanted = context.params.get("graph")
    return _offered(
        lambda: (state for graph in _graphs(context) if wanted in (None, graph.name) for state in graph.states)
    )


def complete_events(context: typer.Context) -> list[str]:
    """Offer the events that the agent accepts or defers."""

    def accepted() -> Iterable[str]:
        snapshot = next(agent for agent in _agents(context) if agent.agent_id == context.params.get("agent"))
        graphs = loading.load_graphs(settings_of(context, context.params))
        return agent_views.accepted_by(registry.Registry(graphs).graph_for(snapshot), snapshot).events

    return _offered(accepted)


AgentArgument = Annotated[
    str,
    typer.Argument(metavar="AGENT", help="The id of the agent.", show_default=False, autocompletion=complete_agents),
]


def _offered(find: Callable[[], Iterable[str]]) -> list[str]:
    """Return the names without repeats; nothing if that fails, because a shell cannot show errors."""
    names: list[str] = []
    with suppress(Exception, SystemExit), redirect_stdout(StringIO()):  # an app may print while it is imported
        names.extend(dict.fromkeys(find()))
    return names


def _graphs(context: typer.Context) -> tuple[AnyGraph, ...]:
    return loading.newest(loading.load_graphs(settings_of(context, context.params)))


def _agents(context: typer.Context, graph: str | None = None) -> tuple[Snapshot, ...]:
    async def read() -> tuple[Snapshot, ...]:
        async with stores.open_store(settings_of(context, context.params).store, role=Role.READER) as store:
            return (await store.find(Query(graph, limit=_MOST, framework=graph is not None))).agents

    return asyncio.run(read())
