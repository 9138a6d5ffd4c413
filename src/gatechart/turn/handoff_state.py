"""The state of an agent's handoffs after a turn: awaited, accepted, or over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gatechart.errors import HandoffNotAwaitedError
from gatechart.turn.handoff_offers import conclusion
from gatechart.turn.macrostep import Macrostep
from gatechart.values import (
    WITHDRAWN,
    Effect,
    HandoffStatus,
    Mode,
    Offer,
    OpenHandoff,
    Payload,
    Send,
    Side,
    StateName,
    withdrawal_of,
)
from gatechart.values.frozen import replaced, value


@value
class Standing:
    """The agent's open handoffs after a turn, and the effects on those that the turn ended."""

    handoffs: tuple[OpenHandoff, ...] = ()
    effects: tuple[Effect, ...] = ()


def standing_after(macrostep: Macrostep, replied: str = "", result: Payload | None = None) -> Standing:
    """Compute the agent's handoffs after a turn. Raises HandoffNotAwaitedError.

    replied: id of the handoff whose acceptance the turn handles. result: output of the final state that was reached.
    """
    turn, log = macrostep.turn, macrostep.log
    offers = [each for each in log.asked if isinstance(each, Offer)]
    before = [each for each in turn.handoffs if each.id not in log.concluded]
    concluded = [effect for conclusion in log.concluded.values() for effect in conclusion]
    if macrostep.is_final:
        if offers:
            offered = offers[0].handoff
            raise HandoffNotAwaitedError(turn.agent_id, turn.event.name, offered.target_graph, macrostep.configuration)
        return Standing((), (*concluded, *endings(before, result or {}, macrostep.failed_in)))
    waits = _waits(macrostep)
    still = still_awaited(before, lambda each: _staying(each, macrostep) or (waits if each.id == replied else ()))
    kept = [
        replaced(each, since=turn.version) if each.id == replied and each not in before else each
        for each in still.handoffs
    ]
    new = [asked(offer, turn.version, *log.awaits.get(offer.handoff.id, (waits, ""))) for offer in offers]
    return Standing((*kept, *new), (*concluded, *still.effects))


def asked(offer: Offer, version: int, states: tuple[str, ...], invoke: str = "") -> OpenHandoff:
    """Return the source agent's record of an offer."""
    made = offer.handoff
    is_choosing = made.status is HandoffStatus.CHOOSING
    own = OpenHandoff(made.id, Side.ASKED, made.target, made.mode, version, made.request, states, invoke=invoke)
    return replaced(own, is_choosing=True) if is_choosing else own


def still_awaited(handoffs: Iterable[OpenHandoff], staying: Callable[[OpenHandoff], tuple[StateName, ...]]) -> Standing:
    """Return the handoffs to remember, and withdrawals of unawaited ones. staying: the states that still wait for one.

    A withdrawn transfer is remembered until its answer, which alone tells who has the work.
    """
    kept: list[OpenHandoff] = []
    withdrawn: list[Effect] = []
    for each in handoffs:
        stays = each.states if each.side is Side.TOOK else staying(each)
        if each.states and not stays:
            withdrawn.append(withdrawal(each))
        if stays or each.side is Side.TOOK or each.mode is Mode.TRANSFER:
            kept.append(each if stays == each.states else replaced(each, states=stays))
    return Standing(tuple(kept), tuple(withdrawn))


def endings(handoffs: Iterable[OpenHandoff], result: Payload, failed_in: StateName = "") -> Iterator[Effect]:
    """Yield the effects on the handoffs of an agent that reaches a final state.

    failed_in: that state, if it is declared a failure. Its data is passed on all the same.
    """
    for each in handoffs:
        if each.side is Side.ASKED:
            yield from _withdrawals(each)
        elif failed_in:
            yield from conclusion(each, HandoffStatus.FAILED, f"the agent ended in {failed_in}, a failure", result)
        elif each.is_new or each.mode is Mode.TRANSFER:
            yield from conclusion(each, HandoffStatus.COMPLETED, "", result)
        else:
            yield from conclusion(each, HandoffStatus.FAILED, "the agent ended without completing it", None)


def failures(handoffs: Iterable[OpenHandoff], details: str) -> Iterator[Effect]:
    """Yield the effects on the handoffs of an agent that is ended from outside."""
    for each in handoffs:
        if each.side is Side.ASKED:
            yield from _withdrawals(each)
        else:
            yield from conclusion(each, HandoffStatus.FAILED, details, None)


def _withdrawals(each: OpenHandoff) -> tuple[Send, ...]:
    """Return the withdrawal, unless it was sent already."""
    return (withdrawal(each),) if each.states else ()


def withdrawal(each: OpenHandoff) -> Send:
    """Notify the target of a handoff, or the source itself while there is no target, that no state waits for it."""
    return Send(each.peer, WITHDRAWN, withdrawal_of(each.id, is_choosing=each.is_choosing))


def _waits(macrostep: Macrostep) -> tuple[StateName, ...]:
    """Return the leaves that the turn entered; all leaves if it entered none."""
    entered = {state for plan in macrostep.plans for state in plan.entries}
    return tuple(leaf for leaf in macrostep.configuration if leaf in entered) or macrostep.configuration


def _staying(each: OpenHandoff, macrostep: Macrostep) -> tuple[StateName, ...]:
    """Return the waiting states that were not left."""
    exited = {state for plan in macrostep.plans for state in plan.exits}
    return tuple(state for state in each.states if state not in exited)


def taken_transfers(handoffs: Sequence[OpenHandoff]) -> tuple[OpenHandoff, ...]:
    """Select the transfers that an agent accepted: their work moves on when its own transfer is accepted."""
    return tuple(each for each in handoffs if each.side is Side.TOOK and each.mode is Mode.TRANSFER)
