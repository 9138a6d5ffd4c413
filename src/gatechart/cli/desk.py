"""Commands for people at a desk: list, take, show, release, answer, return and resolve cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatechart.cli.errors import ExitCode, NoCaseError, NoDeskError, NoWayBackError, UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import TIMEOUT_S, Settings, TimeoutOption
from gatechart.cli.output import emit, print_hint, print_warning
from gatechart.cli.reading import LimitOption
from gatechart.cli.remedies import in_commands
from gatechart.errors.event import UnknownAgentError, UnknownGraphError
from gatechart.errors.operation import IncompatibleGraphError
from gatechart.values.agents import Snapshot, Status
from gatechart.values.handoffs import HandoffQuery, Mode
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus
from gatechart.values.names import OFFERED
from gatechart.values.queries import ActiveIn, Query

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.cli import agent_views, connection, desk_views, loading
    from gatechart.cli.connection import HomeConnection
    from gatechart.cli.loading import Graphs
    from gatechart.contrib import human_desk
    from gatechart.graph.graph import AnyGraph
    from gatechart.hosting import registry
    from gatechart.ports import Store
    from gatechart.runtime.runtime import Runtime
    from gatechart.turn import turns
else:
    agent_views, connection, desk_views, loading, human_desk, registry, stores, turns = late(
        "gatechart.cli.agent_views",
        "gatechart.cli.connection",
        "gatechart.cli.desk_views",
        "gatechart.cli.loading",
        "gatechart.contrib.human_desk",
        "gatechart.hosting.registry",
        "gatechart.stores",
        "gatechart.turn.turns",
    )

OPERATOR_VARIABLE = "GATECHART_OPERATOR"


class DeskState(StrEnum):
    """The states of an open case."""

    WAITING = "WAITING"
    TAKEN = "TAKEN"
    ASSIGNED = "ASSIGNED"
    WORKING = "WORKING"
    SUBTASK = "SUBTASK"
    RETURNING = "RETURNING"


CaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="CASE", help="The id of the case, or of the handoff that brought it to the desk.", show_default=False
    ),
]
DeskOption = Annotated[
    str | None, typer.Option("--desk", metavar="GRAPH", help="Only cases at this desk.", show_default=False)
]
DeskStateOption = Annotated[
    DeskState | None, typer.Option("--state", help="Only cases in this state.", show_default=False)
]
OfOption = Annotated[
    str | None,
    typer.Option("--operator", metavar="NAME", help="Only cases taken by this operator.", show_default=False),
]
OperatorOption = Annotated[
    str,
    typer.Option(
        "--operator",
        envvar=OPERATOR_VARIABLE,
        metavar="NAME",
        help="The operator who takes the case.",
        show_default=False,
    ),
]
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help="The answer.", show_default=False)]
AnswerOption = Annotated[
    str | None,
    typer.Option(
        "--answer", metavar="TEXT", help="The final answer. Default: the last answer given.", show_default=False
    ),
]
RatingOption = Annotated[
    int | None,
    typer.Option(
        "--rating",
        min=1,
        max=5,
        help="The quality of the handoff, from 1 (useless) to 5 (perfect).",
        show_default=False,
    ),
]
NeededOption = Annotated[
    bool | None,
    typer.Option(
        "--needed/--needless", help="Whether it was right to hand the case on. Default: derived from the rating."
    ),
]
InTimeOption = Annotated[
    bool | None, typer.Option("--in-time/--late", help="Whether the agent handed the case on soon enough.")
]
NoteOption = Annotated[
    str,
    typer.Option("--note", metavar="TEXT", help="A note for the agent that handed the case over.", show_default=False),
]
BackOption = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="ENTRY_POINT",
        help="The entry point at which the agent takes the case back; only for a case that was transferred.",
        show_default=False,
    ),
]


async def list_cases(
    settings: Settings,
    desk: DeskOption = None,
    state: DeskStateOption = None,
    operator: OfOption = None,
    limit: LimitOption = 100,
) -> None:
    """List the open cases at the desk, by urgency and then by age.

    A case is an agent of a desk graph, such as gatechart.contrib.human_desk.human_desk. Take a case, read it, answer,
    and then resolve it or return it to the agent that handed it over.

    Examples:
      gatechart desk list --state WAITING
      gatechart desk take case-7 --operator ana
      gatechart desk show case-7
      gatechart desk answer case-7 "Your refund is on its way."
      gatechart desk resolve case-7 --rating 5
      gatechart desk return case-7 --note "ask for the order number first"
    """
    desks = _desks(loading.load_graphs(settings), desk)
    async with stores.open_store(settings.store, role=Role.READER) as store:
        open_cases = [case async for case in _cases(store, desks, state)]
    chosen = sorted(
        (case for case in open_cases if operator in (None, case.context.operator)), key=lambda case: case.rank
    )
    cases, now = chosen[:limit], datetime.now(UTC)
    more = len(chosen) - len(cases)

    def show() -> None:
        if cases:
            desk_views.print_cases(cases, now)
        else:
            print_hint("no open cases found")
        if more:
            print_hint(f"there are {more} more; add --limit {len(chosen)}")

    emit(settings, {"cases": [desk_views.case_document(case, now) for case in cases], "more": more}, show)


async def show_case(settings: Settings, case: CaseArgument) -> None:
    """Show a case: who handed it over and why, the problem, the conversation, and earlier attempts.

    Examples:
      gatechart desk show case-7
      gatechart desk show case-7 --json | jq .context.messages
    """
    _, shown = await _find_case(settings, case)
    now = datetime.now(UTC)
    emit(settings, desk_views.whole_document(shown, now), partial(desk_views.print_case, shown, now))
    if shown.context.evidence:
        print_hint(f"`gatechart handoffs show {shown.context.handoff}` shows the whole packet")


async def take_case(
    settings: Settings,
    case: CaseArgument,
    operator: OperatorOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Take a waiting case.

    A case that another operator has taken must be released first.

    Examples:
      gatechart desk take case-7 --operator ana
    """
    if not operator.strip():
        raise UsageError(f"--operator: {operator!r} is not a name; write it like 'ana'")
    graph, current = await _find_case(settings, case)
    return await _send(settings, timeout, graph, current, "TAKE", {"operator": operator})


async def release_case(
    settings: Settings,
    case: CaseArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Release a case, so that another operator can take it.

    Examples:
      gatechart desk release case-7
    """
    graph, current = await _find_case(settings, case)
    return await _send(settings, timeout, graph, current, "RELEASE", {})


async def answer_case(
    settings: Settings,
    case: CaseArgument,
    text: TextArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Add an answer to the conversation of a case. The case stays open.

    Examples:
      gatechart desk answer case-7 "Which order is it about?"
    """
    if not text.strip():
        raise UsageError("TEXT is empty; write the answer in quotes")
    graph, current = await _find_case(settings, case)
    return await _send(settings, timeout, graph, current, "ANSWER", {"text": text})


async def resolve_case(
    settings: Settings,
    case: CaseArgument,
    answer: AnswerOption = None,
    rating: RatingOption = None,
    needed: NeededOption = None,
    in_time: InTimeOption = None,
    note: NoteOption = "",
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Resolve a case. An agent that waits for the result gets it.

    The feedback is kept with the handoff that brought the case. For each signal that caused handoffs, `gatechart
    directory evaluate` counts how many of them were needless, in time or too late.

    Examples:
      gatechart desk resolve case-7 --answer "Your refund is on its way." --rating 5
      gatechart desk resolve case-7 --rating 2 --note "the order number was missing"
      gatechart desk resolve case-7 --needed --late
    """
    graph, current = await _find_case(settings, case)
    feedback = {"rating": rating, "needed": needed, "in_time": in_time, "note": note}
    return await _send(settings, timeout, graph, current, "RESOLVE", {"answer": answer or "", **feedback})


async def return_case(
    settings: Settings,
    case: CaseArgument,
    note: NoteOption = "",
    rating: RatingOption = None,
    needed: NeededOption = None,
    in_time: InTimeOption = None,
    at: BackOption = None,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Return a case to the agent that handed it over.

    An agent that waits for the result gets the outcome "returned". An agent that transferred the case is
    offered the case again, at the entry point --at. Until the agent accepts, the case stays at the desk.

    Examples:
      gatechart desk return case-7 --note "ask for the order number first"
      gatechart desk return case-7 --at TAKING_BACK --needless
    """
    graph, current = await _find_case(settings, case)
    feedback = {"note": note, "rating": rating, "needed": needed, "in_time": in_time}
    is_open = current.snapshot.status is Status.ACTIVE
    if current.context.mode is Mode.TRANSFER and is_open:
        entry = await _return_entry(settings, current, at)
        return await _send(settings, timeout, graph, current, "RETURN_TO_AGENT", {**feedback, "at": entry})
    if at is not None and is_open:
        raise UsageError(f"--at: {_why_no_entry_point(current)}")
    return await _send(settings, timeout, graph, current, "RETURN", feedback)


def _desks(graphs: Graphs, name: str | None = None) -> Graphs:
    """Return every version of the desk graphs. Raises NoDeskError, UnknownGraphError."""
    desks = tuple(graph for graph in graphs if issubclass(graph.context, human_desk.DeskContext))
    if not desks:
        raise NoDeskError(tuple(graph.name for graph in loading.newest(graphs)))
    names = tuple(graph.name for graph in loading.newest(desks))
    if name is not None and name not in names:
        raise UnknownGraphError(name, names)
    return tuple(graph for graph in desks if name in (None, graph.name))


async def _cases(store: Store, desks: Graphs, state: DeskState | None = None) -> AsyncIterator[desk_views.Case]:
    """Yield the open cases of every desk."""
    for desk in loading.newest(desks):
        leaves = None if state is None else (ActiveIn(desk.name, tuple(desk.leaves(state))),)
        query = Query(desk.name, leaves, Status.ACTIVE)
        while True:
            page = await store.find(query)
            for snapshot in page.agents:
                try:
                    yield _case(desks, snapshot)
                except IncompatibleGraphError as error:
                    print_warning(in_commands(str(error)))
            if page.next is None:
                break
            query = replace(query, after=page.next)


def _case(desks: Graphs, snapshot: Snapshot) -> desk_views.Case:
    context: Any = turns.committed_context(registry.Registry(desks).graph_for(snapshot), snapshot)
    return desk_views.Case(snapshot, context)


async def _find_case(settings: Settings, name: str) -> tuple[AnyGraph, desk_views.Case]:
    """Find a case and its graph. Raises NoCaseError."""
    desks = _desks(loading.load_graphs(settings))
    async with stores.open_store(settings.store, role=Role.READER) as store:
        snapshot = await _stored(store, name)
        if snapshot is None or not any(graph.name == snapshot.graph for graph in desks):
            open_cases = [case.snapshot.agent_id async for case in _cases(store, desks)]
            raise NoCaseError(name, None if snapshot is None else snapshot.graph, tuple(open_cases))
    return registry.Registry(desks).graph_for(snapshot), _case(desks, snapshot)


async def _stored(store: Store, name: str) -> Snapshot | None:
    """Load the agent of this id, or the target of the handoff of this id."""
    targets = [handoff.target for handoff in await store.handoffs(HandoffQuery(id=name))]
    snapshots = {snapshot.agent_id: snapshot for snapshot in await store.load_many([name, *targets])}
    return next((snapshots[each] for each in (name, *targets) if each in snapshots), None)


async def _return_entry(settings: Settings, case: desk_views.Case, at: str | None) -> str:
    """Find the entry point to return to. Raises UsageError, UnknownGraphError, EntryRefusedError, NoWayBackError."""
    context = case.context
    asking = registry.Registry(loading.load_graphs(settings)).graph(context.asked_graph)
    async with stores.open_store(settings.store, role=Role.READER) as store:
        try:
            status = (await store.load(context.asked_by)).status
        except UnknownAgentError:
            raise NoWayBackError(case.snapshot.agent_id, context.asked_by, "gone") from None
    if status is not Status.ACTIVE:
        raise NoWayBackError(case.snapshot.agent_id, context.asked_by, status.value)
    if at is None:
        entries = ", ".join(_taking_back(asking)) or "none, because it has no transition for an offer"
        raise UsageError(
            f"missing --at: name the entry point at which {context.asked_by} takes the case back, one of {entries}"
        )
    return asking.entry_point(at).name


def _why_no_entry_point(case: desk_views.Case) -> str:
    """Return why --at does not apply."""
    if case.context.mode is Mode.DELEGATE:
        return f"{case.context.asked_by} waits for the result and continues in its state; leave out --at"
    return f"no agent handed the case over; end the case with `gatechart desk resolve {case.snapshot.agent_id}`"


def _taking_back(graph: AnyGraph) -> Iterable[str]:
    """List the entry points where an active agent of the graph can accept an offer."""
    return (entry for entry in graph.entry_points if f"{OFFERED}{entry}" in graph.events)


async def _send(
    settings: Settings, timeout_s: float, graph: AnyGraph, case: desk_views.Case, event: str, payload: dict[str, Any]
) -> ExitCode | None:
    """Send an event to the agent of the case, and print the outcome."""
    agent_id = case.snapshot.agent_id

    async def send(reached: HomeConnection) -> ExitCode | None:
        outcome = await reached.home.send(agent_id, event, payload)
        after = await reached.home.read(agent_id)
        emit(
            settings,
            agent_views.outcome_document(agent_id, outcome),
            partial(agent_views.print_outcome, graph, after, outcome),
        )
        if not outcome.applied:
            desk_views.hint_at_what_would_do(case, outcome)
        elif reached.runtime is not None:
            await _hint_at_news(reached.runtime, case)
        return None if outcome.refusal is None else ExitCode.REFUSED

    return await connection.execute(settings, (graph,), send, timeout_s=timeout_s)


async def _hint_at_news(runtime: Runtime, case: desk_views.Case) -> None:
    """Print a hint that an answer or an offer waits for a host."""
    asking = case.context.asked_by
    if asking and any(mail.sender == case.snapshot.agent_id for mail in await _waiting(runtime, asking)):
        print_hint(f"the answer to {asking!r} waits for a host: `gatechart run` delivers it")


async def _waiting(runtime: Runtime, agent_id: str) -> Iterable[Any]:
    return await runtime.mail(agent_id, status=MailStatus.WAITING)
