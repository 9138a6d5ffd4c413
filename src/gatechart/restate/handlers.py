"""The handlers of an agent's object, by verb.

Each decides in one journaled run, which turns the stored state and a call into the new state and orders.

Everything nondeterministic happens here: actions, the clock, generated ids. The engine journals the result before
it is carried out.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from gatechart.api.errors import ErrorDocument
from gatechart.api.handoffs import HandoffCommand
from gatechart.errors.event import AgentExistsError, EventIdReusedError, OpenHandoffError, UnknownAgentError
from gatechart.errors.failures import contained
from gatechart.errors.operation import AgentAsleepError, NoInvokeError, NoTimerError, UnknownMailError
from gatechart.errors.root import EventError
from gatechart.hosting.invoke_host import check_not_over
from gatechart.hosting.migration import as_of_today
from gatechart.restate.choices import disown
from gatechart.restate.mail import accept, bring_deferred, content_of, next_mail, postponed, process, take
from gatechart.restate.migration.arrival import adopt, awaken, keep, stay
from gatechart.restate.own_agents import BY_FRAMEWORK, check_gate
from gatechart.restate.state import MAIL, OUTCOME, SNAPSHOT, AgentState, HandlerResult, digest_of, plain
from gatechart.restate.terms import ServiceConfig
from gatechart.restate.unit_of_work import FactNeededError, PayloadsNeededError, UnitOfWork
from gatechart.turn.arguments import checked_name, fit_payload, plain_payload
from gatechart.turn.handoff_turns import REQUESTED, requested
from gatechart.turn.mail import log_refusal, no_later, tell_refusal
from gatechart.turn.payloads import check_declared
from gatechart.turn.rollback import fork_event, forked, rollback_event, rolled_back, stopped
from gatechart.turn.turn_context import Turn
from gatechart.turn.turns import begin
from gatechart.values.agents import Event, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.framework import DIRECTORY_GRAPH, ENTRY_AGENT
from gatechart.values.mail import Invocation, Mail, MailStatus
from gatechart.values.names import STARTED, TRAIL, AgentId

logger = logging.getLogger(__name__)

Argument: TypeAlias = Mapping[str, Any]
NO_PAYLOADS: Final[Mapping[int, bytes]] = MappingProxyType({})
NOTHING: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})

Verb: TypeAlias = Callable[[UnitOfWork, Argument], Awaitable[None]]


async def decide(
    config: ServiceConfig,
    agent_id: AgentId,
    state: bytes | None,
    ids: bytes | None,
    verb: str,
    argument: Argument,
    *,
    granted: Mapping[str, Mapping[str, Any]] = NOTHING,
    choices: Mapping[str, Mapping[str, Any]] = NOTHING,
    facts: Mapping[str, Any] = NOTHING,
    lifted: int = 0,
    payloads: Mapping[int, bytes] = NO_PAYLOADS,
) -> HandlerResult:
    """Decide the effects of a call on the agent. Never raises: an error becomes the answer, and changes nothing.

    granted: slots that earlier runs requested, by handoff: the owner, the total, and whether the slot was granted.
    choices: those made at the request of earlier runs, by handoff.
    facts: the engine's answers to questions of earlier runs, by question.
    lifted: number of the mail whose wait for another attempt was ended.
    payloads: payloads requested by earlier runs, by the number of their mail.
    """
    unit = UnitOfWork(config, agent_id, state, ids)
    unit.granted, unit.choices, unit.lifted, unit.payloads = granted, choices, lifted, payloads
    unit.facts = facts
    try:
        with contained():
            try:
                check_gate(unit, verb, argument)
                await verb_of(unit, verb)(unit, argument)
                bring_deferred(unit)
            except PayloadsNeededError as needed:
                return HandlerResult(needs=needed.numbers)
            except FactNeededError as needed:
                return HandlerResult(question=needed.question)
    except Exception as error:  # any exception: if it propagated, it would block all later calls to the agent
        if not isinstance(error, EventError):
            facts = {"agent_id": agent_id, "verb": verb}
            logger.warning("a call to agent %(agent_id)s failed: %(verb)s", facts, extra=facts, exc_info=error)
        return HandlerResult(answer={"error": ErrorDocument.of(error).model_dump(mode="json")})
    if unit.entry.choice is not None:
        return HandlerResult(choice=unit.entry.choice)
    if unit.entry.question is not None:
        return HandlerResult(question=unit.entry.question)
    _update_directory(unit)
    return unit.close()


def _update_directory(unit: UnitOfWork) -> None:
    """Show choices of this process the newest state of an entry that it hosts, before that is projected."""
    directory, snapshot = unit.config.chooser.directory, unit.state.snapshot
    if snapshot is not None and snapshot.graph == DIRECTORY_GRAPH and unit.is_touched:
        directory.see(snapshot)
    elif snapshot is None and unit.agent_id.startswith(ENTRY_AGENT):
        directory.forget(unit.agent_id)


def verb_of(unit: UnitOfWork, verb: str) -> Verb:
    """Return the handler of the verb; another one while the agent is asleep."""
    if not unit.state.asleep:
        return VERBS[verb]
    return WHILE_ASLEEP.get(verb, _refuse_asleep)


async def _refuse_asleep(unit: UnitOfWork, _: Argument) -> None:
    raise AgentAsleepError(unit.agent_id)


async def _send(unit: UnitOfWork, argument: Argument) -> None:
    """Handle the event after all mail that was accepted before it."""
    _check_life(unit, argument)
    graph = unit.graph()
    if next_mail(unit) is not None:
        await take(unit, following="send")
        return
    # Direct callers of the engine are outside callers, too.
    name = argument["event"] if argument.get(BY_FRAMEWORK) else checked_name(argument["event"])
    event = Event(name, argument["payload"], unit.now, argument["id"])
    outcome = await process(unit, event)
    if outcome.refusal is not None:
        check_declared(graph, outcome)
        tell_refusal(graph, unit.agent_id, outcome)
    unit.entry.answer = {"outcome": plain(OUTCOME, outcome), "snapshot": plain(SNAPSHOT, unit.snapshot)}


def _check_life(unit: UnitOfWork, argument: Argument) -> None:
    """Raise UnknownAgentError if the handle belongs to an erased agent that had the same id."""
    if argument["life"] != unit.state.life:
        raise UnknownAgentError(unit.agent_id)


async def _choose(unit: UnitOfWork, argument: Argument) -> None:
    """Handle the choice of an invocation while its state is active; a repeat gets the first outcome."""
    graph = unit.graph()
    if next_mail(unit) is not None:
        await take(unit, following="choose")
        return
    check_not_over(unit.snapshot, _invocation(unit, argument))
    event = Event(argument["event"], argument["payload"], unit.now, argument["id"])
    outcome = await process(unit, event)
    if outcome.refusal is not None:
        log_refusal(graph.name, unit.agent_id, outcome.event, str(outcome.refusal))
    unit.entry.answer = {"outcome": plain(OUTCOME, outcome)}


async def _answered(unit: UnitOfWork, argument: Argument) -> None:
    """Answer an invocation after all mail that was accepted before it, while its state is active."""
    unit.graph()
    if next_mail(unit) is not None:
        await take(unit, following="answered")
        return
    check_not_over(unit.snapshot, _invocation(unit, argument))
    unit.entry.answer = {"snapshot": plain(SNAPSHOT, unit.snapshot)}


def _invocation(unit: UnitOfWork, argument: Argument) -> Invocation:
    return Invocation(unit.agent_id, argument["state"], argument["epoch"], argument["invoke"])


async def _deliver(unit: UnitOfWork, argument: Argument) -> None:
    if postponed(unit, argument) or _is_for_erased_agent(unit, argument):
        return
    accept(unit, MAIL.validate_python(argument["mail"]), argument)
    await _drain(unit, argument)


def _is_for_erased_agent(unit: UnitOfWork, argument: Argument) -> bool:
    """Return whether mail is for the trail of an agent that was erased in the meantime."""
    return unit.state.snapshot is None and str(argument["mail"]["event"]).startswith(TRAIL)


async def _drain(unit: UnitOfWork, _: Argument) -> None:
    if next_mail(unit) is not None:
        await take(unit, following="drain")


async def _wake(unit: UnitOfWork, argument: Argument) -> None:
    """Do nothing if the mail no longer exists. If this machine's clock is behind the engine's, keep waiting."""
    mail = _mail_of(unit, argument)
    if mail is None or mail.due is None or mail.status is not MailStatus.WAITING:
        return
    nearer = no_later(mail, unit.now)
    if nearer is not mail:
        unit.state.put(nearer)
        unit.is_touched = True
    if nearer.due is not None and nearer.due > unit.now:
        unit.wake_at(nearer, nearer.due)
        return
    await _drain(unit, argument)


def _mail_of(unit: UnitOfWork, argument: Argument) -> Mail | None:
    """Return the mail that the argument names, with its payload."""
    mail = unit.state.numbered(argument["number"])
    return None if mail is None else unit.full(mail)


async def _begin(unit: UnitOfWork, argument: Argument) -> None:
    idempotency_key = argument.get("once")
    if unit.state.snapshot is not None and idempotency_key is None:
        raise AgentExistsError(unit.agent_id)
    graph = unit.config.registry.graph(argument["graph"])
    entry = graph.entry_point(argument["at"])
    fitted = fit_payload(graph.name, entry, argument["payload"])
    name = f"{STARTED}{entry.name}"
    event = Event(name, plain_payload(fitted, name), unit.now, idempotency_key)
    if not _was_started_by(unit, event):
        turn = begin(graph, entry, fitted, unit.agent_id, event, unit.config.services)
        _add(unit, await unit.in_turn(graph, name, turn))
    _answer_snapshot(unit)


async def _fork(unit: UnitOfWork, argument: Argument) -> None:
    """Start the agent from another agent's snapshot, in `target`, which comes from the projection."""
    target = SNAPSHOT.validate_python(argument["target"])
    event = fork_event(target.agent_id, target.version, unit.now, argument["once"])
    if not _was_started_by(unit, event):
        graph, today = as_of_today(unit.config.registry, target, unit.now)
        _add(unit, forked(graph, today, unit.agent_id, event, unit.config.services))
    _answer_snapshot(unit)


def _was_started_by(unit: UnitOfWork, event: Event) -> bool:
    """Return whether this very event started the agent. Raises AgentExistsError if not, and EventIdReusedError."""
    if unit.state.snapshot is None:
        return False
    if unit.first_outcome(event) is None:
        raise AgentExistsError(unit.agent_id)
    return True


def _add(unit: UnitOfWork, turn: TurnRecord) -> None:
    """Commit an agent's first turn, and process the mail that waited for the agent."""
    unit.commit(turn)
    if unit.state.mail:
        unit.order("drain", after_s=0.0)


async def _stop(unit: UnitOfWork, _: Argument) -> None:
    unit.graph()
    if next_mail(unit) is not None:
        await take(unit, following="stop")
        return
    if unit.snapshot.status is Status.ACTIVE:
        unit.commit(stopped(unit.snapshot, unit.now))
    _answer_snapshot(unit)


async def _roll_back(unit: UnitOfWork, argument: Argument) -> None:
    """Roll the agent back.

    target: its snapshot at that version. passed: the handoffs accepted elsewhere since. Both come from the projection.
    """
    _check_life(unit, argument)
    graph = unit.graph()
    if next_mail(unit) is not None:
        await take(unit, following="roll_back")
        return
    now, target = unit.snapshot, SNAPSHOT.validate_python(argument["target"])
    event = rollback_event(target.version, argument["reason"], unit.now, argument["once"])
    if unit.first_outcome(event) is not None:
        _answer_snapshot(unit)
        return
    if argument.get("passed"):
        raise OpenHandoffError(now.agent_id, target.version, tuple(argument["passed"]))
    unit.commit(rolled_back(graph, now, target, event, unit.config.services))
    _answer_snapshot(unit)


async def _hand_on(unit: UnitOfWork, argument: Argument) -> None:
    unit.graph()
    if next_mail(unit) is not None:
        await take(unit, following="hand_on")
        return
    unit.entry.answer = {"handoff": _offered(unit, _handoff_command(argument))}


async def _erase(unit: UnitOfWork, _: Argument) -> None:
    """Erase the agent. Agents that wait for it are notified first, unless it is asleep: then it never ran here."""
    if not unit.state.asleep and unit.snapshot.status is Status.ACTIVE:
        unit.commit(stopped(unit.snapshot, unit.now))
    unit.entry.turns.clear()
    unit.end_calls()
    await disown(unit)
    for handoff, graph in unit.state.places.items():
        unit.order("release", graph=graph, handoff=handoff)
    # Wake-ups by number and mail with places may still be on their way, so both counts continue.
    unit.state = AgentState(numbers=unit.state.numbers, arrived=unit.state.arrived)
    unit.is_touched = True
    unit.order("forget")
    unit.order("forget_journals")
    if unit.config.projects:
        unit.order("unproject")


async def _retry(unit: UnitOfWork, argument: Argument) -> None:
    mail = _mail_of(unit, argument)
    if mail is not None and mail.status is MailStatus.WAITING and mail.retry_at is not None:
        unit.state.put(replace(mail, retry_at=None))
        unit.is_touched = True
        unit.entry.answer = {"mail": plain(MAIL, replace(mail, retry_at=None))}
        unit.order("drain", after_s=0.0)
        return
    mail = _ended(unit, argument)
    unit.state.drop(mail.number)
    again = {"status": "waiting", "attempts": 0, "retry_at": None, "reason": "", "due": None}
    unit.entry.answer = {"mail": plain(MAIL, mail) | again}
    if accept(unit, MAIL.validate_python(unit.entry.answer["mail"]), {}):
        unit.order("drain", after_s=0.0)


async def _fire_timer(unit: UnitOfWork, argument: Argument) -> None:
    mail = _mail_of(unit, argument)
    if mail is None or mail.due is None or mail.status is not MailStatus.WAITING:
        raise NoTimerError(argument["number"])
    fired = replace(mail, due=min(mail.due, unit.now), operator_reason=argument["reason"])
    unit.state.put(fired)
    unit.is_touched = True
    unit.order("drain", after_s=0.0)
    unit.entry.answer = {"mail": plain(MAIL, fired)}


async def _end_invoke(unit: UnitOfWork, argument: Argument) -> None:
    agent_id, invoke, idempotency_key = unit.snapshot.agent_id, argument["invoke"], argument["once"]
    event = f"{argument['kind']}.invoke.{invoke}"
    before = None if idempotency_key is None else content_of(unit, idempotency_key)
    if before is not None:
        if before != (digest_of(event, argument["payload"]), event):
            raise EventIdReusedError(agent_id, idempotency_key, before[1])
        unit.entry.answer = {"number": 0, "repeat": True}
        return
    running = [each.invocation for each in unit.state.calls]
    call = next((each for each in running if each.invoke == invoke), None)
    if call is None:
        raise NoInvokeError(agent_id, invoke, tuple(each.invoke for each in running))
    unit.end_call(call)
    payload, reason = argument["payload"], argument["reason"]
    mail = Mail(0, agent_id, event, payload, unit.now, idempotency_key, None, None, None, call.state, call.epoch)
    accept(unit, replace(mail, operator_reason=reason), {})
    unit.order("drain", after_s=0.0)
    unit.entry.answer = {"number": unit.state.mail[-1].number, "repeat": False}


async def _discard(unit: UnitOfWork, argument: Argument) -> None:
    mail = _ended(unit, argument)
    unit.state.drop(mail.number)
    unit.is_touched = True
    unit.entry.answer = {"mail": plain(MAIL, mail)}


def _ended(unit: UnitOfWork, argument: Argument) -> Mail:
    mail = _mail_of(unit, argument)
    if mail is None or mail.status is MailStatus.WAITING:
        raise UnknownMailError(argument["number"])
    return mail


async def _projected(unit: UnitOfWork, argument: Argument) -> None:
    """Record that turns up to a version are projected and need not be kept.

    life: identifies the agent whose turns they are.
    """
    state, upto = unit.state, int(argument["version"])
    if state.life != argument["life"] or state.snapshot is None:
        return
    if upto > state.projected:
        unit.order("clear", first=state.projected + 1, last=upto)
    state.projected = max(state.projected, upto)
    state.is_projecting, unit.is_touched = False, True
    if state.snapshot.version > state.projected:
        unit.project()


_EARLIER: Final = {"id": "agent_id", "once": "idempotency_key"}  # names in pending calls of an earlier release


def _handoff_command(argument: Argument) -> HandoffCommand:
    """Read the command from the argument of an invocation."""
    return HandoffCommand.model_validate({_EARLIER.get(name, name): value for name, value in argument.items()})


def _offered(unit: UnitOfWork, call: HandoffCommand) -> str:
    """Offer a handoff and return its id; a repeated call returns the id of the first offer.

    Raises the exceptions of `Turn.handoff`, EventRefusedError and EventIdReusedError.
    """
    request_ids: list[str] = []

    def ask(turn: Turn) -> None:
        request_ids.append(turn.handoff(**call.arguments))

    event = Event(REQUESTED, {}, unit.now, call.idempotency_key)
    if call.idempotency_key is not None and unit.first_outcome(event) is not None:
        return unit.ids[call.idempotency_key].made
    unit.commit(requested(unit.graph(), unit.snapshot, event, ask, unit.config.services))
    if call.idempotency_key is not None:
        unit.note_made(call.idempotency_key, request_ids[0])
    return request_ids[0]


def _answer_snapshot(unit: UnitOfWork) -> None:
    unit.entry.answer = {"snapshot": plain(SNAPSHOT, unit.snapshot), "life": unit.state.life}


VERBS: Final[Mapping[str, Verb]] = MappingProxyType(
    {
        "send": _send,
        "choose": _choose,
        "answered": _answered,
        "deliver": _deliver,
        "drain": _drain,
        "wake": _wake,
        "begin": _begin,
        "fork": _fork,
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
