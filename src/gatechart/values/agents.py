"""Agents as frozen values: what happens to them, where they are, what became of an event."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from gatechart.values.frozen import value
from gatechart.values.handoffs import OpenHandoff
from gatechart.values.names import AgentId, EntryVersions, EventName, Memory, Payload, StateName, is_reserved


class Status(StrEnum):
    """Where an agent is in its life."""

    ACTIVE = "active"  # takes events
    DONE = "done"  # rests in a final state of its graph
    FAILED = "failed"  # rests in one that says that it is a failure
    STOPPED = "stopped"  # ended by stop()
    UNREADABLE = "unreadable"  # what the database has of it is damaged; erase() forgets it


class Origin(StrEnum):
    """Who made an event happen."""

    OUTSIDE = "outside"  # a caller of the runtime: a person or a program
    AGENT = "agent"  # an action of an agent, which is the sender
    FRAMEWORK = "framework"  # gatechart itself: a timer, an invoke's end, a handoff; nobody else may use these names
    OPERATOR = "operator"  # a person who stood in for the framework, and gave a reason


@value
class Event:
    """Something that happened."""

    name: EventName
    payload: Payload  # JSON values
    time: datetime  # aware, UTC; the only clock of a turn
    id: str | None = None  # the sender's, unique for the recipient; None where the sender gave none
    sender: AgentId | None = None  # None from outside the runtime
    operator_reason: str = ""  # why an operator made it happen in the framework's place; empty where nobody did

    @property
    def origin(self) -> Origin:
        """Who made it happen.

        The names that are the framework's own tell its events from others, since nobody else can send them. So an
        origin need not be stored, and the history of an older database has one, too.
        """
        if self.operator_reason:
            return Origin.OPERATOR
        if is_reserved(self.name):
            return Origin.FRAMEWORK
        return Origin.OUTSIDE if self.sender is None else Origin.AGENT


@value
class Snapshot:
    """All that is needed for an agent to go on."""

    agent_id: AgentId
    graph: str
    graph_version: str
    fingerprint: str
    configuration: tuple[StateName, ...]  # the active leaves, in document order
    context: str  # JSON text
    version: int  # of the agent: turns committed, its start being the first
    status: Status
    memory: Memory = ()
    entered: EntryVersions = ()  # of the active states with timers or invokes: the version that entered each
    handoffs: tuple[OpenHandoff, ...] = ()  # in which the agent has a part, in the order in which it got it


class RefusalReason(StrEnum):
    """Why an event was refused."""

    NO_TRANSITION = "no transition"
    GUARDS_SAID_NO = "guards said no"
    GUARD_RAISED = "a guard raised"
    AGENT_ENDED = "the agent has ended"


@value
class GuardError:
    """A guard raised and so counted as false."""

    guard: str
    transition: str
    raised: str  # type and message


@value
class Refusal:
    """Why an event changed nothing, and which events would have been accepted."""

    reason: RefusalReason
    configuration: tuple[StateName, ...]
    accepts: tuple[EventName, ...]  # events with a transition here, guards not asked
    guards: tuple[str, ...] = ()  # those that said no, in the order asked

    def __str__(self) -> str:
        where = ", ".join(self.configuration)
        asked = f" ({', '.join(self.guards)})" if self.guards else ""
        accepted = f"accepted there: {', '.join(self.accepts)}" if self.accepts else "nothing is accepted there"
        return f"{self.reason}{asked} in {where}; {accepted}"


@value
class Outcome:
    """What became of an event: where the agent is now, and how it got there or why it stayed."""

    event: EventName
    configuration: tuple[StateName, ...]
    version: int
    status: Status
    taken: tuple[str, ...] = ()  # labels of the transitions taken, in order
    refusal: Refusal | None = None
    guard_errors: tuple[GuardError, ...] = ()
    repeat: bool = False  # the id was applied before; this is what came of it then

    @property
    def applied(self) -> bool:
        """Whether the event took effect, now or when its id was applied first."""
        return self.refusal is None

    def repeated(self) -> Outcome:
        """The same outcome, marked as a repeat."""
        return replace(self, repeat=True)
