"""The events that an agent accepts or defers now, and whether guards agree."""

from __future__ import annotations

from enum import StrEnum

from gatechart.values.frozen import value
from gatechart.values.names import EventName, Payload, StateName


class Agrees(StrEnum):
    """Whether guards agree to an event."""

    YES = "yes"
    NO = "no"
    DEPENDS = "depends"  # on the payload, which the caller did not pass


@value
class PossibleTransition:
    """A transition that an event could take now, and the answer of its guard."""

    label: str
    targets: tuple[StateName, ...]  # empty for a transition without targets
    agrees: Agrees
    guard: str = ""  # empty if it has none
    why_not: str = ""  # the reason that the guard gave
    raised: str = ""  # exception of the guard: type and message


@value
class AcceptedEvent:
    """An event and its effect if it were sent now. It counts as true if it would be applied.

    `deferred` says what happens if no guard agrees: the event is kept for a later state instead of being refused. With
    `agrees` DEPENDS, the event is therefore applied or deferred, as its payload decides.
    """

    event: EventName
    agrees: Agrees  # combined answer of the guards of its transitions
    transitions: tuple[PossibleTransition, ...] = ()  # the ones that would be evaluated, in order
    why_not: str = ""  # why it would or might be refused or deferred
    description: str = ""  # as declared
    payload_schema: Payload | None = None  # JSON Schema of the payload; None if none is declared
    is_wildcard: bool = False  # whether the name is a pattern, such as `error.*`
    deferred: bool = False  # a state defers it unless a transition takes it; false if one certainly does

    @property
    def refused(self) -> bool:
        """Whether the event would be refused: no guard agrees, and no state defers it."""
        return self.agrees is Agrees.NO and not self.deferred

    def __bool__(self) -> bool:
        return self.agrees is Agrees.YES
