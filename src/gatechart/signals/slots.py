"""What detectors share: how a slot begins, the calls of a turn, and how wrong numbers are refused."""

from __future__ import annotations

from typing import Any, Final

from gatechart.values import CALLED, HOLDS, PROGRESSED, Called, Look

CEASED: Final = "-"
"""First character of the slot of a detector that has not found what it looks for."""

CALLS: Final = CALLED | PROGRESSED
"""Kinds of entries that concern a detector of calls that progress resets."""


def slot_of(found: bool, memory: str) -> str:
    """Return the slot of a detector. found: whether it holds."""
    return (HOLDS if found else CEASED) + memory


def calls_in(look: Look) -> list[Called]:
    """Return the calls that a turn tells of, oldest first."""
    return [each for each in look.told if isinstance(each, Called)]


def require(detector: object, **least: tuple[Any, float]) -> None:
    """Refuse numbers of a detector that are too small. least: each number with the least that it may be.

    Raises ValueError, which names the number and what would do.
    """
    for name, (number, bound) in least.items():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not (is_number and number >= bound):
            raise ValueError(f"{type(detector).__name__}({name}={number!r}) notices nothing; pass {bound} or more")
