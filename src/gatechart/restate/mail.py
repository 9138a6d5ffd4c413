"""Mail and events as they come to an agent: taken, refused, tried again after a while, or given up."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pydantic_core import to_json

from gatechart.errors import EventIdReusedError, IncompatibleGraphError, UnknownGraphError
from gatechart.graph import StateTransitionGraph
from gatechart.hosting.mail_policy import unchanged
from gatechart.hosting.migration import Pending, migrated
from gatechart.restate.state import digest_of
from gatechart.restate.unit_of_work import Sitting
from gatechart.stores.refusing import refused_for_its_id
from gatechart.turn import (
    Rejection,
    Void,
    begin_with_offer,
    error_mail,
    is_about_handoff,
    is_awaited,
    is_word_of_handoff,
    keeps,
    no_later,
    readable,
    rejected,
    rejection,
    take_mail,
    take_turn,
    told,
    withdrawn,
)
from gatechart.values import (
    OFFERED,
    WITHDRAWN,
    Event,
    HandoffStatus,
    Mail,
    MailStatus,
    Obstacle,
    Outcome,
    TurnRecord,
)

logger = logging.getLogger(__name__)


def accept(sitting: Sitting, mail: Mail, told_with: Mapping[str, Any]) -> bool:
    """Keeps mail under a number of its own, unless it came before or is over; whether it waits now.

    told_with: of an invocation's mail, the engine's id of it, and whether it ends with that; of mail that was posted,
    its place.
    """
    kept = sitting.kept
    place = told_with.get("place")
    if place is not None:
        kept.arrived, sitting.is_touched = max(kept.arrived, (place[0], place[1])), True
    if not _is_ours(sitting, told_with):
        return False
    before = None if mail.id is None else content_of(sitting, mail.id)
    sitting.is_touched = True
    new = no_later(replace(mail, number=kept.number()), sitting.now)
    if before is None:
        kept.mail.append(new)
        if mail.event.startswith(OFFERED) and mail.sender is not None and mail.id is not None:
            kept.offers.setdefault(mail.id, HandoffStatus.PENDING)
        if new.due is not None and new.due > sitting.now:
            sitting.wake_at(new, new.due)
        return True
    if before[0] != digest_of(mail.event, mail.payload):
        kept.mail.append(refused_for_its_id(new, before[1]))
    return False


def _is_ours(sitting: Sitting, told_with: Mapping[str, Any]) -> bool:
    """Whether the invocation that brings mail is under way, if one brings it; one that ends with that no longer is."""
    engine_id, calls = told_with.get("engine_id"), sitting.kept.calls
    found = [each for each in calls if each.engine_id == engine_id]
    if found and told_with.get("ends"):
        calls.remove(found[0])
        sitting.is_touched = True
    return engine_id is None or bool(found)


def postponed(sitting: Sitting, argument: Mapping[str, Any]) -> bool:
    """Whether mail is left to the engine for a while, because the agent keeps so much already.

    A state that no message can carry any more could not be changed by anything, not even to erase it.
    """
    most = sitting.bench.terms.most_kept_bytes
    if sitting.kept_bytes <= most // 4 or not sitting.kept.mail:
        return False
    if sitting.kept_bytes + len(to_json(argument["mail"], inf_nan_mode="constants")) <= most:
        return False
    known = {"agent_id": sitting.agent_id, "bytes": sitting.kept_bytes}
    logger.error("an agent keeps too much to take more mail; discard mail, or erase it", extra=known)
    sitting.order("postpone", argument=dict(argument), after_s=sitting.bench.terms.look_again_s)
    return True


def content_of(sitting: Sitting, mail_id: str) -> tuple[str, str] | None:
    """The digest and the event of what came under this id before, and waits or was applied."""
    known = sitting.applied(mail_id)
    if known is not None:
        return known.digest, known.event
    waiting = [each for each in sitting.kept.mail if each.id == mail_id and each.status is MailStatus.WAITING]
    return (digest_of(waiting[0].event, waiting[0].payload), waiting[0].event) if waiting else None


def next_mail(sitting: Sitting) -> Mail | None:
    """What is to be taken before anything else; None where that can wait, or has to."""
    due = sitting.kept.due(sitting.now)
    if sitting.kept.snapshot is None:
        return next((mail for mail in due if is_about_handoff(mail)), None)
    return due[0] if due and not sitting.is_left else None


async def take(sitting: Sitting, following: str) -> None:
    """Takes the next mail. following: the verb of the run behind this one, as long as there is more to take."""
    mail = next_mail(sitting)
    if mail is None:
        return
    decided = sitting.decided
    if _waits(sitting, mail):
        decided.following = following
        return
    try:
        await _take(sitting, mail)
    except (UnknownGraphError, IncompatibleGraphError):
        _leave(sitting)
    except Exception as error:
        await _failed(sitting, mail, error)
    sitting.is_touched = True
    after = next_mail(sitting)
    if sitting.decided.place is not None or following != "drain" or after is not None:
        decided.following = following
    if after is not None:
        _waits(sitting, after)


def _waits(sitting: Sitting, mail: Mail) -> bool:
    """Whether the next run has to wait for the mail's next attempt, if only for as long as the policy ever has it.

    The clock may have been wrong when the moment was written down.
    """
    if mail.retry_at is None or mail.retry_at <= sitting.now or mail.number == sitting.lifted:
        return False
    wait_s, most_s = (mail.retry_at - sitting.now).total_seconds(), sitting.bench.terms.mail_retry.most_s
    if wait_s > most_s:
        sitting.kept.put(replace(mail, retry_at=sitting.now + timedelta(seconds=most_s)))
        sitting.is_touched = True
    sitting.decided.wait_s, sitting.decided.waits_for = min(wait_s, most_s), mail.number
    return True


def _leave(sitting: Sitting) -> None:
    """Leaves mail to a service that knows the graph, and what comes behind it."""
    sitting.is_left = True
    sitting.order("drain", after_s=sitting.bench.terms.look_again_s)


async def _take(sitting: Sitting, mail: Mail) -> None:
    kept = sitting.kept
    if mail.state is not None and (kept.snapshot is None or (mail.state, mail.epoch) not in kept.snapshot.entered):
        kept.drop(mail.number)
        return
    event = mail.happens(sitting.now)
    outcome = await process(sitting, event, mail)
    if sitting.decided.place is not None:
        return
    if outcome.refusal is not None and mail.state is None:
        _refuse(sitting, mail, str(outcome.refusal))
    else:
        kept.drop(mail.number)


def _refuse(sitting: Sitting, mail: Mail, reason: str) -> None:
    facts = {"agent_id": mail.recipient, "event": mail.event, "reason": reason}
    logger.warning("mail was refused: %(event)s of agent %(agent_id)s: %(reason)s", facts, extra=facts)
    sitting.kept.put(replace(mail, status=MailStatus.REFUSED, reason=reason))


async def _failed(sitting: Sitting, mail: Mail, error: Exception) -> None:
    if isinstance(error, EventIdReusedError):
        _refuse(sitting, mail, str(error))
        return
    attempts = mail.attempts + 1
    wait_s = sitting.bench.terms.mail_retry.wait_s(attempts)
    failed = replace(mail, attempts=attempts, reason=told(error))
    known = {"agent_id": mail.recipient, "event": mail.event, "number": mail.number}
    known |= {"attempts": attempts, "reason": failed.reason}
    if wait_s is not None:
        logger.warning("mail failed; it is tried again", extra={**known, "wait_s": wait_s}, exc_info=error)
        sitting.kept.put(replace(failed, retry_at=sitting.now + timedelta(seconds=wait_s)))
        return
    logger.error("mail is dead: every attempt failed", extra=known, exc_info=error)
    await _give_up(sitting, replace(failed, status=MailStatus.DEAD, retry_at=None))


async def _give_up(sitting: Sitting, dead: Mail) -> None:
    """Nobody is to wait for what comes of mail about a handoff."""
    event, kept = dead.happens(sitting.now), sitting.kept
    if dead.event.startswith(OFFERED) and dead.sender is not None:
        _answer(sitting, rejected(event, sitting.bench.packet_migrations, Obstacle.FAILURE, dead.reason))
        kept.drop(dead.number)
    elif is_word_of_handoff(dead) and kept.snapshot is not None:
        kept.put(dead)
        try:
            await _decided(sitting, sitting.graph(), event, dead)
        except Exception:
            logger.exception("an answer to a handoff could not be noted", extra={"agent_id": dead.recipient})
            _keep(sitting, dead)
    else:
        _keep(sitting, dead)


def _keep(sitting: Sitting, dead: Mail) -> None:
    """Keeps dead mail. An agent that may wait for it is told so."""
    sitting.kept.put(dead)
    if sitting.kept.snapshot is not None and is_awaited(dead):
        sitting.kept.mail.append(error_mail(dead, sitting.kept.number(), sitting.now))


async def process(sitting: Sitting, event: Event, mail: Mail | None = None) -> Outcome:
    """What becomes of the event, which came as mail or from a caller. Raises what the turn raises."""
    if sitting.kept.snapshot is None and mail is not None and is_about_handoff(mail):
        return await _to_the_unborn(sitting, event)
    graph = _as_of_today(sitting)
    repeat = sitting.first_outcome(event)
    if repeat is not None:
        return repeat
    if mail is None:
        turn = take_turn(graph, sitting.snapshot, event, sitting.bench.services)
        return _committed(sitting, event, await sitting.in_turn(graph, event.name, turn))
    return await _decided(sitting, graph, event)


async def _decided(sitting: Sitting, graph: StateTransitionGraph, event: Event, dead: Mail | None = None) -> Outcome:
    if _asks_for_a_place(sitting, graph, event):
        return unchanged(event)
    if _is_full(sitting, graph, event):
        return _overloaded(sitting, graph, event)
    bench = sitting.bench
    turn = take_mail(graph, sitting.snapshot, event, bench.services, bench.packet_migrations, dead=dead)
    decided = await sitting.in_turn(graph, event.name, turn)
    if dead is not None and not (isinstance(decided, TurnRecord) and keeps(decided, dead)):
        sitting.kept.drop(dead.number)
    return _committed(sitting, event, decided)


async def _to_the_unborn(sitting: Sitting, event: Event) -> Outcome:
    """What becomes of an offer to an agent that begins with the one that it accepts."""
    bench = sitting.bench
    if event.name == WITHDRAWN:
        return _committed(sitting, event, withdrawn(event))
    packet = readable(event, bench.packet_migrations)
    if isinstance(packet, Rejection):
        return _committed(sitting, event, packet)
    if not packet.is_new:
        nobody = f"there is no agent {sitting.agent_id!r} that could take it"
        return _committed(sitting, event, rejection(packet, Obstacle.UNKNOWN_GRAPH, nobody))
    try:
        graph = bench.registry.graph(packet.target_graph)
    except UnknownGraphError as error:
        return _committed(sitting, event, rejection(packet, Obstacle.UNKNOWN_GRAPH, str(error)))
    if _asks_for_a_place(sitting, graph, event):
        return unchanged(event)
    if _is_full(sitting, graph, event):
        return _overloaded(sitting, graph, event)
    begun = begin_with_offer(graph, sitting.agent_id, event, packet, bench.services)
    return _committed(sitting, event, await sitting.in_turn(graph, event.name, begun))


def _committed(sitting: Sitting, event: Event, decided: TurnRecord | Outcome | Rejection | Void) -> Outcome:
    if isinstance(decided, Outcome):
        return decided
    if isinstance(decided, TurnRecord):
        return decided.outcome if sitting.commit(decided) else unchanged(event)
    if isinstance(decided, Rejection):
        _answer(sitting, decided)
    return unchanged(event)


def _answer(sitting: Sitting, given: Rejection) -> None:
    """Tells the agent that asked, unless the handoff is settled."""
    if sitting.settle(given.settle):
        sitting.post(Mail(0, given.asked_by, given.event, given.told, sitting.now, sender=sitting.agent_id))


def _asks_for_a_place(sitting: Sitting, graph: StateTransitionGraph, event: Event) -> bool:
    """Whether a place has to be asked for before the offer can be taken."""
    if not _needs_a_place(graph, event) or event.id in sitting.granted or event.id in sitting.kept.places:
        return False
    if sitting.kept.offers.get(event.id or "") is not HandoffStatus.PENDING:
        return False
    sitting.decided.place = {"graph": graph.name, "handoff": event.id, "most": graph.accepts.capacity}
    return True


def _needs_a_place(graph: StateTransitionGraph, event: Event) -> bool:
    return graph.accepts.capacity is not None and is_about_handoff(event) and event.name != WITHDRAWN


def _is_full(sitting: Sitting, graph: StateTransitionGraph, event: Event) -> bool:
    """Whether the place that the offer needs was not to be had. One that was is noted."""
    if not _needs_a_place(graph, event):
        return False
    granted = sitting.granted.get(event.id or "")
    if granted and event.id is not None:
        sitting.kept.places[event.id] = graph.name
    return granted is False


def _overloaded(sitting: Sitting, graph: StateTransitionGraph, event: Event) -> Outcome:
    full = f"{graph.accepts.capacity} are under way"
    return _committed(sitting, event, rejected(event, sitting.bench.packet_migrations, Obstacle.OVERLOAD, full))


def _as_of_today(sitting: Sitting) -> StateTransitionGraph:
    """The graph that drives the agent, which is brought to its version first. Raises as `Registry.graph_for`."""
    graph, before = sitting.graph(), sitting.snapshot
    if graph.version != before.graph_version:
        mail = tuple(each for each in sitting.kept.mail if each.status is MailStatus.WAITING)
        running = tuple(each.running for each in sitting.kept.calls)
        steps = sitting.bench.registry.way_for(before)
        sitting.commit(migrated(graph, steps, before, Pending(mail, running), sitting.now))
    return graph
