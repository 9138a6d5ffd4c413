"""The frozen values that everything else speaks in: events, snapshots, outcomes, history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, Final, TypeAlias

AgentId: TypeAlias = str
StateName: TypeAlias = str
EventName: TypeAlias = str
Name: TypeAlias = str | Enum  # as people write it: the text, or an Enum member that stands for it
Payload: TypeAlias = Mapping[str, Any]
Memory: TypeAlias = tuple[tuple[StateName, tuple[StateName, ...]], ...]  # history states with what they remember

STARTED: Final = "agent.started."
"""With the entry point's name behind it: the event that the first turn of an agent is about."""


def name_of(name: Name) -> str:
    """The text that a name stands for: an Enum member's value where that is text, else the member's name.

    >>> from enum import auto
    >>> name_of(Enum("Lamp", {"RED": "red"}).RED), name_of(Enum("Lamp", {"RED": auto()}).RED), name_of("red")
    ('red', 'RED', 'red')
    """
    if isinstance(name, Enum):
        return name.value if isinstance(name.value, str) else name.name
    return name


class Status(StrEnum):
    """Where an agent is in its life."""

    ACTIVE = "active"  # takes events
    DONE = "done"  # rests in a final state of its graph
    STOPPED = "stopped"  # ended by stop()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    name: EventName
    payload: Payload  # JSON values
    time: datetime  # aware, UTC; the only clock of a turn
    id: str | None = None  # the sender's, unique for the recipient; None where the sender gave none
    sender: AgentId | None = None  # None from outside the runtime


@dataclass(frozen=True, slots=True)
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


class RefusalReason(StrEnum):
    """Why an event was refused."""

    NO_TRANSITION = "no transition"
    GUARDS_SAID_NO = "guards said no"
    GUARD_RAISED = "a guard raised"
    AGENT_ENDED = "the agent has ended"


@dataclass(frozen=True, slots=True)
class GuardError:
    """A guard raised and so counted as false."""

    guard: str
    transition: str
    raised: str  # type and message


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Timer:
    """Raise the event when it is due, unless the state has been left by then."""

    state: StateName
    event: EventName
    due: datetime


@dataclass(frozen=True, slots=True)
class Call:
    """Run a function that the state invokes."""

    state: StateName
    invoke: str  # its id


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the timers and calls that belong to a state, which was left."""

    state: StateName


@dataclass(frozen=True, slots=True)
class Send:
    """Take the event to the agent itself when it is due, in whatever state it is by then."""

    event: EventName
    payload: Payload
    due: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take back what was sent under the id and has not arrived yet."""

    id: str


Effect: TypeAlias = Timer | Call | Cancel | Send | Withdraw


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn, ready to be committed: `previous` is what it began from, None for the turn that starts an agent."""

    previous: Snapshot | None
    snapshot: Snapshot
    event: Event
    taken: tuple[str, ...]
    took_us: int = field(compare=False)  # the turn's own time, without the commit
    guard_errors: tuple[GuardError, ...] = ()
    effects: tuple[Effect, ...] = ()  # to be carried out once the record is committed, in this order

    @property
    def outcome(self) -> Outcome:
        """What the sender of the event is told once the record is committed."""
        after = self.snapshot
        return Outcome(
            self.event.name, after.configuration, after.version, after.status, self.taken, None, self.guard_errors
        )


class Verdict(StrEnum):
    """What a store says of one turn of a commit."""

    COMMITTED = "committed"
    STALE = "stale"  # another version stands; nothing of that turn was written


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One committed turn, as the store remembers it."""

    agent_id: AgentId
    version: int
    event: Event
    source: tuple[StateName, ...]  # empty for the turn that started the agent
    target: tuple[StateName, ...]
    taken: tuple[str, ...]
    changed: Mapping[str, Any]  # top-level fields of the context that the turn changed, with their new JSON values
    status: Status
    took_us: int
    guard_errors: tuple[GuardError, ...] = ()

    @property
    def entry_point(self) -> str:
        """The name of the entry point through which this turn started the agent; empty for every other turn."""
        name = self.event.name
        return name.removeprefix(STARTED) if name.startswith(STARTED) and not self.source else ""

    @property
    def outcome(self) -> Outcome:
        """The outcome that the event had."""
        return Outcome(self.event.name, self.target, self.version, self.status, self.taken, None, self.guard_errors)


@dataclass(frozen=True, slots=True)
class ActiveIn:
    """Agents of a graph, None for any, in which one of these leaves is active."""

    graph: str | None
    leaves: tuple[StateName, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """Which agents to find; None asks for all."""

    graph: str | None = None
    active: tuple[ActiveIn, ...] | None = None  # one of these
    status: Status | None = None
    after: AgentId | None = None  # the agent after which the page begins
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the agents found, in the order they were started."""

    agents: tuple[Snapshot, ...] = field(default=())
    next: AgentId | None = None  # pass it as `after` for the next page; None on the last
