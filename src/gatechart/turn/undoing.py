"""Undo calls before an agent rolls back past them: enter the state for undoing, then continue the rollback."""

from __future__ import annotations

from typing import Final

from gatechart.escape.attempts import with_asked
from gatechart.escape.scene import known_states
from gatechart.graph.escape import UNDO, UNDO_FAILED, UNDOING
from gatechart.turn.escape_requests import answer_to
from gatechart.turn.macrostep import Macrostep
from gatechart.values.agents import Event
from gatechart.values.effects import Send
from gatechart.values.escapes import ESCAPE_DUE, EnterAt, Escapes, GoBack, SignalFinding
from gatechart.values.fired_signals import FiredSignal, Reaction
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import Reason
from gatechart.values.names import Payload

_ENDED: Final = f"done.invoke.{UNDO}"
_FAILED: Final = f"error.invoke.{UNDO}"


def way_json(way: GoBack | EnterAt) -> Payload:
    """Return the route of a rollback as JSON values, to resume it once its calls are undone."""
    if isinstance(way, GoBack):
        return {"version": way.version, "keep": list(way.keep)}
    return {"entry_point": way.entry_point, "payload": way.payload, "keep": list(way.keep)}


def way_from_json(stored: Payload) -> GoBack | EnterAt:
    """Restore a route from the JSON values that `way_json` returned."""
    keep = tuple(stored["keep"])
    if "version" in stored:
        return GoBack(stored["version"], keep)
    return EnterAt(stored["entry_point"], stored["payload"], is_fresh=True, keep=keep)


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
    fired = _failure(event, then["goes_on"]["strategy"])
    if fired is not None and _has_answer(macrostep, fired, then):
        after, finding = with_asked(_skip_strategy(after, then), fired.signal)
        request = {**fired.payload, "finding": finding.number, "leaves": then["leaves"]}
    else:
        after = after.with_finding(replaced(_finding(after, then), is_due=True))
        request = {**then, "problem": "" if fired is None else fired.evidence[0]["problem"]}
    macrostep.log.asked.append(Send(macrostep.turn.agent_id, ESCAPE_DUE, request))
    macrostep.trail = replaced(trail, escapes=after)
    return noticed if fired is None else _merged(fired, noticed)


def _merged(fired: FiredSignal, noticed: FiredSignal | None) -> FiredSignal:
    """Add the other signals of the turn to a signal's `others`."""
    if noticed is None:
        return fired
    noticed_payload, others = noticed.payload, fired.others
    return replaced(fired, others=(*others, noticed_payload, *noticed_payload.pop("others")))


def _has_answer(macrostep: Macrostep, fired: FiredSignal, then: Payload) -> bool:
    """Return whether a plan has strategies for the signal, and the failed escape was for another signal."""
    leaves = known_states(macrostep.graph, then["leaves"])
    answer = answer_to(macrostep.graph, leaves, fired.payload, macrostep.turn.services)
    return answer is not None and then["signal"] != fired.signal


def _skip_strategy(escapes: Escapes, then: Payload) -> Escapes:
    """Mark the strategy as tried in the record of escapes, because its calls could not be undone."""
    finding = _finding(escapes, then)
    tried = dict.fromkeys((*finding.tried, then["goes_on"]["strategy"]))
    return escapes.with_finding(replaced(finding, tried=tuple(tried), is_due=False))


def _finding(escapes: Escapes, then: Payload) -> SignalFinding:
    known = escapes.finding(then["finding"])
    return SignalFinding(then["finding"], then["signal"]) if known is None else known


def _failure(event: Event, strategy: str) -> FiredSignal | None:
    """Return the signal for a call that could not be undone; None if all were. strategy: the one that rolls back."""
    if event.name == _FAILED:
        report = {"undone": [], "problem": event.payload["message"], "error": event.payload["type"]}
    else:
        report = dict(event.payload["result"])
    if not report["problem"]:
        return None
    evidence = {"detector": "Undo", "strategy": strategy, "failures": 1, **report}
    return FiredSignal(UNDO_FAILED, Reason.TOOL_FAILURE, (evidence,), reaction=Reaction.ESCAPING)
