"""How often something is tried, as a chart has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from gatechart.charts.fields import Fields
from gatechart.charts.places import Faults, Spot
from gatechart.values import Retry

R = TypeVar("R", bound=Retry)

_REMEDY: Final = "write `{attempts: 3, first_s: 1, factor: 2, most_s: 60}`"


def retry_of(kind: type[R], spot: Spot, faults: Faults, known: Mapping[str, str]) -> R | None:
    """What stands there as a retry of this kind, with its own values for the keys left out; None for a fault, noted.

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
    faults.add(spot, f"{retry.attempts} is no count of attempts", _REMEDY)
    return None
