"""What a turn asks of the outside: a closed set of frozen values, carried out once the turn is committed."""

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
    """Take the event to an agent: at once, or when it is due."""

    recipient: AgentId
    event: EventName
    payload: Payload
    id: str | None = None  # unique for the recipient
    due: datetime | None = None


@value
class Timer:
    """Take the event to the agent itself when it is due, unless its state has been left or its key cancelled by then.

    A timer has a state or a key.
    """

    event: EventName
    due: datetime
    payload: Payload
    state: StateName | None = None
    key: str | None = None


@value
class CancelTimer:
    """Drop the timer of this key."""

    key: str


@value
class StartInvoke:
    """Run a function that the state invokes."""

    state: StateName
    invoke: str  # its id


@value
class Cancel:
    """End the timers and calls that belong to a state, which was left."""

    state: StateName


@dataclass(frozen=True, slots=True)
class CancelAll:
    """End all timers and calls of the agent: it has ended, or goes back to what it was."""


@value
class ReplaceMail:
    """Let mail that waits be as it is given here from now on, or forget it."""

    number: int
    mail: Mail | None


@value
class ReplaceInvocation:
    """Let an invocation, with its steps, begin again as it is given here, or end it."""

    invocation: Invocation
    running: ActiveInvocation | None


@value
class Offer:
    """Offer a handoff to its target: now or, where it is another attempt, when it is due.

    The target is told when the deadline has passed.
    """

    handoff: HandoffRecord
    due: datetime | None = None


@value
class ChangeHandoff:
    """Bring a handoff that stands in one status into another."""

    handoff: str  # its id
    before: HandoffStatus
    after: HandoffStatus
    details: str = ""
    result: Payload | None = None


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
    | ChangeHandoff
)

KINDS: Final[tuple[type, ...]] = get_args(Effect)


def refuse_unknown(effect: Never) -> Never:
    """End a match over effects: `typing.assert_never` for type checkers, and an error that is told at run time.

    Raises UnknownEffectError.
    """
    raise UnknownEffectError(type(effect).__name__, tuple(kind.__name__ for kind in KINDS))
