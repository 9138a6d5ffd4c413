"""Commands that write: an agent is started, sent an event, stopped."""

from __future__ import annotations

from typing import Annotated

import typer

from gatechart.cli.codes import ExitCode
from gatechart.cli.documents import outcome_document, snapshot_document
from gatechart.cli.errors import UsageError
from gatechart.cli.loading import Graphs, load_graphs
from gatechart.cli.options import AgentArgument, PayloadOption, Settings
from gatechart.cli.payload import read_payload
from gatechart.cli.printing import print_document, print_warning
from gatechart.cli.views import print_agent, print_outcome
from gatechart.graph import EntryPoint, StateTransitionGraph
from gatechart.runtime import Runtime
from gatechart.runtime.registry import Registry
from gatechart.stores import open_store
from gatechart.stores.opening import MEMORY_URL
from gatechart.turn import fit_payload
from gatechart.values import Snapshot

GraphArgument = Annotated[
    str | None,
    typer.Argument(metavar="GRAPH", help="The graph's name; with --on it may be left out.", show_default=False),
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="ENTRY_POINT", help="Begin at this entry point.", show_default=False)
]
OnOption = Annotated[
    str | None,
    typer.Option("--on", metavar="TRIGGER", help="Begin at the entry point that opens on this.", show_default=False),
]
NewIdOption = Annotated[
    str | None, typer.Option("--id", help="The agent's id; made up if left out.", show_default=False)
]
EventArgument = Annotated[str, typer.Argument(metavar="EVENT", help="The event's name.", show_default=False)]
EventIdOption = Annotated[
    str | None,
    typer.Option(
        "--id", help="The event's id: sent again with it, the event is not applied again.", show_default=False
    ),
]


async def start_agent(
    settings: Settings,
    graph: GraphArgument = None,
    at: AtOption = None,
    on: OnOption = None,
    payload: PayloadOption = None,
    id: NewIdOption = None,  # noqa: A002
) -> None:
    """Start an agent at an entry point of a graph.

    Say where with --at, or with --on what happened, and let the entry point be found.

    Examples:
      gatechart start customer_service --at GREETING_CUSTOMER
      gatechart start customer_service --at REVIEWING_HISTORY --payload @case.json --id case-1
      gatechart start --on CUSTOMER_INITIATED_CHAT
    """
    brought = read_payload(payload)
    chosen, entry = _beginning(load_graphs(settings.app), graph, at, on)
    fit_payload(chosen.name, entry, brought)  # before the store is opened, so that a new one is not made in vain;
    # an entry guard that says no is asked by the runtime only, so it may leave a new database without agents
    async with Runtime.open(settings.store, graphs=(chosen,)) as runtime:
        started = await runtime.start(chosen.name, at=entry.name, payload=brought, id=id)
    _print(settings, chosen, started.snapshot)
    if settings.store == MEMORY_URL:
        print_warning(f"the store {MEMORY_URL} keeps nothing, so this agent is gone; name a database with --store")


async def send_event(
    settings: Settings,
    agent: AgentArgument,
    event: EventArgument,
    payload: PayloadOption = None,
    id: EventIdOption = None,  # noqa: A002
) -> ExitCode | None:
    """Send an event to an agent.

    It is applied and kept when the command returns. A refused event changes nothing: the exit code is 1, and you are
    told why it was refused and what would be accepted.

    Examples:
      gatechart send case-1 REQUIREMENTS_COLLECTED
      gatechart send case-1 FEEDBACK_RECEIVED -p '{"rating": 5}' --id form-4711
      jq '{rating: .stars}' form.json | gatechart send case-1 FEEDBACK_RECEIVED -p -
    """
    brought = read_payload(payload)
    graph = await _graph_of(agent, settings)
    async with Runtime.open(settings.store, graphs=(graph,)) as runtime:
        receiver = await runtime.resume(agent)
        outcome = await receiver.send(event, brought, id=id)
    if settings.json:
        print_document(outcome_document(agent, outcome))
    else:
        print_outcome(graph, receiver.snapshot, outcome)
    return None if outcome.applied else ExitCode.REFUSED


async def stop_agent(settings: Settings, agent: AgentArgument) -> None:
    """End an agent where it is.

    From then on it refuses every event; what it did stays. No action runs.

    Examples:
      gatechart stop case-1
    """
    graph = await _graph_of(agent, settings)
    async with Runtime.open(settings.store, graphs=(graph,)) as runtime:
        snapshot = await runtime.stop(agent)
    _print(settings, graph, snapshot)


def _beginning(
    graphs: Graphs, name: str | None, at: str | None, on: str | None
) -> tuple[StateTransitionGraph, EntryPoint]:
    """The graph and the entry point that are asked for. Raises UsageError where it is not clear which."""
    asked = graphs if name is None else (Registry(graphs).graph(name),)
    if at is not None and on is not None:
        raise UsageError("--at and --on both say where to begin; give one of them")
    if on is not None:
        return Registry(asked).opened_by(on)
    if at is None:
        doors = "; ".join(f"{graph.name}: {', '.join(graph.entry_points)}" for graph in asked)
        raise UsageError(f"say where to begin, with --at and an entry point or --on and a trigger. There are {doors}")
    if len(asked) > 1:
        names = ", ".join(graph.name for graph in asked)
        raise UsageError(f"say of which graph {at!r} is an entry point: one of {names}")
    return asked[0], asked[0].entry_point(at)


async def _graph_of(agent: str, settings: Settings) -> StateTransitionGraph:
    """The agent's graph, found before the store is owned: what is not there must not create a database."""
    graphs = load_graphs(settings.app)
    async with open_store(settings.store, read_only=True) as store:
        snapshot = await store.load(agent)
    return Registry(graphs).graph_for(snapshot)


def _print(settings: Settings, graph: StateTransitionGraph, snapshot: Snapshot) -> None:
    if settings.json:
        print_document(snapshot_document(snapshot))
    else:
        print_agent(graph, snapshot)
