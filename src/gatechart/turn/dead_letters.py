"""What tells an agent that mail is dead which it may wait for."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from gatechart.values import (
    ERROR_MAIL,
    AgentId,
    Effect,
    Event,
    EventName,
    Mail,
    Payload,
    ReplaceMail,
    Send,
    Snapshot,
    Status,
    TurnRecord,
)

NOTED: Final = "noted"
"""In the payload of dead mail about a handoff: all is done but what the chart has to do with it."""

_NAMES: Final = ("handoff.", "done.invoke.", "error.invoke.")  # under which a chart knows what became of a handoff


def error_mail(dead: Mail, number: int, now: datetime) -> Mail:
    """The mail that tells of dead mail, to the agent whose it is. What belonged to a state is told in that state."""
    whose = dead.recipient
    return Mail(number, whose, ERROR_MAIL, _told(dead), now, sender=whose, state=dead.state, epoch=dead.epoch)


def is_noted(name: EventName, payload: Payload, sender: AgentId | None) -> bool:
    """Whether mail tells what became of a handoff, of which all is done but what the chart has to do with it."""
    return sender is not None and NOTED in payload and "handoff" in payload and name.startswith(_NAMES)


def noted(previous: Snapshot, dead: Mail, event: Event) -> tuple[Effect, ...]:
    """What a turn does that notes what dead mail says, without the chart. event: as the chart knows it.

    So it is kept, and comes to the chart alone where it is delivered once more.
    """
    payload = {"handoff": dead.payload["handoff"], **event.payload, NOTED: True}
    kept = replace(dead, event=event.name, payload=payload)
    if previous.status is not Status.ACTIVE:
        return (ReplaceMail(dead.number, kept),)
    return ReplaceMail(dead.number, kept), Send(previous.agent_id, ERROR_MAIL, _told(kept))


def keeps(turn: TurnRecord, dead: Mail) -> bool:
    """Whether the turn keeps the mail as dead, rather than having done what it says after all."""
    return any(isinstance(each, ReplaceMail) and each.number == dead.number for each in turn.effects)


def _told(dead: Mail) -> Payload:
    about = {"handoff": dead.payload["handoff"]} if is_noted(dead.event, dead.payload, dead.sender) else {}
    return {"event": dead.event, "number": dead.number, "attempts": dead.attempts, "reason": dead.reason, **about}
