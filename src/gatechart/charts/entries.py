"""The entry points of a chart."""

from __future__ import annotations

from collections.abc import Iterator

from gatechart.charts.fields import Fields, kind_of, text_of
from gatechart.charts.forms import EntryForm, Reference
from gatechart.charts.places import Spot
from gatechart.charts.references import References


class Entries(References):
    """The reading of entry points."""

    def entry_points(self, spot: Spot | None) -> Iterator[EntryForm]:
        """A list of states, or a mapping of names to what makes an entry point."""
        if spot is None:
            return
        if spot.is_mapping:
            for name, body in spot.items():
                yield self.entry_point(body, name, spot.key(name))
            return
        for each in spot.elements():
            if not each.is_mapping:
                if text_of(each, self.faults):
                    yield EntryForm(each, each)
                continue
            state = Fields(each, self.faults, self.known["entry_point"]).needs("state", "name the state to begin in")
            if state is not None:
                yield self.entry_point(each, "", state)

    def entry_point(self, spot: Spot, name: str, state: Spot) -> EntryForm:
        """One entry point. state: where it is if it does not say."""
        if spot.value is None:
            return EntryForm(spot, state, name)
        if not spot.is_mapping:
            self.faults.add(spot, f"{kind_of(spot)} stands where keys with values belong", "write `opens_on:` and such")
            return EntryForm(spot, state, name)
        fields = Fields(spot, self.faults, self.known["entry_point"])
        takes, maps = spot.get("takes"), spot.get("maps")
        return EntryForm(
            spot=spot,
            state=spot.get("state") or state,
            name=fields.text("name", name),
            opens_on=fields.texts("opens_on"),
            takes=None if takes is None else Reference(takes, text_of(takes, self.faults)),
            maps=None if maps is None else self.maps(maps),
            guard=self.guard(spot.get("guard")),
            description=fields.text("description"),
        )
