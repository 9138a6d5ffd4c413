"""What can happen to an agent now: the events that it accepts or defers, and whether guards agree."""

from __future__ import annotations

from enum import StrEnum

from gatechart.values.frozen import value
from gatechart.values.names import EventName, Payload, StateName


class Agrees(StrEnum):
    """Whether guards agree to an event."""

    YES = "yes"
    NO = "no"
    DEPENDS = "depends"  # on the payload, which was not given


@value
class PossibleTransition:
    """A transition that an event could take now, and what its guard says."""

    label: str
    targets: tuple[StateName, ...]  # none for one that stays
    agrees: Agrees
    guard: str = ""  # empty if it has none
    why_not: str = ""  # the reason that the guard gave
    raised: str = ""  # what the guard raised: type and message


@value
class AcceptedEvent:
    """An event, and the effect that it would have now. It counts as true if it would be applied.

    `deferred` says what happens if no guard agrees: the event is kept for a later state instead of being refused. With
    `agrees` DEPENDS, the event is therefore applied or deferred, as its payload decides.
    """

    event: EventName
    agrees: Agrees  # what the guards of its transitions come to
    transitions: tuple[PossibleTransition, ...] = ()  # as far as they would be asked, in that order
    why_not: str = ""  # why it would be refused or deferred, or may be
    description: str = ""  # as declared
    payload_schema: Payload | None = None  # JSON Schema of the payload; None if none is declared
    is_wildcard: bool = False  # whether the name is a pattern, such as `error.*`
    deferred: bool = False  # a state defers it unless a transition takes it; false if one surely does

    @property
    def refused(self) -> bool:
        """Whether the event would be refused: no guard agrees, and no state defers it."""
        return self.agrees is Agrees.NO and not self.deferred

    def __bool__(self) -> bool:
        return self.agrees is Agrees.YES
