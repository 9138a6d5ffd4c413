"""Real conversations through the service desk: one agent per conversation, one event per act.

`python -m statecharts.service_desk.replay FILE --store sqlite+aiosqlite:///desk.db` plays a file and shows a report.
Killed and started again, it goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from gatechart import Agent, Runtime
from gatechart.errors import AgentExistsError, EventError
from statecharts.service_desk.catalogue import Catalogue, read_catalogue
from statecharts.service_desk.command import File, Services, Store, run
from statecharts.service_desk.context import Request
from statecharts.service_desk.conversations import Conversation, distinct, of_one_service, read_conversations
from statecharts.service_desk.graph import service_desk
from statecharts.service_desk.problems import ConversationsError
from statecharts.service_desk.report import Played, ReplayReport, Unplayed, tables
from statecharts.service_desk.schema import Intent
from statecharts.service_desk.script import Teller, lines_of, spoken, taken


async def replay(
    conversations: Iterable[Conversation],
    catalogue: Catalogue,
    runtime: Runtime,
    *,
    on_progress: Callable[[Played], None] | None = None,
    at_once: int = 200,
) -> ReplayReport:
    """Play conversations of one service each, so many at once, and tell what they came to.

    runtime: open for writing, with the graph `service_desk`. An agent has the id of its conversation, in which a second
    one of the same id is numbered; one that is there already goes on where it stopped.
    on_progress: called with each conversation as it ends.
    at_once: 1 or more.
    A conversation that cannot be played, for it fits neither the catalogue nor the store, is listed with the reason.
    """
    waiting = distinct(conversations)
    played, unplayed = list[Played](), list[Unplayed]()
    started = perf_counter()

    async def play_on() -> None:
        for conversation in waiting:
            try:
                one = await play_conversation(conversation, catalogue, runtime)
            except (ConversationsError, EventError) as error:
                unplayed.append(Unplayed(conversation.id, str(error)))
                continue
            played.append(one)
            if on_progress is not None:
                on_progress(one)

    await side_by_side(play_on, at_once)
    return ReplayReport.of(played, perf_counter() - started, unplayed)


async def side_by_side(work: Callable[[], Coroutine[Any, Any, None]], times: int) -> None:
    """Do the work so many times at once. Raises the first of its errors."""
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(times):
                group.create_task(work())
    except ExceptionGroup as problems:
        raise problems.exceptions[0] from None


async def play_conversation(conversation: Conversation, catalogue: Catalogue, runtime: Runtime) -> Played:
    """Let an agent live through a conversation: its first intent opens the entry point, each other act is an event."""
    opening, service = conversation.opening, conversation.services[0]
    intent = catalogue.intent(service, opening.value)
    entry_point = entry_point_for(intent)
    request = Request(service=catalogue.service(service), intent=intent.name)
    teller = Teller(conversation.id)
    agent = await begin_or_resume(runtime, teller, service_desk.name, entry_point, request)
    calls = list[bool]()
    for turn in spoken(conversation):
        await teller.tell(agent, turn.line)
        for frame in turn.frames:
            for line, act in lines_of(turn.speaker, frame):
                if act is opening:
                    continue
                taken = await teller.tell(agent, line)
                if act is None:
                    calls.append(taken)
    return Played(
        conversation.id,
        entry_point,
        acts=len(conversation.acts),
        events=teller.said,
        refused=tuple(teller.refused),
        calls=len(calls),
        calls_foreseen=sum(calls),
        ended_in=agent.configuration[0],
    )


async def begin_or_resume(
    runtime: Runtime, teller: Teller, graph: str, entry_point: str, request: Request
) -> Agent[Any]:
    """Return the agent of a conversation; an earlier replay may have started it."""
    try:
        return await runtime.start(graph, at=entry_point, payload=request, agent_id=teller.conversation)
    except AgentExistsError:
        agent = await runtime.resume(teller.conversation)
        if agent.snapshot.graph != graph:
            raise taken(teller.conversation) from None
        teller.is_resumed = True
        await teller.recall(agent)
        return agent


def entry_point_for(intent: Intent) -> str:
    """Where an agent begins that is asked for this intent."""
    if intent.is_transactional:
        return "ELICITING_DETAILS"
    return "ELICITING_CRITERIA" if intent.required_slots else "SEARCHING"


def load(
    file: Path, services: Path | None = None, on_problem: Callable[[ConversationsError], None] | None = None
) -> tuple[tuple[Conversation, ...], Catalogue]:
    """Read the conversations of a file that stay with one service, and what the services can do.

    services: the file `services.json` beside the conversations where None. on_problem: called with each line that is
    no conversation. Raises ConversationsError.
    """
    conversations = of_one_service(read_conversations(file, on_problem))
    if not conversations:
        raise ConversationsError(str(file), "it holds no conversation with just one service; name another file")
    return conversations, read_catalogue(services or file.with_name("services.json"))


def main(file: File = None, store: Store = "memory:", services: Services = None) -> None:
    """Play conversations with one service each through the service desk, and tell what came of it.

    Started again on the same store, it goes on where it stopped. The exit code is 1 if something could not be played.
    """

    async def play(
        conversations: Sequence[Conversation], catalogue: Catalogue, on_acts: Callable[[int], None]
    ) -> ReplayReport:
        async with Runtime.open(store, graphs=[service_desk]) as runtime:
            return await replay(conversations, catalogue, runtime, on_progress=lambda one: on_acts(one.acts))

    run(file, services, load, play, tables)


if __name__ == "__main__":
    typer.run(main)
