"""Work that somebody outside has an agent hand on: the turn that it makes."""

from __future__ import annotations

from gatechart.restate.sitting import Sitting
from gatechart.turn import REQUESTED, Turn, requested
from gatechart.values import Event
from gatechart.wire import HandoffCall, handoff_asked


def hand_on(sitting: Sitting, call: HandoffCall) -> str:
    """The id of the handoff, which is offered with this turn. Raises as `Turn.handoff`, and EventRefusedError."""
    made: list[str] = []

    def ask(turn: Turn) -> None:
        made.append(turn.handoff(**handoff_asked(call)))

    event = Event(REQUESTED, {}, sitting.now)
    sitting.commit(requested(sitting.graph(), sitting.snapshot, event, ask, sitting.bench.services))
    return made[0]
