"""Mail, which holds durable events for agents, and invocations, which run outside turns."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from gatechart.values.agents import Event, Origin
from gatechart.values.frozen import value
from gatechart.values.names import AgentId, EventName, Payload, StateName
from gatechart.values.secrets import shown_repr


class MailStatus(StrEnum):
    """The status of mail. Applied mail becomes history."""

    WAITING = "waiting"  # queued, not yet due, or awaiting another attempt
    REFUSED = "refused"  # the agent refused it
    DEAD = "dead"  # every attempt failed
    UNREADABLE = "unreadable"  # its stored data is damaged; discard() forgets it


class Backlog(StrEnum):
    """Mail from outside that may wait for a long time; each kind has its own limit."""

    UNCLAIMED = "unclaimed"  # for agents that do not exist
    SCHEDULED = "scheduled"  # with a due time


@value
class Mail:
    """A queued event for an agent. A timer is mail from an agent to itself."""

    number: int  # in the order accepted, in a store
    recipient: AgentId
    event: EventName
    payload: Payload
    accepted: datetime  # aware, UTC
    id: str | None = None  # chosen by the sender, unique per recipient; None if the sender gave none
    sender: AgentId | None = None  # None from outside the runtime
    due: datetime | None = None  # None: at once
    key: str | None = None  # of a cancellable timer
    state: StateName | None = None  # the state it belongs to; with `epoch`, stale once that entry of the state is over
    epoch: int = 0
    status: MailStatus = MailStatus.WAITING
    attempts: int = 0  # failed attempts
    retry_at: datetime | None = None  # time of the next attempt; None if no attempt has failed
    reason: str = ""  # of the refusal or the last failure
    operator_reason: str = ""  # see Event

    @property
    def origin(self) -> Origin:
        """Kind of sender. See Event."""
        return self.happens(self.accepted).origin

    def happens(self, now: datetime) -> Event:
        """Build the event that the turn applies."""
        return Event(self.event, self.payload, now, self.id, self.sender, self.operator_reason)

    __repr__ = shown_repr


@value
class Receipt:
    """The reply to the sender of mail."""

    number: int  # of the mail, for `Runtime.mail`
    repeat: bool = False  # mail with this id waits or was applied already, so this copy was not accepted


@value
class Invocation:
    """One run of an invoke. Its result counts only while this entry of the state lasts."""

    agent_id: AgentId
    state: StateName
    epoch: int  # the agent's version that entered the state
    invoke: str  # invoke id


@value
class ActiveInvocation:
    """An invocation that has not ended, with everything needed to restart it."""

    invocation: Invocation
    graph: str
    graph_version: str
    context: str  # JSON text, as committed by the turn that entered the state

    __repr__ = shown_repr
