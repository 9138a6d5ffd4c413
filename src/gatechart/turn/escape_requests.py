"""Request an escape from the agent's home when a turn has detected a signal. `escape_turns` carries it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gatechart.escape.attempts import Tactic, loops_first, tactic_for, with_asked
from gatechart.graph.escape import EscapePlan
from gatechart.graph.graph import AnyGraph
from gatechart.turn.macrostep import Macrostep
from gatechart.values.agents import Event
from gatechart.values.effects import Send
from gatechart.values.escapes import ESCAPE_DUE
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import replaced
from gatechart.values.names import TRAIL, Payload, StateName
from gatechart.values.signal_reports import SignalReport

if TYPE_CHECKING:  # a runtime without tools need not import them
    from gatechart.tools.toolbox import ToolBox


def ask_way_out(macrostep: Macrostep, fired: FiredSignal) -> bool:
    """Have the agent request an escape for a fired signal. Return whether its plan has a strategy for it."""
    if macrostep.trail.escapes.undoing:  # the agent is escaping already
        return False
    if not has_plans(macrostep.graph, macrostep.turn.services):
        return False
    source = _invoke_state(macrostep.turn.event)
    for report, signal in loops_first({**payload, **source} for payload in (fired.payload, *fired.others)):
        if (
            macrostep.is_final
            or answer_to(macrostep.graph, macrostep.configuration, report, macrostep.turn.services) is None
        ):
            continue
        escapes, finding = with_asked(macrostep.trail.escapes, report.signal)
        macrostep.trail = replaced(macrostep.trail, escapes=escapes)
        payload = {**fired.payload, **signal, "finding": finding.number}
        macrostep.log.asked.append(Send(macrostep.turn.agent_id, ESCAPE_DUE, payload))
        return True
    return False


def _invoke_state(event: Event) -> Payload:
    """Return the state whose invoke reported a call or a step, as part of a payload; empty if none did."""
    return {"state": event.payload["state"]} if event.name.startswith(TRAIL) and "state" in event.payload else {}


def answer_to(graph: AnyGraph, leaves: Sequence[StateName], report: SignalReport, services: Any) -> Tactic | None:
    """Return the tactic for a signal in these states; None if no plan has one.

    report: the signal, as fired. services: the home's services, whose tools may have plans.
    """
    return tactic_for(graph, leaves, report, _own_plans(services, report.failed_tools))


def has_plans(graph: AnyGraph, services: Any) -> bool:
    """Return whether the graph, or a tool of the home's services, has an escape plan."""
    if graph.has_escapes:
        return True
    box = box_in(services)
    return box is not None and box.has_escapes


def _own_plans(services: Any, tools: Sequence[str]) -> Sequence[EscapePlan]:
    box = box_in(services) if tools else None
    tools_found = (None if box is None else box.get(name) for name in tools)
    return [tool.escape for tool in tools_found if tool is not None and tool.escape is not None]


def box_in(services: Any) -> ToolBox | None:
    """Return the tool box of a home's services; None if they have none."""
    found = services.get("tools") if isinstance(services, Mapping) else getattr(services, "tools", None)
    if found is None:
        return None
    from gatechart.tools.toolbox import ToolBox  # noqa: PLC0415  see above

    return found if isinstance(found, ToolBox) else None
