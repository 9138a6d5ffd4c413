"""Real conversations that use several services: an agent for each service, and a handoff for each move between them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json, to_json

from gatechart import Agent, Runtime, StateTransitionGraph
from gatechart.desk import human_desk
from statecharts.service_desk.acts import Speaker, event_of
from statecharts.service_desk.context import Request
from statecharts.service_desk.conversations import Act, Call, Catalogue, Conversation
from statecharts.service_desk.replay import CALLING_STATES, INTENT_ACTS, entry_point_for
from statecharts.service_desk.report import Refused
from tests.statecharts.moves.chart import ServiceContext, kind_of, services
from tests.statecharts.moves.conversations import Part, Words, parts, wanted_by
from tests.statecharts.moves.owners import Said

PATIENCE_S = 60


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
    failures: int
    with_person: int
    calls: int
    calls_foreseen: int
    calls_known: int  # those of which the agent knew every value, be it from another service


def graphs_for(catalogue: Catalogue) -> tuple[StateTransitionGraph, ...]:
    """A chart for each kind of service, and the desk where people work."""
    return (*services({service for service, _ in catalogue.intents}), human_desk)


async def replay(
    conversations: Iterable[Conversation], catalogue: Catalogue, runtime: Runtime, *, at_once: int = 32
) -> list[Played]:
    """Plays conversations, so many at once, and tells what each came to."""
    waiting, played = iter(conversations), list[Played]()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(_play_all(waiting, catalogue, runtime, played))
    return played


async def _play_all(
    waiting: Iterator[Conversation], catalogue: Catalogue, runtime: Runtime, played: list[Played]
) -> None:
    for conversation in waiting:
        played.append(await Playing(conversation, catalogue, runtime).play())


@dataclass(slots=True)
class Playing:
    """One conversation while it is played."""

    conversation: Conversation
    catalogue: Catalogue
    runtime: Runtime
    agents: dict[str, str] = field(default_factory=dict)
    heard: list[Said] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    calls: list[tuple[bool, bool]] = field(default_factory=list)
    with_person: int = 0

    async def play(self) -> Played:
        """Lets the agents live through it."""
        one = self.conversation
        owner = await self._begin()
        steps = list(parts(one))
        for step in steps:
            match step:
                case Words(speaker, text):
                    await self._send(owner, "SAID", {"speaker": speaker, "text": text})
                case Part(is_move=True):
                    owner = await self._move(owner, step)
                case Part():
                    await self._say(owner, step)
        said = [each for each in steps if isinstance(each, Part)]
        return Played(
            one.id,
            tuple((turn.speaker, turn.text) for turn in one.turns),
            acts=len(one.acts),
            moves=sum(each.is_move for each in said),
            returns=sum(each.is_return for each in said),
            heard=tuple(self.heard),
            refused=tuple(self.refused),
            agents=self.agents,
            last=owner.id,
            failures=sum(act.act == "NOTIFY_FAILURE" for act in one.acts),
            with_person=self.with_person,
            calls=len(self.calls),
            calls_foreseen=sum(foreseen for foreseen, _ in self.calls),
            calls_known=sum(known for _, known in self.calls),
        )

    async def _begin(self) -> Agent:
        """The agent of the first service, entered for the first thing that the user wants."""
        one = self.conversation
        service = next(step.frame.service for step in parts(one) if isinstance(step, Part))
        intent = self.catalogue.intent(service, one.opening.value)
        request = Request(service=service, intent=intent.intent, required_slots=intent.required_slots)
        agent = await self.runtime.start(kind_of(service), at=entry_point_for(intent), payload=request, id=one.id)
        self.agents[service] = agent.id
        return agent

    async def _say(self, owner: Agent, part: Part) -> None:
        service, speaker = part.frame.service, part.speaker
        if part.frame.call is not None:
            self.calls.append(_readiness(owner, part.frame.call))
        for act in part.frame.acts:
            if act is not self.conversation.opening:
                await self._send(owner, event_of(speaker, act.act), self._payload(service, speaker, act), act.act)
                if owner.configuration[0] in ("CALLING_PERSON", "WITH_PERSON"):
                    await self._ask_a_person(owner)

    async def _move(self, owner: Agent, part: Part) -> Agent:
        """The agent that has the conversation then: a new one, or that which had it before."""
        service, (intent, given) = part.frame.service, wanted_by(part.frame, self.catalogue)
        asked = {"graph": kind_of(service), "service": service, "intent": intent.model_dump(), "slots": given}
        await self._send(owner, "USER_MOVED_ON", asked)
        async with asyncio.timeout(PATIENCE_S):
            await owner.until("AWAY")
        target = (await self.runtime.handoffs(source=owner.id))[-1].target
        assert self.agents.setdefault(service, target) == target
        return await self.runtime.resume(target)

    async def _ask_a_person(self, owner: Agent) -> None:
        """What an operator does about a call that failed."""
        self.with_person += 1
        async with asyncio.timeout(PATIENCE_S):
            await owner.until("WITH_PERSON")
        person = await self.runtime.resume((await self.runtime.handoffs(source=owner.id))[-1].target)
        for event, payload in (
            ("TAKE", {"operator": "Ada"}),
            ("WORK", {}),
            ("RESOLVE", {"answer": "We call you back", "rating": 4}),
        ):
            outcome = await person.send(event, payload)
            assert outcome.applied, str(outcome)
        async with asyncio.timeout(PATIENCE_S):
            await owner.until("CLOSING")

    async def _send(self, owner: Agent, event: str, payload: Mapping[str, Any], act: str = "") -> None:
        outcome = await owner.send(event, payload)
        if outcome.refusal is None:
            self.heard.append((event, from_json(to_json(payload))))
        else:
            self.refused.append(Refused(outcome.configuration[0], act or event, outcome.refusal.reason.value))

    def _payload(self, service: str, speaker: Speaker, act: Act) -> Mapping[str, Any]:
        if (speaker, act.act) in INTENT_ACTS:
            return self.catalogue.intent(service, act.value).model_dump()
        return act.model_dump(include={"slot", "values"}, exclude_none=True)


def _context(agent: Agent) -> ServiceContext:
    context = agent.context
    assert isinstance(context, ServiceContext)
    return context


def _readiness(agent: Agent, call: Call) -> tuple[bool, bool]:
    """Whether the agent would now make the call, and whether it knows every value of it."""
    context = _context(agent)
    calls = agent.configuration[0] in CALLING_STATES and context.intent == call.method
    known = {*context.slots.values(), *context.answers.values(), *context.entities.values()}
    return calls and call.parameters.items() <= context.slots.items(), calls and set(call.parameters.values()) <= known
