"""What notices something in what an agent does: detectors, and symptoms that join them.

A detector is a frozen value that remembers a short text for each agent, its slot. It is asked at the end of each turn
that concerns it, within the turn. So it is pure, quick, and asks nobody.
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
"""First character of the slot of a detector that has found what it looks for."""

EVERY_TURN: Final = 0
"""In place of kinds of entries: a detector that is asked at the end of every turn."""

WORKED: Final = 64
"""A bit beside those of kinds of entries: an invoke was under way when the turn began, or is now."""


@value
class Look:
    """What a detector is shown of a turn, or of a call in an invoke."""

    event: Event
    before: tuple[StateName, ...]  # active leaves when the turn began; empty for an agent's first turn
    after: tuple[StateName, ...]  # active leaves now
    told: Sequence[TrailEntry]  # what the turn adds to the trail, its move apart
    kinds: int  # of the entries that it adds, the move's among them, as bits; and WORKED, if that holds
    context: Any  # the agent's; detectors read it and never write
    trail: str  # the text of the trail with these entries
    move: str = ""  # one character for states, event and payload of a move; equal moves have equal ones; empty for none
    place: str = ""  # one character for the states to which a move led, however it did; empty for none
    progress: bool = False  # whether work went forward, be it that a state was entered for the first time in the window
    is_told: bool = False  # whether the chart itself said so: a state with `progress`, an action, or a measure
    was_working: bool = False  # whether an invoke was under way when the turn began
    is_working: bool = False  # whether one is under way now

    @property
    def now(self) -> datetime:
        """Time of the turn, aware, in UTC."""
        return self.event.time

    @property
    def entries(self) -> tuple[TrailEntry, ...]:
        """What the turn adds to the trail, oldest first. Read when asked for, as few detectors need the move."""
        moved = self.read_trail(MOVED, 1) if self.kinds & MOVED else ()
        return (*moved, *self.told)

    def read_trail(self, kinds: int = 0, last: int = 0) -> tuple[TrailEntry, ...]:
        """Read the trail, with the entries of the turn, oldest first.

        kinds: which ones, as bits; 0 for all. last: the newest so many of these; 0 for all.
        """
        return entries_in(self.trail, kinds, last)


Evidence: TypeAlias = Mapping[str, Any]
"""What was found, as JSON values: numbers, names, the repeated block."""


class Symptom(ABC):
    """What a signal waits for: a detector, or several joined by `&`, `|`, `~` and `AnyOf`."""

    __slots__ = ()

    @property
    @abstractmethod
    def detectors(self) -> tuple[Detector, ...]:
        """The detectors that it is made of."""

    @abstractmethod
    def holds(self, found: Callable[[Detector], bool]) -> bool:
        """Return whether it holds, given which detectors do."""

    def __and__(self, other: Symptom) -> Symptom:
        """Return a symptom that holds while both do."""
        return AnyOf(2, self, other)

    def __or__(self, other: Symptom) -> Symptom:
        """Return a symptom that holds while one of both does."""
        return AnyOf(1, self, other)

    def __invert__(self) -> Symptom:
        """Return a symptom that holds while this one does not."""
        return Inverted(self)


@dataclass(frozen=True, slots=True, init=False)
class AnyOf(Symptom):
    """A symptom that holds while at least so many of several do."""

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
        """Those of its parts."""
        return tuple(each for part in self.parts for each in part.detectors)

    def holds(self, found: Callable[[Detector], bool]) -> bool:
        """Return whether enough parts hold."""
        return sum(part.holds(found) for part in self.parts) >= self.least


@dataclass(frozen=True, slots=True)
class Inverted(Symptom):
    """A symptom that holds while another does not."""

    part: Symptom

    def __post_init__(self) -> None:
        """Refuse what is no symptom."""
        require_symptoms(self.part)

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """Those of the other."""
        return self.part.detectors

    def holds(self, found: Callable[[Detector], bool]) -> bool:
        """Return whether the other does not hold."""
        return not self.part.holds(found)


class Detector(Symptom):
    """One thing to notice. Subclasses are frozen dataclasses, equal if they notice the same, and share a slot then.

    A slot begins as an empty text. It begins with HOLDS while the detector has found what it looks for; whatever else
    it holds is the detector's own: printable text, some ten characters, 100 at most.
    """

    __slots__ = ()

    sees: ClassVar[int] = EVERY_TURN  # kinds of entries, as bits, without which a turn does not concern it
    reason: ClassVar[Reason] = Reason.OTHER  # of a handoff that answers it
    variant: ClassVar[str] = ""  # what the name of its signals says besides that of its class

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """The detector alone."""
        return (self,)

    def holds(self, found: Callable[[Detector], bool]) -> bool:
        """Return whether it has found what it looks for."""
        return found(self)

    @property
    def wakes(self) -> int:
        """Kinds of entries, as bits, without which a turn does not concern it while its slot is empty."""
        return self.sees

    @property
    def due_s(self) -> float | None:
        """Seconds of work after which it must be asked again though nothing happened; None if never."""
        return None

    def remaining_s(self, slot: str) -> float | None:  # noqa: ARG002  for subclasses that know it better
        """Return the seconds of work that are left, since the slot was written, until it must be asked again."""
        return self.due_s

    def begun(self, now: datetime) -> str:  # noqa: ARG002  for subclasses that count time
        """Return the slot of an agent that is at work, once the trail has begun anew."""
        return ""

    def of_entry_point(self, profile: Profile | None) -> Detector:  # noqa: ARG002  for subclasses that look at it
        """Return what is asked in its place of agents that began at an entry point with this profile."""
        return self

    def finds_anew(self, look: Look) -> bool:  # noqa: ARG002  for subclasses that do
        """Return whether it comes to hold anew though it held before, which it otherwise does once it has ceased."""
        return False

    def after_move(self, slot: str, move: str, place: str) -> str | None:  # noqa: ARG002  for subclasses that can tell
        """Return the slot after a turn that did no more than move the agent, if it is told without a look.

        Most turns are such, and a look costs more than all else. move, place: as of a look. None to be asked by one,
        as where something holds, or comes to.
        """
        return None

    @abstractmethod
    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn."""

    @abstractmethod
    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return what was found, as JSON values, once it holds."""


def require_symptoms(*parts: object) -> None:
    """Refuse what nothing can be noticed by. Raises TypeError, which says what would do."""
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
    yield from dict.fromkeys(each for symptom in symptoms for each in symptom.detectors)
