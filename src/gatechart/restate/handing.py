"""Work that somebody outside has an agent hand on: what is asked for, as it travels, and the turn that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gatechart.errors import PayloadError
from gatechart.graph import Delay, StateTransitionGraph, seconds_of
from gatechart.graph.ladder import Ladder
from gatechart.handoff import HandoffPacket, Rung, ladder_of, rungs
from gatechart.restate.sitting import Sitting
from gatechart.turn import REQUESTED, Turn, requested
from gatechart.values import AgentId, Event, Mode, Name, Reason, name_of


def as_told(
    *,
    to: Name | StateTransitionGraph,
    at: Name,
    packet: HandoffPacket | None,
    reason: Reason | str | None,
    agent: AgentId | None,
    mode: Mode | str,
    deadline: Delay | datetime | None,
    ladder: Ladder | None,
) -> dict[str, Any]:
    """What `Runtime.handoff` is asked for, as JSON values. Raises PayloadError."""
    return {
        "to": to.name if isinstance(to, StateTransitionGraph) else name_of(to),
        "at": name_of(at),
        "packet": None if packet is None else packet.model_dump(mode="json"),
        "reason": None if reason is None else str(reason),
        "agent": agent,
        "mode": str(mode),
        "until": deadline.isoformat() if isinstance(deadline, datetime) else None,
        "within_s": None if deadline is None or isinstance(deadline, datetime) else _seconds(deadline),
        "ladder": None if ladder is None else [each.model_dump(mode="json") for each in rungs(ladder)],
    }


def hand_on(sitting: Sitting, told: Mapping[str, Any]) -> str:
    """The id of the handoff, which is offered with this turn. Raises as `Turn.handoff`, and EventRefusedError."""
    made: list[str] = []

    def ask(turn: Turn) -> None:
        made.append(
            turn.handoff(
                told["to"],
                at=told["at"],
                packet=None if told["packet"] is None else HandoffPacket.model_validate(told["packet"]),
                reason=told["reason"],
                agent=told["agent"],
                mode=told["mode"],
                deadline=datetime.fromisoformat(told["until"]) if told["until"] else told["within_s"],
                ladder=None if told["ladder"] is None else ladder_of(map(Rung.model_validate, told["ladder"])),
            )
        )

    event = Event(REQUESTED, {}, sitting.now)
    sitting.commit(requested(sitting.graph(), sitting.snapshot, event, ask, sitting.bench.services))
    return made[0]


def _seconds(deadline: Delay) -> float:
    seconds = seconds_of(deadline)
    if seconds is None:
        raise PayloadError("handoff", (f"{deadline!r} is no delay",), '"30s", "2m", a timedelta or an aware datetime')
    return seconds
