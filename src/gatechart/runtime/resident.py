"""An agent in memory: its newest snapshot, the jobs that wait for it, those who watch it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from gatechart.context import canonical_json, read_context
from gatechart.errors import (
    AgentEndedError,
    EventError,
    EventIdReusedError,
    EventRefusedError,
    StaleAgentError,
    UnknownAgentError,
)
from gatechart.graph import OnRefusal, StateTransitionGraph
from gatechart.runtime.arguments import check_part, checked_id, checked_name
from gatechart.runtime.attendance import Attendance, Entered
from gatechart.runtime.core import Core, OpenTurn, run_at_once
from gatechart.runtime.mailbox import Job, Mailbox
from gatechart.turn import plain_payload, take_turn
from gatechart.values import (
    Effect,
    Event,
    EventName,
    HistoryEntry,
    Name,
    Outcome,
    Snapshot,
    StateName,
    Status,
    TurnRecord,
    Verdict,
    name_of,
)

logger = logging.getLogger(__name__)

STOPPED = "agent.stopped"

T = TypeVar("T")


class Resident:
    """Fulfils the Host port for one agent of an embedded runtime."""

    __slots__ = (
        "__weakref__",
        "_attendance",
        "_core",
        "_is_doubtful",
        "_mailbox",
        "_watchers",
        "graph",
        "is_erased",
        "snapshot",
    )

    def __init__(self, core: Core, graph: StateTransitionGraph, snapshot: Snapshot) -> None:
        self.graph = graph
        self.snapshot = snapshot
        self._core = core
        self._attendance: Attendance | None = None  # made for the first timer or invoke
        self._is_doubtful = False  # whether a commit ended in an error, so that the store has to be asked
        self.is_erased = False  # an agent started later under the same id is another one
        self._mailbox: Mailbox | None = None  # made for the first job that has to wait
        self._watchers: list[tuple[StateName, frozenset[StateName], asyncio.Future[Snapshot]]] = []

    async def send(self, event: Name, payload: Any, id: str | None) -> Outcome:  # noqa: A002
        """See Host."""
        self._core.admit("send", writes=True)
        name = checked_name(event)
        happened = Event(name, plain_payload(payload, name), self._core.clock.now(), checked_id(id))
        if self._is_at_once:
            return run_at_once(self._process(happened))
        return await self._in_turn(lambda: self._process(happened))

    async def stop(self) -> Snapshot:
        """Ends the agent where it is, after what is under way; its exit actions do not run."""
        return await self._in_turn(self._stop)

    async def erase(self) -> None:
        """Forgets the agent and its history, after what is under way."""
        await self._in_turn(self._erase)

    async def history(self, *, after: int, limit: int | None) -> Sequence[HistoryEntry]:
        """See Host."""
        self._core.admit("history", writes=False)
        self._check_stored()
        check_part("history", after, limit)
        return await self._core.store.history(self.snapshot.agent_id, after=after, limit=limit)

    async def until(self, state: Name) -> Snapshot:
        """See Host."""
        self._core.admit("until", writes=False)
        self._check_stored()
        leaves = frozenset(self.graph.leaves(state))
        if not leaves.isdisjoint(self.snapshot.configuration):
            return self.snapshot
        if self.snapshot.status is not Status.ACTIVE:
            raise _ended(self.snapshot, name_of(state))
        self._core.admit("until", writes=True)  # nobody tells a runtime that only reads of what the owner commits
        reached: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()
        watcher = (name_of(state), leaves, reached)
        self._watchers.append(watcher)
        self._core.watching.add(reached)
        try:
            return await reached
        finally:
            self._watchers.remove(watcher)
            self._core.watching.discard(reached)

    @property
    def _is_at_once(self) -> bool:
        """Whether a turn can be run to its end without giving way, so that it needs no task."""
        idle = self._mailbox is None or self._mailbox.is_idle
        return idle and self.graph.runs_at_once and self._core.store.is_instant

    async def _in_turn(self, job: Job[T]) -> T:
        if self._mailbox is None:
            self._mailbox = Mailbox(self._core)
        return await self._mailbox.run(job)

    async def _process(self, event: Event) -> Outcome:
        self._check_stored()
        if self._is_doubtful:
            await self._read_again()
        repeat = None if event.id is None else await self._first_outcome(event, event.id)
        if repeat is not None:
            return repeat
        with OpenTurn(self.snapshot.agent_id):
            decided = await take_turn(self.graph, self.snapshot, event, self._core.services)
        if isinstance(decided, Outcome):
            return self._refused(decided)
        if decided.effects:
            self._core.check_kept(decided)
        await self._commit(decided)
        if decided.effects:
            self.carry_out(decided.effects)
        return decided.outcome

    def carry_out(self, effects: Sequence[Effect]) -> None:
        """Begins and ends the timers and invokes that a committed turn of the agent asks for."""
        if self._attendance is None:
            self._attendance = Attendance(self._core, self.graph, self._deliver)
        context = read_context(self.graph.context, self.snapshot.context)
        self._attendance.carry_out(effects, self.snapshot.agent_id, context)

    async def _deliver(self, entered: Entered, name: EventName, payload: Mapping[str, Any]) -> None:
        """Takes what came of a timer or an invoke to the agent, unless the state has been left meanwhile."""

        async def job() -> None:
            if entered.is_active:
                await self._process(Event(name, plain_payload(payload, name), self._core.clock.now()))

        try:
            await self._in_turn(job)
        except EventError:
            logger.exception("a turn failed", extra={"agent_id": self.snapshot.agent_id, "event": name})

    async def _first_outcome(self, event: Event, event_id: str) -> Outcome | None:
        """The outcome that the event had when its id was applied; None where it was not."""
        agent_id = self.snapshot.agent_id
        entry = await self._core.store.applied(agent_id, event_id)
        if entry is None:
            return None
        if entry.event.name != event.name or canonical_json(entry.event.payload) != canonical_json(event.payload):
            raise EventIdReusedError(agent_id, event_id, entry.event.name)
        return entry.outcome.repeated()

    def _refused(self, outcome: Outcome) -> Outcome:
        agent_id, reason = self.snapshot.agent_id, str(outcome.refusal)
        if self.graph.on_refusal is OnRefusal.RAISE:
            raise EventRefusedError(agent_id, outcome.event, reason)
        logger.warning("an event was refused", extra={"agent_id": agent_id, "event": outcome.event, "reason": reason})
        return outcome

    async def _read_again(self) -> None:
        self.see(await self._core.store.load(self.snapshot.agent_id))

    async def _stop(self) -> Snapshot:
        self._check_stored()
        if self._is_doubtful:
            await self._read_again()
        if self.snapshot.status is Status.ACTIVE:
            after = replace(self.snapshot, version=self.snapshot.version + 1, status=Status.STOPPED)
            stopped = Event(STOPPED, {}, self._core.clock.now())
            await self._commit(TurnRecord(self.snapshot, after, stopped, (), 0))
            if self._attendance is not None:
                self._attendance.end()
        return self.snapshot

    async def _erase(self) -> None:
        self._check_stored()
        await self._core.store.erase(self.snapshot.agent_id)
        self._core.erasures += 1
        self.forget()

    def forget(self) -> None:
        """Takes note that the agent was erased, and tells those who wait for it."""
        self.is_erased = True
        if self._attendance is not None:
            self._attendance.end()
        for _, _, reached in self._watchers:
            if not reached.done():
                reached.set_exception(UnknownAgentError(self.snapshot.agent_id))

    async def _commit(self, turn: TurnRecord) -> None:
        self._is_doubtful = True
        verdict = await self._core.committer.commit(turn)
        if verdict is Verdict.STALE:
            seen = self.snapshot.version
            await self._read_again()
            raise StaleAgentError(self.snapshot.agent_id, seen)
        self.see(turn.snapshot)

    def see(self, snapshot: Snapshot) -> None:
        """Takes note of what the store holds, and tells those who wait for it."""
        self.snapshot = snapshot
        self._is_doubtful = False
        if self._watchers:
            self._tell_watchers(snapshot)

    def _check_stored(self) -> None:
        if self.is_erased:
            raise UnknownAgentError(self.snapshot.agent_id)

    def _tell_watchers(self, snapshot: Snapshot) -> None:
        for awaited, leaves, reached in self._watchers:
            if reached.done():
                continue
            if not leaves.isdisjoint(snapshot.configuration):
                reached.set_result(snapshot)
            elif snapshot.status is not Status.ACTIVE:
                reached.set_exception(_ended(snapshot, awaited))


def _ended(snapshot: Snapshot, awaited: StateName) -> AgentEndedError:
    return AgentEndedError(snapshot.agent_id, awaited, snapshot.configuration, snapshot.status)
