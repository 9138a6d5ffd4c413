"""Detectors of measured numbers, and of the results of a function that the application provides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from gatechart.signals.slots import require, require_function, require_number, require_text, require_whole, slot_of
from gatechart.values.agents import Event
from gatechart.values.detectors import HOLDS, Detector, Evidence, Look
from gatechart.values.handoffs import Reason
from gatechart.values.trail import CALLED, MOVED, NOTED, PROGRESSED, REASONED, SAID, WAITED, Noted, Said, TrailEntry


@dataclass(frozen=True, slots=True)
class Confidence(Detector):
    """Detect that an invoke noted a low confidence, with `work.note("confidence", 0.3)`."""

    sees: ClassVar[int] = NOTED
    reason: ClassVar[Reason] = Reason.LOW_CONFIDENCE

    below: float = 0.5
    measure: str = "confidence"
    margin: float = 0.05  # above `below`; it ceases from there on

    def __post_init__(self) -> None:
        """Refuse bounds that are not numbers, and a measure without a name."""
        require_number(self, below=self.below)
        require_text(self, measure=self.measure)
        require(self, margin=(self.margin, 0))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the last number."""
        notes = (entry for entry in look.told if isinstance(entry, Noted) and entry.measure == self.measure)
        for number in (note.number for note in notes):
            holds = number < self.below + (self.margin if slot.startswith(HOLDS) else 0)
            slot = slot_of(holds, f"{number:g}")
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the measure and its number."""
        return {"measure": self.measure, "number": float(slot[1:]), "threshold": self.below}


@dataclass(frozen=True, slots=True)
class Sentiment(Detector):
    """Detect a message with a negative sentiment.

    function: text to a number from -1 (negative) to 1. It must return at once: a call of a model belongs in an invoke,
    which notes the number; then use Confidence with that measure.
    """

    sees: ClassVar[int] = SAID
    reason: ClassVar[Reason] = Reason.USER_ESCALATION

    function: Callable[[str], float]
    below: float = -0.5
    margin: float = 0.1  # above `below`; it ceases from there on

    def __post_init__(self) -> None:
        """Refuse a function that cannot be called in a turn, and bounds that are not numbers."""
        require_function(self, self.function)
        require_number(self, below=self.below)
        require(self, margin=(self.margin, 0))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the number of the last text."""
        for text in (entry.text for entry in look.told if isinstance(entry, Said)):
            number = self.function(text)
            slot = slot_of(number < self.below + (self.margin if slot.startswith(HOLDS) else 0), f"{number:g}")
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the number."""
        return {"sentiment": float(slot[1:]), "threshold": self.below}


@dataclass(frozen=True, slots=True)
class Risk(Detector):
    """Detect a high risk. function: context and event to a number, without delay; it is called at each turn."""

    function: Callable[[Any, Event], float]
    above: float = 0.5
    margin: float = 0.1  # below `above`; it ceases from there on

    def __post_init__(self) -> None:
        """Refuse a function that cannot be called in a turn, and bounds that are not numbers."""
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
"""Result of an application's function: whether it found something, or its evidence, empty for nothing."""


@dataclass(frozen=True, slots=True)
class Noticed(Detector):
    """Detect a condition with a function that the application provides.

    function: trail (entries, oldest first) and context to whether it found something, or to its evidence as JSON
    values. It must be pure and fast. It reads the whole trail each time, so restrict it to some entries with `kinds`.
    """

    function: Callable[[tuple[TrailEntry, ...], Any], Found]
    kinds: int = 0  # kinds of entries, as bits, such as `CALLED`: it is called only after these; 0 for every turn

    def __post_init__(self) -> None:
        """Refuse a function that cannot be called in a turn, and unknown kinds."""
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
        """Return the slot after a turn: whether the function found something."""
        return slot_of(bool(self.function(look.read_trail(), look.context)), "")

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the evidence of the function; empty if it returns a bool."""
        result = self.function(look.read_trail(), look.context)
        return result if isinstance(result, Mapping) else {}
