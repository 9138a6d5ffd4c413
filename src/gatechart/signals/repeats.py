"""Circles: the same moves, or the same calls, over and over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from gatechart.signals.periods import Period, period_at_end, recent_period
from gatechart.signals.slots import CALLS, CEASED, calls_in, require_whole, require_window, slot_of
from gatechart.values import (
    CALLED,
    HOLDS,
    MOVED,
    PROGRESSED,
    Called,
    Detector,
    Evidence,
    Look,
    Moved,
    Reason,
    TrailEntry,
    character_of,
)

_MARGIN: Final = 2
"""Moves or calls outside the circle after which it counts as left."""

_SLACK: Final = 8
"""Moves beyond the window that a slot may have, so that it is not cut with each."""

_ONE_MOVE: Final = 2  # characters of a slot with one move

_USUAL: Final = 3
"""Times that the same call must be made where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Repeats(Detector):
    """Notice that the agent repeats a block of moves: the same states by the same events with the same payloads.

    By default a block of three moves or more counts when it is seen twice in a row, a shorter one when it is seen three
    times. Where the agent is at first counts as a move, whatever led there, so that a block which begins there is found
    when it is complete. Moves after which other calls were made are others. It ceases when two moves in a row do not
    belong to the repeat, or with progress that the chart tells of.

    A call that a circuit breaker refuses until a known moment forgets the moves before it: the agent has to wait.
    """

    sees: ClassVar[int] = MOVED | CALLED | PROGRESSED
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    period: int | None = None  # moves in the block; None for any number up to half the window
    times: int | None = None  # that the block must be seen in a row
    window: int = 20  # moves that are remembered

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be found."""
        require_window(self, window=(self.window, 2))
        require_whole(self, period=(_given(self.period, 1), 1), times=(_given(self.times, 2), 2))

    def after_move(self, slot: str, move: str, place: str) -> str | None:
        """Return the slot with a move that is unlike those remembered, so that nothing repeats."""
        if len(slot) < _ONE_MOVE or slot[0] == HOLDS or move in slot or place in slot:
            return None
        if len(slot) > self.window + _SLACK:
            slot = CEASED + slot[1 - self.window :]
        return slot + move

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the characters of the last moves, each with the calls that followed it."""
        if look.is_told or any(each.is_refused_for_now for each in calls_in(look)):
            slot = ""
        last = look.move
        if look.place and len(slot) < _ONE_MOVE:
            last = look.place  # until another leads there: then it counts as one like that
        elif look.place in slot:
            slot = slot.replace(look.place, last)
        if look.kinds & CALLED and (last or len(slot) > 1):
            slot, last = (slot, last) if last else (slot[:-1], slot[-1])
            last = character_of(last + "".join(map(_asked, calls_in(look))))
        elif not last:
            return slot
        if not slot:
            return CEASED + last
        moves = (slot[1:] + last)[-self.window :]
        return slot_of(self._found(moves, slot) is not None, moves)

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the length of the block, how often it was seen, and its moves with the calls that followed them."""
        found = self._found(slot[1:], slot) or Period(1, 1)
        return {"period": found.length, "times": found.times, "block": _block(look.read_trail(), found.length)}

    def _found(self, moves: str, slot: str) -> Period | None:
        if slot.startswith(HOLDS):
            return recent_period(moves, self.period, self.times, _MARGIN)
        return period_at_end(moves, self.period, self.times)


@dataclass(frozen=True, slots=True)
class SameCall(Detector):
    """Notice that the same tool is called with the same arguments and the same outcome, or a block of such calls.

    The calls need not follow each other: they count within the window. The same tool with other arguments is another
    call, and so is one with another outcome. A block of several calls counts as one of moves does for Repeats, and if
    `n` is above 3, when it is seen so often. One that a circuit breaker refuses until a known moment does not count. It
    ceases when no call was made `n` less one times in the window, or with
    progress that the chart tells of.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    n: int = _USUAL  # times that it must be made
    window: int = 20  # calls that are remembered

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be found."""
        require_whole(self, n=(self.n, 2))
        require_window(self, window=(self.window, self.n))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the characters of the last calls."""
        if look.is_told:
            slot = ""
        for call in (each for each in calls_in(look) if not each.is_refused_for_now):
            calls = (slot[1:] + _call_of(call))[-self.window :]
            slot = slot_of(bool(self._repeated(calls, slot)), calls)
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the block of calls, and how often it was seen."""
        repeated = self._repeated(slot[1:], slot)
        made = {_call_of(each): _shown(each) for each in look.read_trail() if isinstance(each, Called)}
        block = [made[each] for each in repeated if each in made]
        return {"times": slot.count(repeated), "block": block}

    def _repeated(self, calls: str, slot: str) -> str:
        """Return the characters of the calls that are repeated; empty if none are. slot: as it was before them."""
        holds = slot.startswith(HOLDS)
        most = max(calls, key=calls.count) if holds else calls[-1]
        if calls.count(most) >= (max(self.n - 1, 2) if holds else self.n):
            return most
        times = None if self.n <= _USUAL else self.n
        found = recent_period(calls, None, times, _MARGIN if holds else 0)
        return calls[-found.length :] if found and found.length > 1 else ""


def _block(trail: tuple[TrailEntry, ...], length: int) -> list[dict[str, Any]]:
    """Return so many moves at the end of a trail, with the calls among them."""
    moves = [at for at, each in enumerate(trail) if isinstance(each, Moved)]
    entries = trail[moves[-length] :] if len(moves) >= length else trail
    return [_shown(each) for each in entries if isinstance(each, Moved | Called)]


def _given(number: int | None, usual: int) -> int:
    return usual if number is None else number


def _asked(call: Called) -> str:
    return f"{call.tool}\t{call.arguments}\t{call.ok:d}\n"


def _call_of(call: Called) -> str:
    return character_of(_asked(call) + call.outcome)


def _shown(entry: Moved | Called) -> dict[str, Any]:
    if isinstance(entry, Moved):
        return {"states": list(entry.states), "event": entry.event}
    return {"tool": entry.tool, "arguments": entry.arguments, "ok": entry.ok, "error": entry.error}
