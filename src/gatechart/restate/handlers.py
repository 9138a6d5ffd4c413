"""What becomes of what comes to an agent: one journaled run, from what is kept to what is to be kept and done.

Everything that could come out differently a second time happens here: actions, the time, made-up ids. The engine writes
down what came of it before anything is done about it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from gatechart.api import ErrorDocument, HandoffCall, handoff_asked
from gatechart.errors import (
    AgentAsleepError,
    AgentExistsError,
    EventError,
    EventIdReusedError,
    EventRefusedError,
    NoInvokeError,
    NoTimerError,
    OpenHandoffError,
    RollbackError,
    UnknownAgentError,
    UnknownMailError,
    contained,
)
from gatechart.graph import OnRefusal, StateTransitionGraph
from gatechart.hosting.rollback import rollback_event, rolled_back, stopped
from gatechart.restate.journal_entry import Decided
from gatechart.restate.mail import accept, content_of, next_mail, postponed, process, take
from gatechart.restate.migration.arrival import adopt, awaken, keep, stay
from gatechart.restate.state import MAIL, OUTCOME, SNAPSHOT, Kept, digest_of, plain
from gatechart.restate.terms import Bench
from gatechart.restate.unit_of_work import Sitting
from gatechart.turn import REQUESTED, Turn, begin, checked_name, fit_payload, no_later, plain_payload, requested
from gatechart.values import STARTED, AgentId, Event, EventName, Mail, MailStatus, Status

logger = logging.getLogger(__name__)

Argument: TypeAlias = Mapping[str, Any]
NO_PLACES: Final[Mapping[str, bool]] = MappingProxyType({})

Verb: TypeAlias = Callable[[Sitting, Argument], Awaitable[None]]


async def decide(
    bench: Bench,
    agent_id: AgentId,
    kept: bytes | None,
    ids: bytes | None,
    verb: str,
    argument: Argument,
    *,
    granted: Mapping[str, bool] = NO_PLACES,
    lifted: int = 0,
) -> Decided:
    """What becomes of the verb. Never raises: what a verb raises is its answer, and then nothing has changed.

    granted: handoffs for which earlier runs asked for a place: whether it was had. lifted: the number of mail whose
    wait for another attempt was ended.
    """
    sitting = Sitting(bench, agent_id, kept, ids)
    sitting.granted, sitting.lifted = granted, lifted
    try:
        with contained():
            await verb_of(sitting, verb)(sitting, argument)
    except Exception as error:  # whatever it is: raised on, it would keep all else from the agent
        if not isinstance(error, EventError):
            logger.warning("what came to an agent failed", extra={"agent_id": agent_id, "verb": verb}, exc_info=error)
        return Decided(answer={"error": ErrorDocument.of(error).model_dump(mode="json")})
    return sitting.close()


def verb_of(sitting: Sitting, verb: str) -> Verb:
    """What the verb does to the agent as it is."""
    if not sitting.kept.asleep:
        return VERBS[verb]
    return WHILE_ASLEEP.get(verb, _refuse_asleep)


async def _refuse_asleep(sitting: Sitting, _: Argument) -> None:
    raise AgentAsleepError(sitting.agent_id)


async def _send(sitting: Sitting, argument: Argument) -> None:
    """Behind the mail that was accepted before."""
    _check_life(sitting, argument)
    graph = sitting.graph()
    if next_mail(sitting) is not None:
        await take(sitting, following="send")
        return
    name = checked_name(argument["event"])  # whoever calls the engine itself is outside, too
    event = Event(name, argument["payload"], sitting.now, argument["id"])
    outcome = await process(sitting, event)
    if outcome.refusal is not None:
        _tell_refusal(sitting, graph, outcome.event, str(outcome.refusal))
    sitting.decided.answer = {"outcome": plain(OUTCOME, outcome), "snapshot": plain(SNAPSHOT, sitting.snapshot)}


def _tell_refusal(sitting: Sitting, graph: StateTransitionGraph, event: EventName, reason: str) -> None:
    if graph.on_refusal is OnRefusal.RAISE:
        raise EventRefusedError(sitting.agent_id, event, reason)
    facts = {"agent_id": sitting.agent_id, "event": event, "reason": reason}
    logger.warning("an event was refused: %(event)s of agent %(agent_id)s: %(reason)s", facts, extra=facts)


def _check_life(sitting: Sitting, argument: Argument) -> None:
    """A handle of an agent that was erased is none of another one under its id. Raises UnknownAgentError."""
    if argument["life"] != sitting.kept.life:
        raise UnknownAgentError(sitting.agent_id)


async def _deliver(sitting: Sitting, argument: Argument) -> None:
    if postponed(sitting, argument):
        return
    accept(sitting, MAIL.validate_python(argument["mail"]), argument)
    await _drain(sitting, argument)


async def _drain(sitting: Sitting, _: Argument) -> None:
    if next_mail(sitting) is not None:
        await take(sitting, following="drain")


async def _wake(sitting: Sitting, argument: Argument) -> None:
    """Void once its entry is gone. A machine's clock may be behind the engine's: then it waits on."""
    mail = sitting.kept.numbered(argument["number"])
    if mail is None or mail.due is None or mail.status is not MailStatus.WAITING:
        return
    nearer = no_later(mail, sitting.now)
    if nearer is not mail:
        sitting.kept.put(nearer)
        sitting.is_touched = True
    if nearer.due is not None and nearer.due > sitting.now:
        sitting.wake_at(nearer, nearer.due)
        return
    await _drain(sitting, argument)


async def _begin(sitting: Sitting, argument: Argument) -> None:
    once = argument.get("once")
    if sitting.kept.snapshot is not None and once is None:
        raise AgentExistsError(sitting.agent_id)
    graph = sitting.bench.registry.graph(argument["graph"])
    entry = graph.entry_point(argument["at"])
    fitted = fit_payload(graph.name, entry, argument["payload"])
    name = f"{STARTED}{entry.name}"
    event = Event(name, plain_payload(fitted, name), sitting.now, once)
    if sitting.kept.snapshot is not None:
        if sitting.first_outcome(event) is None:
            raise AgentExistsError(sitting.agent_id)
        _answer_snapshot(sitting)
        return
    turn = begin(graph, entry, fitted, sitting.agent_id, event, sitting.bench.services)
    sitting.commit(await sitting.in_turn(graph, name, turn))
    if sitting.kept.mail:
        sitting.order("drain", after_s=0.0)
    _answer_snapshot(sitting)


async def _stop(sitting: Sitting, _: Argument) -> None:
    sitting.graph()
    if next_mail(sitting) is not None:
        await take(sitting, following="stop")
        return
    if sitting.snapshot.status is Status.ACTIVE:
        sitting.commit(stopped(sitting.snapshot, sitting.now))
    _answer_snapshot(sitting)


async def _roll_back(sitting: Sitting, argument: Argument) -> None:
    """target: what it was at the version; passed: what it has given away since; both as the projection has it."""
    _check_life(sitting, argument)
    graph = sitting.graph()
    if next_mail(sitting) is not None:
        await take(sitting, following="roll_back")
        return
    now, target = sitting.snapshot, SNAPSHOT.validate_python(argument["target"])
    event = rollback_event(target.version, argument["reason"], sitting.now, argument["once"])
    if sitting.first_outcome(event) is not None:
        _answer_snapshot(sitting)
        return
    if (target.graph_version, target.fingerprint) != (now.graph_version, now.fingerprint):
        raise RollbackError(now.agent_id, target.version, target.graph_version, now.graph_version)
    if argument.get("passed"):
        raise OpenHandoffError(now.agent_id, target.version, tuple(argument["passed"]))
    sitting.commit(rolled_back(graph, now, target, event, sitting.bench.services))
    _answer_snapshot(sitting)


async def _hand_on(sitting: Sitting, argument: Argument) -> None:
    sitting.graph()
    if next_mail(sitting) is not None:
        await take(sitting, following="hand_on")
        return
    sitting.decided.answer = {"handoff": _offered(sitting, HandoffCall.model_validate(argument))}


async def _erase(sitting: Sitting, _: Argument) -> None:
    """Whoever waits for it is told first; not by one that is asleep, which has never been here."""
    if not sitting.kept.asleep and sitting.snapshot.status is Status.ACTIVE:
        sitting.commit(stopped(sitting.snapshot, sitting.now))
    sitting.decided.turns.clear()
    sitting.end_calls()
    for handoff, graph in sitting.kept.places.items():
        sitting.order("release", graph=graph, handoff=handoff)
    sitting.kept = Kept(numbers=sitting.kept.numbers, arrived=sitting.kept.arrived)
    sitting.is_touched = True
    sitting.order("forget")
    if sitting.bench.projects:
        sitting.order("unproject")


async def _retry(sitting: Sitting, argument: Argument) -> None:
    found = sitting.kept.numbered(argument["number"])
    if found is not None and found.status is MailStatus.WAITING and found.retry_at is not None:
        sitting.kept.put(replace(found, retry_at=None))
        sitting.is_touched = True
        sitting.decided.answer = {"mail": plain(MAIL, replace(found, retry_at=None))}
        sitting.order("drain", after_s=0.0)
        return
    mail = _ended(sitting, argument)
    sitting.kept.drop(mail.number)
    again = {"status": "waiting", "attempts": 0, "retry_at": None, "reason": "", "due": None}
    sitting.decided.answer = {"mail": plain(MAIL, mail) | again}
    if accept(sitting, MAIL.validate_python(sitting.decided.answer["mail"]), {}):
        sitting.order("drain", after_s=0.0)


async def _fire_timer(sitting: Sitting, argument: Argument) -> None:
    mail = sitting.kept.numbered(argument["number"])
    if mail is None or mail.due is None or mail.status is not MailStatus.WAITING:
        raise NoTimerError(argument["number"])
    fired = replace(mail, due=min(mail.due, sitting.now), operator_reason=argument["reason"])
    sitting.kept.put(fired)
    sitting.is_touched = True
    sitting.order("drain", after_s=0.0)
    sitting.decided.answer = {"mail": plain(MAIL, fired)}


async def _end_invoke(sitting: Sitting, argument: Argument) -> None:
    agent_id, invoke, once = sitting.snapshot.agent_id, argument["invoke"], argument["once"]
    event = f"{argument['kind']}.invoke.{invoke}"
    before = None if once is None else content_of(sitting, once)
    if before is not None:
        if before != (digest_of(event, argument["payload"]), event):
            raise EventIdReusedError(agent_id, once, before[1])
        sitting.decided.answer = {"number": 0, "repeat": True}
        return
    running = [each.invocation for each in sitting.kept.calls]
    call = next((each for each in running if each.invoke == invoke), None)
    if call is None:
        raise NoInvokeError(agent_id, invoke, tuple(each.invoke for each in running))
    sitting.end_call(call)
    payload, reason = argument["payload"], argument["reason"]
    mail = Mail(0, agent_id, event, payload, sitting.now, once, None, None, None, call.state, call.epoch)
    accept(sitting, replace(mail, operator_reason=reason), {})
    sitting.order("drain", after_s=0.0)
    sitting.decided.answer = {"number": sitting.kept.mail[-1].number, "repeat": False}


async def _discard(sitting: Sitting, argument: Argument) -> None:
    mail = _ended(sitting, argument)
    sitting.kept.drop(mail.number)
    sitting.is_touched = True
    sitting.decided.answer = {"mail": plain(MAIL, mail)}


def _ended(sitting: Sitting, argument: Argument) -> Any:
    mail = sitting.kept.numbered(argument["number"])
    if mail is None or mail.status is MailStatus.WAITING:
        raise UnknownMailError(argument["number"])
    return mail


async def _projected(sitting: Sitting, argument: Argument) -> None:
    """The turns up to a version need not be kept any more. life: of the agent whose turns they are."""
    kept, upto = sitting.kept, int(argument["version"])
    if kept.life != argument["life"] or kept.snapshot is None:
        return
    if upto > kept.projected:
        sitting.order("clear", first=kept.projected + 1, last=upto)
    kept.projected = max(kept.projected, upto)
    kept.is_projecting, sitting.is_touched = False, True
    if kept.snapshot.version > kept.projected:
        sitting.project()


def _offered(sitting: Sitting, call: HandoffCall) -> str:
    """The id of the handoff, which is offered with this turn, or was when the call was made before.

    Raises as `Turn.handoff`, EventRefusedError and EventIdReusedError.
    """
    made: list[str] = []

    def ask(turn: Turn) -> None:
        made.append(turn.handoff(**handoff_asked(call)))

    event = Event(REQUESTED, {}, sitting.now, call.once)
    if call.once is not None and sitting.first_outcome(event) is not None:
        return sitting.ids[call.once].made
    sitting.commit(requested(sitting.graph(), sitting.snapshot, event, ask, sitting.bench.services))
    if call.once is not None:
        sitting.note_made(call.once, made[0])
    return made[0]


def _answer_snapshot(sitting: Sitting) -> None:
    sitting.decided.answer = {"snapshot": plain(SNAPSHOT, sitting.snapshot), "life": sitting.kept.life}


VERBS: Final[Mapping[str, Verb]] = MappingProxyType(
    {
        "send": _send,
        "deliver": _deliver,
        "drain": _drain,
        "wake": _wake,
        "begin": _begin,
        "stop": _stop,
        "roll_back": _roll_back,
        "hand_on": _hand_on,
        "erase": _erase,
        "retry": _retry,
        "discard": _discard,
        "fire_timer": _fire_timer,
        "end_invoke": _end_invoke,
        "projected": _projected,
        "adopt": adopt,
        "awaken": awaken,
    }
)

WHILE_ASLEEP: Final[Mapping[str, Verb]] = MappingProxyType(
    {
        "deliver": keep,
        "drain": stay,
        "wake": stay,
        "projected": _projected,
        "erase": _erase,
        "adopt": adopt,
        "awaken": awaken,
    }
)
