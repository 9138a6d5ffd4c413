"""The parts of a chart that name something: states, functions, types, or values in their place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from gatechart.charts import keys
from gatechart.charts.fields import Fields, text_of
from gatechart.charts.forms import Dialect, Exceptions, Expression, Question, Reference, Values
from gatechart.charts.places import Faults, Spot

_MOST_TARGETS: Final = 32  # of a transition; each is compared with each


class References:
    """The reading of one chart: its dialect, and where its faults go."""

    def __init__(self, faults: Faults, dialect: Dialect) -> None:
        self.faults = faults
        self.dialect = dialect
        self.known = keys.KEYS[dialect.value]

    @property
    def is_xstate(self) -> bool:
        """Whether XState's meanings hold."""
        return self.dialect is Dialect.XSTATE

    def filled(self, spot: Spot) -> Spot:
        """In XState's dialect without the keys that hold null, which JSON may have for undefined."""
        if not self.is_xstate:
            return spot
        return without(spot, [key for key, value in spot.items() if value.value is None])

    def targets(self, spot: Spot | None) -> tuple[Spot, ...]:
        """One reference to a state or a list of them."""
        if spot is None or (spot.value is None and self.is_xstate):
            return ()
        several = tuple(spot.elements())
        if len(several) > _MOST_TARGETS:
            self.faults.add(spot, f"there are more than {_MOST_TARGETS} targets", "target a state around them")
        return tuple(each for each in several[:_MOST_TARGETS] if text_of(each, self.faults))

    def reference(self, spot: Spot) -> Reference:
        """The name of a function, or its name under `type` with `params`."""
        if not spot.is_mapping:
            return Reference(spot, text_of(spot, self.faults))
        fields = Fields(spot, self.faults, self.known["reference"])
        name = fields.needs("type", "name the function")
        given = spot.get("params")
        params = None if given is None else self.params(given)
        return Reference(spot, "" if name is None else text_of(name, self.faults), params)

    def params(self, spot: Spot) -> dict[str, object]:
        """The parameters of a function, by name."""
        Fields(spot, self.faults)
        return dict(spot.plain()) if spot.is_mapping else {}

    def guard(self, spot: Spot | None) -> Question | None:
        """The name of a function, an expression under `cel`, or events under `except` with another guard."""
        if spot is None:
            return None
        if spot.get("cel") is not None:
            return Expression(spot, Fields(spot, self.faults, self.known["cel"]).text("cel"))
        if spot.get("except") is not None:
            events = Fields(spot, self.faults, self.known["except"]).texts("except")
            return Exceptions(spot, events, self.guard(spot.get("guard")))
        return self.reference(spot)

    def data(self, spot: Spot | None) -> Reference | Values | None:
        """The name of a function, or values under `value`."""
        if spot is None:
            return None
        value = spot.get("value")
        if value is not None and len(spot.value) == 1 and value.is_mapping:
            return Values(value, value.plain())
        return self.reference(spot)

    def output(self, spot: Spot | None) -> Reference | Values | None:
        """XState's word for data: the values themselves, or the name of a function."""
        if spot is None:
            return None
        return Values(spot, spot.plain()) if spot.is_mapping else self.reference(spot)

    def context(self, spot: Spot | None) -> Reference | Values | None:
        """The name of a type, or initial values."""
        if spot is None:
            return None
        return Values(spot, spot.plain()) if spot.is_mapping else Reference(spot, text_of(spot, self.faults))

    def maps(self, spot: Spot) -> Reference | Values:
        """Fields of the payload with those of the context, or the name of a function."""
        if not spot.is_mapping:
            return self.reference(spot)
        return Values(spot, {key: text_of(value, self.faults) for key, value in spot.items()})


def without(spot: Spot, keys: Collection[str]) -> Spot:
    """The spot without some keys of its mapping."""
    if not spot.is_mapping or not keys:
        return spot
    kept = {key: node for key, node in spot.value.items() if key not in keys}
    return replace(spot, node=replace(spot.node, value=kept))
