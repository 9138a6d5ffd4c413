"""Commands that change an agent: start, send, stop, rollback, fork, erase."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gatechart.cli.completion import AgentArgument, complete_events, complete_graphs
from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import (
    TIMEOUT_S,
    EngineOption,
    NamespaceOption,
    PayloadOption,
    ServerOption,
    Settings,
    TimeoutOption,
    YesOption,
    read_payload,
)
from gatechart.cli.output import clock_text, emit, is_confirmed, print_hint, print_warning
from gatechart.cli.transcripts import JournalOption
from gatechart.errors.outside import StoreCorruptError
from gatechart.values.agents import Outcome, Snapshot, ended_in_loop
from gatechart.values.commits import CONVERSATION
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.api.home import AgentHome
    from gatechart.cli import agent_views, connection, loading
    from gatechart.cli.connection import HomeConnection
    from gatechart.cli.loading import Graphs
    from gatechart.graph.definition import EntryPoint
    from gatechart.graph.graph import AnyGraph
    from gatechart.hosting import registry
    from gatechart.stores import memory
    from gatechart.turn import arguments as turn_arguments
else:
    agent_views, connection, loading, registry, stores, memory, turn_arguments = late(
        "gatechart.cli.agent_views",
        "gatechart.cli.connection",
        "gatechart.cli.loading",
        "gatechart.hosting.registry",
        "gatechart.stores",
        "gatechart.stores.memory",
        "gatechart.turn.arguments",
    )

GraphArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="GRAPH",
        autocompletion=complete_graphs,
        help="The name of the graph; optional with --on.",
        show_default=False,
    ),
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="ENTRY_POINT", help="The entry point to start at.", show_default=False)
]
OnOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="TRIGGER",
        help="Start at the entry point that opens on this business trigger.",
        show_default=False,
    ),
]
NewIdOption = Annotated[
    str | None,
    typer.Option("--id", metavar="AGENT", help="The id of the agent. Default: a new one.", show_default=False),
]
OrResumeOption = Annotated[
    bool, typer.Option("--or-resume", help="If an agent with this --id exists, leave it unchanged.")
]
VersionArgument = Annotated[
    int,
    typer.Argument(
        metavar="VERSION", min=1, help="The version, as `gatechart history` numbers it.", show_default=False
    ),
]
TurnsOption = Annotated[
    int,
    typer.Option(
        "--turns", metavar="N", min=1, help="How many of the model's newest turns to leave out of its transcript."
    ),
]
ReasonOption = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="The reason, kept in the history.", show_default=False)
]
EventArgument = Annotated[
    str,
    typer.Argument(metavar="EVENT", autocompletion=complete_events, help="The name of the event.", show_default=False),
]
EventIdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="ID",
        help="The id of the event: repeating the command with the same id does not apply the event again.",
        show_default=False,
    ),
]


async def start_agent(
    settings: Settings,
    graph: GraphArgument = None,
    at: AtOption = None,
    on: OnOption = None,
    payload: PayloadOption = None,
    id: NewIdOption = None,  # noqa: A002
    or_resume: OrResumeOption = False,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Start an agent at an entry point of a graph.

    Name the entry point with --at, or name a business trigger with --on to start at the entry point that opens on it.
    If a host is running, such as `gatechart run`, it starts the agent. If not, this command does, and the agent's
    timers and invokes wait for the next host.

    Examples:
      gatechart start customer_service --at GREETING_CUSTOMER
      gatechart start customer_service --at REVIEWING_HISTORY --payload @case.json --id case-1
      gatechart start --on CUSTOMER_INITIATED_CHAT
    """
    if or_resume and id is None:
        raise UsageError("--or-resume needs the --id of the agent")
    fields = read_payload(payload)
    chosen, entry = _entry_point(loading.load_graphs(settings), graph, at, on)
    # checked before a database is created needlessly; the runtime evaluates an entry guard, after the database exists
    turn_arguments.fit_payload(chosen.name, entry, fields)

    async def start(reached: HomeConnection) -> None:
        if or_resume and id is not None:
            agent = await reached.home.start_or_resume(chosen.name, at=entry.name, payload=fields, agent_id=id)
        else:
            agent = await reached.home.start(chosen.name, at=entry.name, payload=fields, agent_id=id)
        started = agent.snapshot
        _print(settings, chosen, started)
        await reached.hint_at_waiting(settings, chosen, started)

    await connection.execute(settings, (chosen,), start, timeout_s=timeout)
    if settings.store == memory.MEMORY_URL:
        print_warning(
            f"this agent is already gone, because {memory.MEMORY_URL} keeps nothing; name a database with --store"
        )


async def send_event(
    settings: Settings,
    agent: AgentArgument,
    event: EventArgument,
    payload: PayloadOption = None,
    id: EventIdOption = None,  # noqa: A002
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Send an event to an agent and wait until it is applied.

    When the command returns, the event is applied and durable. A refused event changes nothing: the exit code is 1, and
    the message says why it was refused and which events the agent accepts. The exit code is 8 if the agent has ended
    because it could not escape a loop.

    Mail and timers that are already due are applied first. If a host is running, such as `gatechart run`, it applies
    the event. If the host has not started on the request within --timeout, or when you press Ctrl-C, the request is
    withdrawn. If no host is running, this command applies the event; then later timers, invokes and other agents wait
    for the next host.

    Examples:
      gatechart send case-1 REQUIREMENTS_COLLECTED
      gatechart send case-1 FEEDBACK_RECEIVED -p '{"rating": 5}' --id form-4711
      jq '{rating: .stars}' form.json | gatechart send case-1 FEEDBACK_RECEIVED -p -
    """
    fields = read_payload(payload)
    graph, before = await _stored(agent, settings)

    async def send(reached: HomeConnection) -> ExitCode | None:
        await reached.home.read(agent)
        await _hint_at_waits(reached.home, agent)
        outcome = await reached.home.send(agent, event, fields, event_id=id)
        after = await reached.home.read(agent)
        await _hint_at_turns_before(reached.home, before, outcome)
        emit(
            settings,
            agent_views.outcome_document(agent, outcome),
            partial(agent_views.print_outcome, graph, after, outcome),
        )
        await reached.hint_at_waiting(settings, graph, after)
        if outcome.refusal is not None:
            return ExitCode.REFUSED
        return ExitCode.LOOPED if ended_in_loop(after) else None

    return await connection.execute(settings, (graph,), send, timeout_s=timeout)


async def stop_agent(
    settings: Settings,
    agent: AgentArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Stop an agent in its current state.

    A stopped agent refuses every event. Its history stays, and no action runs. If a host is running, such as
    `gatechart run`, it stops the agent.

    Examples:
      gatechart stop case-1
    """
    graph, _ = await _stored(agent, settings)

    async def stop(reached: HomeConnection) -> Snapshot:
        return await reached.home.stop(agent)

    _print(settings, graph, await connection.execute(settings, (graph,), stop, timeout_s=timeout))


async def erase_agent(
    settings: Settings,
    agent: AgentArgument,
    yes: YesOption = False,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Erase an agent for good: its context, its history and its mail.

    This cannot be undone. Agents that wait for its answer are notified. To end an agent and keep its history, use
    `gatechart stop`. Works without an app.

    Examples:
      gatechart erase case-1
      gatechart erase case-1 --yes --json
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        with suppress(StoreCorruptError):  # an agent that cannot be read can still be erased
            await store.load(agent)
    if not yes and not is_confirmed(settings, f"Erase agent {agent!r} and its history for good from {settings.store}?"):
        print_hint("nothing was erased")
        return

    async def erase(reached: HomeConnection) -> None:
        await reached.home.erase(agent)

    await connection.execute(settings, (), erase, timeout_s=timeout)
    emit(settings, {"agent_id": agent, "erased": True}, f"erased {agent} and its history")


async def roll_back_agent(
    settings: Settings,
    agent: AgentArgument,
    version: VersionArgument,
    reason: ReasonOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Restore an earlier version of an agent.

    The restored state becomes a new version; the history keeps all turns and the reason. No action runs, and mail that
    was sent stays sent. Timers and invokes of the restored states start again. If a host is running, such as `gatechart
    run`, it restores the agent. To preview a version, use `gatechart show AGENT --version VERSION`.

    Examples:
      gatechart rollback case-1 7 --reason "answered the wrong customer"
    """
    graph, _ = await _stored(agent, settings)

    async def restore(reached: HomeConnection) -> None:
        snapshot = await reached.home.rollback(agent, version, reason=reason)
        _print(settings, graph, snapshot)
        await reached.hint_at_waiting(settings, graph, snapshot)

    await connection.execute(settings, (graph,), restore, timeout_s=timeout)


async def retry_agent(
    settings: Settings,
    agent: AgentArgument,
    reason: ReasonOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Continue a failed agent from its last version before the failure.

    The state of that version becomes a new version; the history keeps all turns and the reason. Timers and invokes of
    the restored states start again. `gatechart show AGENT` shows why the agent failed. If a host is running, such as
    `gatechart run`, it continues the agent.

    Examples:
      gatechart retry case-1 --reason "the payment service is back"
    """
    graph, _ = await _stored(agent, settings)

    async def restore(reached: HomeConnection) -> None:
        snapshot = await reached.home.retry_agent(agent, reason=reason)
        _print(settings, graph, snapshot)
        await reached.hint_at_waiting(settings, graph, snapshot)

    await connection.execute(settings, (graph,), restore, timeout_s=timeout)


async def cut_transcript(
    settings: Settings,
    agent: AgentArgument,
    reason: ReasonOption,
    turns: TurnsOption = 1,
    journal: JournalOption = CONVERSATION,
    server: ServerOption = None,
    engine: EngineOption = None,
    namespace: NamespaceOption = "",
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Leave the newest turns of the model out of the transcript of an agent's model loops.

    The results of the calls in those turns are left out, too; messages of users stay. The change applies when the loop
    next starts: send an event that enters its state again, or `gatechart retry` a failed agent. Completed calls may be
    repeated.

    Examples:
      gatechart cut case-1 --turns 2 --reason "the provider refuses its last turns"
      gatechart cut case-1 --reason "it went wrong" --server http://127.0.0.1:8000
    """

    async def cut(home: AgentHome) -> None:
        left_out = (await home.cut(agent, turns, reason=reason, journal=journal)).left_out
        document = {"agent_id": agent, "journal": journal, "left_out": list(left_out)}
        emit(settings, document, f"{agent}: {', '.join(left_out) or 'nothing'} left out when the loop next starts")

    if server or engine:
        async with asyncio.timeout(timeout), connection.elsewhere(server, engine, namespace) as home:
            return await cut(home)
    graph, _ = await _stored(agent, settings)
    await connection.execute(settings, (graph,), lambda reached: cut(reached.home), timeout_s=timeout)
    return None


async def fork_agent(
    settings: Settings,
    agent: AgentArgument,
    version: VersionArgument,
    id: NewIdOption = None,  # noqa: A002
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Start a copy of an agent as it was at a version.

    The original stays as it is, active or ended. No action runs. Timers and invokes of the active states start for the
    copy. The history of the copy starts by naming the original. Mail and handoffs stay with the original. If a host is
    running, such as `gatechart run`, it starts the copy.

    Examples:
      gatechart fork case-1 7 --id case-1-again
    """
    graph, _ = await _stored(agent, settings)

    async def fork(reached: HomeConnection) -> None:
        started = (await reached.home.fork(agent, version, new_id=id)).snapshot
        _print(settings, graph, started)
        await reached.hint_at_waiting(settings, graph, started)

    await connection.execute(settings, (graph,), fork, timeout_s=timeout)


def _entry_point(graphs: Graphs, name: str | None, at: str | None, on: str | None) -> tuple[AnyGraph, EntryPoint]:
    """Find the graph and the entry point to start at. Raises UsageError if the options are ambiguous."""
    searched = loading.newest(graphs) if name is None else (registry.Registry(graphs).graph(name),)
    if at is not None and on is not None:
        raise UsageError("--at and --on contradict each other; give one of them")
    if on is not None:
        return registry.Registry(searched).opened_by(on)
    if at is None:
        doors = "; ".join(f"{graph.name}: {', '.join(graph.entry_points)}" for graph in searched)
        raise UsageError(f"no entry point; give one with --at, or a trigger with --on. Entry points: {doors}")
    if len(searched) > 1:
        names = ", ".join(graph.name for graph in searched)
        raise UsageError(f"no graph; name the one with the entry point {at!r}: {names}")
    return searched[0], searched[0].entry_point(at)


async def _stored(agent: str, settings: Settings) -> tuple[AnyGraph, Snapshot]:
    """Load an agent and its graph with a reader, so that an unknown agent does not create a database."""
    graphs = loading.load_graphs(settings)
    async with stores.open_store(settings.store, role=Role.READER) as store:
        snapshot = await store.load(agent)
    return registry.Registry(graphs).open_graph_for(snapshot), snapshot


async def _hint_at_waits(home: AgentHome, agent: str) -> None:
    """Explain why the event may take a while: failed mail blocks the queue until its next attempt."""
    for mail in await home.mail(agent, status=MailStatus.WAITING):
        if mail.retry_at is not None and mail.due is None:
            print_hint(
                f"the event waits for mail {mail.number} ({mail.event}), which failed and is retried at "
                f"{clock_text(mail.retry_at)}"
            )


async def _hint_at_turns_before(home: AgentHome, before: Snapshot, outcome: Outcome) -> None:
    """Print the events that were applied before this one."""
    own = outcome.applied and not outcome.repeat
    entries = await home.history(before.agent_id, after=before.version)
    last = outcome.version - own  # a host may have applied more since
    earlier = [entry.event.name for entry in entries if outcome.repeat or entry.version <= last]
    if earlier:
        print_hint(f"applied before it: {', '.join(earlier)}")


def _print(settings: Settings, graph: AnyGraph, snapshot: Snapshot) -> None:
    emit(settings, agent_views.snapshot_document(snapshot), partial(agent_views.print_agent, graph, snapshot))
