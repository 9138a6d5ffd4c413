"""What the layers above must provide: small Protocols whose docstrings are promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from gatechart.graph import AnyGraph
from gatechart.values import (
    ActiveInvocation,
    AgentId,
    Backlog,
    HandoffQuery,
    HandoffRecord,
    HistoryEntry,
    Invocation,
    KnownGraph,
    Mail,
    MailQuery,
    Name,
    Outcome,
    Page,
    Pruned,
    Pruning,
    Query,
    Request,
    Snapshot,
    Unit,
    Verdict,
)


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...

    async def sleep_until(self, moment: datetime) -> None:
        """Returns at the moment, or at once where it has passed."""
        ...


class Ids(Protocol):
    """Makes ids for agents that were given none."""

    def __call__(self) -> AgentId:
        """An id that no agent had before."""
        ...


class AgentStore(Protocol):
    """What a store has of agents: their snapshots and their history."""

    async def load(self, agent_id: AgentId) -> Snapshot:
        """The newest committed snapshot. Raises UnknownAgentError."""
        ...

    async def load_many(self, agent_ids: Sequence[AgentId]) -> Sequence[Snapshot]:
        """The newest committed snapshots of those that there are, in any order."""
        ...

    async def applied(self, agent_id: AgentId, event_id: str) -> HistoryEntry | None:
        """The turn in which the agent applied the event of this id; None where it has not."""
        ...

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """The turns with versions above `after`, oldest first, `limit` at the most. Raises UnknownAgentError."""
        ...

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """The snapshot as `load` gave it when this version was the newest.

        A store may keep of a turn what differs from its `previous` snapshot, and make the text of a context anew: as
        JSON the context is the same, and as text where it is written as `write_context` writes it.
        Raises UnknownAgentError; UnknownVersionError where the agent has not come so far, or the turn was pruned.
        """
        ...

    async def find(self, query: Query) -> Page:
        """The agents that a query asks for, in the order they were started. Raises UnknownAgentError for `after`."""
        ...


class MailStore(Protocol):
    """What a store has before agents: mail, invocations with their steps, and handoffs."""

    async def mail(self, query: MailQuery) -> Sequence[Mail]:
        """The mail that a query asks for, in the order accepted."""
        ...

    async def waiting(self, *, after: int, limit: int) -> Sequence[Mail]:
        """Waiting mail without a due time, of numbers above `after`, in the order accepted."""
        ...

    async def due(self, *, after: tuple[datetime, int], limit: int) -> Sequence[Mail]:
        """Waiting mail with a due time, in the order of due time and number, beyond the due time and number given."""
        ...

    async def count(self, backlog: Backlog, *, most: int) -> int:
        """How much mail without a sender waits in this backlog; `most` where there is more."""
        ...

    async def running(
        self, *, agent_id: AgentId | None = None, after: int, limit: int
    ) -> Sequence[tuple[int, ActiveInvocation]]:
        """The invocations that have not ended, of an agent or of all, each with its place for the next `after`.

        Their graph and its version are those that the agent has now.
        """
        ...

    async def steps(self, invocation: Invocation) -> Mapping[str, str]:
        """The results recorded for an invocation, as JSON text, by the steps' names."""
        ...

    async def handoffs(self, query: HandoffQuery) -> Sequence[HandoffRecord]:
        """The handoffs that a query asks for, in the order offered."""
        ...


class MaintenanceStore(Protocol):
    """What a store does beside commits: remember graphs, and forget."""

    async def remember(self, graphs: Sequence[KnownGraph]) -> None:
        """Keeps what the graphs are like, for `known_graph`; one that is kept already stays as it is."""
        ...

    async def known_graph(self, fingerprint: str) -> KnownGraph | None:
        """The graph of this fingerprint; None where it was never remembered."""
        ...

    async def forget_handoff(self, handoff: str) -> bool:
        """Forgets a handoff that is listed as UNREADABLE, with its place; False where it can be read, or there is none.

        Raises OwnershipLostError.
        """
        ...

    async def erase(self, agent_id: AgentId) -> bool:
        """Forgets the agent, its history, its mail, its invocations and its handoffs, for good; whether it did.

        False, and nothing is forgotten, where somebody would wait for ever: a handoff that is offered to the agent is
        pending, or the agent is active and has handoffs in its snapshot. Raises UnknownAgentError, OwnershipLostError.
        """
        ...

    async def prune(self, pruning: Pruning, *, after: int = 0, limit: int = 100, dry_run: bool = False) -> Pruned:
        """Forgets a part of what may be forgotten, in one short transaction, and says where the next part begins.

        A part is about `limit` agents, in the order started, and `limit` mails, and at the most some thousand turns, so
        that turns wait only briefly; between the parts a pruning may be given up. What stays of an agent is its newest
        turns without a gap, of which every snapshot can be had; what is of no agent that is erased stays accepted,
        recognised by its id within the window, and under way. An agent for which mail waits is not erased, nor one with
        a part in a handoff that is not over. Raises OwnershipLostError.

        dry_run: only says what would be forgotten, as a reader can too; all parts together as those of a pruning do.
        """
        ...


class Store(AgentStore, MailStore, MaintenanceStore, Protocol):
    """Keeps agents, their mail and what they have under way through a crash. A call that raises has written nothing.

    Raises an OutsideError that says what failed where the database does, and UnwritableError for what it will never
    keep, such as a text that is too long for it.

    What it has of one thing may be damaged; that keeps nothing else from being read. What is listed (`find`, `mail`,
    `handoffs`, `history`) then has the status UNREADABLE, and only what can be shown of it; where it would be worked on
    (`load_many`, `waiting`, `due`, `running`) it is left out and logged. `load` raises StoreCorruptError.
    """

    @property
    def is_durable(self) -> bool:
        """Whether what is committed outlives the process."""
        ...

    @property
    def is_instant(self) -> bool:
        """Whether no call ever suspends, so that a turn can be committed without giving way to others."""
        ...

    def numbers(self, count: int) -> int:
        """The first of so many numbers for mail, in sequence, higher than all that were given out before."""
        ...

    async def commit(self, units: Sequence[Unit]) -> Sequence[Verdict]:
        """Each unit wholly or not at all, in one transaction; one verdict each, in order.

        A TurnRecord is COMMITTED if the stored version is that of its `previous` snapshot (or there is no such agent
        and it has none) and the mail that it consumes waits; otherwise it is STALE and nothing of it was written. A
        committed turn's mail is accepted. Mail whose id waits or was applied is left out, or kept as refused if its
        event or payload differs. The consumed mail is forgotten. Then the effects are applied, first those that end
        something: a Cancel ends the waiting mail and the invocations of the state's earlier entries, with their steps;
        a CancelTimer the waiting mail of that key; a CancelAll both, for all states and keys. A ReplaceMail changes or
        ends waiting mail; a ReplaceInvocation an invocation, whose steps stay with it. A StartInvoke begins an
        invocation of this entry with the turn's context. No two turns of a call belong to one agent, and turns go
        before other units.

        A Posting is REPEATED where mail of its id waits for the recipient or was applied by it, with the same event and
        payload, REUSED with others; so is a MailChange that lets mail wait again. A MailChange or MailEnd is STALE
        where there is no such mail, a MailChange that raises other mail also where its own does not wait. A StepRecord
        or Report is STALE where its invocation is over; a StepRecord REPEATED where there is a result of this name.

        An Offer keeps the handoff; a ChangeHandoff changes its status. A turn or an Answer is STALE if a handoff that
        it would change has another status than it expects; an Answer also if its mail does not wait. A ReserveSlot is
        STALE if all slots of the graph are held. A handoff that has a slot keeps it, and frees it at its end.

        Raises OwnershipLostError where another owner has taken over, and HandoffStateError where a handoff would go to
        a status that cannot follow; and then writes none of them.
        """
        ...


class Asking(Protocol):
    """How anyone asks something of the owner of a database. A call that raises has written nothing."""

    async def owner(self) -> str:
        """Which process is asked, in words."""
        ...

    async def is_owned(self) -> bool:
        """Whether there is an owner now."""
        ...

    async def ask(self, request: Request) -> int:
        """Keeps the request for the owner, and returns its number. One whose id is kept already is not kept again."""
        ...

    async def answer_to(self, number: int) -> str | None:
        """What the owner answered; None where it has not yet."""
        ...

    async def withdraw(self, number: int) -> bool:
        """Forgets a request that the owner has not taken; False where it has, so that it comes to its end."""
        ...

    async def forget(self, number: int) -> None:
        """Forgets a request whose answer nobody wants any more. No owner that comes later takes it again."""
        ...


class Requests(Protocol):
    """What others ask of the owner of a database, for the owner. Raises OwnershipLostError as `Store.commit` does."""

    async def asked(self) -> None:
        """Returns as soon as something is asked that was not taken, within a moment."""
        ...

    async def take(self, now: datetime, *, limit: int, again: bool = False) -> Sequence[Request]:
        """Requests in the order asked, which can be withdrawn no more: each is taken once.

        One whose time is over is forgotten instead, as is what was answered an hour ago and nobody has fetched.
        again: those, too, that were taken before and not answered, by an owner that is gone.
        """
        ...

    async def answer(self, number: int, text: str, now: datetime) -> None:
        """Keeps the answer to a request; nothing where there is no such request."""
        ...


class Host(Protocol):
    """What a runtime does for one of its agents."""

    @property
    def graph(self) -> AnyGraph:
        """The graph that drives the agent."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed snapshot that the runtime knows of."""
        ...

    async def send(self, event: Name, payload: Any, event_id: str | None) -> Outcome:
        """Takes the event to the agent, one at a time and in order; returns once it is committed or refused."""
        ...

    async def history(self, *, after: int, limit: int | None) -> Sequence[HistoryEntry]:
        """The agent's committed turns, as `Store.history` gives them."""
        ...

    async def snapshot_at(self, version: int) -> Snapshot:
        """What the agent was at a version, as `Store.snapshot_at` gives it."""
        ...

    async def rollback(self, version: int, reason: str, idempotency_key: str | None) -> Snapshot:
        """Restores what the agent was at a version, as a new one; no action runs. Raises as `Agent.rollback`."""
        ...

    async def until(self, state: Name) -> Snapshot:
        """The first committed snapshot, now or later, in which the state is active. Raises AgentEndedError."""
        ...
