"""One event processed to completion, SCXML's macrostep: the only place that calls guards and actions."""

from gatechart.turn.arguments import check_due, checked_id, checked_name, known_id
from gatechart.turn.macrostep import Macrostep
from gatechart.turn.payload import fit_payload, own_copy, plain_payload
from gatechart.turn.raised import ERROR_EXECUTION, message_of, told
from gatechart.turn.take import begin, beginnings, committed_context, take_turn
from gatechart.turn.tools import Turn

__all__ = [
    "ERROR_EXECUTION",
    "Macrostep",
    "Turn",
    "begin",
    "beginnings",
    "check_due",
    "checked_id",
    "checked_name",
    "committed_context",
    "fit_payload",
    "known_id",
    "message_of",
    "own_copy",
    "plain_payload",
    "take_turn",
    "told",
]
