"""Mail that tells an agent of dead mail which it may be waiting for."""

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
"""Key in the payload of dead mail about a handoff: only the chart has yet to handle it."""

_NAMES: Final = ("handoff.", "done.invoke.", "error.invoke.")  # events by which a chart learns the result of a handoff


def error_mail(dead: Mail, number: int, now: datetime) -> Mail:
    """Build the mail that tells an agent of its dead mail. If that belonged to a state, so does this."""
    whose = dead.recipient
    return Mail(number, whose, ERROR_MAIL, _told(dead), now, sender=whose, state=dead.state, epoch=dead.epoch)


def is_noted(name: EventName, payload: Payload, sender: AgentId | None) -> bool:
    """Tell whether mail reports the result of a handoff that only the chart has yet to handle."""
    return sender is not None and NOTED in payload and "handoff" in payload and name.startswith(_NAMES)


def noted(previous: Snapshot, dead: Mail, event: Event) -> tuple[Effect, ...]:
    """Return the effects that record what dead mail says, without the chart. event: the form that the chart handles.

    The mail is kept, so that a retry delivers it to the chart alone.
    """
    payload = {"handoff": dead.payload["handoff"], **event.payload, NOTED: True}
    kept = replace(dead, event=event.name, payload=payload)
    if previous.status is not Status.ACTIVE:
        return (ReplaceMail(dead.number, kept),)
    return ReplaceMail(dead.number, kept), Send(previous.agent_id, ERROR_MAIL, _told(kept))


def keeps(turn: TurnRecord, dead: Mail) -> bool:
    """Tell whether the turn keeps the mail as dead, rather than having handled it after all."""
    return any(isinstance(each, ReplaceMail) and each.number == dead.number for each in turn.effects)


def _told(dead: Mail) -> Payload:
    about = {"handoff": dead.payload["handoff"]} if is_noted(dead.event, dead.payload, dead.sender) else {}
    return {"event": dead.event, "number": dead.number, "attempts": dead.attempts, "reason": dead.reason, **about}
