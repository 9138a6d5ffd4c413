"""The closed set of operations of a commit, and the queries of the commit rules to a store.

A new kind of operation needs a case in each function that applies operations: in memory (`memory_tables`), in SQL
(`sql.commit`) and on Restate (`restate.unit_of_work`). Each `match` ends in `assert_never`, so mypy reports a missing
case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import JournalRecord, StepRecord, TurnRecord
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffChange, HandoffRecord, HandoffStatus
from gatechart.values.mail import ActiveInvocation, Invocation, Mail
from gatechart.values.names import AgentId, EventName, Payload, StateName

MailId: TypeAlias = tuple[AgentId, str]  # recipient and id
Content: TypeAlias = tuple[EventName, str]  # an event, and a text that identifies its payload


class HandoffState(NamedTuple):
    """The mutable part of a handoff."""

    status: HandoffStatus
    changes: tuple[HandoffChange, ...]
    result: Payload | None = None


@value
class AppendTurn:
    """Make the turn's snapshot the newest of its agent, and add the turn to the history."""

    turn: TurnRecord


@value
class EndState:
    """End the waiting mail and the invocations of earlier entries into a state."""

    agent_id: AgentId
    state: StateName


@value
class EndTimer:
    """End the waiting mail with a timer key."""

    agent_id: AgentId
    key: str


@value
class EndAll:
    """End the waiting mail of all states and keys of an agent, and its invocations."""

    agent_id: AgentId


@value
class EndInvocation:
    """Delete an invocation and its steps."""

    invocation: Invocation


@value
class MoveInvocation:
    """Replace an invocation by another, which keeps its steps."""

    invocation: Invocation
    active: ActiveInvocation


@value
class StartInvocation:
    """Store a new invocation."""

    active: ActiveInvocation


@value
class DeleteMail:
    """Delete stored mail."""

    number: int


@value
class UpdateMail:
    """Replace stored mail, found by its number."""

    mail: Mail


@value
class InsertMail:
    """Store new mail."""

    mail: Mail


@value
class RecordStep:
    """Store the result of a step, and delete the results that it replaces."""

    record: StepRecord


@value
class RecordEntry:
    """Append an entry to an agent's journal, and delete the entries that it replaces."""

    record: JournalRecord


@value
class InsertHandoff:
    """Store an offered handoff."""

    handoff: HandoffRecord


@value
class UpdateHandoff:
    """Set the state of a stored handoff."""

    handoff_id: str
    state: HandoffState


@value
class DirectHandoff:
    """Set the chosen target of a stored handoff, with its packet and the explanation of the choice."""

    handoff: HandoffRecord


@value
class ExplainHandoff:
    """Store the explanation of a choice that found no target for a handoff."""

    handoff_id: str
    choice: Payload


@value
class FreeSlot:
    """Free the slot that a handoff holds, if it holds one."""

    handoff_id: str


@value
class TakeSlot:
    """Assign a slot of a graph to a handoff."""

    handoff_id: str
    graph: str


@value
class SetBreaker:
    """Store a circuit breaker, replacing one with the same name; delete it if it is closed."""

    breaker: BreakerRecord


MailOperation: TypeAlias = DeleteMail | UpdateMail | InsertMail
EndOperation: TypeAlias = EndState | EndTimer | EndAll
InvocationOperation: TypeAlias = EndInvocation | MoveInvocation | StartInvocation | RecordStep | RecordEntry
HandoffOperation: TypeAlias = InsertHandoff | DirectHandoff | ExplainHandoff | UpdateHandoff | FreeSlot | TakeSlot
Operation: TypeAlias = AppendTurn | MailOperation | EndOperation | InvocationOperation | HandoffOperation | SetBreaker


class Loaded(Protocol):
    """The stored data that a batch of units touches, as it was before the batch."""

    @property
    def versions(self) -> Mapping[AgentId, int]:
        """The version of each agent's newest snapshot. Agents that do not exist are missing."""
        ...

    def waits(self, number: int, /) -> bool:
        """Whether the mail with this number waits."""
        ...

    def mail(self, number: int) -> Mail | None:
        """Return the mail with this number, in any status."""
        ...

    def waiting(self, recipient: AgentId, mail_id: str) -> Mail | None:
        """Return the waiting mail with this id."""
        ...

    def applied(self, recipient: AgentId, event_id: str) -> Content | None:
        """Return the content of the event that the agent applied under this id."""
        ...

    def content(self, event: EventName, payload: Payload) -> Content:
        """Return the content that two events with the same id must share."""
        ...

    def is_active(self, invocation: Invocation) -> bool:
        """Whether the invocation has not ended."""
        ...

    def has_result(self, invocation: Invocation, step: str) -> bool:
        """Whether the invocation has a result for this step."""
        ...

    def has_entry(self, agent_id: AgentId, journal: str, name: str) -> bool:
        """Whether the agent's journal has an entry of this name."""
        ...

    def handoff(self, handoff_id: str, expected: HandoffStatus | None = None) -> HandoffState | None:
        """Return the state of a handoff, or None if there is none.

        expected: the status before a change. A store may return this status for a handoff that it does not know
        because the agent's peer stores it.
        """
        ...

    def slot(self, handoff_id: str) -> str | None:
        """Return the graph of the slot that a handoff holds."""
        ...

    def slots_held(self, graph: str) -> int:
        """Return the number of taken slots of a graph."""
        ...
