"""Commands that only read agents: show, accepts, list, history. They work while another process owns the database."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gatechart.cli.completion import AgentArgument, complete_events, complete_graphs, complete_states
from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import PayloadOption, Settings, read_payload
from gatechart.cli.output import emit, print_hint, print_warning
from gatechart.cli.remedies import in_commands
from gatechart.errors.outside import StoreCorruptError
from gatechart.errors.root import DefinitionError, GatechartError
from gatechart.values.agents import Snapshot, Status, ended_in_loop
from gatechart.values.failure_reports import FailureReport, failure_report
from gatechart.values.framework import (
    is_framework_graph,
)
from gatechart.values.homes import Role
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.queries import BY_CHANGE, BY_START, ActiveIn, MailQuery, Page, Query
from gatechart.values.trail import entries_in

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.api import arguments, codec
    from gatechart.api import search as verbs
    from gatechart.cli import agent_views, conditions, connection, loading, signal_views
    from gatechart.cli.agent_views import Accepted
    from gatechart.hosting import registry, search
    from gatechart.ports import Store
    from gatechart.stores.sql import opening
    from gatechart.turn import mail as turn_mail
else:
    (
        agent_views,
        arguments,
        codec,
        conditions,
        connection,
        loading,
        opening,
        registry,
        search,
        signal_views,
        stores,
        turn_mail,
        verbs,
    ) = late(
        "gatechart.cli.agent_views",
        "gatechart.api.arguments",
        "gatechart.api.codec",
        "gatechart.cli.conditions",
        "gatechart.cli.connection",
        "gatechart.cli.loading",
        "gatechart.stores.sql.opening",
        "gatechart.hosting.registry",
        "gatechart.hosting.search",
        "gatechart.cli.signal_views",
        "gatechart.stores",
        "gatechart.turn.mail",
        "gatechart.api.search",
    )

_MOST_WAITING: Final = 100  # mail and invokes shown with an agent
GraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="GRAPH",
        autocompletion=complete_graphs,
        help="Only agents of this graph.",
        show_default=False,
    ),
]
StateOption = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="STATE",
        autocompletion=complete_states,
        help="Only agents in this state, or in a state inside it.",
        show_default=False,
    ),
]
StatusOption = Annotated[
    Status | None, typer.Option("--status", help="Only agents with this status.", show_default=False)
]
LimitOption = Annotated[int, typer.Option("--limit", min=1, metavar="NUMBER", help="List at most this many.")]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only agents with this value in a searchable field: customer=Ada, total>=10 (or <, <=, >), name^=A for a "
        "prefix. May be repeated.",
        show_default=False,
    ),
]
OrderOption = Annotated[
    str,
    typer.Option(
        "--order",
        metavar="ORDER",
        help="started: oldest first. changed: latest change first. Or a searchable field. A minus sign reverses the "
        "order, as in --order=-changed.",
    ),
]
AfterAgentOption = Annotated[
    str | None,
    typer.Option(
        "--after",
        metavar="PLACE",
        help="Only agents after this one, or after this position of a list.",
        show_default=False,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="List all, without a limit.")]
FrameworkOption = Annotated[
    bool, typer.Option("--framework", help="Also list the agents of gatechart itself, such as schedules.")
]
CountOption = Annotated[bool, typer.Option("--count", help="Count agents by graph, status and state instead.")]
VersionOption = Annotated[
    int | None,
    typer.Option(
        "--version", min=1, metavar="VERSION", help="Show the agent as it was at this version.", show_default=False
    ),
]
AfterVersionOption = Annotated[
    int, typer.Option("--after", min=0, metavar="VERSION", help="Only turns after this version.")
]
AskedEventArgument = Annotated[
    str | None,
    typer.Argument(metavar="[EVENT]", autocompletion=complete_events, help="Show only this event.", show_default=False),
]


async def show_agent(settings: Settings, agent: AgentArgument, version: VersionOption = None) -> ExitCode | None:
    """Show an agent: its state, context, waiting mail, the events it accepts or defers, and dead mail.

    The exit code is 1 if the agent may be waiting for dead mail, such as a timer, the result of an invoke or the answer
    to a handoff, and 8 if it could not escape a loop and ended as failed.

    Examples:
      gatechart show case-1
      gatechart show case-1 --json
      gatechart show case-1 --version 7
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        if version is not None:
            _show_past(settings, await store.snapshot_at(agent, version))
            return None
        snapshot = await store.load(agent)
        failure = await _failure_of(store, snapshot)
        mail = await store.mail(MailQuery(agent, MailStatus.WAITING, limit=_MOST_WAITING))
        dead = await store.mail(MailQuery(agent, MailStatus.DEAD, limit=_MOST_WAITING))
        running = [invocation for _, invocation in await store.running(agent_id=agent, after=0, limit=_MOST_WAITING)]
    accepted, problem = _accepted(settings, snapshot)

    def show() -> None:
        agent_views.print_whole_agent(snapshot, accepted or agent_views.NOTHING)
        agent_views.print_failure(failure)
        agent_views.print_waiting(mail, running)
        agent_views.print_dead(dead)
        signal_views.print_escapes(snapshot.trail.escapes)
        if problem is not None:
            print_hint(f"the accepted events are unknown: {problem}")

    document = {
        **agent_views.snapshot_document(snapshot),
        "accepts": None if accepted is None else agent_views.accepted_document(accepted),
        "problem": problem,
        "failure": None if failure is None else agent_views.failure_document(failure),
        "mail": list(map(agent_views.mail_document, mail)),
        "invokes": list(map(agent_views.running_document, running)),
        "dead": list(map(agent_views.mail_document, dead)),
        "escapes": signal_views.escapes_document(snapshot.trail.escapes),
    }
    emit(settings, document, show)
    if ended_in_loop(snapshot):
        print_warning(f"{snapshot.agent_id} could not escape a loop; see `gatechart history`")
        return ExitCode.LOOPED
    return _warn_of_dead_mail(snapshot, dead)


async def _failure_of(store: Store, snapshot: Snapshot) -> FailureReport | None:
    """Return the cause of the agent's failure; None if it has not failed, or its last turn cannot be read."""
    if snapshot.status is not Status.FAILED:
        return None
    entries = await store.history(snapshot.agent_id, after=snapshot.version - 1, limit=1)
    return failure_report(entries[0], snapshot) if entries else None


def _warn_of_dead_mail(snapshot: Snapshot, dead: Sequence[Mail]) -> ExitCode | None:
    """Warn and return the exit code if the agent may be waiting for dead mail."""
    numbers = [
        str(letter.number) for letter in dead if turn_mail.is_awaited(letter) and _is_awaited_in(snapshot, letter)
    ]
    if snapshot.status is not Status.ACTIVE or not numbers:
        return None
    print_warning(
        f"{snapshot.agent_id} may be waiting for mail that is dead; fix the cause, then "
        f"`gatechart mail retry {' '.join(numbers)}`, or `gatechart mail discard` if it no longer matters"
    )
    return ExitCode.REFUSED


def _is_awaited_in(snapshot: Snapshot, mail: Mail) -> bool:
    """Return whether the mail has no state, or its state has not been left since."""
    return mail.state is None or (mail.state, mail.epoch) in snapshot.entered


def _show_past(settings: Settings, snapshot: Snapshot) -> None:
    emit(
        settings,
        agent_views.snapshot_document(snapshot),
        partial(agent_views.print_whole_agent, snapshot, agent_views.NOTHING),
    )


async def list_agents(
    settings: Settings,
    graph: GraphOption = None,
    state: StateOption = None,
    status: StatusOption = None,
    where: WhereOption = None,
    order: OrderOption = BY_START,
    after: AfterAgentOption = None,
    limit: LimitOption = 100,
    every: AllOption = False,
    count: CountOption = False,
    framework: FrameworkOption = False,
) -> None:
    """List agents, with the time since the last turn of each.

    Works without an app, except for --where and an order by a field. With an app, --state also finds agents in
    substates, and unknown names are errors. The agents of gatechart itself, such as schedules, are listed with
    --framework, or with --graph and the name of their graph.

    Examples:
      gatechart list --status active --state ESCALATING_ISSUE
      gatechart list --order changed --limit 20
      gatechart list --graph orders --where customer=Ada --where 'total>=10' --order=-total
      gatechart list --count
      gatechart list --graph customer_service --all --json
    """
    if count:
        _check_alone(state, status, after, where)
        await _count_agents(settings, graph, framework=framework)
        return
    query = _query(settings, graph, state, status, where or [], order, after, limit, framework=framework)
    async with stores.open_store(settings.store, role=Role.READER) as store:
        page = await (_all_pages(store, query) if every else store.find(query))
        if graph is not None and not page.agents and not (await store.find(Query(graph, limit=1))).agents:
            _check_known(settings, graph)

    def show() -> None:
        if page.agents:
            agent_views.print_agents(page.agents, datetime.now(UTC))
        else:
            print_hint("no agents found")
        if page.incomplete:
            print_hint(f"agents may be missing: a host still adds the values of {', '.join(page.incomplete)}")
        if page.next is not None:
            print_hint(f"there are more; add --after {quote(page.next)}, or --all")

    document = {"agents": [agent_views.snapshot_document(found) for found in page.agents], "next": page.next}
    emit(settings, document | ({"incomplete": list(page.incomplete)} if page.incomplete else {}), show)


def _check_alone(state: str | None, status: Status | None, after: str | None, where: Sequence[str] | None) -> None:
    """Raise UsageError if another option than a graph narrows a count."""
    given = {"--state": state, "--status": status, "--after": after, "--where": where or None}
    if more := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"--count counts every status and state; leave out {', '.join(more)}")


async def _count_agents(settings: Settings, graph: str | None, *, framework: bool) -> None:
    is_wanted = framework or graph is not None
    async with stores.open_store(settings.store, role=Role.READER) as store:
        known = await store.counts(graph)
    counts = tuple(each for each in known if is_wanted or not is_framework_graph(each.graph))
    if graph is not None and not counts:
        _check_known(settings, graph)

    def show() -> None:
        if counts:
            agent_views.print_counts(counts)
        else:
            print_hint("no agents found")

    emit(settings, agent_views.counts_document(counts), show)


async def show_accepted(
    settings: Settings, agent: AgentArgument, event: AskedEventArgument = None, payload: PayloadOption = None
) -> ExitCode | None:
    """Show the events that an agent accepts or defers now, and whether its guards accept them.

    Guards are evaluated, and nothing else happens. The column AGREES says yes, no or deferred. It says depends if the
    answer depends on the payload, which is unknown. With an EVENT, only that event is evaluated, with the --payload if
    there is one; the exit code is 1 if the event would be refused, and 0 if it would be deferred.

    Examples:
      gatechart accepts case-1
      gatechart accepts case-1 FEEDBACK_RECEIVED -p '{"rating": 5}'
      gatechart accepts case-1 --json
    """
    if event is None and payload is not None:
        raise UsageError("a payload needs an event; name it after the agent")
    graphs = loading.load_graphs(settings)
    async with connection.inspect(settings, graphs) as runtime:
        if event is None:
            events = await runtime.accepts(agent)
            emit(settings, codec.ACCEPTS.plain(events), lambda: agent_views.print_accepted(events))
            return None
        answer = await runtime.can(agent, event, read_payload(payload))
    emit(settings, codec.ACCEPTED.plain(answer), lambda: agent_views.print_accepted((answer,)))
    return ExitCode.REFUSED if answer.refused else None


async def show_history(
    settings: Settings, agent: AgentArgument, after: AfterVersionOption = 0, limit: LimitOption = 100
) -> None:
    """List the turns of an agent, oldest first: event, transitions and changes.

    Times are local; for UTC, set TZ=UTC. With --json, they are always UTC. Works without an app.

    Examples:
      gatechart history case-1
      gatechart history case-1 --after 100 --json
      TZ=UTC gatechart history case-1
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        turns = await store.history(agent, after=after, limit=limit + 1)
    entries = turns[:limit]
    next_after = entries[-1].version if len(turns) > limit else None

    def show() -> None:
        agent_views.print_history(entries)
        if next_after is not None:
            print_hint(f"there are more; add --after {next_after}")

    documents = [agent_views.entry_document(entry) for entry in entries]
    emit(settings, {"agent_id": agent, "history": documents, "next": next_after}, show)


async def show_trail(settings: Settings, agent: AgentArgument) -> None:
    """Show the trail of an agent, oldest first: the entries that its signals examine.

    A trail is kept only for agents whose graph has signals. Its length is limited; the history has the earlier events.
    The command also shows the agent's attempts to escape from what its signals found, and their outcomes.

    Examples:
      gatechart trail case-1
      gatechart trail case-1 --json
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        snapshot = await store.load(agent)
    try:
        entries = entries_in(snapshot.trail.text)
    except ValueError as error:
        name = opening.located(settings.store).name
        raise StoreCorruptError(name, f"column 'trail' of agent {agent!r}: {error}") from error
    escapes = snapshot.trail.escapes

    def show() -> None:
        signal_views.print_trail(entries)
        signal_views.print_escapes(escapes)

    emit(settings, signal_views.trail_document(agent, entries, escapes), show)


def _accepted(settings: Settings, snapshot: Snapshot) -> tuple[Accepted | None, str | None]:
    """Return the events that the agent accepts or defers, or why they are unknown; neither for framework agents."""
    if is_framework_graph(snapshot.graph):
        return None, None
    try:
        graph = registry.Registry(loading.load_graphs(settings)).graph_for(snapshot)
    except GatechartError as error:
        return None, in_commands(str(error))
    return agent_views.accepted_by(graph, snapshot), None


def _query(
    settings: Settings,
    graph: str | None,
    state: str | None,
    status: Status | None,
    where: Sequence[str],
    order: str,
    after: str | None,
    limit: int,
    *,
    framework: bool,
) -> Query:
    is_plain = order.removeprefix("-") in (BY_START, BY_CHANGE)
    if where or not is_plain or (state is not None and loading.find_app(settings.app) is not None):
        names = {"graph": graph, "state": state, "status": status, "order": order, "framework": framework}
        command = arguments.made(
            verbs.FindCommand, **names, where=conditions.parsed(where) or None, after=after, limit=limit
        )
        return search.agent_query(registry.Registry(loading.load_graphs(settings)), command)
    active = None if state is None else (ActiveIn(graph, (state,)),)
    checked = search.checked_order(order, after)
    return Query(graph, active, status, after, limit, checked, framework=framework or graph is not None)


def _check_known(settings: Settings, graph: str) -> None:
    """Raise UnknownGraphError if there is an app and it has no such graph."""
    with suppress(DefinitionError):  # an app that cannot be loaded has no names to compare
        if loading.find_app(settings.app) is not None:
            registry.Registry(loading.load_graphs(settings)).graph(graph)


async def _all_pages(store: Store, query: Query) -> Page:
    page = await store.find(query)
    agents = [*page.agents]
    while page.next is not None:
        page = await store.find(replace(query, after=page.next))
        agents += page.agents
    return Page(tuple(agents), incomplete=page.incomplete)
