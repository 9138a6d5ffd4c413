"""What the directory is told of work that was handed to one of its entries: how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from gatechart.handoff.packet import HandoffPacket, PathStep
from gatechart.values.directory import OUTCOME, Ended
from gatechart.values.effects import Send
from gatechart.values.framework import ENTRY_AGENT
from gatechart.values.handoffs import HandoffStatus, Mode, OpenHandoff
from gatechart.values.names import Payload

_ENDS = {HandoffStatus.COMPLETED: Ended.COMPLETED, HandoffStatus.FAILED: Ended.FAILED}


def work_of(packet: HandoffPacket, at: str) -> Payload:
    """Return what whoever takes the work must remember for its outcome. at: when it was taken, in ISO form."""
    needs = None if packet.selection is None else packet.selection.needs
    named = () if needs is None else (*sorted(needs.domains)[:1], *sorted(needs.capabilities)[:1])
    return {"user": packet.user_id, "kind": (*named, packet.reason.value)[0], "at": at}


def reports(taken: OpenHandoff, status: HandoffStatus, result: Payload | None) -> tuple[Send, ...]:
    """Return the outcomes to send when work ends: to the entry that took it, and to those that handed it on before.

    result: may have a number `cost`.
    A delegate's part ends while the work goes on, so only the delegate hears of it.
    """
    ended = _ENDS.get(status)
    if ended is None or taken.work is None:
        return ()
    told = {"ended": ended.value, "user": taken.work["user"], "kind": taken.work["kind"], "reason": taken.reason.value}
    cost = (result or {}).get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        told["cost"] = cost
    own = _report(taken.recipient, taken.id, told | {"source": taken.peer, "at": taken.work["at"]})
    steps = [PathStep.model_validate(each) for each in taken.path] if taken.mode is Mode.TRANSFER else []
    return (*own, *(send for each in _earlier(steps, told) for send in each))


def returns(packet: HandoffPacket) -> tuple[Send, ...]:
    """Return the outcome to send if the work is accepted by an agent that had it before: it came back."""
    if not packet.path:  # a migration has lost it
        return ()
    *before, last = packet.path
    if packet.mode is not Mode.TRANSFER or all(step.agent != packet.target_agent for step in before):
        return ()
    told = {"ended": Ended.CAME_BACK.value, "user": packet.user_id, "reason": packet.reason.value}
    return _report(last.recipient, last.handoff, told | {"source": before[-1].agent})


def _earlier(steps: list[PathStep], told: Payload) -> Iterator[tuple[Send, ...]]:
    for place, step in enumerate(steps):
        source = steps[place - 1].agent if place else ""
        yield _report(step.recipient, step.handoff, {**told, "source": source, "handed_on": len(steps) - place})


def _report(recipient: str, handoff: str, told: Payload) -> tuple[Send, ...]:
    if not recipient:
        return ()
    # Work that came back ends once more later: the entry counts the first outcome that it hears of.
    mail_id = f"{told['ended']}:{handoff}"
    return (Send(f"{ENTRY_AGENT}{recipient}", OUTCOME, {"handoff": handoff, **told}, mail_id),)
