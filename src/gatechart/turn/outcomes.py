"""Report to the directory how work ended that was handed to one of its entries."""

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
    """Return the facts about work that its new owner keeps for the outcome. at: when it was accepted, in ISO form."""
    needs = None if packet.selection is None else packet.selection.needs
    named = () if needs is None else (*sorted(needs.domains)[:1], *sorted(needs.capabilities)[:1])
    return {"user": packet.user_id, "kind": (*named, packet.reason.value)[0], "at": at}


def reports(taken: OpenHandoff, status: HandoffStatus, result: Payload | None) -> tuple[Send, ...]:
    """Return the outcomes to send when work ends: to the entry that took it, and to the entries that handed it on.

    result: may have a number `cost`.
    A delegation ends while the work continues, so only the delegate gets its outcome.
    """
    ended = _ENDS.get(status)
    if ended is None or taken.work is None:
        return ()
    work, reason = taken.work, taken.reason.value
    payload = {"ended": ended.value, "user": work["user"], "kind": work["kind"], "reason": reason}
    cost = (result or {}).get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        payload["cost"] = cost
    own = _report(taken.recipient, taken.id, payload | {"source": taken.peer, "at": taken.work["at"]})
    steps = [PathStep.model_validate(step) for step in taken.path] if taken.mode is Mode.TRANSFER else []
    return (*own, *(send for sends in _earlier(steps, payload) for send in sends))


def returns(packet: HandoffPacket) -> tuple[Send, ...]:
    """Return the outcome to send if an agent accepts work that it had before: the work came back."""
    if not packet.path:  # a migration dropped it
        return ()
    *before, last = packet.path
    if packet.mode is not Mode.TRANSFER or all(step.agent != packet.target_agent for step in before):
        return ()
    payload = {"ended": Ended.CAME_BACK.value, "user": packet.user_id, "reason": packet.reason.value}
    return _report(last.recipient, last.handoff, payload | {"source": before[-1].agent})


def _earlier(steps: list[PathStep], payload: Payload) -> Iterator[tuple[Send, ...]]:
    for index, step in enumerate(steps):
        source = steps[index - 1].agent if index else ""
        yield _report(step.recipient, step.handoff, {**payload, "source": source, "handed_on": len(steps) - index})


def _report(recipient: str, handoff: str, payload: Payload) -> tuple[Send, ...]:
    if not recipient:
        return ()
    # Work that came back is reported again when it ends. The entry counts only the first outcome of a handoff.
    mail_id = f"{payload['ended']}:{handoff}"
    return (Send(f"{ENTRY_AGENT}{recipient}", OUTCOME, {"handoff": handoff, **payload}, mail_id),)
