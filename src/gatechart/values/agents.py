"""Agents as frozen values: events, snapshots, and the outcome of an event."""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from gatechart.values.escapes import CameTo
from gatechart.values.frozen import Sparse, replaced, value
from gatechart.values.handoffs import OpenHandoff, Reason
from gatechart.values.names import AgentId, EntryVersions, EventName, Memory, Payload, StateName, is_reserved
from gatechart.values.secrets import hidden_text, shown_repr
from gatechart.values.trail import NO_TRAIL, Trail, begun_at
from gatechart.values.transfers import TransferCounts


class Status(StrEnum):
    """The status of an agent."""

    ACTIVE = "active"  # accepts events
    DONE = "done"  # in a final state of its graph
    FAILED = "failed"  # in a final state that is declared a failure
    STOPPED = "stopped"  # ended by stop()
    UNREADABLE = "unreadable"  # its stored data is damaged; erase() forgets it


class Origin(StrEnum):
    """The kind of sender behind an event."""

    OUTSIDE = "outside"  # a caller of the runtime: a person or a program
    AGENT = "agent"  # an action of an agent, the sender
    FRAMEWORK = "framework"  # gatechart itself: a timer, an invoke's end, a handoff; these names are reserved
    OPERATOR = "operator"  # a person who acted in place of the framework and gave a reason


@value
class Event:
    """Something that happened."""

    name: EventName
    payload: Payload  # JSON values
    time: datetime  # aware, UTC; the only clock of a turn
    id: str | None = None  # chosen by the sender, unique per recipient; None if the sender gave none
    sender: AgentId | None = None  # None from outside the runtime
    operator_reason: str = ""  # why an operator acted in place of the framework; empty if none did

    @property
    def data(self) -> Any:
        """Payload as its declared type reads it, a model or JSON values, for guards and actions; None if undeclared."""
        return None

    @property
    def origin(self) -> Origin:
        """Kind of sender.

        Reserved names identify the framework's events, because callers cannot send them. So the origin need not be
        stored, and events in the history of an older database have one too.
        """
        if self.operator_reason:
            return Origin.OPERATOR
        if is_reserved(self.name):
            return Origin.FRAMEWORK
        return Origin.OUTSIDE if self.sender is None else Origin.AGENT

    __repr__ = shown_repr


@value
class Snapshot:
    """The complete stored state of an agent."""

    # As data, because pydantic is not imported here. The key of the context's text is older than the field's name.
    __pydantic_config__ = {  # noqa: RUF012  a field of the dataclass if it were annotated
        "alias_generator": lambda name: name.removesuffix("_text"),
        "serialize_by_alias": True,
    }

    agent_id: AgentId
    graph: str
    graph_version: str
    fingerprint: str
    configuration: tuple[StateName, ...]  # the active leaves, in document order
    context_text: str  # JSON, as stored; its secrets are marked, see `gatechart.secrets`
    version: int  # of the agent: the number of committed turns, the start included
    status: Status
    memory: Memory = ()
    entered: EntryVersions = ()  # for active states with timers or invokes: the version that entered each
    handoffs: tuple[OpenHandoff, ...] = ()  # handoffs of the agent, in the order it joined them
    started: datetime | None = None  # aware, UTC, as `changed`; None for an agent of a release that did not keep it
    changed: datetime | None = None  # when the event of the newest turn happened
    transfers: TransferCounts = ()  # of states with transfers that were entered or chose
    trail: Annotated[Trail, Sparse()] = NO_TRAIL  # its recent activity; empty if its graph has no signals

    @property
    def context(self) -> dict[str, Any]:
        """The context as JSON values, read from its text each time, with its secrets masked.

        `graph.context_of(snapshot)` reads the model, with the secrets.
        """
        context: dict[str, Any] = json.loads(hidden_text(self.context_text))
        return context

    __repr__ = shown_repr


def why_given_up(snapshot: Snapshot) -> str:
    """Return the Reason, as text, of an agent that failed because no escape route was left; otherwise empty."""
    newest = snapshot.trail.escapes.newest
    has_failed = snapshot.status is Status.FAILED and newest is not None and newest.came_to is CameTo.NOTHING
    return newest.reason if has_failed and newest is not None else ""


def ended_in_loop(snapshot: Snapshot) -> bool:
    """Return whether an agent failed because it could not escape from a loop."""
    return why_given_up(snapshot) == Reason.LOOP_DETECTED.value


def without_trail(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with an empty trail that keeps only its entry point."""
    trail = snapshot.trail
    return snapshot if trail is NO_TRAIL else replaced(snapshot, trail=begun_at(trail.entry_point))


@value
class Awaited:
    """A condition that a caller of `Agent.until` waits for: one of several states, or the end of the agent."""

    states: tuple[StateName, ...]
    leaves: frozenset[StateName]  # the states, or those below them
    ended: bool = False  # whether the agent's end counts, in any state

    def is_reached_in(self, snapshot: Snapshot) -> bool:
        """Whether the agent has reached one of the states, or its end."""
        if self.ended and snapshot.status is not Status.ACTIVE:
            return True
        return not self.leaves.isdisjoint(snapshot.configuration)

    def __str__(self) -> str:
        return " or ".join((*self.states, *(["its end"] if self.ended else [])))


class RefusalReason(StrEnum):
    """Why an event was refused."""

    NO_TRANSITION = "no transition"
    GUARDS_SAID_NO = "guards said no"
    GUARD_RAISED = "a guard raised"
    AGENT_ENDED = "the agent has ended"
    DEFERRED_TOO_MANY = "as many events as an agent can defer are deferred already"
    PAYLOAD_MISFIT = "the payload does not fit"
    UNDECLARED = "the graph does not declare the event"
    NOT_FROM_FRAMEWORK = "only gatechart itself sends events to this agent"
    FOR_FRAMEWORK = "the event is for an agent of gatechart itself, whose id this agent has"


@value
class Refused:
    """A guard's no, with a reason for the sender of the event. It counts as false.

    >>> bool(Refused("the author may not decide"))
    False
    """

    reason: str

    def __bool__(self) -> bool:
        return False


@value
class GuardError:
    """A guard raised and therefore counted as false."""

    guard: str
    transition: str
    raised: str  # exception type and message


@value
class Refusal:
    """The reason why an event changed nothing, and the events that would have been accepted."""

    reason: RefusalReason
    configuration: tuple[StateName, ...]
    accepts: tuple[EventName, ...]  # events with a transition here; guards are not evaluated
    guards: tuple[str, ...] = ()  # the guards that returned false, in evaluation order
    problems: tuple[str, ...] = ()  # faults of the payload, each with the path of its field
    explanations: tuple[str, ...] = ()  # from the guards that gave one, in evaluation order
    defers: tuple[EventName, ...] = ()  # events that would have been deferred, unless a guard agrees

    def __str__(self) -> str:
        where = ", ".join(self.configuration)
        asked = f" ({', '.join(self.guards or self.problems)})" if self.guards or self.problems else ""
        because = f": {'; '.join(self.explanations)}," if self.explanations else ""
        accepted = f"accepted there: {', '.join(self.accepts)}" if self.accepts else "nothing is accepted there"
        deferred = f"; deferred there: {', '.join(self.defers)}" if self.defers else ""
        return f"{self.reason}{asked}{because} in {where}; {accepted}{deferred}"


@value
class Outcome:
    """The outcome of an event: where the agent is now, and how it got there or why it stayed."""

    event: EventName
    configuration: tuple[StateName, ...]
    version: int
    status: Status
    taken: tuple[str, ...] = ()  # labels of the taken transitions, in order
    refusal: Refusal | None = None
    guard_errors: tuple[GuardError, ...] = ()
    repeat: bool = False  # the id was applied before; this is the outcome of the first time
    deferred: bool = False  # a state defers the event: it is kept as mail until no active state defers it

    @property
    def applied(self) -> bool:
        """Whether the event took effect, now or when its id was first applied."""
        return self.refusal is None and not self.deferred

    def repeated(self) -> Outcome:
        """Return the same outcome, marked as a repeat."""
        return replaced(self, repeat=True)
