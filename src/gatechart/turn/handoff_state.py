"""The state of an agent's handoffs after a turn: awaited, accepted, or over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gatechart.errors.event import HandoffNotAwaitedError
from gatechart.turn.handoff_offers import conclusion
from gatechart.turn.macrostep import Macrostep
from gatechart.values.effects import Effect, Offer, Send, withdrawal_of
from gatechart.values.frozen import replaced, value
from gatechart.values.handoffs import HandoffStatus, Mode, OpenHandoff, Side
from gatechart.values.names import WITHDRAWN, Payload, StateName


@value
class Standing:
    """The agent's open handoffs after a turn, and the effects on the handoffs that the turn ended."""

    handoffs: tuple[OpenHandoff, ...] = ()
    effects: tuple[Effect, ...] = ()


def standing_after(macrostep: Macrostep, replied: str = "", result: Payload | None = None) -> Standing:
    """Compute the agent's handoffs after a turn. Raises HandoffNotAwaitedError.

    replied: id of the handoff whose acceptance the turn handles. result: output of the final state that was reached.
    """
    turn, log = macrostep.turn, macrostep.log
    offers = [effect for effect in log.asked if isinstance(effect, Offer)]
    before = [handoff for handoff in turn.handoffs if handoff.id not in log.concluded]
    concluded = [effect for conclusion in log.concluded.values() for effect in conclusion]
    if macrostep.is_final:
        if offers:
            offered = offers[0].handoff
            raise HandoffNotAwaitedError(turn.agent_id, turn.event.name, offered.target_graph, macrostep.configuration)
        return Standing((), (*concluded, *endings(before, result or {}, macrostep.failed_in)))
    waits = _waits(macrostep)
    remaining = still_awaited(
        before, lambda handoff: _staying(handoff, macrostep) or (waits if handoff.id == replied else ())
    )
    kept = [
        replaced(handoff, since=turn.version) if handoff.id == replied and handoff not in before else handoff
        for handoff in remaining.handoffs
    ]
    new = [asked(offer, turn.version, *log.awaits.get(offer.handoff.id, (waits, ""))) for offer in offers]
    return Standing((*kept, *new), (*concluded, *remaining.effects))


def asked(offer: Offer, version: int, states: tuple[str, ...], invoke: str = "") -> OpenHandoff:
    """Return the source agent's record of an offer."""
    record = offer.handoff
    is_choosing = record.status is HandoffStatus.CHOOSING
    own = OpenHandoff(record.id, Side.ASKED, record.target, record.mode, version, record.request, states, invoke=invoke)
    return replaced(own, is_choosing=True) if is_choosing else own


def still_awaited(handoffs: Iterable[OpenHandoff], staying: Callable[[OpenHandoff], tuple[StateName, ...]]) -> Standing:
    """Return the handoffs to remember, and the withdrawals of handoffs that no state awaits any more.

    staying: returns the states that still wait for a handoff.
    A withdrawn transfer is remembered until its answer, because only the answer shows which agent has the work.
    """
    kept: list[OpenHandoff] = []
    withdrawn: list[Effect] = []
    for handoff in handoffs:
        states = handoff.states if handoff.side is Side.TOOK else staying(handoff)
        if handoff.states and not states:
            withdrawn.append(withdrawal(handoff))
        if states or handoff.side is Side.TOOK or handoff.mode is Mode.TRANSFER:
            kept.append(handoff if states == handoff.states else replaced(handoff, states=states))
    return Standing(tuple(kept), tuple(withdrawn))


def endings(handoffs: Iterable[OpenHandoff], result: Payload, failed_in: StateName = "") -> Iterator[Effect]:
    """Yield the effects on the handoffs of an agent that reaches a final state.

    failed_in: the final state if it is declared a failure. Its data is sent in either case.
    """
    for handoff in handoffs:
        if handoff.side is Side.ASKED:
            yield from _withdrawals(handoff)
        elif failed_in:
            yield from conclusion(handoff, HandoffStatus.FAILED, f"the agent ended in {failed_in}, a failure", result)
        elif handoff.is_new or handoff.mode is Mode.TRANSFER:
            yield from conclusion(handoff, HandoffStatus.COMPLETED, "", result)
        else:
            yield from conclusion(handoff, HandoffStatus.FAILED, "the agent ended without completing it", None)


def failures(handoffs: Iterable[OpenHandoff], details: str) -> Iterator[Effect]:
    """Yield the effects on the handoffs of an agent that is ended from outside."""
    for handoff in handoffs:
        if handoff.side is Side.ASKED:
            yield from _withdrawals(handoff)
        else:
            yield from conclusion(handoff, HandoffStatus.FAILED, details, None)


def _withdrawals(handoff: OpenHandoff) -> tuple[Send, ...]:
    """Return the withdrawal, or nothing if it was sent already."""
    return (withdrawal(handoff),) if handoff.states else ()


def withdrawal(handoff: OpenHandoff) -> Send:
    """Build the withdrawal for the target of a handoff, or for the source itself while no target is chosen."""
    return Send(handoff.peer, WITHDRAWN, withdrawal_of(handoff.id, is_choosing=handoff.is_choosing))


def _waits(macrostep: Macrostep) -> tuple[StateName, ...]:
    """Return the leaves that the turn entered; all leaves if it entered none."""
    entered = {state for plan in macrostep.plans for state in plan.entries}
    return tuple(leaf for leaf in macrostep.configuration if leaf in entered) or macrostep.configuration


def _staying(handoff: OpenHandoff, macrostep: Macrostep) -> tuple[StateName, ...]:
    """Return the waiting states that were not left."""
    exited = {state for plan in macrostep.plans for state in plan.exits}
    return tuple(state for state in handoff.states if state not in exited)


def taken_transfers(handoffs: Sequence[OpenHandoff]) -> tuple[OpenHandoff, ...]:
    """Select the transfers that an agent accepted. When its own transfer is accepted, their work moves with it."""
    return tuple(handoff for handoff in handoffs if handoff.side is Side.TOOK and handoff.mode is Mode.TRANSFER)
