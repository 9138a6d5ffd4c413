"""Helpers for detectors: the first character of a slot, the calls of a turn, and checks of parameters."""

from __future__ import annotations

from typing import Any, Final

from gatechart.graph.callables import is_async
from gatechart.graph.signal_faults import MOST_MOVES
from gatechart.values.delays import LONGEST_S
from gatechart.values.detectors import HOLDS, Look
from gatechart.values.names import is_number
from gatechart.values.trail import CALLED, PROGRESSED, Called

CEASED: Final = "-"
"""First character of the slot of a detector that does not hold."""

_SHORTEST_S: Final = 0.001

CALLS: Final = CALLED | PROGRESSED
"""Kinds of entries for a detector of calls that progress resets."""


def slot_of(holds: bool, memory: str) -> str:
    """Return the slot of a detector. holds: whether its condition is met. memory: its data."""
    return (HOLDS if holds else CEASED) + memory


def calls_in(look: Look) -> list[Called]:
    """Return the calls that a turn reports, oldest first."""
    return [entry for entry in look.told if isinstance(entry, Called)]


def calls_through(look: Look) -> list[Called]:
    """Return the calls of a turn that no circuit breaker refused, oldest first."""
    return [call for call in calls_in(look) if not call.is_refused]


def require(detector: object, **least: tuple[Any, float]) -> None:
    """Refuse numbers of a detector that are too small. least: number and minimum, by the name of the parameter.

    Raises ValueError, which names the parameter and the minimum.
    """
    for name, (number, bound) in least.items():
        if not (is_number(number) and number >= bound):
            raise ValueError(f"{_shown(detector, name, number)} notices nothing; pass {bound} or more")


def require_whole(detector: object, **least: tuple[Any, int]) -> None:
    """Refuse counts of a detector that are too small or not whole, as `require` does for numbers."""
    for name, (number, bound) in least.items():
        if not (is_number(number) and isinstance(number, int) and number >= bound):
            remedy = f"pass a whole number of {bound} or more"
            raise ValueError(f"{_shown(detector, name, number)} notices nothing; {remedy}")


def require_window(detector: object, **least: tuple[Any, int]) -> None:
    """Refuse numbers of moves, calls or texts that a detector cannot remember."""
    require_whole(detector, **least)
    for name, (number, _) in least.items():
        if number > MOST_MOVES:
            raise ValueError(f"{_shown(detector, name, number)} is too long; pass {MOST_MOVES} at most")


def require_seconds(detector: object, **given: Any) -> None:
    """Refuse durations below a millisecond or above a hundred years."""
    for name, number in given.items():
        if not (is_number(number) and _SHORTEST_S <= number <= LONGEST_S):
            remedy = f"pass seconds, from {_SHORTEST_S} to {LONGEST_S}"
            raise ValueError(f"{_shown(detector, name, number)} notices nothing; {remedy}")


def require_number(detector: object, **given: Any) -> None:
    """Refuse values that are not numbers."""
    for name, number in given.items():
        if not is_number(number):
            raise ValueError(f"{_shown(detector, name, number)} cannot be compared with; pass a number")


def require_text(detector: object, **given: Any) -> None:
    """Refuse values that are not texts, and empty texts."""
    for name, text in given.items():
        if not (isinstance(text, str) and text):
            raise ValueError(f"{_shown(detector, name, text)} names nothing; pass a text")


def require_function(detector: object, function: Any) -> None:
    """Refuse values that cannot be called in a turn. Raises TypeError; ValueError for an async function."""
    shown = _shown(detector, "function", function)
    if not callable(function):
        raise TypeError(f"{shown} cannot be called; pass a function")
    if is_async(function):
        raise ValueError(f"{shown} is async; await it in an invoke, and hand its number in by work.note()")


def _shown(detector: object, name: str, given: Any) -> str:
    return f"{type(detector).__name__}({name}={given!r})"
