"""Real conversations through the service desk: one agent per conversation, one event per act.

`python -m statecharts.service_desk.replay FILE --store sqlite+aiosqlite:///desk.db` plays a file and shows a report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Final, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gatechart import Agent, Runtime
from gatechart.errors import ActionFailedError, AgentExistsError, GatechartError
from statecharts.service_desk.acts import Speaker, event_of
from statecharts.service_desk.context import DeskContext, Intent, Request
from statecharts.service_desk.conversations import (
    Act,
    Call,
    Catalogue,
    Conversation,
    ConversationsError,
    of_one_service,
    read_catalogue,
    read_conversations,
)
from statecharts.service_desk.graph import service_desk
from statecharts.service_desk.report import Played, Refused, ReplayReport, tables

CALLING_STATES: Final = frozenset({"SEARCHING", "EXECUTING"})
INTENT_ACTS: Final = frozenset({("user", "INFORM_INTENT"), ("system", "OFFER_INTENT")})


async def replay(
    conversations: Iterable[Conversation],
    catalogue: Catalogue,
    runtime: Runtime,
    *,
    on_progress: Callable[[Played], None] | None = None,
    at_once: int = 200,
) -> ReplayReport:
    """Plays conversations of one service each, so many at once, and tells what they came to.

    runtime: open for writing, with the graph `service_desk`. An agent has the id of its conversation.
    on_progress: called with each conversation as it ends.
    at_once: 1 or more.
    Raises ConversationsError where a conversation does not begin with an intent that the catalogue knows.
    """
    waiting, played = iter(conversations), list[Played]()
    started = perf_counter()
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(_play_all(waiting, catalogue, runtime, played, on_progress))
    except ExceptionGroup as problems:
        raise problems.exceptions[0] from None
    return ReplayReport.of(played, perf_counter() - started)


async def _play_all(
    waiting: Iterator[Conversation],
    catalogue: Catalogue,
    runtime: Runtime,
    played: list[Played],
    on_progress: Callable[[Played], None] | None,
) -> None:
    for conversation in waiting:
        one = await play_conversation(conversation, catalogue, runtime)
        played.append(one)
        if on_progress is not None:
            on_progress(one)


async def play_conversation(conversation: Conversation, catalogue: Catalogue, runtime: Runtime) -> Played:
    """Lets an agent live through a conversation: its first intent opens the entry point, each other act is an event."""
    opening, service = conversation.opening, conversation.services[0]
    intent = catalogue.intent(service, opening.value)
    entry_point = entry_point_for(intent)
    request = Request(service=service, intent=intent.intent, required_slots=intent.required_slots)
    agent = await runtime.start(service_desk.name, at=entry_point, payload=request, id=conversation.id)
    refused: list[Refused] = []
    calls: list[bool] = []
    for speaker, frame in conversation.frames:
        if frame.call is not None:
            calls.append(is_ready_for(frame.call, agent))
        for act in frame.acts:
            if act is not opening:
                refused += await _send(agent, speaker, act, _payload(service, speaker, act, catalogue))
    return Played(
        conversation.id,
        entry_point,
        acts=len(conversation.acts),
        refused=tuple(refused),
        calls=len(calls),
        calls_foreseen=sum(calls),
        ended_in=agent.configuration[0],
    )


def entry_point_for(intent: Intent) -> str:
    """Where an agent begins that is asked for this intent."""
    if intent.is_transactional:
        return "ELICITING_DETAILS"
    return "ELICITING_CRITERIA" if intent.required_slots else "SEARCHING"


def is_ready_for(call: Call, agent: Agent) -> bool:
    """Whether the agent would now make the same call: it searches or executes, and has collected every parameter."""
    context = cast("DeskContext", agent.context)
    return (
        agent.configuration[0] in CALLING_STATES
        and context.intent == call.method
        and call.parameters.items() <= context.slots.items()
    )


async def _send(agent: Agent, speaker: Speaker, act: Act, payload: Mapping[str, Any]) -> tuple[Refused, ...]:
    """The refusal, if there was one."""
    name = f"{speaker} {act.act}"
    try:
        outcome = await agent.send(event_of(speaker, act.act), payload)
    except ActionFailedError as error:  # an act of the right name with something wrong in it; the turn is undone
        return (Refused(agent.configuration[0], name, f"{error.action} raised"),)
    if outcome.refusal is None:
        return ()
    return (Refused(outcome.configuration[0], name, outcome.refusal.reason.value),)


def _payload(service: str, speaker: Speaker, act: Act, catalogue: Catalogue) -> Mapping[str, Any]:
    if (speaker, act.act) in INTENT_ACTS:
        return catalogue.intent(service, act.value).model_dump()
    return act.model_dump(include={"slot", "values"}, exclude_none=True)


def load(file: Path, services: Path | None = None) -> tuple[tuple[Conversation, ...], Catalogue]:
    """The conversations of a file that stay with one service, and what the services can do.

    services: the file `services.json` beside the conversations where None. Raises ConversationsError.
    """
    conversations = of_one_service(read_conversations(file))
    if not conversations:
        raise ConversationsError(str(file), "it holds no conversation with just one service; name another file")
    return conversations, read_catalogue(services or file.with_name("services.json"))


async def _replay_with_bar(
    conversations: Sequence[Conversation], catalogue: Catalogue, store: str, console: Console
) -> ReplayReport:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    async with Runtime.open(store, graphs=[service_desk]) as runtime:
        with Progress(*columns, console=console) as progress:
            bar = progress.add_task("acts", total=sum(len(conversation.acts) for conversation in conversations))
            return await replay(
                conversations, catalogue, runtime, on_progress=lambda one: progress.advance(bar, one.acts)
            )


def main(
    file: Annotated[
        Path | None,
        typer.Argument(envvar="GATECHART_CONVERSATIONS", help="Conversations, one a line as JSON; .gz is unpacked."),
    ] = None,
    store: Annotated[str, typer.Option(help="URL of the store; 'memory:' keeps nothing.")] = "memory:",
    services: Annotated[
        Path | None, typer.Option(help="What the services can do; services.json beside FILE where left out.")
    ] = None,
) -> None:
    """Play conversations through the service desk and tell what came of it."""
    console = Console()
    if file is None:
        raise _complaint("nothing to replay; name a FILE of conversations, or set GATECHART_CONVERSATIONS", code=2)
    try:
        conversations, catalogue = load(file, services)
        report = asyncio.run(_replay_with_bar(conversations, catalogue, store, console))
    except AgentExistsError:
        raise _complaint(f"{store} holds a replay of this file already; name another --store") from None
    except GatechartError as error:
        raise _complaint(str(error)) from None
    console.print(tables(report))


def _complaint(text: str, code: int = 1) -> typer.Exit:
    """What ends the command, after the text is told in one line."""
    Console(stderr=True).print(text, markup=False, soft_wrap=True)
    return typer.Exit(code)


if __name__ == "__main__":
    typer.run(main)
