"""Mail to an agent: the turns that apply it, and whether failed mail is retried, refused or dead.

Only mail between agents leads to turns about handoffs: an event of such a name from a person is an ordinary event.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from typing import Any, Final

from gatechart.errors.event import EventIdReusedError, EventRefusedError
from gatechart.escape.attempts import without_way
from gatechart.graph.definition import OnRefusal
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.fallbacks import longest_wait_s
from gatechart.handoff.reading import PacketMigration
from gatechart.kernel.select import defers, passes_over
from gatechart.turn.handoff_acceptance import RejectedOffer, Void, take_offer, take_withdrawal
from gatechart.turn.handoff_offers import ANSWERS
from gatechart.turn.handoff_replies import take_answer
from gatechart.turn.handoff_turns import NOTED, is_noted, reacted
from gatechart.turn.noticing import begun_anew, with_timer
from gatechart.turn.turn_context import told
from gatechart.turn.turns import MOST_DEFERRED, take_trail_mail, take_turn
from gatechart.values.agents import Event, Outcome, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.delays import Retry
from gatechart.values.escapes import ESCAPE_DUE
from gatechart.values.frozen import replaced
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import ERROR_MAIL, OFFERED, TRAIL, WITHDRAWN, AgentId, EventName

logger = logging.getLogger(__name__)

PROGRESS: Final = "progress.invoke."

_FAILED_MAIL: Final = (
    "%(event)s (mail %(number)d) of agent %(agent_id)s, graph %(graph)s, attempt %(attempts)d: %(reason)s"
)
_DEAD: Final = f"mail is dead: every attempt failed: {_FAILED_MAIL}"
_AGAIN: Final = f"mail failed, and will be retried: {_FAILED_MAIL}"
_ALWAYS: Final = datetime.min.replace(tzinfo=UTC)


def in_order(mails: Iterable[Mail]) -> list[Mail]:
    """Sort the mail of one agent by when it became ready: when it was accepted, or due if that was later.

    Mail without a due time stays in the order accepted, even if the clock was set back in between.
    """
    accepted = _ALWAYS
    entries: list[tuple[datetime, int, Mail]] = []
    for mail in sorted(mails, key=lambda mail: mail.number):
        ready = max(accepted, mail.accepted)
        if mail.due is None:
            accepted = ready
        else:
            ready = max(ready, mail.due)
        entries.append((ready, mail.number, mail))
    return [mail for _, _, mail in sorted(entries)]


def is_about_handoff(mail: Mail | Event) -> bool:
    """Return whether it is an agent's offer or its withdrawal; these also reach agents that do not exist yet."""
    name = mail.event if isinstance(mail, Mail) else mail.name
    return mail.sender is not None and (name.startswith(OFFERED) or name == WITHDRAWN)


def is_word_of_handoff(mail: Mail) -> bool:
    """Return whether mail reports the outcome of a handoff to one of its agents: an answer, or a withdrawal."""
    is_word = mail.event == WITHDRAWN or mail.event in ANSWERS
    is_from_agent = mail.sender is not None and "handoff" in mail.payload
    return is_word and is_from_agent and not is_noted(mail.event, mail.payload, mail.sender)


def no_later(mail: Mail, now: datetime) -> Mail:
    """Limit the due time of a handoff's next attempt to the longest wait of its fallbacks from now.

    The clock may have been wrong in the turn that offered it.
    """
    if mail.due is None or mail.sender is None or not mail.event.startswith(OFFERED):
        return mail
    longest_s = longest_wait_s(mail.payload)
    is_far = (mail.due - now).total_seconds() > longest_s
    return replaced(mail, due=now + timedelta(seconds=longest_s)) if is_far else mail


def is_awaited(mail: Mail) -> bool:
    """Return whether an agent may be waiting for mail, because it caused the mail itself.

    True for timers, results of invokes, answers to its handoffs, and mail to itself. False for unsolicited mail from
    people or other agents, for the progress of an invoke, whose result is still pending, and for reports of dead mail.
    """
    if mail.event == ERROR_MAIL or mail.event.startswith(PROGRESS):
        return False
    is_own = mail.state is not None or mail.sender == mail.recipient
    return is_own or is_noted(mail.event, mail.payload, mail.sender) or is_word_of_handoff(mail)


def is_passed_over(graph: AnyGraph, snapshot: Snapshot, mail: Mail) -> bool:
    """Return whether mail is deferred in the agent's configuration, whatever the guards."""
    if snapshot.status is not Status.ACTIVE or mail.state is not None:
        return False
    return graph.has_deferring and passes_over(graph, snapshot.configuration, mail.event)


def shown(graph: AnyGraph, snapshot: Snapshot, mail: Mail, now: datetime) -> Mail:
    """Add the reason to mail that waits because it is deferred, for display in a list."""
    if mail.reason or not _is_deferred(graph, snapshot, mail, now):
        return mail
    return replaced(mail, reason=deferred_reason(snapshot))


def deferred_reason(snapshot: Snapshot) -> str:
    """Return the reason for deferring an event, naming the agent's states."""
    return f"deferred in {', '.join(snapshot.configuration)}"


def has_room(graph: AnyGraph, snapshot: Snapshot, waiting: Iterable[Mail], now: datetime) -> bool:
    """Return whether the agent can defer one more event. waiting: its waiting mail, or all of its mail."""
    deferred = (mail for mail in waiting if _is_deferred(graph, snapshot, mail, now))
    return sum(1 for _ in islice(deferred, MOST_DEFERRED)) < MOST_DEFERRED


def _is_deferred(graph: AnyGraph, snapshot: Snapshot, mail: Mail, now: datetime) -> bool:
    is_waiting = mail.status is MailStatus.WAITING and (mail.due is None or mail.due <= now)
    return is_waiting and snapshot.status is Status.ACTIVE and defers(graph, snapshot.configuration, mail.event)


def fatal_mail(graph: AnyGraph, snapshot: Snapshot, dead: Sequence[Mail], waiting: Sequence[Mail]) -> Mail | None:
    """Return the newest dead mail if the agent has no pending events, and so is stuck.

    Pending are waiting mail that is not deferred, timers included, the answer to a handoff, and the result of an
    invoke, unless that is the dead mail. An invoke counts as running as long as its state is active.
    """
    active = {state for state, _ in snapshot.entered}
    ended = {mail.event.partition("invoke.")[2] for mail in dead if (mail.state, mail.epoch) in snapshot.entered}
    is_running = any(invoke.id not in ended for state in active for invoke in graph.nodes[state].invokes)
    others = [mail for mail in waiting if not mail.event.startswith(TRAIL)]  # which takes no transition
    has_pending = any(mail.due is not None or not is_passed_over(graph, snapshot, mail) for mail in others)
    return None if not dead or has_pending or snapshot.handoffs or is_running else dead[-1]


async def take_mail(
    graph: AnyGraph,
    previous: Snapshot,
    event: Event,
    services: Any = None,
    migrations: Sequence[PacketMigration] = (),
    *,
    dead: Mail | None = None,
) -> TurnRecord | Outcome | RejectedOffer | Void:
    """Process an event that arrived as mail. Raises what `take_turn` raises.

    dead: the mail if the chart failed to handle it; an answer or a withdrawal is then recorded without the chart.
    """
    if event.name.startswith(TRAIL):
        return await take_trail_mail(graph, previous, event, services) or Void()
    if event.name == ERROR_MAIL and event.sender == previous.agent_id:
        return await _report_dead_mail(graph, previous, event, services)
    if event.sender is not None and event.name.startswith("handoff."):
        if event.name.startswith(OFFERED):
            return await take_offer(graph, previous, event, services, migrations)
        if event.name == WITHDRAWN:
            return await take_withdrawal(graph, previous, event, services, dead)
        if _is_unhandled_answer(event):
            return await take_answer(graph, previous, event, services, migrations, dead)
    return await take_turn(graph, previous, event, services)


def _is_unhandled_answer(event: Event) -> bool:
    """Return whether an agent's event is the answer to a handoff and has not been recorded yet."""
    return event.name in ANSWERS and "handoff" in event.payload and NOTED not in event.payload


async def _report_dead_mail(graph: AnyGraph, previous: Snapshot, event: Event, services: Any) -> TurnRecord | Void:
    """Report dead mail to the agent in a turn. If the chart does not handle it, the turn only records it."""
    if previous.status is not Status.ACTIVE:
        return Void()
    if event.payload.get("event") != ESCAPE_DUE:
        return await reacted(graph, previous, event, previous.handoffs, (), services)
    before, timer = with_timer(graph, _without_escape(graph, previous, event), event.time)
    turn = await reacted(graph, before, event, previous.handoffs, (), services)
    effects = (*turn.effects, *timer) if turn.snapshot.status is Status.ACTIVE else turn.effects
    return replaced(turn, previous=previous, effects=effects)


def _without_escape(graph: AnyGraph, snapshot: Snapshot, event: Event) -> Snapshot:
    """Cancel the escape request of a finding after the request died. event: the report of the dead mail.

    The trail is reset, so that the signal can fire again.
    """
    escapes = snapshot.trail.escapes
    if "finding" not in event.payload:  # written by an earlier release
        return replaced(snapshot, trail=begun_anew(graph, snapshot.trail, escapes.interrupted, event.time))
    finding = escapes.finding(event.payload["finding"])
    if finding is None:
        return snapshot
    return replaced(snapshot, trail=begun_anew(graph, snapshot.trail, without_way(escapes, finding), event.time))


def graph_offered(mail: Mail) -> str:
    """Return the graph that an offer names for a new agent, for mail to an agent that does not exist yet."""
    return str(mail.payload.get("target_graph", "unknown"))


def log_refusal(graph: str, agent_id: AgentId, event: EventName, reason: str) -> None:
    """Log that an agent refused an event of a sender that waits for the outcome."""
    facts = {"agent_id": agent_id, "graph": graph, "event": event, "reason": reason}
    logger.warning(
        "an event was refused: %(event)s of agent %(agent_id)s, graph %(graph)s: %(reason)s", facts, extra=facts
    )


def tell_refusal(graph: AnyGraph, agent_id: AgentId, outcome: Outcome) -> None:
    """Report a refused event as the graph is configured: raise EventRefusedError for the waiting sender, or log."""
    reason = str(outcome.refusal)
    if graph.on_refusal is OnRefusal.RAISE:
        raise EventRefusedError(agent_id, outcome.event, reason)
    log_refusal(graph.name, agent_id, outcome.event, reason)


def after_refusal(mail: Mail, reason: str, graph: str) -> Mail:
    """Log the refusal, and return the mail marked as refused by its recipient, an agent of the graph."""
    facts = {"agent_id": mail.recipient, "graph": graph, "event": mail.event, "reason": reason}
    logger.warning("mail was refused: %(event)s of agent %(agent_id)s, graph %(graph)s: %(reason)s", facts, extra=facts)
    return replaced(mail, status=MailStatus.REFUSED, reason=reason)


def after_failure(mail: Mail, error: Exception, now: datetime, retry: Retry, graph: str) -> Mail:
    """Return the mail after another failed attempt: to be retried, dead, or refused because its id was reused."""
    if isinstance(error, EventIdReusedError):  # another attempt would fail the same way
        return after_refusal(mail, str(error), graph)
    attempts = mail.attempts + 1
    wait_s = retry.wait_s(attempts, Random(f"{mail.recipient}/{mail.number}/{attempts}").random())
    failed = replaced(mail, attempts=attempts, reason=told(error))
    facts = {"agent_id": mail.recipient, "graph": graph, "event": mail.event, "number": mail.number}
    facts |= {"attempts": attempts, "reason": failed.reason, "wait_s": wait_s}
    # The mail stores the reason, so that a repeated error is recognised after a restart, too.
    whole = None if failed.reason == mail.reason else error
    if wait_s is None:
        logger.error(_DEAD, facts, extra=facts, exc_info=whole)
        return replaced(failed, status=MailStatus.DEAD, retry_at=None)
    logger.warning(_AGAIN, facts, extra=facts, exc_info=whole)
    return replaced(failed, retry_at=now + timedelta(seconds=wait_s))


def unchanged(event: Event) -> Outcome:
    """Return the outcome of handoff mail that was answered without a turn."""
    return Outcome(event.name, (), 0, Status.ACTIVE)
