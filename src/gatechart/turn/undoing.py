"""Calls that are taken back before an agent goes back over them: into the state for that, and on from there."""

from __future__ import annotations

from typing import Any, Final

from gatechart.graph import UNDO, UNDOING
from gatechart.turn.macrostep import Macrostep
from gatechart.values import ESCAPE_DUE, EnterAt, Escapes, Finding, GoBack, Payload, Send
from gatechart.values.frozen import replaced

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


def go_on(macrostep: Macrostep) -> None:
    """Have the agent ask to go on with its way back once the calls are taken back, or one of them could not be.

    If something else led it away meanwhile, it forgets the way back.
    """
    trail, event = macrostep.trail, macrostep.turn.event
    escapes, then = trail.escapes, trail.escapes.then
    if not escapes.undoing or then is None:
        return
    after = replaced(escapes, undoing=(), then=None)
    if UNDOING in macrostep.configuration and not macrostep.is_final:
        if event.name not in (_ENDED, _FAILED):
            return
        after = _asking(after, then)
        told = {**then, "problem": _problem(event.name, event.payload)}
        macrostep.log.asked.append(Send(macrostep.turn.agent_id, ESCAPE_DUE, told))
    macrostep.trail = replaced(trail, escapes=after)


def _asking(escapes: Escapes, then: Payload) -> Escapes:
    known = escapes.finding(then["finding"])
    finding = Finding(then["finding"], then["signal"]) if known is None else known
    return escapes.with_finding(replaced(finding, is_due=True))


def _problem(name: str, payload: Payload) -> str:
    """Return why the calls could not be taken back; empty if they are."""
    told: Any = payload["message"] if name == _FAILED else payload["result"]["problem"]
    return str(told)
