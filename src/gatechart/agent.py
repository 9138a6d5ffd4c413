"""The handle of an agent."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from enum import Enum
from importlib import import_module
from typing import Any, Generic

from gatechart.context import ContextT, read_only_context
from gatechart.errors.event import PayloadError
from gatechart.ports import Host
from gatechart.values.agents import Awaited, Outcome, Snapshot, Status
from gatechart.values.delays import Delay, seconds_of
from gatechart.values.names import AgentId, Name, StateName, name_of
from gatechart.values.possibilities import AcceptedEvent
from gatechart.values.queries import HistoryEntry
from gatechart.values.secrets import all_shown


class Agent(Generic[ContextT]):
    """The handle of an agent, from `Runtime.start` or `Runtime.resume`: send it events, read its committed state."""

    __slots__ = ("_host",)

    def __init__(self, host: Host) -> None:
        self._host = host

    def __repr__(self) -> str:
        now, where = self.snapshot, ", ".join(self.configuration)
        return f"<Agent {now.agent_id!r} of {now.graph!r}, {now.status} in {where}, version {now.version}>"

    def _repr_svg_(self) -> str | None:
        # Imported on use: the drawing loads Graphviz, which only a notebook needs here.
        shown = import_module("gatechart.drawing.notebook").shown
        svg: str | None = shown(self._host.graph, highlight=self._host.snapshot)
        return svg

    @property
    def id(self) -> AgentId:
        """The agent's id, for `Runtime.resume`."""
        return self._host.snapshot.agent_id

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed snapshot."""
        return self._host.snapshot

    @property
    def configuration(self) -> tuple[StateName, ...]:
        """The active leaf states."""
        return self._host.snapshot.configuration

    @property
    def status(self) -> Status:
        """Whether the agent is active, or how it ended."""
        return self._host.snapshot.status

    @property
    def context(self) -> ContextT:
        """A copy of the committed context, of the graph's context type.

        Only actions change an agent's context. Setting a field here raises ReadOnlyContextError; a change inside a
        field, such as an item of a list, has no effect on the agent.
        """
        context: ContextT = read_only_context(self._host.graph.context, self._host.snapshot.context_text)
        return context

    def send(
        self,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
    ) -> Coroutine[Any, Any, Outcome]:
        """Send an event; return its outcome once its turn is committed or the event is refused.

        payload: a mapping with text keys, or a pydantic model, of JSON values.
        event_id: repeating the call with the same id applies the event once; the repeat returns the outcome of the
        first call, marked as a repeat.

        Cancelling the caller withdraws an event whose turn has not started; otherwise it only stops the wait.
        Raises PayloadError if the graph declares the event with another payload, UndeclaredEventError if the graph is
        closed and does not declare it, and an EventError if the turn failed and was undone, or if the graph asks for
        an error on refusal.
        """
        return self._host.send(event, payload, event_id)

    async def accepts(self) -> Sequence[AcceptedEvent]:
        """Return the events that the agent could take or defer now.

        Events are in the order of their transitions. Events that a state defers and no transition takes follow.
        The framework's own events (timers, ends of invokes, handoffs) are left out. Guards are evaluated on a context
        that they cannot change; nothing else happens. A guard that reads the payload makes the answer depend on it. A
        transition on a pattern such as `error.*` is listed under the pattern, and under the declared events that match
        it. So is a pattern that a state defers. `AcceptedEvent.deferred` marks events that are deferred unless a guard
        agrees.
        """
        return await self._host.accepts()

    async def can(self, event: Name, payload: Any = None) -> AcceptedEvent:
        """Return the effect that an event would have now; `await agent.can("APPROVED", payload)` is true if it applies.

        The answer has `deferred` if the event would be kept for a later state, and `refused` if it would be refused.
        payload: as in `send`; None if it is not known yet, and then the answer may depend on it.
        Raises ReservedEventError for an event of the framework, and PayloadError for a payload that is not JSON. The
        answer is no for a payload that the event's type does not accept.
        """
        return await self._host.can(event, payload)

    async def history(self, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """Return the agent's turns with versions above `after`, oldest first, at most `limit`. Secrets are masked."""
        return all_shown(await self._host.history(after=after, limit=limit))

    async def snapshot_at(self, version: int) -> Snapshot:
        """Return the agent's snapshot at one of its versions. Raises UnknownVersionError if that is not stored."""
        return await self._host.snapshot_at(version)

    async def rollback(self, version: int, *, reason: str, idempotency_key: str | None = None) -> Snapshot:
        """Restore the agent as it was at one of its versions, as a new version, and return it. No history is erased.

        No action runs. Sent messages stay sent, and known event ids stay known. The timers and invokes of the restored
        states start again; timers set by `turn.after` are cancelled. reason: for the history.
        idempotency_key: a call that repeats the key returns the snapshot from the first call.
        Raises UnknownVersionError, and RollbackError if another version of the graph drove the agent then.
        """
        return await self._host.rollback(version, reason, idempotency_key)

    async def until(  # the timeout is by the clock of the agent's home, which asyncio's is not
        self,
        *states: Name,
        ended: bool = False,
        timeout: Delay | None = None,  # noqa: ASYNC109
    ) -> Snapshot:
        """Wait for one of the states to be active; return the first committed snapshot, now or later, that shows it.

        ended: return also if the agent ends, in any state; `until(ended=True)` waits only for the end.
        timeout: how long to wait, as "90s", a timedelta or seconds; None waits for ever.

        Raises NotReachedError after the timeout, AgentEndedError if the agent ended elsewhere, and DeadMailError if
        mail for it is dead and nothing else is pending, so that it cannot get there by itself. Raises
        UnknownStateError if its graph has no such state, and PayloadError for no state or an invalid timeout.
        """
        if not states and not ended:
            raise PayloadError("until", ("no state was named",), "the names of states, or ended=True")
        problems = tuple(f"{name!r} is not the name of a state" for name in states if not isinstance(name, str | Enum))
        if problems:
            raise PayloadError("until", problems, 'each name by itself, as in until("DONE", "LEFT")')
        timeout_s = None if timeout is None else seconds_of(timeout)
        if timeout is not None and timeout_s is None:
            raise PayloadError("until", (f"{timeout!r} is not a valid timeout",), '"30s", "2m", a timedelta or seconds')
        graph = self._host.graph
        leaves = frozenset(leaf for state in states for leaf in graph.leaves(state))
        return await self._host.until(Awaited(tuple(map(name_of, states)), leaves, ended), timeout_s)
