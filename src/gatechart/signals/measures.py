"""What was measured, or is judged by a function of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from gatechart.signals.slots import require, require_function, require_number, require_text, require_whole, slot_of
from gatechart.values import (
    CALLED,
    HOLDS,
    MOVED,
    NOTED,
    PROGRESSED,
    REASONED,
    SAID,
    WAITED,
    Detector,
    Event,
    Evidence,
    Look,
    Noted,
    Reason,
    Said,
    TrailEntry,
)


@dataclass(frozen=True, slots=True)
class Confidence(Detector):
    """Notice that an invoke noted a low confidence, by `work.note("confidence", 0.3)`."""

    sees: ClassVar[int] = NOTED
    reason: ClassVar[Reason] = Reason.LOW_CONFIDENCE

    below: float = 0.5
    measure: str = "confidence"
    margin: float = 0.05  # above `below`, from which on it ceases

    def __post_init__(self) -> None:
        """Refuse what no number can be compared with."""
        require_number(self, below=self.below)
        require_text(self, measure=self.measure)
        require(self, margin=(self.margin, 0))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the last number."""
        for number in (each.number for each in look.told if isinstance(each, Noted) and each.measure == self.measure):
            found = number < self.below + (self.margin if slot.startswith(HOLDS) else 0)
            slot = slot_of(found, f"{number:g}")
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the measure and its number."""
        return {"measure": self.measure, "number": float(slot[1:]), "threshold": self.below}


@dataclass(frozen=True, slots=True)
class Sentiment(Detector):
    """Notice that somebody speaks badly of things.

    function: text to a number from -1 (bad) to 1, at once: what asks a model belongs into an invoke, which notes its
    number; then use Confidence with that measure.
    """

    sees: ClassVar[int] = SAID
    reason: ClassVar[Reason] = Reason.USER_ESCALATION

    function: Callable[[str], float]
    below: float = -0.5
    margin: float = 0.1  # above `below`, from which on it ceases

    def __post_init__(self) -> None:
        """Refuse what cannot be asked, or be compared with."""
        require_function(self, self.function)
        require_number(self, below=self.below)
        require(self, margin=(self.margin, 0))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the number of the last text."""
        for text in (each.text for each in look.told if isinstance(each, Said)):
            number = self.function(text)
            slot = slot_of(number < self.below + (self.margin if slot.startswith(HOLDS) else 0), f"{number:g}")
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the number."""
        return {"sentiment": float(slot[1:]), "threshold": self.below}


@dataclass(frozen=True, slots=True)
class Risk(Detector):
    """Notice that what happens is risky. function: context and event to a number, at once; asked at each turn."""

    function: Callable[[Any, Event], float]
    above: float = 0.5
    margin: float = 0.1  # below `above`, from which on it ceases

    def __post_init__(self) -> None:
        """Refuse what cannot be asked, or be compared with."""
        require_function(self, self.function)
        require_number(self, above=self.above)
        require(self, margin=(self.margin, 0))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the last number."""
        number = self.function(look.context, look.event)
        return slot_of(number > self.above - (self.margin if slot.startswith(HOLDS) else 0), f"{number:g}")

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the number."""
        return {"risk": float(slot[1:]), "threshold": self.above}


_EVERY_KIND: Final = MOVED | CALLED | SAID | REASONED | NOTED | PROGRESSED | WAITED

Found: TypeAlias = bool | Evidence
"""What a function of one's own found: whether it did, or what it found, empty for nothing."""


@dataclass(frozen=True, slots=True)
class Noticed(Detector):
    """Notice what a function of one's own finds.

    function: trail (entries, oldest first) and context to whether it found something, or to what as JSON values. It is
    pure and quick. It reads the whole trail each time, so say by `kinds` which kinds of entries it waits for.
    """

    function: Callable[[tuple[TrailEntry, ...], Any], Found]
    kinds: int = 0  # of entries, as bits, such as `CALLED`, without which it is not asked; 0 for every turn

    def __post_init__(self) -> None:
        """Refuse what cannot be asked, and kinds that there are not."""
        require_function(self, self.function)
        require_whole(self, kinds=(self.kinds, 0))
        if self.kinds & ~_EVERY_KIND:
            remedy = "pass kinds of entries joined by |, such as CALLED | SAID of gatechart.signals"
            raise ValueError(f"Noticed(kinds={self.kinds}) waits for entries that there are not; {remedy}")

    @property
    def sees(self) -> int:  # type: ignore[override]
        """Kinds of entries that concern it."""
        return self.kinds

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: whether something was found."""
        return slot_of(bool(self.function(look.read_trail(), look.context)), "")

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return what was found."""
        found = self.function(look.read_trail(), look.context)
        return found if isinstance(found, Mapping) else {}
