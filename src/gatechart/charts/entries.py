"""What a chart says beside its states: the entry points, and the findings that are meant to be so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gatechart.charts.fields import Fields, kind_of, text_of
from gatechart.charts.forms import AllowForm, EntryForm, Reference
from gatechart.charts.handoffs import Handoffs
from gatechart.charts.places import Spot

_NEEDED_TO_ALLOW: Final = {
    "code": "name the finding's code, such as GC102",
    "place": "say where, as `gatechart check` tells it: state 'WAITING'",
    "reason": "say why it is meant to be so",
}


class Entries(Handoffs):
    """The reading of entry points and allowances."""

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

    def allowances(self, spot: Spot | None) -> Iterator[AllowForm]:
        """A list of codes with places and reasons."""
        if spot is None:
            return
        if not spot.is_list:
            self.faults.add(spot, f"{kind_of(spot)} stands where a list belongs", "write `- code: GC102` and such")
            return
        for each in spot.elements():
            fields = Fields(each, self.faults, self.known["allowance"])
            for key, remedy in _NEEDED_TO_ALLOW.items():
                fields.needs(key, remedy)
            if each.is_mapping:
                yield AllowForm(each, *(fields.text(key) for key in _NEEDED_TO_ALLOW))
