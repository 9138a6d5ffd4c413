"""Request an escape from the agent's home when a turn has detected a signal. `escape_turns` carries it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gatechart.escape import Tactic, failed_tools, found_first, tactic_for, with_asked
from gatechart.graph import AnyGraph, EscapePlan
from gatechart.turn.macrostep import Macrostep
from gatechart.values import ESCAPE_DUE, TRAIL, Event, FiredSignal, Payload, Send, StateName
from gatechart.values.frozen import replaced

if TYPE_CHECKING:  # a runtime without tools does without them
    from gatechart.tools import ToolBox


def ask_way_out(macrostep: Macrostep, fired: FiredSignal) -> bool:
    """Have the agent request an escape for a fired signal. Return whether its plan has a strategy for it."""
    if macrostep.trail.escapes.undoing:  # an escape is already in progress
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
    """Return the state whose invoke reported a call or a step, as part of a payload; empty if no invoke did."""
    return {"state": event.payload["state"]} if event.name.startswith(TRAIL) and "state" in event.payload else {}


def answer_to(graph: AnyGraph, leaves: Sequence[StateName], found: Payload, services: Any) -> Tactic | None:
    """Return the tactic for a signal in the agent's current states; None if no plan has one.

    found: the payload of the signal. services: the services of the home, whose tools may have plans.
    """
    return tactic_for(graph, leaves, found, _own_plans(services, failed_tools(found)))


def has_plans(graph: AnyGraph, services: Any) -> bool:
    """Return whether the graph, or a tool in the home's services, has an escape plan."""
    if graph.has_escapes:
        return True
    box = box_in(services)
    return box is not None and box.has_escapes


def _own_plans(services: Any, tools: Sequence[str]) -> Sequence[EscapePlan]:
    box = box_in(services) if tools else None
    known = (None if box is None else box.get(name) for name in tools)
    return [tool.escape for tool in known if tool is not None and tool.escape is not None]


def box_in(services: Any) -> ToolBox | None:
    """Return the tool box of a home's services; None if they have none."""
    tools = services.get("tools") if isinstance(services, Mapping) else getattr(services, "tools", None)
    if tools is None:
        return None
    from gatechart.tools import ToolBox  # noqa: PLC0415  see above

    return tools if isinstance(tools, ToolBox) else None
