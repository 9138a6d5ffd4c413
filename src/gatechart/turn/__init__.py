"""One event processed to completion, SCXML's macrostep: the only place that calls guards and actions."""

from gatechart.turn.macrostep import Macrostep
from gatechart.turn.payload import fit_payload, own_copy, plain_payload
from gatechart.turn.raised import ERROR_EXECUTION
from gatechart.turn.take import begin, committed_context, take_turn
from gatechart.turn.tools import Turn

__all__ = [
    "ERROR_EXECUTION",
    "Macrostep",
    "Turn",
    "begin",
    "committed_context",
    "fit_payload",
    "own_copy",
    "plain_payload",
    "take_turn",
]
