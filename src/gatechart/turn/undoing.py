"""Undo calls before an agent rolls back past them: enter the state for undoing, then continue the rollback."""

from __future__ import annotations

from typing import Final

from gatechart.escape.attempts import with_asked
from gatechart.escape.scene import known_states
from gatechart.graph.escape import UNDO, UNDO_FAILED, UNDOING
from gatechart.turn.escape_requests import answer_to
from gatechart.turn.macrostep import Macrostep
from gatechart.turn.resumption import Resumption, resumption
from gatechart.values.agents import Event
from gatechart.values.effects import Send
from gatechart.values.escapes import ESCAPE_DUE, Escapes, SignalFinding
from gatechart.values.fired_signals import FiredSignal, Reaction
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import Reason
from gatechart.values.signal_reports import signal_report

_ENDED: Final = f"done.invoke.{UNDO}"
_FAILED: Final = f"error.invoke.{UNDO}"


def resume_escape(macrostep: Macrostep, noticed: FiredSignal | None) -> FiredSignal | None:
    """Have the agent request the rest of its rollback once its calls are undone. Return the signal that fires.

    noticed: the signal that fires in the turn anyway. A call that could not be undone fires a separate signal: the
    agent then requests an escape for that signal, if a plan names it, and otherwise the next escape for the original
    finding. If another event moved the agent out of the state for undoing, the agent drops the rollback.
    """
    trail, event = macrostep.trail, macrostep.turn.event
    escapes, then = trail.escapes, trail.escapes.then
    if not escapes.undoing or then is None:
        return noticed
    after = replaced(escapes, undoing=(), then=None)
    if UNDOING not in macrostep.configuration or macrostep.is_final:
        macrostep.trail = replaced(trail, escapes=after)
        return noticed
    if event.name not in (_ENDED, _FAILED):
        return noticed
    pending = resumption(then)
    problem, fired = _failure(event, pending.stored_route.strategy)
    if fired is not None and _has_answer(macrostep, fired, pending):
        after, finding = with_asked(_skip_strategy(after, pending), fired.signal)
        request = {**fired.payload, "finding": finding.number, "leaves": list(pending.leaves)}
    else:
        after = after.with_finding(replaced(_finding(after, pending), is_due=True))
        request = {**then, "problem": problem}
    macrostep.log.asked.append(Send(macrostep.turn.agent_id, ESCAPE_DUE, request))
    macrostep.trail = replaced(trail, escapes=after)
    return noticed if fired is None else _merged(fired, noticed)


def _merged(fired: FiredSignal, noticed: FiredSignal | None) -> FiredSignal:
    """Add the other signals of the turn to a signal's `others`."""
    if noticed is None:
        return fired
    noticed_payload, others = noticed.payload, fired.others
    return replaced(fired, others=(*others, noticed_payload, *noticed_payload.pop("others")))


def _has_answer(macrostep: Macrostep, fired: FiredSignal, pending: Resumption) -> bool:
    """Return whether a plan has strategies for the signal, and the failed escape was for another signal."""
    leaves = known_states(macrostep.graph, pending.leaves)
    answer = answer_to(macrostep.graph, leaves, signal_report(fired.payload), macrostep.turn.services)
    return answer is not None and pending.signal != fired.signal


def _skip_strategy(escapes: Escapes, pending: Resumption) -> Escapes:
    """Mark the strategy as tried in the record of escapes, because its calls could not be undone."""
    finding = _finding(escapes, pending)
    tried = dict.fromkeys((*finding.tried, pending.stored_route.strategy))
    return escapes.with_finding(replaced(finding, tried=tuple(tried), is_due=False))


def _finding(escapes: Escapes, pending: Resumption) -> SignalFinding:
    known = escapes.finding(pending.finding)
    return SignalFinding(pending.finding, pending.signal) if known is None else known


def _failure(event: Event, strategy: str) -> tuple[str, FiredSignal | None]:
    """Return why a call could not be undone, and the signal for it; no text and None if all were.

    strategy: the one that rolls back.
    """
    if event.name == _FAILED:
        report = {"undone": [], "problem": event.payload["message"], "error": event.payload["type"]}
    else:
        report = dict(event.payload["result"])
    problem: str = report["problem"]
    if not problem:
        return "", None
    evidence = {"detector": "Undo", "strategy": strategy, "failures": 1, **report}
    return problem, FiredSignal(UNDO_FAILED, Reason.TOOL_FAILURE, (evidence,), reaction=Reaction.ESCAPING)
