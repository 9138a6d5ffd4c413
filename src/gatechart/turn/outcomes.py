"""Report to the directory how work ended that was handed to one of its entries."""

from __future__ import annotations

from collections.abc import Iterator

from gatechart.handoff import HandoffPacket, PathStep
from gatechart.values import ENTRY_AGENT, OUTCOME, Ended, HandoffStatus, Mode, OpenHandoff, Payload, Send

_ENDS = {HandoffStatus.COMPLETED: Ended.COMPLETED, HandoffStatus.FAILED: Ended.FAILED}


def work_of(packet: HandoffPacket, at: str) -> Payload:
    """Return the facts that the accepting agent keeps for its report. at: when it accepted the work, in ISO form."""
    needs = None if packet.selection is None else packet.selection.needs
    named = () if needs is None else (*sorted(needs.domains)[:1], *sorted(needs.capabilities)[:1])
    return {"user": packet.user_id, "kind": (*named, packet.reason.value)[0], "at": at}


def reports(taken: OpenHandoff, status: HandoffStatus, result: Payload | None) -> tuple[Send, ...]:
    """Return the outcomes to send when work ends: to the entry that did it, and to the entries that handed it on.

    result: may have a number `cost`.
    The work of a delegate ends before the whole work does, so only the delegate's entry gets an outcome.
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
    """Return the outcome to send if the accepting agent has had the work before: the work came back."""
    if not packet.path:  # a migration has dropped it
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
    # Work that came back ends again later; the entry counts the first outcome that it receives.
    mail_id = f"{told['ended']}:{handoff}"
    return (Send(f"{ENTRY_AGENT}{recipient}", OUTCOME, {"handoff": handoff, **told}, mail_id),)
