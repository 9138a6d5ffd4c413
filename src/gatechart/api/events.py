"""Commands and verbs that send or post events to agents, or ask which events they accept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import Field

from gatechart.api.arguments import made
from gatechart.api.codec import ACCEPTED, ACCEPTS, OUTCOME, RECEIPT, Answer
from gatechart.api.command import Command, Executor, Moment, Plain, WritingCommand
from gatechart.api.route import Route
from gatechart.turn.arguments import checked_name, plain_payload
from gatechart.values.agents import Outcome
from gatechart.values.mail import Receipt
from gatechart.values.names import AgentId, Name
from gatechart.values.possibilities import AcceptedEvent


class SendCommand(WritingCommand):
    """`send`."""

    answer: ClassVar[Answer[Any]] = OUTCOME
    route: ClassVar[Route] = Route("POST", "/agents/{to}/events", "Send an event and wait until its turn is committed")
    verb: Literal["send"] = "send"
    to: AgentId
    event: str
    payload: Plain = Field(default={})
    event_id: str | None = None


class PostCommand(WritingCommand):
    """`post`."""

    answer: ClassVar[Answer[Any]] = RECEIPT
    route: ClassVar[Route] = Route(
        "POST", "/agents/{to}/mail", "Post mail to an agent; it is durable when the call returns", 202
    )
    verb: Literal["post"] = "post"
    to: AgentId
    event: str
    payload: Plain = Field(default={})
    event_id: str | None = None
    due: Moment | None = None


class AcceptsCommand(Command):
    """`accepts`."""

    answer: ClassVar[Answer[Any]] = ACCEPTS
    route: ClassVar[Route] = Route(
        "GET", "/agents/{agent_id}/accepts", "List the events that an agent can handle or defer now"
    )
    verb: Literal["accepts"] = "accepts"
    agent_id: AgentId


class CanCommand(Command):
    """`can`. payload: None if it is not known yet."""

    answer: ClassVar[Answer[Any]] = ACCEPTED
    route: ClassVar[Route] = Route(
        "POST", "/agents/{agent_id}/accepts", "Predict the effect of an event on an agent now"
    )
    verb: Literal["can"] = "can"
    agent_id: AgentId
    event: str
    payload: Plain | None = None


class EventsHome(Executor):
    """The part of `AgentHome` for events to agents."""

    async def send(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
    ) -> Outcome:
        """Send an event to an agent and return its outcome: `Agent.send` by agent id."""
        name = checked_name(event)
        command = made(SendCommand, to=to, event=name, payload=plain_payload(payload, name), event_id=event_id)
        outcome: Outcome = await self.execute(command)
        return outcome

    async def post(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
        due: datetime | None = None,
    ) -> Receipt:
        """Post mail to an agent. It is durable when this returns; the agent applies it once, in the order accepted.

        to: the agent's id; mail for an agent that does not exist yet waits for it.
        payload: as in `Agent.send`.
        event_id: unique for the recipient; mail with the id of waiting or applied mail is not accepted again.
        due: when to deliver it; by default at once.

        Raises PayloadError, also if the agent exists and its graph declares the event with another payload,
        UndeclaredEventError, EventIdReusedError, InboxFullError if too much mail waits for the agent and the limits do
        not make the caller wait, and BacklogFullError if too much mail waits for agents that do not exist, or for its
        due time.
        """
        name = checked_name(event)
        command = made(PostCommand, to=to, event=name, payload=plain_payload(payload, name), event_id=event_id, due=due)
        receipt: Receipt = await self.execute(command)
        return receipt

    async def accepts(self, agent_id: AgentId) -> Sequence[AcceptedEvent]:
        """Return the events that an agent can handle or defer now: `Agent.accepts` by agent id."""
        events: Sequence[AcceptedEvent] = await self.execute(made(AcceptsCommand, agent_id=agent_id))
        return events

    async def can(self, agent_id: AgentId, event: Name, payload: Any = None) -> AcceptedEvent:
        """Predict the effect of an event on an agent now: `Agent.can` by agent id."""
        name = checked_name(event)
        arguments = None if payload is None else plain_payload(payload, name)
        answer: AcceptedEvent = await self.execute(made(CanCommand, agent_id=agent_id, event=name, payload=arguments))
        return answer
