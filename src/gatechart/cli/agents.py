"""Commands that write: an agent is started, sent an event, stopped, brought back to what it was."""

from __future__ import annotations

from typing import Annotated

import typer

from gatechart.api import AgentHome
from gatechart.cli.agent_views import outcome_document, print_agent, print_outcome, snapshot_document
from gatechart.cli.apps import Graphs, load_graphs, newest
from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.hosting import TimeoutOption, Way, carried_out, hint_at_waiting, visit
from gatechart.cli.inputs import read_payload
from gatechart.cli.options import AgentArgument, PayloadOption, Settings
from gatechart.cli.output import print_document, print_hint, print_warning
from gatechart.clients.database import TIMEOUT_S
from gatechart.graph import AnyGraph, EntryPoint
from gatechart.hosting.registry import Registry
from gatechart.stores import open_store
from gatechart.stores.opening import MEMORY_URL
from gatechart.turn import fit_payload
from gatechart.values import MailStatus, Outcome, Role, Snapshot

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
VersionArgument = Annotated[
    int, typer.Argument(metavar="VERSION", min=1, help="The agent's version to go back to.", show_default=False)
]
ReasonOption = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why, for the history.", show_default=False)
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
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Start an agent at an entry point of a graph.

    Say where with --at, or with --on what happened, and let the entry point be found. Its timers and invokes wait for
    a host, such as `gatechart run`. Where one runs, it is asked to start the agent.

    Examples:
      gatechart start customer_service --at GREETING_CUSTOMER
      gatechart start customer_service --at REVIEWING_HISTORY --payload @case.json --id case-1
      gatechart start --on CUSTOMER_INITIATED_CHAT
    """
    brought = read_payload(payload)
    chosen, entry = _beginning(load_graphs(settings.app), graph, at, on)
    fit_payload(chosen.name, entry, brought)  # before the store is opened, so that a new one is not made in vain;
    # an entry guard that says no is asked by the runtime only, so it may leave a new database without agents

    async def start(way: Way) -> None:
        started = (await way.verbs.start(chosen.name, at=entry.name, payload=brought, agent_id=id)).snapshot
        _print(settings, chosen, started)
        await way.hint_at_waiting(settings, chosen, started)

    await carried_out(settings, (chosen,), start, timeout_s=timeout)
    if settings.store == MEMORY_URL:
        print_warning(f"the store {MEMORY_URL} keeps nothing, so this agent is gone; name a database with --store")


async def send_event(
    settings: Settings,
    agent: AgentArgument,
    event: EventArgument,
    payload: PayloadOption = None,
    id: EventIdOption = None,  # noqa: A002
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Send an event to an agent.

    It is applied and kept when the command returns. A refused event changes nothing: the exit code is 1, and you are
    told why it was refused and what would be accepted.

    Mail and timers of the agent that are due come first, for they were accepted before. What its states invoke, its
    later timers, and all other agents wait for a host, such as `gatechart run`. Where one runs, it is asked to send
    the event; what it has not begun within --timeout, or when you press Ctrl-C, is withdrawn.

    Examples:
      gatechart send case-1 REQUIREMENTS_COLLECTED
      gatechart send case-1 FEEDBACK_RECEIVED -p '{"rating": 5}' --id form-4711
      jq '{rating: .stars}' form.json | gatechart send case-1 FEEDBACK_RECEIVED -p -
    """
    brought = read_payload(payload)
    graph, before = await _stored(agent, settings)

    async def send(way: Way) -> ExitCode | None:
        await way.verbs.read(agent)
        await _hint_at_waits(way.verbs, agent)
        outcome = await way.verbs.send(agent, event, brought, event_id=id)
        after = await way.verbs.read(agent)
        await _hint_at_turns_before(way.verbs, before, outcome)
        if settings.json:
            print_document(outcome_document(agent, outcome))
        else:
            print_outcome(graph, after, outcome)
        await way.hint_at_waiting(settings, graph, after)
        return None if outcome.applied else ExitCode.REFUSED

    return await carried_out(settings, (graph,), send, timeout_s=timeout)


async def stop_agent(settings: Settings, agent: AgentArgument) -> None:
    """End an agent where it is.

    From then on it refuses every event; what it did stays. No action runs.

    Examples:
      gatechart stop case-1
    """
    graph, _ = await _stored(agent, settings)
    async with visit(settings, (graph,)) as runtime:
        snapshot = await runtime.stop(agent)
    _print(settings, graph, snapshot)


async def roll_back_agent(
    settings: Settings, agent: AgentArgument, version: VersionArgument, reason: ReasonOption
) -> None:
    """Bring an agent back to what it was at an earlier version.

    That becomes a new version, and nothing is erased: the history tells the reason. No action runs, what was sent stays
    sent. The timers and invokes of the states restored begin anew. Look first with `gatechart show AGENT --version`.

    Examples:
      gatechart rollback case-1 7 --reason "answered the wrong customer"
    """
    graph, _ = await _stored(agent, settings)
    async with visit(settings, (graph,)) as runtime:
        snapshot = await (await runtime.resume(agent)).rollback(version, reason=reason)
        _print(settings, graph, snapshot)
        await hint_at_waiting(settings, runtime, graph, snapshot)


def _beginning(graphs: Graphs, name: str | None, at: str | None, on: str | None) -> tuple[AnyGraph, EntryPoint]:
    """The graph and the entry point that are asked for. Raises UsageError where it is not clear which."""
    asked = newest(graphs) if name is None else (Registry(graphs).graph(name),)
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


async def _stored(agent: str, settings: Settings) -> tuple[AnyGraph, Snapshot]:
    """The agent with its graph, found before the store is owned: what is not there must not create a database."""
    graphs = load_graphs(settings.app)
    async with open_store(settings.store, role=Role.READER) as store:
        snapshot = await store.load(agent)
    return Registry(graphs).graph_for(snapshot), snapshot


async def _hint_at_waits(verbs: AgentHome, agent: str) -> None:
    """Says why it may take a while: mail that failed holds the queue until it is tried again."""
    for mail in await verbs.mail(agent, status=MailStatus.WAITING):
        if mail.retry_at is not None and mail.due is None:
            print_hint(
                f"mail {mail.number} ({mail.event}) failed and is tried again at {mail.retry_at:%H:%M:%S} UTC; "
                "the event comes behind it"
            )


async def _hint_at_turns_before(verbs: AgentHome, before: Snapshot, outcome: Outcome) -> None:
    """Says what came before the event."""
    own = outcome.applied and not outcome.repeat
    entries = await verbs.history(before.agent_id, after=before.version)
    last = outcome.version - own  # what a host has gone on to since then came behind it
    earlier = [entry.event.name for entry in entries if outcome.repeat or entry.version <= last]
    if earlier:
        print_hint(f"turns of the agent that came before it: {', '.join(earlier)}")


def _print(settings: Settings, graph: AnyGraph, snapshot: Snapshot) -> None:
    if settings.json:
        print_document(snapshot_document(snapshot))
    else:
        print_agent(graph, snapshot)
