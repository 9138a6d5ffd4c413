"""What the layers above must provide: small Protocols whose docstrings are promises."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from gatechart.graph import StateTransitionGraph
from gatechart.values import AgentId, HistoryEntry, Name, Outcome, Page, Query, Snapshot, TurnRecord, Verdict


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


class Store(Protocol):
    """Keeps agents through a crash. A call that raises has written nothing.

    Raises an OutsideError that says what failed where the database does.
    """

    @property
    def is_durable(self) -> bool:
        """Whether what is committed outlives the process."""
        ...

    @property
    def is_instant(self) -> bool:
        """Whether no call ever suspends, so that a turn can be committed without giving way to others."""
        ...

    async def load(self, agent_id: AgentId) -> Snapshot:
        """The newest committed snapshot. Raises UnknownAgentError."""
        ...

    async def commit(self, turns: Sequence[TurnRecord]) -> Sequence[Verdict]:
        """Each turn wholly or not at all, in one transaction; one verdict each, in order.

        A turn is COMMITTED where the stored version is that of its `previous` snapshot (or where there is no such agent
        and it has none), else STALE: nothing of it was written. No two turns of a call belong to one agent. Raises
        OwnershipLostError where another owner has taken over, and then writes none of them.
        """
        ...

    async def applied(self, agent_id: AgentId, event_id: str) -> HistoryEntry | None:
        """The turn in which the agent applied the event of this id; None where it has not."""
        ...

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """The turns with versions above `after`, oldest first, `limit` at the most. Raises UnknownAgentError."""
        ...

    async def find(self, query: Query) -> Page:
        """The agents that a query asks for, in the order they were started. Raises UnknownAgentError for `after`."""
        ...

    async def erase(self, agent_id: AgentId) -> None:
        """Forgets the agent and its history, for good. Raises UnknownAgentError, OwnershipLostError."""
        ...


class Host(Protocol):
    """What a runtime does for one of its agents."""

    @property
    def graph(self) -> StateTransitionGraph:
        """The graph that drives the agent."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed snapshot that the runtime knows of."""
        ...

    async def send(self, event: Name, payload: Any, id: str | None) -> Outcome:  # noqa: A002
        """Takes the event to the agent, one at a time and in order; returns once it is committed or refused."""
        ...

    async def history(self, *, after: int, limit: int | None) -> Sequence[HistoryEntry]:
        """The agent's committed turns, as `Store.history` gives them."""
        ...

    async def until(self, state: Name) -> Snapshot:
        """The first committed snapshot, now or later, in which the state is active. Raises AgentEndedError."""
        ...
