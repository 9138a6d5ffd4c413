"""Operators' work: migrate and prune all stored agents, fire timers, end invokes and handoffs, erase agents."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from gatechart.context import canonical_json
from gatechart.errors.event import EventIdReusedError, NoHandoffError, UnknownAgentError, UnknownGraphError
from gatechart.errors.operation import IncompatibleGraphError, NoInvokeError, NoTimerError, RuntimeClosedError
from gatechart.errors.outside import OwnershipLostError, StoreCorruptError
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.lifecycle import is_open
from gatechart.hosting.idempotency import is_withdrawn, turn_of
from gatechart.hosting.invoke_context import report_mail
from gatechart.hosting.own_agents import check_open
from gatechart.hosting.registry import Registry
from gatechart.hosting.retention import Retention
from gatechart.runtime.core import Core
from gatechart.runtime.delivery import JobQueue
from gatechart.runtime.effects import Effects
from gatechart.runtime.offers import erase
from gatechart.turn.arguments import checked_ending, checked_id, checked_operator_reason, known_handoff, known_id
from gatechart.turn.rollback import stopped
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import InvokeReport, MailChange, TurnRecord, Verdict
from gatechart.values.effects import ReplaceInvocation, ReplaceMail, StartInvoke, Timer, withdrawal_of
from gatechart.values.handoffs import HandoffQuery, HandoffStatus
from gatechart.values.mail import Invocation, Mail, MailStatus, Receipt
from gatechart.values.migrations import Fate, Migrated
from gatechart.values.names import HIGHEST_NUMBER, WITHDRAWN, AgentId, is_count
from gatechart.values.queries import Forgotten, MailQuery, Page, Pruned, Pruning, Query

logger = logging.getLogger(__name__)

PAGE: Final = 1000
TOGETHER: Final = 100  # agents migrated concurrently, and so mostly in one commit


class Maintenance:
    """Maintenance of the whole store in parts, yielding to other work in between."""

    def __init__(self, core: Core, registry: Registry, outside: Effects) -> None:
        self._core = core
        self._registry = registry
        self._effects = outside

    async def migrate(self, *, dry_run: bool) -> AsyncIterator[Migrated]:
        """Migrate every agent, in the order started, and yield its result. dry_run: only report."""
        page = await self._core.store.find(Query(limit=PAGE))
        while True:
            for start in range(0, len(page.agents), TOGETHER):
                batch = page.agents[start : start + TOGETHER]
                for result in await asyncio.gather(*(self._fate(snapshot, dry_run=dry_run) for snapshot in batch)):
                    if result is not None:
                        yield result
            if page.next is None:
                return
            page = await self._behind([snapshot.agent_id for snapshot in page.agents])

    async def _behind(self, seen: Sequence[AgentId]) -> Page:
        """Return the page after the last of these agents that still exists; the first page if none does."""
        for agent_id in reversed(seen):
            with suppress(UnknownAgentError):
                return await self._core.store.find(Query(after=agent_id, limit=PAGE))
        return await self._core.store.find(Query(limit=PAGE))

    async def _fate(self, snapshot: Snapshot, *, dry_run: bool) -> Migrated | None:
        """Migrate the agent and return the result; None if it was erased in the meantime."""
        if snapshot.status is Status.UNREADABLE:
            return _result(
                snapshot, Fate.STUCK, snapshot.graph_version, problem="its row in the database cannot be read"
            )
        try:
            graph, turn = await self._effects.directory.home_of(snapshot)
            if turn is None:
                return _staying(snapshot, graph)
            if not dry_run:
                _, turn = await self._effects.directory.host(snapshot)
            return _moving(snapshot, graph, turn)
        except (IncompatibleGraphError, UnknownGraphError) as error:
            return _result(snapshot, Fate.STUCK, snapshot.graph_version, problem=_problem(error))
        except UnknownAgentError:
            return None

    async def prune(
        self, pruning: Pruning, on_progress: Callable[[Forgotten], None] | None, *, dry_run: bool
    ) -> Forgotten:
        """Delete part by part. Completed parts stay deleted if the caller stops. dry_run: only count."""
        total, after = Forgotten(), 0
        while True:
            part = await self._part(pruning, after, dry_run=dry_run)
            total = replace(
                total,
                agents=total.agents + len(part.erased),
                turns=total.turns + part.turns,
                mail=total.mail + part.mail,
            )
            if on_progress is not None:
                on_progress(total)
            if part.next is None:
                return total
            after = part.next
            await asyncio.sleep(0)
            self._core.admit("prune", writes=not dry_run)

    async def retain(self, retention: Retention) -> None:
        """Delete data that the rules no longer keep, repeatedly until the runtime closes."""
        with suppress(OwnershipLostError, RuntimeClosedError):
            while True:
                pruning = retention.pruning(self._core.clock.now())
                done = await self._core.ask(partial(self.prune, pruning, None, dry_run=False))
                if done != Forgotten():
                    facts = {"agents": done.agents, "turns": done.turns, "mail": done.mail}
                    text = "old data is deleted: %(agents)d agents, %(turns)d turns of others, %(mail)d mail"
                    logger.info(text, facts, extra=facts)
                await self._core.sleep(retention.every_s)

    async def _part(self, pruning: Pruning, after: int, *, dry_run: bool) -> Pruned:
        if dry_run:
            return await self._core.store.prune(pruning, after=after, dry_run=True)
        return await asyncio.shield(self._core.spawn(self._prune(pruning, after)))

    async def _prune(self, pruning: Pruning, after: int) -> Pruned:
        part = await self._core.store.prune(pruning, after=after)
        for agent_id in part.erased:
            self._core.erasures += 1
            self._forget(agent_id)
            await self._core.forget_troubles(agent_id)
        return part

    async def erase(self, agent_id: AgentId) -> None:
        """Erase an agent that is not in memory."""
        await JobQueue(self._core).run(lambda: self._erase(agent_id))

    async def _erase(self, agent_id: AgentId) -> None:
        await erase(self._core, agent_id, lambda: self._stop_unseen(agent_id), self._effects.accept)
        self._forget(agent_id)

    def _forget(self, agent_id: AgentId) -> None:
        self._effects.forget(agent_id)
        agent = self._effects.directory.known(agent_id)
        if agent is not None:  # a caller has resumed it
            agent.forget()

    async def _stop_unseen(self, agent_id: AgentId) -> None:
        """End an agent that is not in memory, unless it changes meanwhile or cannot be read."""
        try:
            snapshot = await self._core.store.load(agent_id)
        except StoreCorruptError:
            logger.warning("erasing an agent that cannot be read", extra={"agent_id": agent_id})
            return
        if snapshot.status is Status.ACTIVE:
            turn = stopped(snapshot, self._core.clock.now()).numbered(self._core.number)
            await self._core.committer.commit(turn, lambda: self._effects.carry_out(turn))


def _staying(snapshot: Snapshot, graph: AnyGraph) -> Migrated:
    is_same = graph.fingerprint == snapshot.fingerprint
    return _result(snapshot, Fate.STAYS if is_same else Fate.CHANGED, graph.version)


def _moving(snapshot: Snapshot, graph: AnyGraph, turn: TurnRecord | None) -> Migrated:
    """Return the result of a migration. turn: None if a concurrent call migrated the agent."""
    if turn is None:
        return _result(snapshot, Fate.MIGRATES, graph.version)
    effects = turn.effects
    amended = [effect.mail is not None for effect in effects if isinstance(effect, ReplaceMail)]
    adopted = [effect.running is not None for effect in effects if isinstance(effect, ReplaceInvocation)]
    return replace(
        _result(snapshot, Fate.MIGRATES, graph.version),
        target=turn.snapshot.configuration,
        mail_amended=amended.count(True),
        mail_ended=amended.count(False),
        timers_begun=sum(isinstance(effect, Timer) for effect in effects),
        invokes_kept=adopted.count(True),
        invokes_ended=adopted.count(False),
        invokes_begun=sum(isinstance(effect, StartInvoke) for effect in effects),
    )


def _result(snapshot: Snapshot, fate: Fate, after: str, problem: str | None = None) -> Migrated:
    here = snapshot.configuration
    return Migrated(snapshot.agent_id, snapshot.graph, fate, snapshot.graph_version, after, here, here, problem)


def _problem(error: IncompatibleGraphError | UnknownGraphError) -> str:
    return error.problem if isinstance(error, IncompatibleGraphError) else str(error)


async def fire_timer(core: Core, effects: Effects, number: int, reason: str) -> Mail:
    """Deliver a timer, or other mail with a due time, now. Raises NoTimerError, PayloadError, FrameworkAgentError."""
    why = checked_operator_reason(reason)
    timer = await _timer(core, number)
    for agent in await core.store.load_many([timer.recipient]):
        check_open(agent)
    fired = replace(timer, due=min(timer.due or core.clock.now(), core.clock.now()), operator_reason=why)
    change = core.persist(MailChange(fired), lambda: effects.amend(fired.recipient, number, fired))
    verdict = await _written(core, "fire_timer", change)
    if verdict is not Verdict.COMMITTED:  # it was cancelled or applied in the meantime
        raise NoTimerError(number)
    return fired


async def end_invoke(
    core: Core,
    effects: Effects,
    agent_id: AgentId,
    invoke: str,
    *,
    result: Any,
    error: str | None,
    reason: str,
    idempotency_key: str | None,
) -> Receipt:
    """End a running invoke with a result or an error. Raises NoInvokeError, PayloadError, FrameworkAgentError."""
    kind, payload = checked_ending(invoke, result, error)
    why, event_id = checked_operator_reason(reason), checked_id(idempotency_key)
    check_open(await core.store.load(known_id(agent_id)))  # UnknownAgentError is more precise than NoInvokeError
    event = Event(f"{kind}.invoke.{invoke}", payload, core.clock.now(), event_id)
    if await _was_ended(core, agent_id, event):
        return Receipt(core.store.numbers(1), repeat=True)
    try:
        return await _end(core, effects, await _running(core, agent_id, invoke), event, kind, why)
    except NoInvokeError:  # a concurrent call with the same key may have ended it
        if await _was_ended(core, agent_id, event):
            return Receipt(core.store.numbers(1), repeat=True)
        raise


async def _end(core: Core, effects: Effects, call: Invocation, event: Event, kind: str, why: str) -> Receipt:
    mail = replace(report_mail(event.time, call, kind, event.payload), id=event.id, operator_reason=why)
    numbers: list[int] = []

    def accept(mail: Mail) -> None:
        numbers.append(mail.number)
        effects.invokes.adopt(call, None)
        effects.accept(mail)

    verdict = await _written(core, "end_invoke", core.persist_mail(InvokeReport(call, mail, ends=True), accept))
    if verdict is not Verdict.COMMITTED:  # it ended, or the agent left its state, in the meantime
        raise NoInvokeError(call.agent_id, call.invoke, ())
    return Receipt(numbers[0])


async def _timer(core: Core, number: int) -> Mail:
    page = await core.store.mail(MailQuery(after=number - 1, limit=1)) if is_count(number) and number else ()
    if not page or page[0].number != number or page[0].status is not MailStatus.WAITING or page[0].due is None:
        raise NoTimerError(number)
    return page[0]


async def _running(core: Core, agent_id: AgentId, invoke: str) -> Invocation:
    """Return the running invocation. Invokes that are active together have different ids."""
    running = [
        running.invocation for _, running in await core.store.running(agent_id=agent_id, after=0, limit=HIGHEST_NUMBER)
    ]
    for call in running:
        if call.invoke == invoke:
            return call
    raise NoInvokeError(agent_id, invoke, tuple(call.invoke for call in running))


async def _was_ended(core: Core, agent_id: AgentId, event: Event) -> bool:
    """Return whether this call was made before, and its event is waiting or was applied.

    Raises EventIdReusedError if its id belongs to another event, or to the same event with another result.
    """
    if event.id is None:
        return False
    # Mail first: it may be applied between the two reads, and applied mail never waits again.
    waiting = await core.store.mail(MailQuery(agent_id, MailStatus.WAITING, 0, HIGHEST_NUMBER))
    before = next((each for each in waiting if each.id == event.id), None)
    if before is None:
        return await turn_of(core.store, agent_id, event) is not None
    if before.event != event.name or canonical_json(before.payload) != canonical_json(event.payload):
        raise EventIdReusedError(agent_id, event.id, before.event)
    return True


async def _written(core: Core, call: str, commit: Coroutine[Any, Any, Verdict | None]) -> Verdict:
    """Return the store's verdict, from a task of the runtime: a caller that stops waiting does not stop the commit."""
    verdict = await asyncio.shield(core.spawn(commit))
    if verdict is None:
        raise RuntimeClosedError(call)
    return verdict


async def cancel_handoff(
    core: Core, effects: Effects, handoff_id: str, reason: str, idempotency_key: str | None
) -> Receipt:
    """Withdraw a handoff that is not over. Raises NoHandoffError, PayloadError."""
    store, key = core.store, checked_id(idempotency_key, "idempotency_key")
    reason, handoff_id = checked_operator_reason(reason), known_handoff(handoff_id)
    rows = await store.handoffs(HandoffQuery(id=handoff_id))
    is_lost = not rows or rows[0].status is HandoffStatus.UNREADABLE
    if is_lost and await store.forget_handoff(handoff_id):
        return Receipt(0)
    if not rows or not is_open(rows[0].status):
        if rows and key is not None and await is_withdrawn(store, rows[0], reason, key):
            return Receipt(store.numbers(1), repeat=True)
        raise NoHandoffError(handoff_id, rows[0].status.value if rows else None)
    is_choosing = rows[0].status is HandoffStatus.CHOOSING
    payload = withdrawal_of(handoff_id, is_choosing=is_choosing) | {"reason": reason}
    mail = Mail(0, rows[0].target, WITHDRAWN, payload, core.clock.now(), key, rows[0].source)
    return await effects.posted.post(mail)
