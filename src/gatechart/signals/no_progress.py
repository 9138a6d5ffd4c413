"""Detectors of an agent that makes no progress: turns and seconds of work, and too many visits to one state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final

from gatechart.signals.slots import calls_in, require_seconds, require_text, require_whole, slot_of
from gatechart.values.agents import Origin
from gatechart.values.detectors import EVERY_TURN, HOLDS, WORKED, Detector, Evidence, Look
from gatechart.values.handoffs import Reason
from gatechart.values.names import name_of
from gatechart.values.trail import MOVED, PROGRESSED, Called, Noted, Waited

_ENDS: Final = ("done.invoke.", "error.invoke.")
_WAITING: Final = -1


@dataclass(frozen=True, slots=True)
class NoProgress(Detector):
    """Detect that the agent works without progress for a number of turns or seconds.

    Only work counts: turns where an invoke ends, and seconds while an invoke runs. Events from people, timers or other
    agents are not turns of work. Seconds do not count while a call waits for the circuit breaker of its tool. Turns do
    not count if a breaker refused a call until a known moment. Both counts restart with progress: a state that the
    chart marks, the first entry to a state within the window, or a completed task. They also restart with an event
    from outside while the agent waits. The signal ceases with a restart of the counts.
    """

    reason: ClassVar[Reason] = Reason.COMPLEXITY_EXCEEDED

    turns: int | None = None
    seconds: float | None = None
    measure: str = ""  # a noted measure, or a field of the context: then only its growth is progress

    def __post_init__(self) -> None:
        """Refuse numbers that can never match."""
        if self.turns is None and self.seconds is None:
            raise ValueError("NoProgress() notices nothing; pass turns= or seconds=, or both")
        if self.turns is not None:
            require_whole(self, turns=(self.turns, 1))
        if self.seconds is not None:
            require_seconds(self, seconds=self.seconds)
        if self.measure != "":
            require_text(self, measure=self.measure)

    @property
    def wakes(self) -> int:
        """Turns of work, since only these count; with a measure every turn, as the context may have changed."""
        return EVERY_TURN if self.measure else WORKED

    @property
    def due_s(self) -> float | None:
        """Seconds of work after which it must be evaluated even without an event."""
        return self.seconds

    def remaining_s(self, slot: str) -> float | None:
        """Return the seconds of work until it must be evaluated; None if it holds, a call waits, or it has no limit."""
        standing = _Standing.read(slot)
        if self.seconds is None or slot.startswith(HOLDS) or standing.is_waiting:
            return None
        return self.seconds - standing.worked_ms / 1000

    def begun(self, now: datetime) -> str:
        """Return the slot for work that starts now."""
        return _Standing(0, 0, _ms(now), None).written(False)

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: turns, milliseconds of work, start of the work, and the measure's maximum."""
        is_work = look.was_working or look.is_working
        if not (is_work or self.measure):
            return "" if _is_progress(look) else slot
        standing = _Standing.read(slot)
        if is_work:
            standing.work(look)
        if self._made_progress(standing, look):
            standing.turns = standing.worked_ms = 0
        return standing.written(self._is_too_long(standing))

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the turns and the seconds of work without progress."""
        standing = _Standing.read(slot)
        return {"turns": standing.turns, "seconds": round(standing.worked_ms / 1000, 3)}

    def _made_progress(self, standing: _Standing, look: Look) -> bool:
        if not self.measure:
            return _is_progress(look)
        number = _measured(self.measure, look)
        if number is None or (standing.best is not None and number <= standing.best):
            return False
        standing.best = number
        return True

    def _is_too_long(self, standing: _Standing) -> bool:
        by_turns = self.turns is not None and standing.turns >= self.turns
        return by_turns or (self.seconds is not None and standing.worked_ms >= self.seconds * 1000)


@dataclass(slots=True)
class _Standing:
    """The memory of NoProgress."""

    turns: int
    worked_ms: int
    since_ms: int  # 0 while no invoke runs, _WAITING while a call of one waits for a circuit breaker
    best: float | None
    is_refused: bool = False  # whether a call was refused in the current turn of work

    @property
    def is_waiting(self) -> bool:
        return self.since_ms == _WAITING

    @classmethod
    def read(cls, slot: str) -> _Standing:
        if not slot:
            return cls(0, 0, 0, None)
        turns, worked_ms, since_ms, best, *refused = slot[1:].split(" ")
        return cls(int(turns), int(worked_ms), int(since_ms), float(best) if best else None, bool(refused))

    def written(self, holds: bool) -> str:
        if not (self.turns or self.worked_ms or self.since_ms or self.best is not None or self.is_refused):
            return ""
        best = "" if self.best is None else repr(self.best)
        return slot_of(holds, f"{self.turns} {self.worked_ms} {self.since_ms} {best}{' r' * self.is_refused}")

    def work(self, look: Look) -> None:
        now_ms = _ms(look.now)
        self.is_refused |= any(call.is_refused_for_now for call in calls_in(look))
        has_ended = look.event.name.startswith(_ENDS)
        if look.was_working:
            self.turns += has_ended and not self.is_refused
            self.worked_ms += max(now_ms - self.since_ms, 0) if self.since_ms > 0 else 0
        self.is_refused &= not has_ended
        is_waiting = _is_waiting(look, self.is_waiting and not has_ended)
        self.since_ms = 0 if not look.is_working else _WAITING if is_waiting else now_ms


def _is_waiting(look: Look, was_waiting: bool) -> bool:
    """Return whether a call waits for a circuit breaker now. The trail has an entry of the call after its end."""
    entries = [entry for entry in look.told if isinstance(entry, Called | Waited)]
    return isinstance(entries[-1], Waited) if entries else was_waiting and not look.kinds & MOVED


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class VisitsOver(Detector):
    """Detect that the agent entered a state more than `n` times. Only progress that the chart reports resets it."""

    sees: ClassVar[int] = MOVED | PROGRESSED
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    state: str  # a leaf
    n: int = 3

    def __post_init__(self) -> None:
        """Refuse a state without a name, and a number that can never match."""
        object.__setattr__(self, "state", name_of(self.state))
        require_text(self, state=self.state)
        require_whole(self, n=(self.n, 1))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the number of visits to the state."""
        if look.is_told:
            slot = ""
        if not (look.kinds & MOVED and self._is_entered(look)):
            return slot
        visits = int(slot[1:] or 0) + 1
        return slot_of(visits > self.n, str(visits))

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the state and its number of visits."""
        return {"state": self.state, "visits": int(slot[1:]), "threshold": self.n}

    def _is_entered(self, look: Look) -> bool:
        return self.state in look.after and (self.state not in look.before or look.before == look.after)


def _is_progress(look: Look) -> bool:
    if look.progress or look.is_told:
        return True
    return not look.was_working and bool(look.event.payload) and look.event.origin is Origin.OUTSIDE


def _measured(measure: str, look: Look) -> float | None:
    noted = [entry.number for entry in look.told if isinstance(entry, Noted) and entry.measure == measure]
    number = noted[-1] if noted else getattr(look.context, measure, None)
    return number if isinstance(number, int | float) else None
