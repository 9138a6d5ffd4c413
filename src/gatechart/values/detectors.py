"""Detectors, which find patterns in an agent's behaviour, and symptoms, which combine detectors.

A detector is a frozen value with a short text of state per agent, its slot. It is evaluated within each relevant turn,
at the turn's end. So it is pure and fast, and does no I/O.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, TypeAlias

from gatechart.values.agents import Event
from gatechart.values.frozen import value
from gatechart.values.handoffs import Reason
from gatechart.values.names import StateName
from gatechart.values.profiles import Profile
from gatechart.values.trail import MOVED, TrailEntry, entries_in

HOLDS: Final = "+"
"""First character of a detector's slot while the detector holds."""

EVERY_TURN: Final = 0
"""In place of kinds of entries: the detector is evaluated at the end of every turn."""

WORKED: Final = 64
"""A further bit next to the kinds of entries: an invoke was running when the turn began, or is running now."""


@value
class Look:
    """A detector's view of a turn, or of a call in an invoke."""

    event: Event
    before: tuple[StateName, ...]  # active leaves when the turn began; empty for an agent's first turn
    after: tuple[StateName, ...]  # active leaves now
    told: Sequence[TrailEntry]  # entries that the turn adds to the trail, without its move
    kinds: int  # kinds of the added entries as bits, including the move's; and WORKED, if it applies
    context: Any  # the agent's context, read-only for detectors
    trail: str  # the text of the trail with these entries
    move: str = ""  # a character that equal moves (states, event and payload) share; empty if there is no move
    place: str = ""  # a character for the target states of the move, whatever its event; empty if there is no move
    progress: bool = False  # whether the turn made progress, which includes the first entry of a state in the window
    is_told: bool = False  # whether the chart declared the progress: a state with `progress`, an action, or a measure
    was_working: bool = False  # whether an invoke was running when the turn began
    is_working: bool = False  # whether one is running now

    @property
    def now(self) -> datetime:
        """Time of the turn, aware, in UTC."""
        return self.event.time

    @property
    def entries(self) -> tuple[TrailEntry, ...]:
        """Entries that the turn adds to the trail, oldest first. Reads the move on demand: few detectors need it."""
        moved = self.read_trail(MOVED, 1) if self.kinds & MOVED else ()
        return (*moved, *self.told)

    def read_trail(self, kinds: int = 0, last: int = 0) -> tuple[TrailEntry, ...]:
        """Read the trail, with the entries of the turn, oldest first.

        kinds: kinds to return, as bits; 0 for all. last: number of the newest of these to return; 0 for all.
        """
        return entries_in(self.trail, kinds, last)


Evidence: TypeAlias = Mapping[str, Any]
"""The findings of a detector as JSON values: numbers, names, the repeated block."""


class Symptom(ABC):
    """The condition of a signal: a detector, or several combined with `&`, `|`, `~` and `AnyOf`."""

    __slots__ = ()

    @property
    @abstractmethod
    def detectors(self) -> tuple[Detector, ...]:
        """The detectors that the symptom combines."""

    @abstractmethod
    def holds(self, found: Callable[[Detector], bool]) -> bool:
        """Return whether the symptom holds. found: returns whether a detector holds."""

    def __and__(self, other: Symptom) -> Symptom:
        """Return a symptom that holds while both do."""
        return AnyOf(2, self, other)

    def __or__(self, other: Symptom) -> Symptom:
        """Return a symptom that holds while at least one of them does."""
        return AnyOf(1, self, other)

    def __invert__(self) -> Symptom:
        """Return a symptom that holds while this one does not."""
        return Inverted(self)


@dataclass(frozen=True, slots=True, init=False)
class AnyOf(Symptom):
    """A symptom that holds while at least `least` of its parts hold."""

    least: int
    parts: tuple[Symptom, ...]

    def __init__(self, least: int, *parts: Symptom) -> None:
        require_symptoms(*parts)
        if isinstance(least, bool) or not isinstance(least, int) or not 1 <= least <= len(parts):
            remedy = (
                f"pass a whole number from 1 to {len(parts)}, then the symptoms" if parts else "list symptoms after it"
            )
            raise ValueError(f"AnyOf({least!r}) of {len(parts)} symptoms cannot hold; {remedy}")
        object.__setattr__(self, "least", least)
        object.__setattr__(self, "parts", parts)

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """The detectors of its parts."""
        return tuple(detector for part in self.parts for detector in part.detectors)

    def holds(self, found: Callable[[Detector], bool]) -> bool:
        """Return whether enough parts hold."""
        return sum(part.holds(found) for part in self.parts) >= self.least


@dataclass(frozen=True, slots=True)
class Inverted(Symptom):
    """A symptom that holds while another does not."""

    part: Symptom

    def __post_init__(self) -> None:
        """Refuse a part that is not a symptom."""
        require_symptoms(self.part)

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """The detectors of the other symptom."""
        return self.part.detectors

    def holds(self, found: Callable[[Detector], bool]) -> bool:
        """Return whether the other symptom does not hold."""
        return not self.part.holds(found)


class Detector(Symptom):
    """A detector of one pattern. Subclasses are frozen dataclasses; equal detectors share a slot.

    A slot is empty at first. Its first character is HOLDS while the detector holds; the rest is up to the detector:
    printable text, about ten characters, 100 at most.
    """

    __slots__ = ()

    sees: ClassVar[int] = EVERY_TURN  # a turn without entries of these kinds, as bits, is skipped
    reason: ClassVar[Reason] = Reason.OTHER  # reason of a handoff that answers its signal
    variant: ClassVar[str] = ""  # suffix of its signals' name, after the class's name

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """Only the detector itself."""
        return (self,)

    def holds(self, found: Callable[[Detector], bool]) -> bool:
        """Return whether the detector holds."""
        return found(self)

    @property
    def wakes(self) -> int:
        """Kinds of entries, as bits: while its slot is empty, a turn without them is skipped."""
        return self.sees

    @property
    def due_s(self) -> float | None:
        """Seconds of work after which it must be evaluated again without an event; None if never."""
        return None

    def remaining_s(self, slot: str) -> float | None:  # noqa: ARG002  for subclasses that know it better
        """Return the remaining seconds of work, from when the slot was written, until it must be evaluated again."""
        return self.due_s

    def begun(self, now: datetime) -> str:  # noqa: ARG002  for subclasses that count time
        """Return the slot of an agent that is at work, after its trail was cleared."""
        return ""

    def of_entry_point(self, profile: Profile | None) -> Detector:  # noqa: ARG002  for subclasses that look at it
        """Return the detector to use instead for agents that began at an entry point with this profile."""
        return self

    def finds_anew(self, look: Look) -> bool:  # noqa: ARG002  for subclasses that do
        """Return whether it holds for a new cause though it held before. By default it must stop holding in between."""
        return False

    def after_move(self, slot: str, move: str, place: str) -> str | None:  # noqa: ARG002  for subclasses that can tell
        """Return the slot after a turn that only moved the agent, if no Look is needed for it.

        Most turns only move the agent, and building a Look costs more than the rest. move, place: as in Look. None
        requests a Look, as when the detector holds or starts to hold.
        """
        return None

    @abstractmethod
    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn."""

    @abstractmethod
    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the evidence as JSON values, once the detector holds."""


def require_symptoms(*parts: object) -> None:
    """Raise TypeError, with a remedy, unless every part is a symptom with at least one detector."""
    for part in parts:
        if not isinstance(part, Symptom) or not part.detectors:
            raise TypeError(f"{part!r} is nothing to notice; {_remedy(part)}")


def _remedy(part: object) -> str:
    name = getattr(part, "__name__", "")
    if isinstance(part, type) and issubclass(part, Symptom):
        return f"write {name}(...)"
    if name and callable(part):
        return f"write {name}() if it makes detectors, or Noticed({name}) if it is to be asked in each turn"
    return "use a detector, such as Repeats(), or several joined"


def walk(symptoms: Sequence[Symptom]) -> Iterator[Detector]:
    """Yield the distinct detectors of several symptoms, in order."""
    yield from dict.fromkeys(detector for symptom in symptoms for detector in symptom.detectors)
