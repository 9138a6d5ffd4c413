"""A live agent: its newest snapshot, its queue of jobs, and the callers that wait for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from gatechart.api.errors import ended_elsewhere
from gatechart.errors.event import UnknownAgentError
from gatechart.errors.operation import RuntimeClosedError
from gatechart.errors.outside import StaleAgentError
from gatechart.errors.root import EventError, OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.group_commit import NOBODY_CAN_WRITE
from gatechart.hosting.idempotency import AppliedIds, may_be_applied, turn_of, with_id
from gatechart.hosting.invoke_host import check_not_over
from gatechart.hosting.own_agents import check_open
from gatechart.hosting.turn_guard import in_turn
from gatechart.kernel.select import Configuration
from gatechart.runtime.core import Core, Surroundings
from gatechart.runtime.deferral import Deferral
from gatechart.runtime.delivery import Job, JobQueue, run_at_once
from gatechart.runtime.home_turns import decide_mail
from gatechart.runtime.interventions import decide_handoff, decide_rollback
from gatechart.runtime.offers import answer, erase, waits, with_transcripts_of
from gatechart.runtime.possibilities import accepted_now, possible_now
from gatechart.runtime.watchers import Watchers
from gatechart.stores.entries import entry_of
from gatechart.turn.arguments import (
    check_part,
    check_version,
    checked_event,
    checked_id,
    checked_name,
    checked_operator_reason,
    plain_payload,
)
from gatechart.turn.choices import asks_for_choice
from gatechart.turn.handoff_acceptance import RejectedOffer
from gatechart.turn.handoff_turns import keeps
from gatechart.turn.mail import is_passed_over, take_mail, tell_refusal
from gatechart.turn.payloads import check_declared
from gatechart.turn.rollback import stopped
from gatechart.turn.turn_context import Turn
from gatechart.turn.turns import take_turn, too_many_deferred
from gatechart.values.agents import Awaited, Event, Outcome, Snapshot, Status
from gatechart.values.commits import MailEnd, TurnRecord, Verdict
from gatechart.values.frozen import replaced
from gatechart.values.lessons import KEEPERS
from gatechart.values.mail import Invocation, Mail
from gatechart.values.names import Name
from gatechart.values.possibilities import AcceptedEvent
from gatechart.values.queries import HistoryEntry
from gatechart.values.secrets import shown
from gatechart.watchdog.troubles import UNDOES, Trouble

logger = logging.getLogger(__name__)

T = TypeVar("T")
Decided: TypeAlias = TurnRecord | Outcome  # an outcome if there is no turn


class LiveAgent:
    """One agent of an embedded runtime. Fulfils the Host port."""

    __slots__ = (
        "__weakref__",
        "_applied",
        "_in_doubt",
        "_queue",
        "_surroundings",
        "_watchers",
        "core",
        "graph",
        "is_erased",
        "may_have_dead_mail",
        "snapshot",
    )

    def __init__(
        self,
        core: Core,
        graph: AnyGraph,
        snapshot: Snapshot,
        surroundings: Surroundings,
        applied: AppliedIds | None = None,
    ) -> None:
        """Create the live agent of a snapshot.

        applied: the ids of the events that the agent has applied; None if only the store knows them.
        """
        self.core = core
        self.graph = graph
        self.snapshot = snapshot
        self.is_erased = False  # a later agent with the same id is a different one
        self._surroundings = surroundings
        self._applied = applied
        self.may_have_dead_mail = applied is None  # the agent may have been loaded with some
        self._in_doubt: TurnRecord | None = None  # a turn whose commit raised, so that the store must be asked
        self._queue: JobQueue | None = None  # created on first use, like the next one
        self._watchers: Watchers | None = None

    async def send(self, event: Name, payload: Any, event_id: str | None) -> Outcome:
        """See Host."""
        self.core.admit("send", writes=True)
        if self.graph.is_framework:
            check_open(self.snapshot)
        now = self.core.clock.now()
        return await self.happen(checked_event(event, payload, event_id, now))

    async def happen(self, event: Event) -> Outcome:
        """Process an event, possibly one of the framework's own. Otherwise as `send`."""
        try:
            if self._is_at_once:
                decided = run_at_once(self._process(event))
            else:
                decided = await self.run(partial(self._process, event))
        except UNDOES as error:
            self._count("undone", str(error))
            raise
        outcome = decided if isinstance(decided, Outcome) else decided.outcome
        return outcome if outcome.refusal is None else self._refused(outcome)

    async def choose(self, event: Event, call: Invocation) -> Outcome:
        """Process an event of an invocation. Raises InvocationOverError if the agent has left its state."""
        decided = await self.run(lambda: self._process(event, call=call))
        return decided if isinstance(decided, Outcome) else decided.outcome

    async def answered(self, call: Invocation) -> Snapshot:
        """Return the snapshot after all earlier mail. Raises InvocationOverError if the agent has left the state."""
        return await self.run(lambda: self._seen_by(call))

    async def _seen_by(self, call: Invocation) -> Snapshot:
        await self.refresh()
        check_not_over(self.snapshot, call)
        return self.snapshot

    @property
    def is_live(self) -> bool:
        """See Recipient."""
        return True

    @property
    def position(self) -> tuple[Configuration, Status]:
        """See Recipient."""
        return self.snapshot.configuration, self.snapshot.status

    def passes(self, mail: Mail) -> bool:
        """See Recipient."""
        return is_passed_over(self.graph, self.snapshot, mail)

    def put(self, mail: Mail) -> None:
        """Queue mail after everything queued before, unless it is already there.

        A choice of a target is left to a host: a runtime without background work may lack
        graphs and the rules of the home.
        """
        if not self.core.attends and asks_for_choice(mail, mail.recipient):
            self.core.doubted.discard(mail.number)
            self._finished(mail)
        else:
            self._jobs().put(mail, self, self._finished)

    def _jobs(self) -> JobQueue:
        if self._queue is None:
            self._queue = JobQueue(self.core)
        return self._queue

    def holds(self, mail: Mail) -> bool:
        """Return whether the mail is queued or being taken, and not cancelled."""
        return self._queue is not None and mail.number in self._queue.mail

    def amend(self, mail: Mail) -> bool:
        """Replace mail in the queue; return False if there is none."""
        if not self.holds(mail) or self._queue is None:
            return False
        self._queue.mail[mail.number] = mail
        return True

    def drop(self, is_over: Callable[[Mail], bool]) -> None:
        """Cancel mail in the queue."""
        if self._queue is not None and self._queue.mail:
            for mail in [mail for mail in self._queue.mail.values() if is_over(mail)]:
                del self._queue.mail[mail.number]
                self._queue.deferred.pop(mail.number, None)
                self._finished(mail)

    def accept(self, mail: Mail) -> None:
        """Deliver committed mail to its recipient."""
        self._surroundings.accept(mail)

    async def stop(self) -> Snapshot:
        """End the agent in its current state, after all queued jobs; its exit actions do not run."""
        return await self.run(self._stop)

    async def rollback(self, version: int, reason: str, idempotency_key: str | None) -> Snapshot:
        """See Host."""
        self.core.admit("rollback", writes=True)
        check_open(self.snapshot)
        check_version("rollback", version)
        checked_operator_reason(reason)
        checked_id(idempotency_key, "idempotency_key")
        return await self.run(lambda: self._roll_back(version, reason, idempotency_key))

    async def hand_on(self, ask: Callable[[Turn], str], idempotency_key: str | None = None) -> str:
        """Offer a handoff on behalf of an outside caller; return its id. ask: calls `Turn.handoff`."""
        return await self.run(lambda: self._hand_on(ask, idempotency_key))

    async def erase(self) -> None:
        """Delete the agent and its history, after all queued jobs."""
        await self.run(self._erase)

    async def accepts(self) -> Sequence[AcceptedEvent]:
        """See Host."""
        self._admit_look("accepts")
        return await accepted_now(self.core, self.graph, self.snapshot)

    async def can(self, event: Name, payload: Any) -> AcceptedEvent:
        """See Host."""
        self._admit_look("can")
        name = checked_name(event)
        content = None if payload is None else plain_payload(payload, name)
        return await possible_now(self.core, self.graph, self.snapshot, name, content)

    async def history(self, *, after: int, limit: int | None) -> Sequence[HistoryEntry]:
        """See Host."""
        self._admit_look("history")
        check_part("history", after, limit)
        return await self.core.store.history(self.snapshot.agent_id, after=after, limit=limit)

    async def snapshot_at(self, version: int) -> Snapshot:
        """See Host."""
        self._admit_look("snapshot_at")
        check_version("snapshot_at", version)
        return await self.core.store.snapshot_at(self.snapshot.agent_id, version)

    async def until(self, awaited: Awaited, timeout_s: float | None) -> Snapshot:
        """See Host. The timeout is by the runtime's clock."""
        self._admit_look("until")
        if awaited.is_reached_in(self.snapshot):
            return self.snapshot
        if self.snapshot.status is not Status.ACTIVE:
            raise ended_elsewhere(self.snapshot, awaited)
        self.core.admit_watcher("until", "resume the agent again to see its progress")
        if self._watchers is None:
            self._watchers = Watchers()
        return await self._watchers.wait(self, awaited, timeout_s)

    def graph_of(self, _mail: Mail) -> str:
        """See Recipient."""
        return self.graph.name

    async def apply(self, mail: Mail, dead: Mail | None) -> TurnRecord | Outcome | None:
        """See Recipient."""
        if not self.holds(mail):
            return None
        await self.refresh()
        if not self.holds(mail):  # a turn with a commit in doubt has applied it
            return None
        if mail.state is not None and (mail.state, mail.epoch) not in self.snapshot.entered:
            await self.core.persist(MailEnd(mail.number))  # it died, the agent left its state, and then it was retried
            return None
        event = mail.happens(self.core.clock.now())
        if dead is not None:
            return await self._note(event, dead)
        decided = await self._process(event, mail.number)
        if not isinstance(decided, Outcome) or not decided.deferred:
            return decided
        if self._deferral.is_full:
            return too_many_deferred(self.graph, self.snapshot, event)
        self._defer(mail)
        return decided

    def _defer(self, mail: Mail) -> None:
        is_new = not self.holds(mail)
        self._jobs().defer(mail, self, self._finished)
        self.core.deferring.add(self)
        if is_new:  # wake after the mail is deferred, so that it precedes later jobs
            self.accept(mail)

    @property
    def _deferral(self) -> Deferral:
        return Deferral(self.core, self.graph, self.snapshot, self._jobs(), self._defer)

    def _finished(self, mail: Mail) -> None:
        self._surroundings.finished(mail)
        if self._queue is None or not self._queue.deferred:
            self.core.deferring.discard(self)
        if self._watchers is not None:
            self._watchers.look_for_dead_mail(self)

    def lose(self) -> None:
        """See Recipient."""
        self.may_have_dead_mail = True

    async def _note(self, event: Event, dead: Mail) -> TurnRecord | None:
        """Process mail about a handoff, without the chart, after all attempts with the chart failed."""
        core = self.core
        turn = take_mail(self.graph, self.snapshot, event, core.services, core.packet_migrations, dead=dead)
        decided = await in_turn(self.graph, self.snapshot.agent_id, event.name, turn, core.limits.turn_s)
        try:
            if isinstance(decided, TurnRecord):
                await self._commit(decided, None if keeps(decided, dead) else dead.number)
            elif isinstance(decided, RejectedOffer):
                await answer(core, self.snapshot.agent_id, decided, dead.number, self.accept)
            elif await waits(core, dead):  # otherwise a turn with a commit in doubt has recorded it
                await core.persist(MailEnd(dead.number))
        finally:
            self.lose()
        core.dead_letters += 1
        return decided if isinstance(decided, TurnRecord) else None

    async def _process(self, event: Event, consumes: int | None = None, call: Invocation | None = None) -> Decided:
        """Process the event now, and return its committed turn, or its outcome if there is none.

        consumes: number of the mail that carried it. call: the invocation that sent it.
        """
        if self.is_erased or self._in_doubt is not None or (self._queue is not None and self._queue.leaves_mail):
            await self.refresh()
        if call is not None:
            check_not_over(self.snapshot, call)
        repeat = None if event.id is None else await self._first_outcome(event, event.id)
        if repeat is None and event.id is not None and consumes is None and self._jobs().deferred:
            repeat = self._deferral.before(event)
        if repeat is not None:
            return repeat
        if consumes is None:
            turn = take_turn(self.graph, self.snapshot, event, self.core.services)
            decided = await in_turn(self.graph, self.snapshot.agent_id, event.name, turn, self.core.limits.turn_s)
            if isinstance(decided, Outcome) and decided.deferred:
                return await self._deferral.put_off(event)
        else:
            waiting = self._jobs().mail.values()
            decided = await decide_mail(self.core, self.graph, self.snapshot, event, consumes, waiting, self.accept)
        if not isinstance(decided, Outcome):
            await self._commit(decided, consumes)
        return decided

    async def refresh(self) -> None:
        """Read the facts that are in doubt in memory from the store.

        Raises UnknownAgentError, and RuntimeClosedError after mail that is left to the next runtime.
        """
        self._check_stored()
        if self._queue is not None and self._queue.leaves_mail:
            raise RuntimeClosedError("send")
        if self._in_doubt is not None:
            await self._settle(self._in_doubt)

    def see(self, snapshot: Snapshot) -> None:
        """Adopt the store's snapshot, and wake the callers that wait for it."""
        self.snapshot = snapshot
        self._in_doubt = None
        if self._queue is not None and self._queue.deferred:
            self._queue.wake(self.position)
        if self._watchers is not None:
            self._watchers.see(snapshot)

    def forget(self) -> None:
        """Record that the agent was erased, and fail the callers that wait for it."""
        self.is_erased = True
        self._surroundings.forget(self.snapshot.agent_id)
        self.drop(lambda _: True)
        if self._watchers is not None:
            self._watchers.fail(lambda _: UnknownAgentError(self.snapshot.agent_id))

    @property
    def _is_at_once(self) -> bool:
        """Whether a turn can run to its end without suspending, so that it needs no task."""
        if not (self.graph.runs_at_once and self.core.store.is_instant):
            return False
        return self._queue is None or self._queue.is_idle

    def run(self, job: Job[T]) -> asyncio.Future[T]:
        """Run the job after all jobs queued before it."""
        return self._jobs().run(job)

    async def _first_outcome(self, event: Event, event_id: str) -> Outcome | None:
        """Return the outcome of the event that was applied with this id; None if none was."""
        if not may_be_applied(self._applied, event_id):
            return None
        entry = await turn_of(self.core.store, self.snapshot.agent_id, event)
        return None if entry is None else entry.outcome.repeated()

    def _count(self, kind: Trouble, reason: str) -> None:
        if not self.is_erased:  # it may be erased while its sender waited
            self.core.troubles.note(kind, self.snapshot.agent_id, reason, self.core.clock.now())

    def _refused(self, outcome: Outcome) -> Outcome:
        """Report the outcome's refusal as the graph specifies. Raises EventRefusedError, and as `check_declared`."""
        check_declared(self.graph, outcome)
        self._count("refused", str(outcome.refusal))
        tell_refusal(self.graph, self.snapshot.agent_id, outcome)
        return outcome

    async def _settle(self, turn: TurnRecord) -> bool:
        """Read the store's snapshot, and carry out the turn if it was committed; return whether that is so."""
        self._applied = None  # another writer may have committed
        is_in = await self.core.committer.is_written(turn)
        self.see(await self.core.store.load(self.snapshot.agent_id))
        if is_in:
            self.drop(lambda mail: mail.number == turn.consumes)
            self.tell(turn)
        return is_in

    async def _settle_later(self) -> None:
        """Settle a turn in doubt once the store answers. The next job of this agent may be far away."""
        try:
            await self.core.ask(lambda: self.run(self.refresh))
        except (EventError, OutsideError):  # it was erased, or the next runtime settles it
            logger.debug("a turn stays in doubt", extra={"agent_id": self.snapshot.agent_id}, exc_info=True)

    async def _stop(self) -> Snapshot:
        await self.refresh()
        if self.snapshot.status is Status.ACTIVE:
            await self._commit(stopped(self.snapshot, self.core.clock.now()))
        return self.snapshot

    async def _roll_back(self, version: int, reason: str, idempotency_key: str | None) -> Snapshot:
        await self.refresh()
        decided = await decide_rollback(self.core, self.graph, self.snapshot, version, reason, idempotency_key)
        if isinstance(decided, Snapshot):
            return decided
        await self._commit(decided)
        return self.snapshot

    async def _hand_on(self, ask: Callable[[Turn], str], idempotency_key: str | None) -> str:
        await self.refresh()
        turn, request = await decide_handoff(self.core, self.graph, self.snapshot, ask, idempotency_key)
        if turn is not None:
            await self._commit(turn)
        return request

    async def _erase(self) -> None:
        self._check_stored()
        await erase(self.core, self.snapshot.agent_id, self._stop, self.accept)
        self.forget()

    def _commit(self, turn: TurnRecord, consumes: int | None = None) -> Coroutine[Any, Any, None]:
        if turn.effects:
            return self._commit_traced(turn, consumes)
        return self._write(turn if consumes is None else replaced(turn, consumes=consumes))

    async def _commit_traced(self, turn: TurnRecord, consumes: int | None) -> None:
        turn = await with_transcripts_of(self.core, self.graph, turn)
        with self.core.telemetry.begin(turn, consumes) as traced:
            await self._write(traced.numbered(self.core.number, consumes))

    async def _write(self, turn: TurnRecord) -> None:
        self._in_doubt = turn  # set early: this task may be cancelled while it waits for the verdict
        if turn.event.id is not None:
            self._applied = with_id(self._applied, turn.event.id)  # set early: the verdict may be lost
        seen = self.snapshot.version
        try:
            verdict = await self.core.committer.commit(turn)
        except NOBODY_CAN_WRITE:
            raise
        except OutsideError:
            if turn.consumes is None:  # otherwise the retry of the mail settles it
                self.core.spawn(self._settle_later(), "settle a turn")
            raise
        if verdict is not Verdict.STALE:
            self.see(turn.snapshot)
            self.tell(turn)
        elif not await self._settle(turn):
            raise StaleAgentError(self.snapshot.agent_id, seen)

    def tell(self, turn: TurnRecord) -> None:
        """Carry out the effects of a committed turn, and publish it to subscribers."""
        if turn.effects or turn.snapshot.graph in KEEPERS:
            self._surroundings.carry_out(turn)
        if self.core.changes.watched:
            self.core.publish(shown(entry_of(turn)), is_framework=self.graph.is_framework)

    def _admit_look(self, verb: str) -> None:
        """Check that a read-only verb may look at the agent. Raises as `Core.admit`, and UnknownAgentError."""
        self.core.admit(verb, writes=False)
        self._check_stored()

    def _check_stored(self) -> None:
        if self.is_erased:
            raise UnknownAgentError(self.snapshot.agent_id)
