"""Effects of a turn: a closed set of frozen values, carried out when the turn is committed.

The module also builds the mail that effects send, and the form that replays compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Never, TypeAlias, get_args

from gatechart.errors.definition import UnknownEffectError
from gatechart.values.agents import Snapshot
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.mail import ActiveInvocation, Invocation, Mail
from gatechart.values.names import CHOOSING, OFFERED, WITHDRAWN, AgentId, EventName, Payload, StateName


@value
class Send:
    """Send the event to an agent, at once or when it is due."""

    recipient: AgentId
    event: EventName
    payload: Payload
    id: str | None = None  # unique per recipient
    due: datetime | None = None


@value
class Timer:
    """Send the event to the agent itself when it is due, unless its state is left or its key cancelled first.

    A timer has a state or a key.
    """

    event: EventName
    due: datetime
    payload: Payload
    state: StateName | None = None
    key: str | None = None


@value
class CancelTimer:
    """Cancel the timer with this key."""

    key: str


@value
class StartInvoke:
    """Start a function that the state invokes."""

    state: StateName
    invoke: str  # invoke id


@value
class Cancel:
    """End the timers and invokes of a state that was left."""

    state: StateName


@dataclass(frozen=True, slots=True)
class CancelAll:
    """End all timers and invokes of the agent: it has ended or is rolled back."""


@value
class ReplaceMail:
    """Replace waiting mail with this version, or delete it."""

    number: int
    mail: Mail | None


@value
class ReplaceInvocation:
    """Restart an invocation, with its steps, in this form, or end it."""

    invocation: Invocation
    running: ActiveInvocation | None


@value
class Offer:
    """Offer a handoff to its target: now, or when due if it is another attempt.

    Mail to the target withdraws the offer at the deadline.
    """

    handoff: HandoffRecord
    due: datetime | None = None
    lacks_transcripts: bool = False  # whether the home has yet to add the messages of the agent's model loops


@value
class OfferChosen:
    """Offer a handoff to the target chosen for it, and store the reason for the choice.

    The handoff goes from CHOOSING to PENDING. The target gets the offer, and mail that withdraws it at the deadline.
    """

    handoff: HandoffRecord  # with its target, packet and choice
    details: str = ""  # of the choice, in words


@value
class ChangeHandoff:
    """Change a handoff from one status to another."""

    handoff: str  # handoff id
    before: HandoffStatus
    after: HandoffStatus
    details: str = ""
    result: Payload | None = None
    choice: Payload | None = None  # why no target was chosen


Effect: TypeAlias = (
    Send
    | Timer
    | CancelTimer
    | StartInvoke
    | Cancel
    | CancelAll
    | ReplaceMail
    | ReplaceInvocation
    | Offer
    | OfferChosen
    | ChangeHandoff
)

KINDS: Final[tuple[type, ...]] = get_args(Effect)


def refuse_unknown(effect: Never) -> Never:
    """End a match over effects. Type checkers treat it as `typing.assert_never`.

    Raises UnknownEffectError, which lists the known effects.
    """
    raise UnknownEffectError(type(effect).__name__, tuple(effect_type.__name__ for effect_type in KINDS))


def mail_sent(effects: Sequence[Effect], after: Snapshot, now: datetime, number: Callable[[], int]) -> Iterator[Mail]:
    """Yield the mail that the effects of a turn send, and the timers that they set, in order.

    after: the agent after the turn. now: the time of the turn. number: returns the next number for mail.
    """
    agent_id = after.agent_id
    for effect in effects:
        match effect:
            case Send(to, event, content, mail_id, due):
                yield Mail(number(), to, event, content, now, mail_id, agent_id, due)
            case Timer(event, due, content, state, key):
                # A recurring timer belongs to an entry of the state, which may be of an earlier turn.
                epoch = 0 if state is None else dict(after.entered).get(state, after.version)
                yield Mail(number(), agent_id, event, content, now, None, agent_id, due, key, state, epoch)
            case Offer(offered, due):
                yield from _offered(offered, due, agent_id, now, number)
            case OfferChosen(offered):
                yield from _offered(offered, None, agent_id, now, number)
            case (
                ChangeHandoff()
                | StartInvoke()
                | Cancel()
                | CancelTimer()
                | CancelAll()
                | ReplaceMail()
                | ReplaceInvocation()
            ):
                pass
            case _:
                refuse_unknown(effect)


def _offered(
    offered: HandoffRecord, due: datetime | None, agent_id: AgentId, now: datetime, number: Callable[[], int]
) -> Iterator[Mail]:
    """Yield the mail that brings an offer to its target; none if the offer is already over.

    While the target is being chosen, the mail goes to the source itself.
    """
    is_choosing = offered.status is HandoffStatus.CHOOSING
    if not is_choosing and offered.status is not HandoffStatus.PENDING:
        return
    to = offered.target
    event = CHOOSING if is_choosing else f"{OFFERED}{offered.entry_point}"
    yield Mail(number(), to, event, offered.packet, now, offered.id, agent_id, due)
    if offered.deadline is not None:
        late = withdrawal_of(offered.id, is_choosing=is_choosing) | {"expired": True}
        yield Mail(number(), to, WITHDRAWN, late, now, None, agent_id, offered.deadline)


def compared(effect: Effect) -> dict[str, Any] | None:
    """Return the external request of an effect, to compare it with the request of another version of the graph.

    None for cancellations, which follow from the configuration, and for effects that no replay has: effects of
    migrations and of choices, because a replay does not choose again.
    """
    match effect:
        case Send(to, event, payload, _, due):
            return {"send": event, "to": to, "payload": payload, "due": _moment(due)}
        case Timer(event, due, payload, state, key):
            name = event if state is None else event.removesuffix(f".{state}")
            return {"timer": name, "due": _moment(due), "payload": payload, "key": key}
        case CancelTimer(key):
            return {"cancel timer": key}
        case StartInvoke(_, invoke):
            return {"invoke": invoke}
        case Offer(handoff, due):
            return {
                "offer": f"{handoff.target_graph} at {handoff.entry_point}",
                "packet": _as_asked(handoff),
                "due": _moment(due),
            }
        case ChangeHandoff(_, _, status, details, result):
            return {"handoff": status.value, "details": details, "result": result}
        case Cancel() | CancelAll() | ReplaceMail() | ReplaceInvocation() | OfferChosen():
            return None
        case _:
            refuse_unknown(effect)


def _as_asked(handoff: HandoffRecord) -> Payload:
    """Return the packet of a handoff without its generated ids: those depend on the order of generation."""
    drawn = {"handoff_id", "request", *(("target_agent",) if handoff.is_new else ())}
    return {name: content for name, content in handoff.packet.items() if name not in drawn}


def _moment(due: datetime | None) -> str | None:
    return None if due is None else due.isoformat()


def withdrawal_of(handoff: str, *, is_choosing: bool) -> dict[str, Any]:
    """Return the payload of the mail that withdraws a handoff. is_choosing: whether its target is yet to be chosen."""
    payload = {"handoff": handoff, "expired": False}
    return payload | {"choosing": True} if is_choosing else payload
