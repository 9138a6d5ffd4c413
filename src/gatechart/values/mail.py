"""Mail, durable events on their way to agents; and invocations, what states have under way outside turns."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from gatechart.values.agents import Event, Origin
from gatechart.values.frozen import value
from gatechart.values.names import AgentId, EventName, Payload, StateName


class MailStatus(StrEnum):
    """Where mail is in its life. Mail that was applied is history."""

    WAITING = "waiting"  # to be delivered: for its turn in the queue, its due time, or another attempt
    REFUSED = "refused"  # the agent refused it
    DEAD = "dead"  # every attempt failed
    UNREADABLE = "unreadable"  # what the database has of it is damaged; discard() forgets it


class Backlog(StrEnum):
    """Mail from outside that may wait for long, told apart because each kind has a limit of its own."""

    UNCLAIMED = "unclaimed"  # for agents that do not exist
    SCHEDULED = "scheduled"  # with a due time


@value
class Mail:
    """An event on its way to an agent; a timer is mail of an agent to itself."""

    number: int  # in the order accepted, in a store
    recipient: AgentId
    event: EventName
    payload: Payload
    accepted: datetime  # aware, UTC
    id: str | None = None  # the sender's, unique for the recipient; None where the sender gave none
    sender: AgentId | None = None  # None from outside the runtime
    due: datetime | None = None  # None: at once
    key: str | None = None  # of a timer that can be cancelled
    state: StateName | None = None  # that it belongs to, with the epoch of its entry: stale once that is over
    epoch: int = 0
    status: MailStatus = MailStatus.WAITING
    attempts: int = 0  # that failed
    retry_at: datetime | None = None  # when it is tried again; None where no attempt has failed
    reason: str = ""  # of the refusal, or of the failure of the last attempt
    operator_reason: str = ""  # see Event

    @property
    def origin(self) -> Origin:
        """Who made it. See Event."""
        return self.happens(self.accepted).origin

    def happens(self, now: datetime) -> Event:
        """The event as its turn takes it."""
        return Event(self.event, self.payload, now, self.id, self.sender, self.operator_reason)


@value
class Receipt:
    """What the sender of mail is told."""

    number: int  # of the mail, for `Runtime.mail`
    repeat: bool = False  # mail of this id waits or was applied already, and so this was not accepted


@value
class Invocation:
    """One call of what a state invokes. What it comes to counts as long as this entry of the state lasts."""

    agent_id: AgentId
    state: StateName
    epoch: int  # the agent's version that entered the state
    invoke: str  # its id


@value
class ActiveInvocation:
    """An invocation that has not ended, with all that is needed to begin it again."""

    invocation: Invocation
    graph: str
    graph_version: str
    context: str  # JSON text, as the turn that entered the state committed it
