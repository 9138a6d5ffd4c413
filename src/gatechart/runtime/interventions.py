"""Interventions by operators: firing a timer now, ending an invoke with a given result."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from gatechart.context import canonical_json
from gatechart.errors import EventIdReusedError, NoInvokeError, NoTimerError, RuntimeClosedError
from gatechart.hosting.idempotency import turn_of
from gatechart.hosting.invoke_context import report_mail
from gatechart.runtime.core import Core
from gatechart.runtime.effects import Effects
from gatechart.turn import checked_ending, checked_id, checked_operator_reason, known_id
from gatechart.values import (
    HIGHEST_NUMBER,
    AgentId,
    Event,
    Invocation,
    Mail,
    MailChange,
    MailQuery,
    MailStatus,
    Receipt,
    Report,
    Verdict,
    is_count,
)


async def fire_timer(core: Core, effects: Effects, number: int, reason: str) -> Mail:
    """Deliver a timer, or other mail with a due time, now. Raises NoTimerError, PayloadError."""
    why = checked_operator_reason(reason)
    timer = await _timer(core, number)
    fired = replace(timer, due=min(timer.due or core.clock.now(), core.clock.now()), operator_reason=why)
    change = core.persist(MailChange(fired), lambda: effects.amend(fired.recipient, number, fired))
    verdict = await _written(core, "fire_timer", change)
    if verdict is not Verdict.COMMITTED:  # it was cancelled or applied meanwhile
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
    """End a running invoke with a result or an error. Raises NoInvokeError, PayloadError."""
    kind, payload = checked_ending(invoke, result, error)
    why, event_id = checked_operator_reason(reason), checked_id(idempotency_key)
    await core.store.load(known_id(agent_id))  # raises UnknownAgentError, which says more than that there is no invoke
    event = Event(f"{kind}.invoke.{invoke}", payload, core.clock.now(), event_id)
    if await _was_ended(core, agent_id, event):
        return Receipt(core.store.numbers(1), repeat=True)
    try:
        return await _end(core, effects, await _running(core, agent_id, invoke), event, kind, why)
    except NoInvokeError:  # the same call, made twice at once, may have ended it
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

    verdict = await _written(core, "end_invoke", core.persist_mail(Report(call, mail, ends=True), accept))
    if verdict is not Verdict.COMMITTED:  # it ended, or its state was left, meanwhile
        raise NoInvokeError(call.agent_id, call.invoke, ())
    return Receipt(numbers[0])


async def _timer(core: Core, number: int) -> Mail:
    found = await core.store.mail(MailQuery(after=number - 1, limit=1)) if is_count(number) and number else ()
    if not found or found[0].number != number or found[0].status is not MailStatus.WAITING or found[0].due is None:
        raise NoTimerError(number)
    return found[0]


async def _running(core: Core, agent_id: AgentId, invoke: str) -> Invocation:
    """Return the running invocation. Invokes that are active together have different ids."""
    found = [
        running.invocation for _, running in await core.store.running(agent_id=agent_id, after=0, limit=HIGHEST_NUMBER)
    ]
    for call in found:
        if call.invoke == invoke:
            return call
    raise NoInvokeError(agent_id, invoke, tuple(call.invoke for call in found))


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
        return await turn_of(core.store, agent_id, event, event.id) is not None
    if before.event != event.name or canonical_json(before.payload) != canonical_json(event.payload):
        raise EventIdReusedError(agent_id, event.id, before.event)
    return True


async def _written(core: Core, call: str, commit: Coroutine[Any, Any, Verdict | None]) -> Verdict:
    """Return the store's verdict, from a task of the runtime: a caller that stops waiting does not stop the commit."""
    verdict = await asyncio.shield(core.spawn(commit))
    if verdict is None:
        raise RuntimeClosedError(call)
    return verdict
