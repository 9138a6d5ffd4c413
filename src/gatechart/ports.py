"""Small Protocols that the layers above implement. Their docstrings are promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from gatechart.graph.graph import AnyGraph
from gatechart.values.agents import Awaited, Outcome, Snapshot
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import Unit, Verdict
from gatechart.values.handoffs import HandoffQuery, HandoffRecord
from gatechart.values.hosts import HostRecord
from gatechart.values.mail import ActiveInvocation, Backlog, Invocation, Mail
from gatechart.values.migrations import KnownGraph
from gatechart.values.names import AgentId, Name
from gatechart.values.possibilities import AcceptedEvent
from gatechart.values.queries import GraphCount, HistoryEntry, MailQuery, Page, Pruned, Pruning, Query, Request
from gatechart.values.search import Searchable


class Clock(Protocol):
    """A source of time."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        ...

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until the moment. Return at once if it has passed."""
        ...


class Ids(Protocol):
    """A source of ids for agents that start without one."""

    def __call__(self) -> AgentId:
        """Return an id that no agent had before."""
        ...


class AgentStore(Protocol):
    """The part of a store that reads agents: their snapshots and their history."""

    async def load(self, agent_id: AgentId) -> Snapshot:
        """Return the newest committed snapshot. Raises UnknownAgentError."""
        ...

    async def load_many(self, agent_ids: Sequence[AgentId]) -> Sequence[Snapshot]:
        """Return the newest committed snapshots of those agents that exist, in any order."""
        ...

    async def applied(self, agent_id: AgentId, event_id: str) -> HistoryEntry | None:
        """Return the turn that applied the event with this id to the agent, or None if no turn did."""
        ...

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """Return the turns with versions above `after`, oldest first, at most `limit`. Raises UnknownAgentError."""
        ...

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """Return the snapshot that `load` returned when this version was the newest one.

        For each turn a store may keep only the difference from its `previous` snapshot, and rebuild the text of the
        context. The rebuilt context is the same as JSON. It is the same text if `write_context` wrote it.
        Raises UnknownAgentError. Raises UnknownVersionError if the agent has not reached the version, or the turn was
        pruned.
        """
        ...

    async def find(self, query: Query) -> Page:
        """Return the agents that match a query, in its order.

        A page follows `after` in the present order, whatever the order was when `after` was returned: an agent that has
        started or changed since is listed at its new position. In the order started, `after` is an agent, and raises
        UnknownAgentError if that agent does not exist; any other position stays valid.

        Agents without a value for a field of the query (see `sort_key`) are not found. Values compare by their keys.
        """
        ...

    async def declare(self, searchable: Mapping[str, Sequence[str]]) -> bool:
        """Make agents searchable by these fields of their contexts, and by no others, for each graph that is named.

        Each turn commits the values. `fill` adds the values of existing agents; fields that are no longer listed are
        forgotten. Return whether there is anything to fill. Raises OwnershipLostError as `commit` does.
        """
        ...

    async def fill(self, *, limit: int) -> bool:
        """Add the values of at most `limit` agents for newly declared fields. Return whether there are more."""
        ...

    async def searchable(self) -> Sequence[Searchable]:
        """Return the declared fields, by graph and field."""
        ...

    async def counts(self, graph: str | None = None) -> Sequence[GraphCount]:
        """Return the number of agents of each graph that has any, or of this graph, by name."""
        ...


class MailStore(Protocol):
    """The part of a store that reads pending work: mail, invocations with their steps, handoffs, circuit breakers."""

    async def mail(self, query: MailQuery) -> Sequence[Mail]:
        """Return the mail that matches a query, in the order accepted."""
        ...

    async def waiting(self, *, after: int, limit: int) -> Sequence[Mail]:
        """Return waiting mail without a due time and with a number above `after`, in the order accepted."""
        ...

    async def due(self, *, after: tuple[datetime, int], limit: int) -> Sequence[Mail]:
        """Return waiting mail with a due time, ordered by due time and number, after the due time and number given."""
        ...

    async def count(self, backlog: Backlog, *, most: int) -> int:
        """Return the amount of mail without a sender that waits in this backlog, or `most` if there is more."""
        ...

    async def running(
        self, *, agent_id: AgentId | None = None, after: int, limit: int
    ) -> Sequence[tuple[int, ActiveInvocation]]:
        """Return the active invocations of one agent or of all, each with its position for the next `after`.

        Their graph and its version are the agent's current ones.
        """
        ...

    async def steps(self, invocation: Invocation) -> Mapping[str, str]:
        """Return the results recorded for an invocation, as JSON text, by step name."""
        ...

    async def journal(self, agent_id: AgentId, name: str) -> Mapping[str, str]:
        """Return the entries of an agent's journal as JSON texts by name, in the order written; none if there is none.

        A journal outlives the invocations that write it. It is forgotten with the agent.
        """
        ...

    async def handoffs(self, query: HandoffQuery) -> Sequence[HandoffRecord]:
        """Return the handoffs that match a query, in the order that the query requests."""
        ...

    async def held(self) -> Mapping[str, int]:
        """Return the amount of open work: by graph, by entry point (`graph.NAME`), and by recipient if chosen.

        A chosen handoff also counts under the id of the recipient's agent (`directory:ID`). Accepted handoffs count.
        For graphs and such agents, the number of held slots counts if it is higher.
        """
        ...

    async def breakers(self) -> Sequence[BreakerRecord]:
        """Return the circuit breakers that are not closed, by name."""
        ...


class MaintenanceStore(Protocol):
    """The part of a store that works outside commits: it remembers graphs, and it forgets."""

    async def remember(self, graphs: Sequence[KnownGraph]) -> None:
        """Keep descriptions of graphs for `known_graph`. A graph that is already kept does not change."""
        ...

    async def known_graph(self, fingerprint: str) -> KnownGraph | None:
        """Return the graph with this fingerprint, or None if it was never remembered."""
        ...

    async def forget_handoff(self, handoff: str) -> bool:
        """Forget a handoff that is listed as UNREADABLE, and free its slot. Return whether it was forgotten.

        Returns False if the handoff can be read or does not exist. Raises OwnershipLostError.
        """
        ...

    async def erase(self, agent_id: AgentId) -> bool:
        """Forget the agent for good, with its history, mail, invocations and handoffs. Return whether it was erased.

        Returns False, and forgets nothing, if another agent would then wait for ever: a handoff offered to the agent is
        pending, or the agent is active and has handoffs in its snapshot. Raises UnknownAgentError, OwnershipLostError.
        """
        ...

    async def prune(self, pruning: Pruning, *, after: int = 0, limit: int = 100, dry_run: bool = False) -> Pruned:
        """Forget part of the data that the pruning allows, in one short transaction, and return where to continue.

        A part is about `limit` agents, in the order started, and `limit` pieces of mail, and at most a few thousand
        turns. So turns wait only briefly, and a pruning may be stopped between parts. An agent keeps its newest turns
        without a gap, and every snapshot of those turns can be read. Unless it belongs to an erased agent, mail stays
        accepted and is recognised by its id within the window, and running work continues. An agent is not erased while
        mail waits for it, or while it has a part in an open handoff. Raises OwnershipLostError.

        dry_run: only report the data to forget, which a reader may do too. All parts together cover the whole pruning.
        """
        ...


class SignsOfLife(Protocol):
    """Hosts and their signs of life. Any process that has opened the database to write may add one, owner or not."""

    async def beat(self, host: HostRecord, *, forget_before: datetime) -> None:
        """Keep a host's newest sign of life in place of earlier ones.

        Hosts last seen before `forget_before` are forgotten. Above `MOST_HOSTS`, those last seen longest ago are
        forgotten too.
        """
        ...

    async def leave(self, host_id: str) -> None:
        """Forget a host that ends as it should. Does nothing if it is unknown."""
        ...

    async def hosts(self) -> Sequence[HostRecord]:
        """Return the hosts in the order started. A host that was killed stays listed as it was seen last."""
        ...


class Store(AgentStore, MailStore, MaintenanceStore, SignsOfLife, Protocol):
    """Storage that keeps agents, their mail and their pending work through a crash.

    A call that raises has written nothing. Raises an OutsideError that names the failure if the database fails. Raises
    UnwritableError for a value that the store can never keep, for example a text that is too long.

    A damaged row never keeps others from being read. In lists (`find`, `mail`, `handoffs`, `history`) it has the status
    UNREADABLE and only the parts that can be shown. In calls that feed work (`load_many`, `waiting`, `due`, `running`,
    `breakers`, `hosts`) it is left out and logged. `load` raises StoreCorruptError.
    """

    @property
    def is_durable(self) -> bool:
        """Whether committed data outlives the process."""
        ...

    @property
    def is_instant(self) -> bool:
        """Whether no call ever suspends, so that a turn can be committed without yielding to other tasks."""
        ...

    def numbers(self, count: int) -> int:
        """Reserve `count` consecutive numbers for mail and return the first, higher than any number reserved before."""
        ...

    async def commit(self, units: Sequence[Unit]) -> Sequence[Verdict]:
        """Write each unit wholly or not at all, in one transaction. Return one verdict for each, in order.

        A TurnRecord is COMMITTED if the stored version equals its `previous` version (or the agent does not exist
        and it has none) and the mail that it consumes waits. Otherwise it is STALE and nothing of it was written. A
        committed turn's mail is accepted. Mail whose id waits or was applied is left out, or kept as refused if its
        event or payload differs. The consumed mail is forgotten. Then the effects are applied, starting with the ones
        that end something. A Cancel ends the waiting mail and the invocations of the state's earlier entries, with
        their steps. A CancelTimer ends the waiting mail of that key. A CancelAll ends both, for all states and keys. A
        ReplaceMail changes or ends waiting mail. A ReplaceInvocation changes an invocation, which keeps its steps. A
        StartInvoke starts an invocation of this entry with the turn's context. No two turns of a call belong to one
        agent, and turns go before other units.

        A Posting is REPEATED if mail with its id waits for the recipient, or was applied by it, with the same event and
        payload. It is REUSED if they differ. The same holds for a MailChange that makes mail wait again. A MailChange
        or MailEnd is STALE if that mail does not exist. A MailChange that raises other mail is STALE also if its own
        mail does not wait. A StepRecord or Report is STALE if its invocation is over. A StepRecord is REPEATED if its
        step already has a result. Otherwise the steps that it replaces are forgotten, their names are free again, and
        its mail to the agent is accepted.

        A JournalRecord is STALE if its invocation is over, unless an operator writes it. It is REPEATED if the agent's
        journal has an entry of that name. Otherwise the entry is the journal's last, the entries that it replaces are
        forgotten, and its mail to the agent is accepted. A JournalRecord that replaces its own name is never REPEATED:
        the new entry keeps the position of the old one.

        An Offer keeps the handoff. An OfferChosen gives it its target, its packet and its choice, and changes it from
        CHOOSING to PENDING. A ChangeHandoff changes its status, and keeps its choice if it has one. A turn or an Answer
        is STALE if a handoff that it would change does not have the expected status. An Answer is STALE also if
        its mail does not wait. A ReserveSlot is STALE if all slots of the graph are held. A handoff that has a slot
        keeps it until it ends, and frees it then.

        A BreakerChange replaces the stored state of its circuit breaker; the last change in a commit counts.

        Raises OwnershipLostError if another owner has taken over, and HandoffStateError if a handoff would change to a
        status that may not follow its current one. Then none of the units is written.
        """
        ...


class Asking(Protocol):
    """Requests to the owner of a database, as the caller makes them. A call that raises has written nothing."""

    async def owner(self) -> str:
        """Return a description of the process that owns the database."""
        ...

    async def is_owned(self) -> bool:
        """Return whether the database has an owner now."""
        ...

    async def ask(self, request: Request) -> int:
        """Keep the request for the owner and return its number. A request whose id is already kept is kept once."""
        ...

    async def answer_to(self, number: int) -> str | None:
        """Return the owner's answer, or None if there is none yet."""
        ...

    async def withdraw(self, number: int) -> bool:
        """Forget a request that the owner has not taken. Return False if the owner has taken it and completes it."""
        ...

    async def forget(self, number: int) -> None:
        """Forget a request whose answer is no longer needed. No later owner takes it again."""
        ...


class Requests(Protocol):
    """Requests from other processes to the owner of the database. Raises OwnershipLostError as `Store.commit` does."""

    async def asked(self) -> None:
        """Wait until there is a request that was not taken. Returns shortly after its arrival."""
        ...

    async def take(self, now: datetime, *, limit: int, again: bool = False) -> Sequence[Request]:
        """Take requests in the order they were made. Each is taken once, and cannot be withdrawn afterwards.

        A request that has expired is forgotten instead, and so is one whose answer was not fetched for an hour.
        again: take also requests that a previous owner took and did not answer.
        """
        ...

    async def answer(self, number: int, text: str, now: datetime) -> None:
        """Keep the answer to a request. Does nothing if there is no such request."""
        ...


class Host(Protocol):
    """The operations of a runtime on one of its agents."""

    @property
    def graph(self) -> AnyGraph:
        """The graph that drives the agent."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed snapshot that the runtime knows."""
        ...

    async def send(self, event: Name, payload: Any, event_id: str | None) -> Outcome:
        """Deliver the event to the agent, one at a time and in order. Returns once it is committed or refused."""
        ...

    async def history(self, *, after: int, limit: int | None) -> Sequence[HistoryEntry]:
        """Return the agent's committed turns, as `Store.history` does."""
        ...

    async def snapshot_at(self, version: int) -> Snapshot:
        """Return the agent's snapshot at a version, as `Store.snapshot_at` does."""
        ...

    async def accepts(self) -> Sequence[AcceptedEvent]:
        """Return the events that the agent could take or defer now, as `Agent.accepts` does."""
        ...

    async def can(self, event: Name, payload: Any) -> AcceptedEvent:
        """Return the effect that an event would have now, as `Agent.can` does."""
        ...

    async def rollback(self, version: int, reason: str, idempotency_key: str | None) -> Snapshot:
        """Restore the agent's snapshot at a version as a new version. No action runs. Raises as `Agent.rollback`."""
        ...

    async def until(self, awaited: Awaited, timeout_s: float | None) -> Snapshot:
        """Return the first committed snapshot, now or later, that shows the awaited state. Raises as `Agent.until`."""
        ...
