"""What tells an agent that mail is dead which it may wait for."""

from __future__ import annotations

from datetime import datetime

from gatechart.values import ERROR_MAIL, Amend, Effect, EventName, Mail, Payload, Send, Snapshot, Status, TurnRecord


def error_mail(dead: Mail, number: int, now: datetime) -> Mail:
    """The mail that tells of dead mail, to the agent whose it is. What belonged to a state is told in that state."""
    told = _told(dead, dead.event)
    return Mail(
        number, dead.recipient, ERROR_MAIL, told, now, sender=dead.recipient, state=dead.state, epoch=dead.epoch
    )


def noted(previous: Snapshot, dead: Mail, event: EventName) -> tuple[Effect, ...]:
    """What a turn does that notes what dead mail says, without the chart. event: as the chart knows it."""
    amended = Amend(dead.number, dead)
    if previous.status is not Status.ACTIVE:
        return (amended,)
    return amended, Send(previous.agent_id, ERROR_MAIL, _told(dead, event))


def keeps(turn: TurnRecord, dead: Mail) -> bool:
    """Whether the turn keeps the mail as dead, rather than having done what it says after all."""
    return any(isinstance(each, Amend) and each.number == dead.number for each in turn.effects)


def _told(dead: Mail, event: EventName) -> Payload:
    about = {"handoff": dead.payload["handoff"]} if "handoff" in dead.payload else {}
    return {"event": event, "number": dead.number, "attempts": dead.attempts, "reason": dead.reason, **about}
