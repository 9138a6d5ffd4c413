"""Commands for handoffs: handoff, list, show, cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gatechart.cli.completion import AgentArgument, complete_targets
from gatechart.cli.directory import CanOption, DomainOption, LanguageOption, TierOption, needs_given
from gatechart.cli.errors import ExitCode, HandoffStandsError, OtherGraphError, UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import TIMEOUT_S, Settings, TimeoutOption, read_deadline
from gatechart.cli.output import emit, print_hint, print_page
from gatechart.cli.reading import LimitOption
from gatechart.errors.event import NoHandoffError
from gatechart.errors.operation import FeedLaggedError
from gatechart.hosting.system import SystemClock
from gatechart.values.agents import Snapshot
from gatechart.values.handoffs import HandoffQuery, HandoffRecord, HandoffStatus, Mode, Reason, Side
from gatechart.values.homes import Role
from gatechart.values.mail import Receipt
from gatechart.values.names import AgentId
from gatechart.values.profiles import Needs

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.api.home import AgentHome
    from gatechart.cli import connection, handoff_views, loading
    from gatechart.cli.connection import HomeConnection
    from gatechart.cli.loading import Graphs
    from gatechart.graph import handoff as declared
    from gatechart.graph import selection
    from gatechart.graph.selection import Best
    from gatechart.handoff import conversation, lifecycle
    from gatechart.handoff.packet import HandoffPacket
    from gatechart.hosting import registry
    from gatechart.ports import Store
    from gatechart.turn import turns
else:
    connection, handoff_views, loading, registry, stores = late(
        "gatechart.cli.connection",
        "gatechart.cli.handoff_views",
        "gatechart.cli.loading",
        "gatechart.hosting.registry",
        "gatechart.stores",
    )
    declared, selection, conversation, lifecycle, turns = late(
        "gatechart.graph.handoff",
        "gatechart.graph.selection",
        "gatechart.handoff.conversation",
        "gatechart.handoff.lifecycle",
        "gatechart.turn.turns",
    )

_MOST_COUNTED: Final = 100  # attempts of a request that are counted
_POLL_S: Final = 0.05  # between two reads of an agent that another process hosts
_WAITS: Final = (HandoffStatus.CHOOSING, HandoffStatus.PENDING)
_SUCCEEDED: Final = (HandoffStatus.ACCEPTED, HandoffStatus.COMPLETED)
HandoffArgument = Annotated[str, typer.Argument(metavar="HANDOFF", help="The id of the handoff.", show_default=False)]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="AGENT", help="Only handoffs from this agent.")]
TargetOption = Annotated[str | None, typer.Option("--target", metavar="AGENT", help="Only handoffs to this agent.")]
StatusOption = Annotated[HandoffStatus | None, typer.Option("--status", help="Only handoffs with this status.")]
RequestOption = Annotated[
    str | None,
    typer.Option("--request", metavar="HANDOFF", help="Only the attempts of one handoff, by the id of the first."),
]
NewestOption = Annotated[bool, typer.Option("--newest-first", help="List the newest first.")]
AfterOption = Annotated[
    int,
    typer.Option(
        "--after",
        min=0,
        metavar="NUMBER",
        help="Only handoffs listed after this number.",
        show_default=False,
    ),
]
WhyOption = Annotated[
    str,
    typer.Option(
        "--reason", metavar="TEXT", help="The reason, for the agent that offered the work.", show_default=False
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="GRAPH|ENTRY",
        help="The recipient of the work: a graph, together with --at, or an entry of the directory, such as a person.",
        show_default=False,
        autocompletion=complete_targets,
    ),
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="ENTRY_POINT", help="The entry point at which that graph takes the work.")
]
BestOption = Annotated[
    bool, typer.Option("--best", help="Hand the work to the best match in the directory for the packet.")
]
LivingOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="AGENT", help="An existing agent of that graph. Default: a new one."),
]
ModeOption = Annotated[
    Mode, typer.Option("--mode", help="transfer: the other agent takes over; delegate: wait for its result.")
]
DeadlineOption = Annotated[
    str | None,
    typer.Option(
        "--deadline",
        metavar="MOMENT|DELAY",
        help="When a transfer must be accepted, or a delegation finished, such as 10m or 2026-07-01T12:00+02:00.",
    ),
]
ReasonOption = Annotated[Reason, typer.Option("--reason", help="Why the work is handed over.")]
ProblemOption = Annotated[
    str | None,
    typer.Option("--problem", metavar="TEXT", help="The task. Default: the current problem in the agent's context."),
]
TranscriptOption = Annotated[
    bool,
    typer.Option("--transcript/--no-transcript", help="Whether to include the messages of the agent's model loops."),
]
WaitOption = Annotated[
    bool,
    typer.Option(
        "--wait",
        help="Wait until the offer is accepted or has failed. If no host is running, host the agents meanwhile.",
    ),
]


async def hand_on(
    settings: Settings,
    agent: AgentArgument,
    to: ToOption = None,
    at: AtOption = None,
    best: BestOption = False,
    can: CanOption = None,
    domain: DomainOption = None,
    tier: TierOption = None,
    language: LanguageOption = None,
    living: LivingOption = None,
    mode: ModeOption = Mode.TRANSFER,
    deadline: DeadlineOption = None,
    reason: ReasonOption = Reason.OTHER,
    problem: ProblemOption = None,
    transcript: TranscriptOption = True,
    wait: WaitOption = False,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Hand the work of an agent to another agent.

    --to and --at name the target graph and entry point. --to alone names an entry of the directory, such as a person,
    who gets the work unless away, full or closed. With --best, the directory chooses the target. It also does so with
    --can, --domain, --tier or --language, which declare the needs of the work.

    The packet contains the conversation from the agent's context and the messages of its model loops. The agent stays
    in its state. When a transfer is accepted, the agent ends, unless its graph declares otherwise.

    When the command returns, the offer is durable. A host, such as `gatechart run`, delivers it to the other agent,
    which accepts or rejects it. With --wait, this command waits for that answer. The exit code is 1 if the offer was
    rejected, expired or failed.

    Examples:
      gatechart handoff case-1 --to refunds --at REVIEWING
      gatechart handoff case-1 --to anna --wait
      gatechart handoff case-1 --best --problem "I want my money back"
      gatechart handoff case-1 --domain refunds --tier 2
      gatechart handoff case-1 --to human_desk --at URGENT --reason "tool failure" --problem "Refund 4711 by hand"
      gatechart handoff case-1 --to refunds --at REVIEWING --mode delegate --deadline 10m --wait
    """
    graphs = loading.load_graphs(settings)
    needs = needs_given(can, domain, tier, language)
    target = _target(graphs, to, at, living, needs, is_best=best)
    due = read_deadline("--deadline", deadline, datetime.now(UTC))
    async with stores.open_store(settings.store, role=Role.READER) as store:
        graph = registry.Registry(graphs).open_graph_for(await store.load(agent))
        if living is not None:
            _check_graph(await store.load(living), str(to))

    async def hand(reached: HomeConnection) -> tuple[Sequence[HandoffRecord], bool]:
        context = turns.committed_context(graph, await reached.home.read(agent))
        packet = _packet(conversation.packet_of(context, reason), problem)

        async def ask() -> str:
            offer = declared.Handoff(
                target, at=at or "", packet=packet, agent=living, mode=mode, deadline=due, transcript=transcript
            )
            return await reached.home.handoff(agent, offer)

        request = await (_wait_for_answer(reached, agent, ask, timeout) if wait else ask())
        return await reached.home.handoffs(request=request), reached.runtime is None

    opening = partial(connection.open_host, settings, graphs, SystemClock()) if wait else None
    attempts, is_hosted = await connection.execute(settings, graphs, hand, timeout_s=timeout, opening=opening)
    *earlier, newest = attempts
    emit(settings, handoff_views.handoff_document(newest), partial(handoff_views.print_handoff, newest, earlier))
    if newest.status in _WAITS and not is_hosted:
        print_hint(
            f"the handoff waits for a host: `gatechart run` delivers it, `gatechart handoffs show {newest.id}` shows it"
        )
    if best and newest.status is HandoffStatus.REJECTED and not newest.packet.get("current_problem"):
        print_hint("the packet has no problem to match; add --problem, or needs such as --can, --domain or --tier")
    return None if newest.status in (*_WAITS, *_SUCCEEDED) else ExitCode.REFUSED


async def list_handoffs(
    settings: Settings,
    source: SourceOption = None,
    target: TargetOption = None,
    status: StatusOption = None,
    request: RequestOption = None,
    newest_first: NewestOption = False,
    after: AfterOption = 0,
    limit: LimitOption = 100,
) -> None:
    """List handoffs, in the order offered or newest first: source, target, reason and outcome.

    A rejected handoff may be offered to another target. Each attempt is a separate handoff, and --request lists all
    attempts. Works without an app.

    Examples:
      gatechart handoffs list --status pending
      gatechart handoffs list --newest-first --limit 20
      gatechart handoffs list --source case-1 --json
      gatechart handoffs show 123bd244a86857cb055a8e247a766a13
      gatechart handoffs cancel 123bd244a86857cb055a8e247a766a13 --reason "the customer found it"
    """
    query = HandoffQuery(source, target, status, request, None, after, limit + 1, newest_first)
    async with stores.open_store(settings.store, role=Role.READER) as store:
        handoffs = await store.handoffs(query)
    print_page(settings, "handoffs", handoffs, limit, handoff_views.handoff_document, handoff_views.print_handoffs)


async def show_handoff(settings: Settings, handoff: HandoffArgument) -> None:
    """Show a handoff: its changes, its result, and the packet for the other agent.

    If the target was chosen in the directory, the command also shows each candidate with its scores, or why it was
    excluded.

    Works without an app.

    Examples:
      gatechart handoffs show 123bd244a86857cb055a8e247a766a13
      gatechart handoffs show 123bd244a86857cb055a8e247a766a13 --json | jq .packet
      gatechart handoffs show 123bd244a86857cb055a8e247a766a13 --json | jq .choice
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        record = await known_handoff(store, handoff)
        attempts = await store.handoffs(HandoffQuery(request=record.request, limit=_MOST_COUNTED + 1))

    def show() -> None:
        handoff_views.print_whole_handoff(record)
        if len(attempts) > 1:
            count = f"more than {_MOST_COUNTED}" if len(attempts) > _MOST_COUNTED else len(attempts)
            print_hint(f"one of {count} attempts; see `gatechart handoffs list --request {record.request}`")

    more = {"choice": record.choice, "packet": record.packet}
    emit(settings, {**handoff_views.handoff_document(record), **more}, show)


async def cancel_handoff(
    settings: Settings,
    handoff: HandoffArgument,
    reason: WhyOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Withdraw an offer or a running delegation. An accepted transfer cannot be withdrawn.

    A host, such as `gatechart run`, delivers the withdrawal to the other agent. If that agent has accepted or finished
    by then, the withdrawal comes too late. The agent that offered the work gets the reason.

    Examples:
      gatechart handoffs cancel 123bd244a86857cb055a8e247a766a13 --reason "the customer found it"
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        record = await known_handoff(store, handoff)
    _check_can_be_cancelled(record)

    async def cancel(reached: HomeConnection) -> tuple[Receipt, bool]:
        return await reached.home.cancel_handoff(handoff, reason=reason), reached.runtime is None

    receipt, is_hosted = await connection.execute(settings, (), cancel, timeout_s=timeout)
    is_deleted = record.status is HandoffStatus.UNREADABLE
    withdraws = f"mail {receipt.number} withdraws handoff {handoff} from {record.target}"
    emit(
        settings,
        {**handoff_views.handoff_document(record), "mail": receipt.number},
        f"the unreadable handoff {handoff} was deleted" if is_deleted else withdraws,
    )
    if not (settings.json or is_deleted or is_hosted):
        print_hint("the withdrawal waits for a host: `gatechart run` delivers it")


async def known_handoff(store: Store, handoff: str) -> HandoffRecord:
    """Load the handoff of this id. Raises NoHandoffError."""
    records = await store.handoffs(HandoffQuery(id=handoff))
    if not records:
        raise NoHandoffError(handoff, None)
    return records[0]


def _check_can_be_cancelled(record: HandoffRecord) -> None:
    if not lifecycle.is_open(record.status) and record.status is not HandoffStatus.UNREADABLE:
        raise NoHandoffError(record.id, record.status.value)
    if record.status is HandoffStatus.ACCEPTED and record.mode is Mode.TRANSFER:
        raise HandoffStandsError(record.id, record.target)


def _target(
    graphs: Graphs, to: str | None, at: str | None, living: str | None, needs: Needs, *, is_best: bool
) -> str | Best:
    """Return the target graph, after checking its entry point, or the selection that chooses the target.

    Raises UsageError, UnknownGraphError, EntryRefusedError.
    """
    known = registry.Registry(graphs)
    is_chosen = is_best or needs != Needs()
    if is_chosen and (to or at or living):
        given = "--to" if to else "--at" if at else "--agent"
        raise UsageError(
            f"{given} names the target, but --best and needs let the directory choose it; use one or the other"
        )
    if is_chosen:
        return selection.Best(needs)
    names = ", ".join(graph.name for graph in loading.newest(graphs))
    if to is None:
        raise UsageError(
            f"missing --to: name the graph to hand the work to, one of {names}, or an entry of the directory, or let "
            "the directory choose with --best"
        )
    if at is None and to not in (graph.name for graph in known.graphs):
        if living is not None:
            raise UsageError(f"--agent needs --to GRAPH --at ENTRY_POINT, and {to!r} is not one of {names}")
        return selection.Best(entries=to)
    graph = known.graph(to)
    if at is None:
        raise UsageError(f"missing --at: name an entry point of {to!r}, one of {', '.join(graph.entry_points)}")
    graph.entry_point(at)
    return graph.name


def _check_graph(living: Snapshot, target: str) -> None:
    if living.graph != target:
        raise OtherGraphError(living.agent_id, living.graph, target)


def _packet(packet: HandoffPacket, problem: str | None) -> HandoffPacket:
    return packet if problem is None else packet.model_copy(update={"current_problem": problem})


async def _wait_for_answer(
    reached: HomeConnection, agent: AgentId, ask: Callable[[], Awaitable[str]], timeout_s: float
) -> str:
    """Request a handoff, and return its id once an offer is accepted or the last one has failed.

    timeout_s: how long to wait if another process hosts the agents; the handoff may still be pending then.
    """
    if reached.runtime is None:
        request, ends = await ask(), monotonic() + timeout_s
        while monotonic() < ends and await _is_offered(reached.home, agent, request):  # noqa: ASYNC110  readers get no events
            await asyncio.sleep(_POLL_S)
        return request
    async with reached.runtime.changes() as changes:
        request = await ask()
        while await _is_offered(reached.home, agent, request):
            with suppress(FeedLaggedError):
                await anext(changes)
    return request


async def _is_offered(home: AgentHome, agent: AgentId, request: str) -> bool:
    handoffs = (await home.read(agent)).handoffs
    return any(
        handoff.side is Side.ASKED and handoff.request == request and not handoff.is_accepted for handoff in handoffs
    )
