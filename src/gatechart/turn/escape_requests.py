"""How a turn asks the agent's home for a way out of what it noticed. `escape_turns` takes one."""

from __future__ import annotations

from gatechart.escape import failed_tools, found_first, tactic_for, with_asked
from gatechart.turn.macrostep import Macrostep
from gatechart.values import ESCAPE_DUE, FiredSignal, Send
from gatechart.values.frozen import replaced


def ask_way_out(macrostep: Macrostep, fired: FiredSignal) -> bool:
    """Have the agent ask for a way out of what a turn noticed, and return whether its plan has any strategy for it."""
    if macrostep.trail.escapes.undoing:  # it is on its way out already
        return False
    for found in found_first([fired.payload, *fired.others]):
        tools = failed_tools(found)
        if macrostep.is_final or tactic_for(macrostep.graph, macrostep.configuration, found["signal"], tools) is None:
            continue
        escapes, finding = with_asked(macrostep.trail.escapes, found["signal"])
        macrostep.trail = replaced(macrostep.trail, escapes=escapes)
        payload = {**fired.payload, **found, "finding": finding.number}
        macrostep.log.asked.append(Send(macrostep.turn.agent_id, ESCAPE_DUE, payload))
        return True
    return False
