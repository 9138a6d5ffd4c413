"""Calls that are taken back before an agent goes back over them: into the state for that, and on from there."""

from __future__ import annotations

from typing import Final

from gatechart.escape.attempts import with_asked
from gatechart.escape.scene import known_states
from gatechart.graph.escape import UNDO, UNDO_FAILED, UNDOING
from gatechart.turn.escape_requests import answer_to
from gatechart.turn.macrostep import Macrostep
from gatechart.values.agents import Event
from gatechart.values.effects import Send
from gatechart.values.escapes import ESCAPE_DUE, EnterAt, Escapes, Finding, GoBack
from gatechart.values.fired_signals import FiredSignal, Reaction
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import Reason
from gatechart.values.names import Payload

_ENDED: Final = f"done.invoke.{UNDO}"
_FAILED: Final = f"error.invoke.{UNDO}"


def told_of(way: GoBack | EnterAt) -> Payload:
    """Return a way back as JSON values, for when the calls on it are taken back."""
    if isinstance(way, GoBack):
        return {"version": way.version, "keep": list(way.keep)}
    return {"entry_point": way.entry_point, "payload": way.payload, "keep": list(way.keep)}


def way_of(told: Payload) -> GoBack | EnterAt:
    """Return the way back of what `told_of` returned."""
    keep = tuple(told["keep"])
    if "version" in told:
        return GoBack(told["version"], keep)
    return EnterAt(told["entry_point"], told["payload"], is_fresh=True, keep=keep)


def go_on(macrostep: Macrostep, noticed: FiredSignal | None) -> FiredSignal | None:
    """Have the agent ask to go on with its way back once the calls are taken back. Return what then fires.

    noticed: what fires in the turn anyway. If a call could not be taken back, that is a signal of its own: the agent
    then asks for a way out of that, if a plan names the signal, and otherwise for the next way out of what was found
    before. If something else led the agent away meanwhile, it forgets the way back.
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
        after, finding = with_asked(_passed_over(after, then), fired.signal)
        told = {**fired.payload, "finding": finding.number, "leaves": then["leaves"]}
    else:
        after = after.with_finding(replaced(_finding(after, then), is_due=True))
        told = {**then, "problem": "" if fired is None else fired.evidence[0]["problem"]}
    macrostep.log.asked.append(Send(macrostep.turn.agent_id, ESCAPE_DUE, told))
    macrostep.trail = replaced(trail, escapes=after)
    return noticed if fired is None else _together(fired, noticed)


def _together(fired: FiredSignal, noticed: FiredSignal | None) -> FiredSignal:
    """Return a signal with what else fires in the turn among its others."""
    if noticed is None:
        return fired
    also, others = noticed.payload, fired.others
    return replaced(fired, others=(*others, also, *also.pop("others")))


def _has_answer(macrostep: Macrostep, fired: FiredSignal, then: Payload) -> bool:
    """Whether a plan names the signal. A way out of that signal itself which fails the same is but passed over."""
    leaves = known_states(macrostep.graph, then["leaves"])
    answer = answer_to(macrostep.graph, leaves, fired.payload, macrostep.turn.services)
    return answer is not None and then["signal"] != fired.signal


def _passed_over(escapes: Escapes, then: Payload) -> Escapes:
    """Return the record with the strategy passed over whose calls could not be taken back."""
    finding = _finding(escapes, then)
    tried = dict.fromkeys((*finding.tried, then["goes_on"]["strategy"]))
    return escapes.with_finding(replaced(finding, tried=tuple(tried), is_due=False))


def _finding(escapes: Escapes, then: Payload) -> Finding:
    known = escapes.finding(then["finding"])
    return Finding(then["finding"], then["signal"]) if known is None else known


def _failure(event: Event, strategy: str) -> FiredSignal | None:
    """Return the signal of a call that could not be taken back; None if all are. strategy: that of the way back."""
    if event.name == _FAILED:
        told = {"undone": [], "problem": event.payload["message"], "error": event.payload["type"]}
    else:
        told = dict(event.payload["result"])
    if not told["problem"]:
        return None
    evidence = {"detector": "Undo", "strategy": strategy, "failures": 1, **told}
    return FiredSignal(UNDO_FAILED, Reason.TOOL_FAILURE, (evidence,), reaction=Reaction.ESCAPING)
