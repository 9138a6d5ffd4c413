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
    from gatechart.cli.connection import Connection
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

_COUNTED: Final = 100  # attempts of a request at most
_LOOKS_S: Final = 0.05  # between two looks at an agent that another process hosts
_WAITS: Final = (HandoffStatus.CHOOSING, HandoffStatus.PENDING)
_GOES_ON: Final = (HandoffStatus.ACCEPTED, HandoffStatus.COMPLETED)
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
        help="Only handoffs listed after the one with this number.",
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
        help="The graph to hand the work to, with --at; or an entry of the directory, such as a person.",
        show_default=False,
        autocompletion=complete_targets,
    ),
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="ENTRY_POINT", help="The entry point at which that graph takes the work.")
]
BestOption = Annotated[
    bool, typer.Option("--best", help="Hand it to the best in the directory, by what the packet says.")
]
LivingOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="AGENT", help="An existing agent of that graph. Default: a new one."),
]
ModeOption = Annotated[
    Mode, typer.Option("--mode", help="transfer gives the work away; delegate waits for the result.")
]
DeadlineOption = Annotated[
    str | None,
    typer.Option(
        "--deadline",
        metavar="MOMENT|DELAY",
        help="When a transfer must be accepted, or a delegation done, such as 10m or 2026-07-01T12:00+02:00.",
    ),
]
ReasonOption = Annotated[Reason, typer.Option("--reason", help="Why the work is handed over.")]
ProblemOption = Annotated[
    str | None,
    typer.Option(
        "--problem", metavar="TEXT", help="What is to be done. Default: the current problem in the agent's context."
    ),
]
TranscriptOption = Annotated[
    bool,
    typer.Option("--transcript/--no-transcript", help="Whether the messages of the agent's model loops go along, too."),
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

    --to and --at name who gets it. --to alone names an entry of the directory, such as a person, who gets it unless
    away, full or closed. --best leaves it to the directory, and so do --can, --domain, --tier and
    --language, which say what the work needs.

    The packet has the conversation in the agent's context, with the messages of its model loops. The agent stays in its
    state; when a transfer is accepted, it ends, unless its graph says otherwise.

    When the command returns, the offer is durable. A host, such as `gatechart run`, delivers it to the other agent,
    which accepts or rejects it; with --wait, this command waits for that. The exit code is 1 if the offer was rejected,
    expired or failed.

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

    async def hand(reached: Connection) -> tuple[Sequence[HandoffRecord], bool]:
        context = turns.committed_context(graph, await reached.home.read(agent))
        packet = _packet(conversation.packet_of(context, reason), problem)

        async def ask() -> str:
            offer = declared.Handoff(
                target, at=at or "", packet=packet, agent=living, mode=mode, deadline=due, transcript=transcript
            )
            return await reached.home.handoff(agent, offer)

        asked = await (_answered(reached, agent, ask, timeout) if wait else ask())
        return await reached.home.handoffs(request=asked), reached.runtime is None

    opening = partial(connection.open_host, settings, graphs, SystemClock()) if wait else None
    attempts, is_hosted = await connection.execute(settings, graphs, hand, timeout_s=timeout, opening=opening)
    *earlier, made = attempts
    emit(settings, handoff_views.handoff_document(made), partial(handoff_views.print_handoff, made, earlier))
    if made.status in _WAITS and not is_hosted:
        print_hint(f"it waits for a host: `gatechart run` delivers it, `gatechart handoffs show {made.id}` shows it")
    if best and made.status is HandoffStatus.REJECTED and not made.packet.get("current_problem"):
        print_hint("nothing says what is to be done; add --problem, or needs such as --can, --domain or --tier")
    return None if made.status in (*_WAITS, *_GOES_ON) else ExitCode.REFUSED


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
    """List handoffs, in the order offered or the newest first: from whom, to whom, why, and with what outcome.

    A rejected handoff may be offered to another target. Each attempt is a handoff of its own, and --request lists all
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
        found = await store.handoffs(query)
    print_page(settings, "handoffs", found, limit, handoff_views.handoff_document, handoff_views.print_handoffs)


async def show_handoff(settings: Settings, handoff: HandoffArgument) -> None:
    """Show a handoff: its changes, its result and its packet, which is what the other agent gets.

    If its target was chosen in the directory: each candidate with its scores, or why it fell out.

    Works without an app.

    Examples:
      gatechart handoffs show 123bd244a86857cb055a8e247a766a13
      gatechart handoffs show 123bd244a86857cb055a8e247a766a13 --json | jq .packet
      gatechart handoffs show 123bd244a86857cb055a8e247a766a13 --json | jq .choice
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        found = await known_handoff(store, handoff)
        attempts = await store.handoffs(HandoffQuery(request=found.request, limit=_COUNTED + 1))

    def show() -> None:
        handoff_views.print_whole_handoff(found)
        if len(attempts) > 1:
            count = f"more than {_COUNTED}" if len(attempts) > _COUNTED else len(attempts)
            print_hint(f"one of {count} attempts; see `gatechart handoffs list --request {found.request}`")

    more = {"choice": found.choice, "packet": found.packet}
    emit(settings, {**handoff_views.handoff_document(found), **more}, show)


async def cancel_handoff(
    settings: Settings,
    handoff: HandoffArgument,
    reason: WhyOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Withdraw an offer, or a delegation that is under way. An accepted transfer cannot be withdrawn.

    A host, such as `gatechart run`, delivers the withdrawal to the other agent. If that agent has accepted or finished
    by then, the withdrawal comes too late. The agent that offered the work is told why.

    Examples:
      gatechart handoffs cancel 123bd244a86857cb055a8e247a766a13 --reason "the customer found it"
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        found = await known_handoff(store, handoff)
    _check_can_be_cancelled(found)

    async def cancel(reached: Connection) -> tuple[Receipt, bool]:
        return await reached.home.cancel_handoff(handoff, reason=reason), reached.runtime is None

    receipt, is_hosted = await connection.execute(settings, (), cancel, timeout_s=timeout)
    is_deleted = found.status is HandoffStatus.UNREADABLE
    withdraws = f"mail {receipt.number} withdraws handoff {handoff} from {found.target}"
    emit(
        settings,
        {**handoff_views.handoff_document(found), "mail": receipt.number},
        f"the unreadable handoff {handoff} was deleted" if is_deleted else withdraws,
    )
    if not (settings.json or is_deleted or is_hosted):
        print_hint("it waits for a host: `gatechart run` delivers it")


async def known_handoff(store: Store, handoff: str) -> HandoffRecord:
    """Load the handoff of this id. Raises NoHandoffError."""
    found = await store.handoffs(HandoffQuery(id=handoff))
    if not found:
        raise NoHandoffError(handoff, None)
    return found[0]


def _check_can_be_cancelled(found: HandoffRecord) -> None:
    if not lifecycle.is_open(found.status) and found.status is not HandoffStatus.UNREADABLE:
        raise NoHandoffError(found.id, found.status.value)
    if found.status is HandoffStatus.ACCEPTED and found.mode is Mode.TRANSFER:
        raise HandoffStandsError(found.id, found.target)


def _target(
    graphs: Graphs, to: str | None, at: str | None, living: str | None, needs: Needs, *, is_best: bool
) -> str | Best:
    """Return the graph, whose entry point is checked, or what chooses the target.

    Raises UsageError, UnknownGraphError, EntryRefusedError.
    """
    known = registry.Registry(graphs)
    is_chosen = is_best or needs != Needs()
    if is_chosen and (to or at or living):
        given = "--to" if to else "--at" if at else "--agent"
        raise UsageError(f"{given} names who gets the work, and --best and needs leave it open; give one of them")
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
            raise UsageError(f"--agent goes with --to GRAPH --at ENTRY_POINT, and {to!r} is none of {names}")
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


async def _answered(reached: Connection, agent: AgentId, ask: Callable[[], Awaitable[str]], timeout_s: float) -> str:
    """Ask for a handoff, and return its id once an offer is accepted or the last one has failed.

    timeout_s: how long to wait if another process hosts the agents; the handoff may still be pending then.
    """
    if reached.runtime is None:
        asked, ends = await ask(), monotonic() + timeout_s
        while monotonic() < ends and await _is_offered(reached.home, agent, asked):  # noqa: ASYNC110  nobody tells a reader
            await asyncio.sleep(_LOOKS_S)
        return asked
    async with reached.runtime.changes() as changes:
        asked = await ask()
        while await _is_offered(reached.home, agent, asked):
            with suppress(FeedLaggedError):
                await anext(changes)
    return asked


async def _is_offered(home: AgentHome, agent: AgentId, request: str) -> bool:
    standing = (await home.read(agent)).handoffs
    return any(each.side is Side.ASKED and each.request == request and not each.is_accepted for each in standing)
