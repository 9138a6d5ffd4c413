"""Commands for people at a desk: cases are listed, taken, shown, answered, returned, resolved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from gatechart.cli.agent_views import outcome_document, print_outcome
from gatechart.cli.apps import Graphs, load_graphs, newest
from gatechart.cli.desk_views import Case, case_document, print_case, print_cases, whole_document
from gatechart.cli.errors import ExitCode, NoCaseError, NoDeskError, NoWayBackError, UsageError
from gatechart.cli.hosting import TimeoutOption, Way, carried_out
from gatechart.cli.options import Settings
from gatechart.cli.output import print_document, print_hint, print_warning
from gatechart.cli.reading import LimitOption
from gatechart.clients.database import TIMEOUT_S
from gatechart.contrib.human_desk import DeskContext
from gatechart.errors import IncompatibleGraphError, UnknownAgentError, UnknownGraphError
from gatechart.graph import AnyGraph
from gatechart.hosting.registry import Registry
from gatechart.ports import Store
from gatechart.runtime import Runtime
from gatechart.stores import open_store
from gatechart.turn import committed_context
from gatechart.values import (
    OFFERED,
    ActiveIn,
    HandoffQuery,
    MailStatus,
    Mode,
    Outcome,
    Query,
    Role,
    Snapshot,
    Status,
)

OPERATOR_VARIABLE = "GATECHART_OPERATOR"


class DeskState(StrEnum):
    """The states of a desk in which cases are open."""

    WAITING = "WAITING"
    TAKEN = "TAKEN"
    ASSIGNED = "ASSIGNED"
    WORKING = "WORKING"
    SUBTASK = "SUBTASK"
    RETURNING = "RETURNING"


CaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="CASE", help="The case, by its id or that of the handoff that brought it.", show_default=False
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
    typer.Option("--operator", metavar="NAME", help="Only cases that this operator has.", show_default=False),
]
OperatorOption = Annotated[
    str,
    typer.Option("--operator", envvar=OPERATOR_VARIABLE, metavar="NAME", help="Who takes it.", show_default=False),
]
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help="What the operator says.", show_default=False)]
AnswerOption = Annotated[
    str | None,
    typer.Option(
        "--answer", metavar="TEXT", help="What the operator says; the last answer if left out.", show_default=False
    ),
]
RatingOption = Annotated[
    int | None,
    typer.Option("--rating", min=1, max=5, help="How good the handoff was: 1, of no use, to 5.", show_default=False),
]
NoteOption = Annotated[
    str, typer.Option("--note", metavar="TEXT", help="What the agent that asked should know.", show_default=False)
]
BackOption = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="ENTRY_POINT",
        help="Where the agent that gave the case away takes it back; only for a transfer.",
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
    """List the open cases at the desk: the most urgent first, of these the oldest.

    A case is an agent of a desk graph, such as gatechart.contrib.human_desk.human_desk. Take one, read it,
    answer, and resolve it or return it to the agent that asked.

    Examples:
      gatechart desk list --state WAITING
      gatechart desk take case-7 --operator ana
      gatechart desk show case-7
      gatechart desk answer case-7 "Your refund is on its way."
      gatechart desk resolve case-7 --rating 5
      gatechart desk return case-7 --note "ask for the order number first"
    """
    desks = _desks(load_graphs(settings.app), desk)
    async with open_store(settings.store, role=Role.READER) as store:
        found = [case async for case in _cases(store, desks, state)]
    chosen = sorted((case for case in found if operator in (None, case.context.operator)), key=lambda case: case.rank)
    cases, now = chosen[:limit], datetime.now(UTC)
    if settings.json:
        print_document({"cases": [case_document(case, now) for case in cases], "more": len(chosen) - len(cases)})
        return
    if cases:
        print_cases(cases, now)
    else:
        print_hint("no open cases found")
    if len(chosen) > len(cases):
        print_hint(f"there are {len(chosen) - len(cases)} more: add --limit {len(chosen)}")


async def show_case(settings: Settings, case: CaseArgument) -> None:
    """Show a case: who asks and why, the problem, the conversation, what was tried, and what is suggested.

    Examples:
      gatechart desk show case-7
      gatechart desk show case-7 --json | jq .context.messages
    """
    _, found = await _found(settings, case)
    now = datetime.now(UTC)
    if settings.json:
        print_document(whole_document(found, now))
    else:
        print_case(found, now)
    if found.context.evidence:
        print_hint(f"`gatechart handoffs show {found.context.handoff}` shows the packet, with all that came in it")


async def take_case(
    settings: Settings,
    case: CaseArgument,
    operator: OperatorOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Take a case that waits. One that another operator has is refused: let it be released first.

    The operator may be named by GATECHART_OPERATOR.

    Examples:
      gatechart desk take case-7 --operator ana
    """
    if not operator.strip():
        raise UsageError(f"--operator: {operator!r} is no name; write it like 'ana'")
    graph, found = await _found(settings, case)
    return await _send(settings, timeout, graph, found, "TAKE", {"operator": operator})


async def release_case(
    settings: Settings,
    case: CaseArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Put a case back, so that another operator can take it.

    Examples:
      gatechart desk release case-7
    """
    graph, found = await _found(settings, case)
    return await _send(settings, timeout, graph, found, "RELEASE", {})


async def answer_case(
    settings: Settings,
    case: CaseArgument,
    text: TextArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Say something in the conversation of a case, which goes on.

    Examples:
      gatechart desk answer case-7 "Which order is it about?"
    """
    if not text.strip():
        raise UsageError("TEXT: it says nothing; write what the operator says, in quotes")
    graph, found = await _found(settings, case)
    return await _send(settings, timeout, graph, found, "ANSWER", {"text": text})


async def resolve_case(
    settings: Settings,
    case: CaseArgument,
    answer: AnswerOption = None,
    rating: RatingOption = None,
    note: NoteOption = "",
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Resolve a case: it is done, and an agent that waits for the result gets it.

    The answer, the rating and the note are kept with the handoff that brought the case.

    Examples:
      gatechart desk resolve case-7 --answer "Your refund is on its way." --rating 5
      gatechart desk resolve case-7 --rating 1 --note "the order number was missing"
    """
    graph, found = await _found(settings, case)
    return await _send(
        settings, timeout, graph, found, "RESOLVE", {"answer": answer or "", "rating": rating, "note": note}
    )


async def return_case(
    settings: Settings,
    case: CaseArgument,
    note: NoteOption = "",
    rating: RatingOption = None,
    at: BackOption = None,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> ExitCode | None:
    """Return a case to the agent that asked, which goes on with it.

    An agent that waits for the result gets one whose outcome is "returned". One that gave the case away is offered it
    again, at one of its entry points; until it accepts, the case stays at the desk.

    Examples:
      gatechart desk return case-7 --note "ask for the order number first"
      gatechart desk return case-7 --at TAKING_BACK --rating 2
    """
    graph, found = await _found(settings, case)
    concluded = {"note": note, "rating": rating}
    is_open = found.snapshot.status is Status.ACTIVE
    if found.context.mode is Mode.TRANSFER and is_open:
        door = await _way_back(settings, found, at)
        return await _send(settings, timeout, graph, found, "RETURN_TO_AGENT", {**concluded, "at": door})
    if at is not None and is_open:
        raise UsageError(f"--at: {_why_no_door(found)}")
    return await _send(settings, timeout, graph, found, "RETURN", concluded)


def _desks(graphs: Graphs, name: str | None = None) -> Graphs:
    """The graphs that are desks, every version. Raises NoDeskError, and UnknownGraphError for the name of none."""
    desks = tuple(graph for graph in graphs if issubclass(graph.context, DeskContext))
    if not desks:
        raise NoDeskError(tuple(graph.name for graph in newest(graphs)))
    names = tuple(graph.name for graph in newest(desks))
    if name is not None and name not in names:
        raise UnknownGraphError(name, names)
    return tuple(graph for graph in desks if name in (None, graph.name))


async def _cases(store: Store, desks: Graphs, state: DeskState | None = None) -> AsyncIterator[Case]:
    """The open cases, of every desk."""
    for desk in newest(desks):
        leaves = None if state is None else (ActiveIn(desk.name, tuple(desk.leaves(state))),)
        query = Query(desk.name, leaves, Status.ACTIVE)
        while True:
            page = await store.find(query)
            for snapshot in page.agents:
                try:
                    yield _case(desks, snapshot)
                except IncompatibleGraphError as error:
                    print_warning(str(error))
            if page.next is None:
                break
            query = replace(query, after=page.next)


def _case(desks: Graphs, snapshot: Snapshot) -> Case:
    context: Any = committed_context(Registry(desks).graph_for(snapshot), snapshot)
    return Case(snapshot, context)


async def _found(settings: Settings, name: str) -> tuple[AnyGraph, Case]:
    """The case with its graph. Raises NoCaseError."""
    desks = _desks(load_graphs(settings.app))
    async with open_store(settings.store, role=Role.READER) as store:
        snapshot = await _stored(store, name)
        if snapshot is None or not any(graph.name == snapshot.graph for graph in desks):
            known = [case.snapshot.agent_id async for case in _cases(store, desks)]
            raise NoCaseError(name, None if snapshot is None else snapshot.graph, tuple(known))
    return Registry(desks).graph_for(snapshot), _case(desks, snapshot)


async def _stored(store: Store, name: str) -> Snapshot | None:
    """The agent of this id, or the one to which the handoff of this id brought the work."""
    brought = [each.target for each in await store.handoffs(HandoffQuery(id=name))]
    found = {snapshot.agent_id: snapshot for snapshot in await store.load_many([name, *brought])}
    return next((found[each] for each in (name, *brought) if each in found), None)


async def _way_back(settings: Settings, found: Case, at: str | None) -> str:
    """The entry point. Raises UsageError, UnknownGraphError, EntryRefusedError, NoWayBackError."""
    context = found.context
    asking = Registry(load_graphs(settings.app)).graph(context.asked_graph)
    async with open_store(settings.store, role=Role.READER) as store:
        try:
            status = (await store.load(context.asked_by)).status
        except UnknownAgentError:
            raise NoWayBackError(found.snapshot.agent_id, context.asked_by, "gone") from None
    if status is not Status.ACTIVE:
        raise NoWayBackError(found.snapshot.agent_id, context.asked_by, status.value)
    if at is None:
        doors = ", ".join(_taking_back(asking)) or "none that it has a transition for"
        raise UsageError(
            f"{context.asked_by} gave the case away: say where it takes it back, with --at and one of {doors}"
        )
    return asking.entry_point(at).name


def _why_no_door(found: Case) -> str:
    """Why the case goes back to no entry point."""
    if found.context.mode is Mode.DELEGATE:
        return f"{found.context.asked_by} still has the case, and goes on where it waits; leave --at out"
    return f"no agent gave the case away; `gatechart desk resolve {found.snapshot.agent_id}` ends it"


def _taking_back(graph: AnyGraph) -> Iterable[str]:
    """The entry points at which a living agent of the graph takes offers somewhere."""
    return (door for door in graph.entry_points if f"{OFFERED}{door}" in graph.events)


async def _send(
    settings: Settings, timeout_s: float, graph: AnyGraph, case: Case, event: str, payload: dict[str, Any]
) -> ExitCode | None:
    """Sends the case's agent an event, and tells what became of it."""
    agent_id = case.snapshot.agent_id

    async def send(way: Way) -> ExitCode | None:
        outcome = await way.verbs.send(agent_id, event, payload)
        if settings.json:
            print_document(outcome_document(agent_id, outcome))
        else:
            print_outcome(graph, await way.verbs.read(agent_id), outcome)
        if not outcome.applied:
            _hint_at_what_would_do(case, outcome)
        elif way.runtime is not None:
            await _hint_at_news(way.runtime, case)
        return None if outcome.applied else ExitCode.REFUSED

    return await carried_out(settings, (graph,), send, timeout_s=timeout_s)


def _hint_at_what_would_do(case: Case, outcome: Outcome) -> None:
    """Says what comes before what was refused."""
    name, operator = case.snapshot.agent_id, case.context.operator
    if outcome.status is not Status.ACTIVE:
        print_hint(f"it is {outcome.status.value}: `gatechart desk show {name}` tells what is known of it")
    elif outcome.configuration == ("WAITING",):
        print_hint(f"nobody has it: `gatechart desk take {name} --operator NAME` takes it")
    elif outcome.configuration == ("RETURNING",):
        print_hint(
            f"it is offered to {case.context.asked_by}: `gatechart send {name} KEEP` takes that back, "
            "unless it has accepted by then"
        )
    elif outcome.event == "TAKE":
        print_hint(f"{operator} has it: `gatechart desk release {name}` puts it back")
    elif outcome.event == "RETURN" and case.context.mode is None:
        print_hint(f"no agent asked, so none goes on: `gatechart desk resolve {name}` ends it")


async def _hint_at_news(runtime: Runtime, case: Case) -> None:
    """Says what waits for a host: what the agent that asked is told, or offered."""
    asking = case.context.asked_by
    if asking and any(mail.sender == case.snapshot.agent_id for mail in await _waiting(runtime, asking)):
        print_hint(f"what {asking!r} is told waits for a host: `gatechart run` delivers it")


async def _waiting(runtime: Runtime, agent_id: str) -> Iterable[Any]:
    return await runtime.mail(agent_id, status=MailStatus.WAITING)
