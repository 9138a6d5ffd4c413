"""Work that somebody outside has an agent hand on: the turn that it makes."""

from __future__ import annotations

from gatechart.api import HandoffCall, handoff_asked
from gatechart.restate.sitting import Sitting
from gatechart.turn import REQUESTED, Turn, requested
from gatechart.values import Event


def hand_on(sitting: Sitting, call: HandoffCall) -> str:
    """The id of the handoff, which is offered with this turn, or was when the call was made before.

    Raises as `Turn.handoff`, EventRefusedError and EventIdReusedError.
    """
    made: list[str] = []

    def ask(turn: Turn) -> None:
        made.append(turn.handoff(**handoff_asked(call)))

    event = Event(REQUESTED, {}, sitting.now, call.once)
    if call.once is not None and sitting.first_outcome(event) is not None:
        return sitting.ids[call.once].made
    sitting.commit(requested(sitting.graph(), sitting.snapshot, event, ask, sitting.bench.services))
    if call.once is not None:
        sitting.note_made(call.once, made[0])
    return made[0]
