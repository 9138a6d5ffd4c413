"""Effects of a turn: a closed set of frozen values, carried out when the turn is committed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Never, TypeAlias, get_args

from gatechart.errors import UnknownEffectError
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.mail import ActiveInvocation, Invocation, Mail
from gatechart.values.names import AgentId, EventName, Payload, StateName


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

    The target is told when the deadline passes.
    """

    handoff: HandoffRecord
    due: datetime | None = None


@value
class OfferChosen:
    """Offer a handoff to the target that was chosen for it, and keep why.

    The handoff goes from CHOOSING to PENDING. The target is told of the offer, and when the deadline passes.
    """

    handoff: HandoffRecord  # with its target, its packet and its choice
    details: str = ""  # of the choice, in words


@value
class ChangeHandoff:
    """Change a handoff from one status to another."""

    handoff: str  # handoff id
    before: HandoffStatus
    after: HandoffStatus
    details: str = ""
    result: Payload | None = None
    choice: Payload | None = None  # why nobody was chosen


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
    raise UnknownEffectError(type(effect).__name__, tuple(kind.__name__ for kind in KINDS))
