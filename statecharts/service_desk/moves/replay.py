"""Real conversations that use several services: an agent for each service, and a handoff for each move between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gatechart import Agent, Runtime, StateTransitionGraph
from gatechart.contrib.human_desk import human_desk
from gatechart.errors import EventError
from gatechart.handoff import HandoffStatus, Mode
from gatechart.results import HandoffRecord
from statecharts.service_desk.catalogue import Catalogue, read_catalogue
from statecharts.service_desk.context import Request
from statecharts.service_desk.conversations import Conversation, distinct, of_several_services, read_conversations
from statecharts.service_desk.moves.chart import kind_of, services
from statecharts.service_desk.moves.conversations import Part, Wish, parts
from statecharts.service_desk.moves.owners import Said, accepted
from statecharts.service_desk.problems import ConversationsError
from statecharts.service_desk.replay import begin_or_resume, entry_point_for, side_by_side
from statecharts.service_desk.report import Refused, Unplayed
from statecharts.service_desk.script import Line, Teller, lines_of

PATIENCE_S: Final = 60
CARRIED: Final = frozenset({"INFORM_INTENT", "INFORM"})  # acts that travel with a move
HELP: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("TAKE", {"operator": "Ada"}),
    ("WORK", {}),
    ("RESOLVE", {"answer": "We call you back", "rating": 4}),
)


@dataclass(frozen=True, slots=True)
class Played:
    """What one conversation came to."""

    id: str
    words: tuple[tuple[str, str], ...]  # with who speaks
    acts: int
    moves: int
    returns: int
    heard: tuple[Said, ...]  # the events that were not refused
    refused: tuple[Refused, ...]
    agents: Mapping[str, str]  # by service
    last: str  # the agent that had it in the end
    ended_in: str
    failures: int
    calls: int
    calls_foreseen: int  # those that the agent took: it knew every value, be it from another service


def load(
    file: Path, services: Path | None = None, on_problem: Callable[[ConversationsError], None] | None = None
) -> tuple[tuple[Conversation, ...], Catalogue]:
    """Read the conversations of a file that use several services, and what the services can do.

    services: the file `services.json` beside the conversations where None. on_problem: called with each line that is
    no conversation. Raises ConversationsError.
    """
    conversations = of_several_services(read_conversations(file, on_problem))
    if not conversations:
        raise ConversationsError(str(file), "it holds no conversation with several services; name another file")
    return conversations, read_catalogue(services or file.with_name("services.json"))


def graphs_for(catalogue: Catalogue) -> tuple[StateTransitionGraph[Any], ...]:
    """Build a chart for each kind of service, and the human desk."""
    return (*services(catalogue.services), human_desk)


async def replay(
    conversations: Iterable[Conversation],
    catalogue: Catalogue,
    runtime: Runtime,
    *,
    on_progress: Callable[[Played], None] | None = None,
    on_problem: Callable[[Unplayed], None] | None = None,
    at_once: int = 32,
) -> list[Played]:
    """Play conversations, so many at once, and tell what each came to.

    on_progress: called with each conversation as it ends. on_problem: called with each that cannot be played, for it
    fits neither the catalogue nor the store; if None, what is wrong with the first one is raised.
    """
    waiting, played = distinct(conversations), list[Played]()

    async def play_on() -> None:
        for conversation in waiting:
            try:
                one = await Playing(conversation, catalogue, runtime).play()
            except (ConversationsError, EventError, TimeoutError) as error:
                if on_problem is None:
                    raise
                on_problem(Unplayed(conversation.id, str(error) or f"no agent answered within {PATIENCE_S} s"))
                continue
            played.append(one)
            if on_progress is not None:
                on_progress(one)

    await side_by_side(play_on, at_once)
    return played


@dataclass(slots=True)
class Playing:
    """One conversation while it is played."""

    conversation: Conversation
    catalogue: Catalogue
    runtime: Runtime
    teller: Teller = field(init=False)
    agents: dict[str, str] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)  # how often an agent gave the conversation away
    calls: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.teller = Teller(self.conversation.id)

    async def play(self) -> Played:
        """Let the agents live through it."""
        one, said = self.conversation, list(parts(self.conversation, self.catalogue))
        for name in one.services:
            self.catalogue.service(name)  # else what the user wants of it would go to the one at work
        owner = await self._begin()
        for part in said:
            if part.line is not None:
                await self.teller.tell(owner, part.line)
            if part.wish is None:
                await self._say(owner, part)
            else:
                owner = await self._move(owner, part, part.wish)
        return Played(
            one.id,
            tuple((turn.speaker, turn.text) for turn in one.turns),
            acts=len(one.acts),
            moves=sum(each.wish is not None for each in said),
            returns=sum(each.is_return for each in said),
            heard=tuple(self.teller.heard),
            refused=tuple(self.teller.refused),
            agents=self.agents,
            last=owner.id,
            ended_in=owner.configuration[0],
            failures=sum(act.act == "NOTIFY_FAILURE" for act in one.acts),
            calls=len(self.calls),
            calls_foreseen=sum(self.calls),
        )

    async def _begin(self) -> Agent[Any]:
        """Start the agent of the first service, for the user's first wish."""
        name = self.conversation.first_service
        intent = self.catalogue.intent(name, self.conversation.opening.value)
        request = Request(service=self.catalogue.service(name), intent=intent.name)
        agent = await begin_or_resume(self.runtime, self.teller, kind_of(name), entry_point_for(intent), request)
        self.agents[name] = agent.id
        return agent

    async def _say(self, owner: Agent[Any], part: Part, without: frozenset[str] = frozenset()) -> None:
        for line, act in lines_of(part.speaker, part.frame):
            if act is self.conversation.opening or (act is not None and act.act in without):
                continue
            taken = await self.teller.tell(owner, line)
            if act is None:
                self.calls.append(taken)
            if owner.configuration[0] in ("CALLING_PERSON", "WITH_PERSON"):
                await self._ask_a_person(owner)

    async def _move(self, owner: Agent[Any], part: Part, wish: Wish) -> Agent[Any]:
        """Return the agent that has the conversation next: a new one, an earlier one, or the same if it refused."""
        name = wish.service.name
        asked = {
            "graph": kind_of(name),
            "service": wish.service.model_dump(mode="json"),
            "intent": wish.intent.name,
            "slots": wish.slots,
        }
        if not await self.teller.tell(owner, Line("user move", "USER_MOVED_ON", asked)):
            self._refuse(owner, part)
            return owner
        target = await self._taken_by(owner)
        self.agents.setdefault(name, target.id)
        await self.teller.recall(target)
        await self._say(target, part, without=CARRIED)
        return target

    def _refuse(self, owner: Agent[Any], part: Part) -> None:
        """Count what travels with a move as refused with it."""
        carried = [act for act in part.frame.acts if act.act in CARRIED]
        state = owner.configuration[0]
        self.teller.refused += [Refused(state, f"{part.speaker} {act.act}", "the move was refused") for act in carried]

    async def _taken_by(self, owner: Agent[Any]) -> Agent[Any]:
        """Return the agent that took the owner's last handoff. Raises ConversationsError if none did."""
        self.left[owner.id] = self.left.get(owner.id, 0) + 1
        if owner.configuration == ("HANDING_ON",):
            await _first_of(owner, "AWAY", "WRAPPING_UP")
        attempts = await self._handoffs(owner, Mode.TRANSFER)
        requests = list(dict.fromkeys(each.request for each in attempts))
        request = requests[self.left[owner.id] - 1]
        taken = [each for each in attempts if each.request == request and accepted(each)]
        if not taken:
            raise ConversationsError(f"conversation {self.conversation.id!r}", "no agent took it over")
        return await self.runtime.resume(taken[0].target)

    async def _ask_a_person(self, owner: Agent[Any]) -> None:
        """Do what an operator does about a call that failed."""
        if owner.configuration == ("CALLING_PERSON",):
            await _first_of(owner, "WITH_PERSON", "PARTING")
        helped = [each for each in await self._handoffs(owner, Mode.DELEGATE) if each.status is HandoffStatus.ACCEPTED]
        for each in helped:
            person = await self.runtime.resume(each.target)
            for event, payload in HELP:
                await person.send(event, payload, event_id=f"{each.id}/{event}")
            async with asyncio.timeout(PATIENCE_S):
                await owner.until("CLOSING")

    async def _handoffs(self, owner: Agent[Any], mode: Mode) -> list[HandoffRecord]:
        found = list[HandoffRecord]()
        while page := await self.runtime.handoffs(source=owner.id, after=found[-1].number if found else 0):
            found += page
        return [each for each in found if each.mode is mode]


async def _first_of(agent: Agent[Any], *states: str) -> None:
    """Wait until the agent is in one of the states."""
    waits = [asyncio.ensure_future(agent.until(state)) for state in states]
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
