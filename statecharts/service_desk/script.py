"""What agents are told of a conversation, line by line, each once, however often the replay is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json, to_json

from gatechart import Agent, Event
from gatechart.errors import ActionFailedError, ContextInvalidError
from gatechart.results import HistoryEntry
from statecharts.service_desk.acts import Speaker, event_of, place_of
from statecharts.service_desk.conversations import Act, Conversation, Frame
from statecharts.service_desk.problems import ConversationsError
from statecharts.service_desk.report import Refused

BEFORE = "refused before the replay was started again"


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that an agent is told. what: for people, as "user SELECT"."""

    what: str
    event: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """What one speaker says, without frames in which nothing is said."""

    speaker: Speaker
    frames: tuple[Frame, ...]
    line: Line


def spoken(conversation: Conversation) -> Iterator[SpokenTurn]:
    """Return the turns in which something is said."""
    for turn in conversation.turns:
        frames = tuple(frame for frame in turn.frames if frame.acts or frame.call)
        if frames:
            line = Line(f"{turn.speaker} turn", "TURN_BEGAN", {"speaker": turn.speaker, "text": turn.text})
            yield SpokenTurn(turn.speaker, frames, line)


def lines_of(speaker: Speaker, frame: Frame) -> Iterator[tuple[Line, Act | None]]:
    """List the lines of a frame: the service's call first, then the acts."""
    if frame.call is not None:
        yield Line("system CALL", "SERVICE_CALLED", frame.call.model_dump()), None
    for act in sorted(frame.acts, key=lambda act: place_of(speaker, act.act)):
        payload = act.model_dump(include={"slot", "values"}, exclude_none=True)
        yield Line(f"{speaker} {act.act}", event_of(speaker, act.act), payload), act


@dataclass(slots=True)
class Teller:
    """Tells agents what is said in one conversation, under ids that are the same in every replay."""

    conversation: str
    is_resumed: bool = False  # an earlier replay began with it
    said: int = 0
    heard: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)  # what was not refused
    refused: list[Refused] = field(default_factory=list)
    _past: dict[str, dict[int, HistoryEntry]] = field(default_factory=dict)  # by agent: what it took before, by place

    async def recall(self, agent: Agent[Any]) -> None:
        """Look up what the agent was told by an earlier replay, if there was one."""
        if self.is_resumed and agent.id not in self._past:
            turns = await agent.history()
            told = ((self._place_of(turn.event.id), turn) for turn in turns)
            self._past[agent.id] = {place: turn for place, turn in told if place is not None}
            if len(turns) > 1 and not self._past[agent.id] and agent.id == self.conversation:
                raise taken(self.conversation)

    async def tell(self, agent: Agent[Any], line: Line) -> bool:
        """Tell the agent, unless it was told before; return whether it took it."""
        self.said += 1
        refused = await self._refusal(agent, line)
        if refused is not None:
            self.refused.append(refused)
            return False
        self.heard.append((line.event, _plain(line.payload)))
        return True

    async def _refusal(self, agent: Agent[Any], line: Line) -> Refused | None:
        """Return the answer an earlier replay got; say the line now only if that replay did not reach it."""
        past = self._past.get(agent.id, {})
        if self.said in past:
            self._check_same(past[self.said].event, line)
            return None
        if past and self.said < max(past):
            before = [turn for place, turn in past.items() if place < self.said]
            entered = (await agent.history(limit=1))[0]
            return Refused((before[-1] if before else entered).target[0], line.what, BEFORE)
        return await _refusal(agent, line, f"{self.conversation}/{self.said}")

    def _check_same(self, told: Event, line: Line) -> None:
        if (told.name, _plain(told.payload)) != (line.event, _plain(line.payload)):
            raise taken(self.conversation)

    def _place_of(self, event_id: str | None) -> int | None:
        """Return an event's place in this conversation; None if it was not said in it."""
        conversation, _, place = (event_id or "").rpartition("/")
        return int(place) if conversation == self.conversation and place.isdecimal() else None


def _plain(payload: Mapping[str, Any]) -> Any:
    return from_json(to_json(payload))


def taken(conversation: str) -> ConversationsError:
    """Return the error to raise if the store's agent of that id belongs to another conversation."""
    problem = "the store holds another agent of this id; name another --store"
    return ConversationsError(f"conversation {conversation!r}", problem)


async def _refusal(agent: Agent[Any], line: Line, event_id: str) -> Refused | None:
    try:
        outcome = await agent.send(line.event, line.payload, event_id=event_id)
    except (ActionFailedError, ContextInvalidError) as error:  # the turn is undone
        return Refused(agent.configuration[0], line.what, type(error).__name__)
    if outcome.refusal is None:
        return None
    asked = f": {', '.join(outcome.refusal.guards)}" if outcome.refusal.guards else ""
    return Refused(outcome.configuration[0], line.what, f"{outcome.refusal.reason.value}{asked}")
