"""How a turn asks the agent's home for a way out of what it noticed. `escape_turns` takes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gatechart.escape.attempts import Tactic, found_first, tactic_for, with_asked
from gatechart.graph.escape import EscapePlan
from gatechart.graph.graph import AnyGraph
from gatechart.turn.macrostep import Macrostep
from gatechart.values.agents import Event
from gatechart.values.effects import Send
from gatechart.values.escapes import ESCAPE_DUE
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import replaced
from gatechart.values.names import TRAIL, Payload, StateName
from gatechart.values.signal_reports import signal_report

if TYPE_CHECKING:  # a runtime without tools does without them
    from gatechart.tools.toolbox import ToolBox


def ask_way_out(macrostep: Macrostep, fired: FiredSignal) -> bool:
    """Have the agent ask for a way out of what a turn noticed, and return whether its plan has any strategy for it."""
    if macrostep.trail.escapes.undoing:  # it is on its way out already
        return False
    if not has_plans(macrostep.graph, macrostep.turn.services):
        return False
    place = _told_from(macrostep.turn.event)
    for found in found_first([fired.payload, *fired.others]):
        here = {**found, **place}
        if (
            macrostep.is_final
            or answer_to(macrostep.graph, macrostep.configuration, here, macrostep.turn.services) is None
        ):
            continue
        escapes, finding = with_asked(macrostep.trail.escapes, found["signal"])
        macrostep.trail = replaced(macrostep.trail, escapes=escapes)
        payload = {**fired.payload, **here, "finding": finding.number}
        macrostep.log.asked.append(Send(macrostep.turn.agent_id, ESCAPE_DUE, payload))
        return True
    return False


def _told_from(event: Event) -> Payload:
    """Return the state whose invoke told of a call or a step, as part of a payload; empty if none did."""
    return {"state": event.payload["state"]} if event.name.startswith(TRAIL) and "state" in event.payload else {}


def answer_to(graph: AnyGraph, leaves: Sequence[StateName], found: Payload, services: Any) -> Tactic | None:
    """Return what is tried for a signal where an agent is; None for nothing.

    found: its payload. services: those of the home, whose tools may have plans.
    """
    return tactic_for(graph, leaves, found, _own_plans(services, signal_report(found).failed_tools))


def has_plans(graph: AnyGraph, services: Any) -> bool:
    """Whether a plan of the graph, or of a tool of the home's services, says how its agents get out."""
    if graph.has_escapes:
        return True
    box = box_in(services)
    return box is not None and box.has_escapes


def _own_plans(services: Any, tools: Sequence[str]) -> Sequence[EscapePlan]:
    box = box_in(services) if tools else None
    found = (None if box is None else box.get(name) for name in tools)
    return [each.escape for each in found if each is not None and each.escape is not None]


def box_in(services: Any) -> ToolBox | None:
    """Return the tool box of a home's services; None if they have none."""
    found = services.get("tools") if isinstance(services, Mapping) else getattr(services, "tools", None)
    if found is None:
        return None
    from gatechart.tools.toolbox import ToolBox  # noqa: PLC0415  see above

    return found if isinstance(found, ToolBox) else None
