"""Detectors of circles: repeated moves, and repeated calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from gatechart.signals.periods import Period, period_at_end, recent_period
from gatechart.signals.slots import CALLS, CEASED, calls_in, require_whole, require_window, slot_of
from gatechart.values.detectors import HOLDS, Detector, Evidence, Look
from gatechart.values.handoffs import Reason
from gatechart.values.trail import CALLED, MOVED, PROGRESSED, Called, Moved, TrailEntry, character_of

_MARGIN: Final = 2
"""Moves or calls outside the circle after which the agent has left it."""

_SLACK: Final = 8
"""Moves beyond the window that a slot may contain, so that it is not trimmed at each move."""

_ONE_MOVE: Final = 2  # characters of a slot with one move

_USUAL: Final = 3
"""Default number of occurrences of the same call."""


@dataclass(frozen=True, slots=True)
class Repeats(Detector):
    """Detect a repeated block of moves: the same states, through the same events with the same payloads.

    By default a block of three moves or more must occur twice in a row, and a shorter one three times. The first state
    of the agent counts as a move, whatever led there, so that a block which starts there is detected once it is
    complete. Moves followed by different calls are different. The signal ceases when two moves in a row do not belong
    to the repeat, or with progress that the chart reports.

    A call that a circuit breaker refuses until a known moment clears the moves before it: the agent has to wait.
    """

    sees: ClassVar[int] = MOVED | CALLED | PROGRESSED
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    period: int | None = None  # moves in the block; None for any number up to half the window
    times: int | None = None  # occurrences of the block in a row; None for the default
    window: int = 20  # moves to remember

    def __post_init__(self) -> None:
        """Refuse numbers that can never match."""
        require_window(self, window=(self.window, 2))
        require_whole(self, period=(_given(self.period, 1), 1), times=(_given(self.times, 2), 2))

    def after_move(self, slot: str, move: str, place: str) -> str | None:
        """Return the slot with a move that repeats no move in it, without a full evaluation; None to use `after`."""
        if len(slot) < _ONE_MOVE or slot[0] == HOLDS or move in slot or place in slot:
            return None
        if len(slot) > self.window + _SLACK:
            slot = CEASED + slot[1 - self.window :]
        return slot + move

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the characters of the last moves, each with the calls that followed it."""
        if look.is_told or any(call.is_refused_for_now for call in calls_in(look)):
            slot = ""
        last = look.move
        if look.place and len(slot) < _ONE_MOVE:
            last = look.place  # until a later move leads there and replaces it
        elif look.place in slot:
            slot = slot.replace(look.place, last)
        if look.kinds & CALLED and (last or len(slot) > 1):
            slot, last = (slot, last) if last else (slot[:-1], slot[-1])
            last = character_of(last + "".join(map(_request_of, calls_in(look))))
        elif not last:
            return slot
        if not slot:
            return CEASED + last
        moves = (slot[1:] + last)[-self.window :]
        return slot_of(self._period(moves, slot) is not None, moves)

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the length of the block, its number of occurrences, and its moves with the calls after them."""
        period = self._period(slot[1:], slot) or Period(1, 1)
        return {"period": period.length, "times": period.times, "block": _block(look.read_trail(), period.length)}

    def _period(self, moves: str, slot: str) -> Period | None:
        if slot.startswith(HOLDS):
            return recent_period(moves, self.period, self.times, _MARGIN)
        return period_at_end(moves, self.period, self.times)


@dataclass(frozen=True, slots=True)
class SameCall(Detector):
    """Detect repeated calls of the same tool with the same arguments and the same outcome, or a block of such calls.

    The calls need not follow each other: they count within the window. Calls with different arguments or a different
    outcome are different. A block of several calls counts as a block of moves does for Repeats; if `n` is above 3, it
    must occur `n` times. A call that a circuit breaker refuses until a known moment does not count. The signal ceases
    when no call occurs `n` - 1 times in the window, or with progress that the chart reports.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    n: int = _USUAL  # occurrences
    window: int = 20  # calls to remember

    def __post_init__(self) -> None:
        """Refuse numbers that can never match."""
        require_whole(self, n=(self.n, 2))
        require_window(self, window=(self.window, self.n))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the characters of the last calls."""
        if look.is_told:
            slot = ""
        for call in (call for call in calls_in(look) if not call.is_refused_for_now):
            calls = (slot[1:] + _call_of(call))[-self.window :]
            slot = slot_of(bool(self._repeated(calls, slot)), calls)
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the block of calls, and its number of occurrences."""
        repeated = self._repeated(slot[1:], slot)
        calls = {_call_of(entry): _shown(entry) for entry in look.read_trail() if isinstance(entry, Called)}
        block = [calls[character] for character in repeated if character in calls]
        return {"times": slot.count(repeated), "block": block}

    def _repeated(self, calls: str, slot: str) -> str:
        """Return the characters of the repeated calls; empty if none are repeated. slot: the slot before the calls."""
        holds = slot.startswith(HOLDS)
        most = max(calls, key=calls.count) if holds else calls[-1]
        if calls.count(most) >= (max(self.n - 1, 2) if holds else self.n):
            return most
        times = None if self.n <= _USUAL else self.n
        period = recent_period(calls, None, times, _MARGIN if holds else 0)
        return calls[-period.length :] if period and period.length > 1 else ""


def _block(trail: tuple[TrailEntry, ...], length: int) -> list[dict[str, Any]]:
    """Return the last `length` moves of a trail, with the calls among them."""
    moves = [at for at, entry in enumerate(trail) if isinstance(entry, Moved)]
    entries = trail[moves[-length] :] if len(moves) >= length else trail
    return [_shown(entry) for entry in entries if isinstance(entry, Moved | Called)]


def _given(number: int | None, usual: int) -> int:
    return usual if number is None else number


def _request_of(call: Called) -> str:
    return f"{call.tool}\t{call.arguments}\t{call.ok:d}\n"


def _call_of(call: Called) -> str:
    return character_of(_request_of(call) + call.outcome)


def _shown(entry: Moved | Called) -> dict[str, Any]:
    if isinstance(entry, Moved):
        return {"states": list(entry.states), "event": entry.event}
    return {"tool": entry.tool, "arguments": entry.arguments, "ok": entry.ok, "error": entry.error}
