"""Mail and events on arrival at an agent: applied, refused, retried or given up."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pydantic_core import to_json

from gatechart.errors.event import EventIdReusedError, UnknownGraphError
from gatechart.errors.operation import IncompatibleGraphError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.migration import PendingWork, migrated
from gatechart.restate.choices import chosen, gate_for
from gatechart.restate.escapes import way_out_of
from gatechart.restate.state import LARGE_BYTES, digest_of, most_inline
from gatechart.restate.unit_of_work import UnitOfWork
from gatechart.stores.commit_rules import refused_for_its_id
from gatechart.turn.choices import asks_for_choice, unchosen
from gatechart.turn.escape_turns import asks_for_way_out
from gatechart.turn.handoff_acceptance import (
    RejectedOffer,
    Void,
    begin_with_offer,
    readable,
    rejected,
    rejection,
    withdrawn,
)
from gatechart.turn.handoff_turns import error_mail, keeps
from gatechart.turn.mail import (
    after_failure,
    after_refusal,
    graph_offered,
    is_about_handoff,
    is_awaited,
    is_passed_over,
    is_word_of_handoff,
    no_later,
    take_mail,
    unchanged,
)
from gatechart.turn.turns import MOST_DEFERRED, deferred, take_turn, too_many_deferred
from gatechart.values.agents import Event, Outcome
from gatechart.values.commits import TurnRecord
from gatechart.values.handoffs import HandoffStatus, Obstacle
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import OFFERED, WITHDRAWN

logger = logging.getLogger(__name__)


def accept(unit: UnitOfWork, mail: Mail, delivery: Mapping[str, Any]) -> bool:
    """Store mail under a new number, unless it is a repeat or stale. Return whether it waits now.

    delivery: for mail of an invocation, the engine's id of it, and whether the invocation ends with it; for posted
        mail, its place.
    """
    state = unit.state
    place = delivery.get("place")
    if place is not None:
        state.arrived, unit.is_touched = max(state.arrived, (place[0], place[1])), True
    if not _is_ours(unit, delivery):
        return False
    before = None if mail.id is None else content_of(unit, mail.id)
    unit.is_touched = True
    new = no_later(replace(mail, number=state.number()), unit.now)
    if before is None:
        state.mail.append(new)
        if mail.event.startswith(OFFERED) and mail.sender is not None and mail.id is not None:
            state.offers.setdefault(mail.id, HandoffStatus.PENDING)
        if new.due is not None and new.due > unit.now:
            unit.wake_at(new, new.due)
        return True
    if before[0] != digest_of(mail.event, mail.payload):
        state.mail.append(refused_for_its_id(new, before[1]))
    return False


def _is_ours(unit: UnitOfWork, delivery: Mapping[str, Any]) -> bool:
    """Return whether mail of an invocation comes from an active one; other mail always passes.

    An invocation that ends with this mail becomes inactive.
    """
    engine_id, calls = delivery.get("engine_id"), unit.state.calls
    senders = [call for call in calls if call.engine_id == engine_id]
    if senders and delivery.get("ends"):
        calls.remove(senders[0])
        unit.is_touched = True
    return engine_id is None or bool(senders)


def postponed(unit: UnitOfWork, argument: Mapping[str, Any]) -> bool:
    """Return mail to the engine for a while if the agent already stores too much. Return whether that was done.

    If the state outgrew a message, no call could change the agent any more, not even to erase it.
    """
    most = unit.config.terms.most_kept_bytes
    if unit.state_bytes <= most // 4 or not unit.state.mail:
        return False
    if unit.state_bytes + _kept_bytes(unit, argument["mail"]) <= most:
        return False
    known = {"agent_id": unit.agent_id, "bytes": unit.state_bytes}
    logger.error("an agent stores too much to accept more mail; discard mail, or erase the agent", extra=known)
    unit.order("postpone", argument=dict(argument), after_s=unit.config.terms.look_again_s)
    return True


def _kept_bytes(unit: UnitOfWork, mail: Mapping[str, Any]) -> int:
    """Return the number of bytes that mail adds to the state, where large payloads are set aside."""
    size, payload = (len(to_json(each, inf_nan_mode="constants")) for each in (mail, mail["payload"]))
    return size - payload if payload > most_inline(unit.state_bytes) else size


def content_of(unit: UnitOfWork, mail_id: str) -> tuple[str, str] | None:
    """Return the digest and the event of waiting or applied mail with this id; None if there is none."""
    known = unit.applied(mail_id)
    if known is not None:
        return known.digest, known.event
    waiting = [each for each in unit.state.mail if each.id == mail_id and each.status is MailStatus.WAITING]
    if not waiting:
        return None
    mail = waiting[0]
    is_aside = unit.state.is_set_aside(mail)
    return unit.state.large[mail.number].digest if is_aside else digest_of(mail.event, mail.payload), mail.event


def next_mail(unit: UnitOfWork) -> Mail | None:
    """Return the mail to process before anything else; None if there is none, or if it must wait."""
    due = unit.state.due(unit.now)
    if unit.state.snapshot is None:
        return next((mail for mail in due if is_about_handoff(mail)), None)
    if unit.is_left:
        return None
    for passed, mail in enumerate(due):
        if passed == MOST_DEFERRED or not _is_deferred(
            unit, mail
        ):  # the first one above the limit is taken, to be refused
            return mail
    return None


def _is_deferred(unit: UnitOfWork, mail: Mail) -> bool:
    """Return whether mail is passed over. A guard that refused is evaluated again only after the agent has moved."""
    graph = unit.config.registry.same_version(unit.snapshot)
    if graph is None:  # the deferrals of another version are known only after the first mail has migrated the agent
        return False
    return mail.number in unit.state.deferred or is_passed_over(graph, unit.snapshot, mail)


def _defers_enough(unit: UnitOfWork, besides: int = 0) -> bool:
    """Return whether no more mail can be deferred. besides: number of mail that does not count."""
    due = unit.state.due(unit.now)
    return sum(mail.number != besides and _is_deferred(unit, mail) for mail in due) >= MOST_DEFERRED


def bring_deferred(unit: UnitOfWork) -> None:
    """Process mail in a separate run that the agent deferred in its previous position, but not in the present one."""
    is_coming = unit.entry.following or any(order["do"] == "drain" for order in unit.entry.orders)
    if unit.has_moved and not unit.state.asleep and not is_coming and next_mail(unit) is not None:
        unit.order("drain", after_s=0.0)


def _defer(unit: UnitOfWork, event: Event) -> Outcome:
    """Turn a sent event that is deferred into mail."""
    if _defers_enough(unit):
        return too_many_deferred(unit.graph(), unit.snapshot, event)
    mail = Mail(0, unit.agent_id, event.name, event.payload, unit.now, event.id)
    if accept(unit, mail, {}):
        unit.state.deferred.append(unit.state.mail[-1].number)
    return deferred(unit.snapshot, event)


def _deferred_before(unit: UnitOfWork, event: Event) -> Outcome | None:
    """Return the outcome of deferred mail with the event's id; None if there is none. Raises EventIdReusedError."""
    before = None if event.id is None else content_of(unit, event.id)
    if before is None:
        return None
    if before[0] != digest_of(event.name, event.payload):
        raise EventIdReusedError(unit.agent_id, event.id or "", before[1])
    return deferred(unit.snapshot, event, repeat=True)


async def take(unit: UnitOfWork, following: str) -> None:
    """Process the next mail. following: the verb of the next run, as long as more mail is due."""
    mail = next_mail(unit)
    if mail is None:
        return
    entry = unit.entry
    mail = unit.full(mail)
    if _waits(unit, mail):
        entry.following = following
        return
    try:
        await _take(unit, mail)
    except (UnknownGraphError, IncompatibleGraphError):
        _leave(unit)
    except Exception as error:
        await _failed(unit, mail, error)
    unit.is_touched = True
    _continue(unit, following)


def _continue(unit: UnitOfWork, following: str) -> None:
    """Continue after mail in another run of this invocation, or in another invocation."""
    entry, after = unit.entry, next_mail(unit)
    if entry.place is not None or following != "drain":
        entry.following = following
    elif after is not None and any(len(each) > LARGE_BYTES for each in unit.payloads.values()):
        unit.order("drain", after_s=0.0)  # payloads read stay in the invocation's journal, which must not keep growing
    elif after is not None:
        entry.following = following
    if after is not None:
        _waits(unit, after)


def _waits(unit: UnitOfWork, mail: Mail) -> bool:
    """Return whether the next run must wait for the mail's next attempt, at most for the policy's longest wait.

    The limit matters if the clock was wrong when the time was stored.
    """
    if mail.retry_at is None or mail.retry_at <= unit.now or mail.number == unit.lifted:
        return False
    wait_s, most_s = (mail.retry_at - unit.now).total_seconds(), unit.config.terms.mail_retry.most_s
    if wait_s > most_s:
        unit.state.put(replace(mail, retry_at=unit.now + timedelta(seconds=most_s)))
        unit.is_touched = True
    unit.entry.wait_s, unit.entry.waits_for = min(wait_s, most_s), mail.number
    return True


def _leave(unit: UnitOfWork) -> None:
    """Leave this mail, and all mail after it, to a service that knows the graph."""
    unit.is_left = True
    unit.order("drain", after_s=unit.config.terms.look_again_s)


async def _take(unit: UnitOfWork, mail: Mail) -> None:
    state = unit.state
    if mail.state is not None and (state.snapshot is None or (mail.state, mail.epoch) not in state.snapshot.entered):
        state.drop(mail.number)
        return
    event = mail.happens(unit.now)
    outcome = await process(unit, event, mail)
    if unit.is_asking:
        return
    if outcome.deferred and _defers_enough(unit, mail.number):
        outcome = too_many_deferred(unit.graph(), unit.snapshot, event)
    if outcome.deferred:
        state.deferred.append(mail.number)
    elif outcome.refusal is not None and mail.state is None:
        state.put(after_refusal(mail, str(outcome.refusal), _graph_of(unit, mail)))
    else:
        state.drop(mail.number)


async def _failed(unit: UnitOfWork, mail: Mail, error: Exception) -> None:
    after = after_failure(mail, error, unit.now, unit.config.terms.mail_retry, _graph_of(unit, mail))
    if after.status is MailStatus.DEAD:
        await _give_up(unit, after)
    else:
        unit.state.put(after)


def _graph_of(unit: UnitOfWork, mail: Mail) -> str:
    return graph_offered(mail) if unit.state.snapshot is None else unit.state.snapshot.graph


async def _give_up(unit: UnitOfWork, dead: Mail) -> None:
    """Give up on mail. Mail about a handoff is answered, so that no agent waits for it for ever."""
    event, state = dead.happens(unit.now), unit.state
    if asks_for_choice(dead, unit.agent_id):
        _answer(unit, unchosen(event, unit.config.packet_migrations, dead.reason))
        state.drop(dead.number)
    elif dead.event.startswith(OFFERED) and dead.sender is not None:
        _answer(unit, rejected(event, unit.config.packet_migrations, Obstacle.FAILURE, dead.reason))
        state.drop(dead.number)
    elif is_word_of_handoff(dead) and state.snapshot is not None:
        try:
            await _mail_turn(unit, unit.graph(), event, dead)
            if unit.state.waits(dead.number):  # the turn was stale, so it did not replace the mail
                state.put(dead)
        except Exception:
            logger.exception("an answer to a handoff could not be recorded", extra={"agent_id": dead.recipient})
            _keep(unit, dead)
    else:
        _keep(unit, dead)


def _keep(unit: UnitOfWork, dead: Mail) -> None:
    """Store dead mail, and notify an agent that may be waiting for it."""
    unit.state.put(dead)
    if unit.state.snapshot is not None and is_awaited(dead):
        unit.state.mail.append(error_mail(dead, unit.state.number(), unit.now))


async def process(unit: UnitOfWork, event: Event, mail: Mail | None = None) -> Outcome:
    """Apply an event from mail or from a caller, and return its outcome. Raises the turn's exceptions."""
    if unit.state.snapshot is None and mail is not None and is_about_handoff(mail):
        return await _offer_to_new_agent(unit, event)
    graph = _as_of_today(unit)
    repeat = unit.first_outcome(event)
    if repeat is not None:
        return repeat
    if mail is None:
        return _deferred_before(unit, event) or await _sent(unit, graph, event)
    return await _mail_turn(unit, graph, event)


async def _sent(unit: UnitOfWork, graph: AnyGraph, event: Event) -> Outcome:
    turn = take_turn(graph, unit.snapshot, event, unit.config.services)
    outcome = _committed(unit, event, await unit.in_turn(graph, event.name, turn))
    return _defer(unit, event) if outcome.deferred else outcome


async def _mail_turn(unit: UnitOfWork, graph: AnyGraph, event: Event, dead: Mail | None = None) -> Outcome:
    if asks_for_choice(event, unit.agent_id):
        choice = chosen(unit, event)
        return unchanged(event) if choice is None else _committed(unit, event, choice)
    if asks_for_way_out(event, unit.agent_id):
        escape = await way_out_of(unit, graph, event)
        return unchanged(event) if escape is None else _committed(unit, event, escape)
    refusal = await _entry_refusal(unit, graph, event)
    if refusal is not None:
        return refusal
    config = unit.config
    turn = take_mail(graph, unit.snapshot, event, config.services, config.packet_migrations, dead=dead)
    result = await unit.in_turn(graph, event.name, turn)
    if dead is not None and not (isinstance(result, TurnRecord) and keeps(result, dead)):
        unit.state.drop(dead.number)
    return _committed(unit, event, result)


async def _offer_to_new_agent(unit: UnitOfWork, event: Event) -> Outcome:
    """Handle an offer to an agent that does not exist yet and starts with the first offer that it accepts."""
    config = unit.config
    if event.name == WITHDRAWN:
        return _committed(unit, event, withdrawn(event))
    packet = readable(event, config.packet_migrations)
    if isinstance(packet, RejectedOffer):
        return _committed(unit, event, packet)
    if not packet.is_new:
        problem = f"there is no agent {unit.agent_id!r} to take it"
        return _committed(unit, event, rejection(packet, Obstacle.UNKNOWN_GRAPH, problem))
    try:
        graph = config.registry.graph(packet.target_graph)
    except UnknownGraphError as error:
        return _committed(unit, event, rejection(packet, Obstacle.UNKNOWN_GRAPH, str(error)))
    refusal = await _entry_refusal(unit, graph, event)
    if refusal is not None:
        return refusal
    starting = begin_with_offer(graph, unit.agent_id, event, packet, config.services)
    return _committed(unit, event, await unit.in_turn(graph, event.name, starting))


def _committed(unit: UnitOfWork, event: Event, result: TurnRecord | Outcome | RejectedOffer | Void) -> Outcome:
    if isinstance(result, Outcome):
        return result
    if isinstance(result, TurnRecord):
        return result.outcome if unit.commit(result) else unchanged(event)
    if isinstance(result, RejectedOffer):
        _answer(unit, result)
    return unchanged(event)


def _answer(unit: UnitOfWork, rejection: RejectedOffer) -> None:
    """Send the rejection to the source, unless the handoff is over."""
    if unit.change_handoff(rejection.settle):
        unit.post(Mail(0, rejection.asked_by, rejection.event, rejection.told, unit.now, sender=unit.agent_id))


async def _entry_refusal(unit: UnitOfWork, graph: AnyGraph, event: Event) -> Outcome | None:
    """Return the outcome for an offer that is refused, or has no slot yet; None if it may be accepted."""
    if not event.name.startswith(OFFERED) or event.id is None or event.id in unit.state.places:
        return None
    slot = unit.granted.get(event.id)
    if slot is None:
        return await _request_slot(unit, graph, event, event.id)
    if not slot["granted"]:
        return _refused(unit, event, Obstacle.OVERLOAD, f"{slot['most']} are under way")
    unit.state.places[event.id] = slot["graph"]
    return None


async def _request_slot(unit: UnitOfWork, graph: AnyGraph, event: Event, handoff: str) -> Outcome | None:
    """Request a slot before the offer is accepted, if it needs one, unless its entry is closed."""
    if unit.state.offers.get(handoff) is not HandoffStatus.PENDING:
        return None
    gate, whose = await gate_for(unit, graph, event)
    if gate.closed:
        return _refused(unit, event, Obstacle.CLOSED, gate.closed)
    if gate.most is None:
        return None
    unit.entry.place = {"graph": whose, "handoff": handoff, "most": gate.most}
    return unchanged(event)


def _refused(unit: UnitOfWork, event: Event, obstacle: Obstacle, details: str) -> Outcome:
    return _committed(unit, event, rejected(event, unit.config.packet_migrations, obstacle, details))


def _as_of_today(unit: UnitOfWork) -> AnyGraph:
    """Migrate the agent to its graph's current version, and return the graph. Raises as `Registry.graph_for` does."""
    graph, before = unit.graph(), unit.snapshot
    if graph.version != before.graph_version:
        mail = tuple(unit.all_full([each for each in unit.state.mail if each.status is MailStatus.WAITING]))
        running = tuple(each.running for each in unit.state.calls)
        steps = unit.config.registry.way_for(before)
        unit.commit(migrated(graph, steps, before, PendingWork(mail, running), unit.now))
    return graph
