"""Values of one kind, read from their positions; another kind is a fault, and reading goes on without the value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from gatechart.charts.faults import Faults, Spot
from gatechart.errors import suggestion
from gatechart.values import Retry


class Fields:
    """The values under a mapping's keys."""

    def __init__(self, spot: Spot, faults: Faults, known: Mapping[str, str] | None = None) -> None:
        """Add a fault if the spot is not a mapping, and one for each unknown key.

        known: the keys, each with a kind from `schema`; None where any key will do.
        """
        self.spot = spot
        self.faults = faults
        if not spot.is_mapping:
            faults.add(spot, f"expected keys with values, found {kind_of(spot)}", "write `key: value`")
        for key in (key for key, _ in spot.items() if known is not None and key not in known):
            faults.add(spot.key(key), f"unknown key {key!r}", suggestion(key, tuple(known or ())))

    def text(self, key: str, default: str = "") -> str:
        """Return a text; a number counts as it was written."""
        spot = self.spot.get(key)
        return default if spot is None else text_of(spot, self.faults, may_be_empty=True)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return one text or a list of them."""
        spot = self.spot.get(key)
        return () if spot is None else tuple(text_of(each, self.faults) for each in spot.elements())

    def flag(self, key: str) -> bool:
        """Return true or false; false if it is missing."""
        spot = self.spot.get(key)
        if spot is not None and not isinstance(spot.value, bool):
            self.faults.add(spot, f"expected true or false, found {kind_of(spot)}", "write true or false")
        return spot is not None and spot.value is True

    def number(self, key: str) -> float | None:
        """Return a number as it was written; None if it is missing."""
        spot = self.spot.get(key)
        if spot is None:
            return None
        value = spot.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            self.faults.add(spot, f"expected a number, found {kind_of(spot)}", "write a number, 0 or more")
            return None
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of the choices."""
        text = self.text(key, default)
        if text not in choices:
            spot = self.spot.get(key) or self.spot
            self.faults.add(spot, f"unknown value {text!r}", suggestion(text, choices))
            return default
        return text

    def values(self, key: str) -> Iterator[Spot]:
        """Return the values of a list, or the one value in its place; nothing if it is missing."""
        spot = self.spot.get(key)
        return iter(()) if spot is None else spot.elements()

    def needs(self, key: str, remedy: str) -> Spot | None:
        """Return the value of a required key; None after a fault, which is added."""
        found = self.spot.get(key)
        if found is None and self.spot.is_mapping:
            self.faults.add(self.spot, f"{key!r} is missing", remedy)
        return found


_EMPTY: Final = "write a text"


def text_of(spot: Spot, faults: Faults, *, may_be_empty: bool = False) -> str:
    """Return a text; a number counts as it was written. Without one the result is empty, and a fault is added."""
    if spot.value == "" and not may_be_empty:
        faults.add(spot, "the text is empty", _EMPTY)
    if spot.is_mapping or spot.is_list or isinstance(spot.value, bool | None):
        faults.add(spot, f"expected a text, found {kind_of(spot)}", _EMPTY)
        return ""
    return spot.node.text


def kind_of(spot: Spot) -> str:
    """Describe what is at the position, for the text of a fault."""
    if spot.is_mapping:
        return "a mapping"
    if spot.is_list:
        return "a list"
    return "nothing" if spot.value is None else repr(spot.value)[:80]


R = TypeVar("R", bound=Retry)

_REMEDY: Final = "write `{attempts: 3, first_s: 1, factor: 2, most_s: 60}`"


def retry_of(kind: type[R], spot: Spot, faults: Faults, known: Mapping[str, str]) -> R | None:
    """Return the retry that is there, with its defaults for missing keys; None after a fault, which is added.

    known: the keys that it can have, see `Fields`.
    """
    if spot.value is None:
        return kind()
    fields = Fields(spot, faults, known)
    given: dict[str, Any] = {key: fields.number(key) for key in known if spot.get(key) is not None}
    if None in given.values():
        return None
    try:
        retry = kind(**given)
    except ValueError as error:
        faults.add(spot, str(error), _REMEDY)
        return None
    if isinstance(retry.attempts, int):
        return retry
    faults.add(spot, f"{retry.attempts} is not a number of attempts", _REMEDY)
    return None
