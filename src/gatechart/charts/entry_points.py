"""From nodes to entry points, declared events and allowances of a chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gatechart.chartfiles.faults import Fields, Spot, kind_of, text_of
from gatechart.chartfiles.model import AllowForm, EntryForm, EventTypeForm, Reference
from gatechart.chartfiles.parts import HandoffParser
from gatechart.selection.chart import read_profile

_NEEDED_TO_ALLOW: Final = {
    "code": "name the finding's code, such as GC102",
    "place": "copy the place from `gatechart check`: state 'WAITING'",
    "reason": "explain why it is intended",
}


class EntryPointParser(HandoffParser):
    """The parser of entry points, declared events and allowances."""

    def entry_points(self, spot: Spot | None) -> Iterator[EntryForm]:
        """Yield the entry points of a list of states, or of a mapping by name."""
        if spot is None:
            return
        if spot.is_mapping:
            for name, body in spot.items():
                yield self.entry_point(body, name, spot.key(name))
            return
        for element in spot.elements():
            if not element.is_mapping:
                if text_of(element, self.faults):
                    yield EntryForm(element, element)
                continue
            state = Fields(element, self.faults, self.known["entry_point"]).needs("state", "name the state to start in")
            if state is not None:
                yield self.entry_point(element, "", state)

    def entry_point(self, spot: Spot, name: str, state: Spot) -> EntryForm:
        """Return one entry point. state: its state, unless the mapping names one."""
        if spot.value is None:
            return EntryForm(spot, state, name)
        if not spot.is_mapping:
            self.faults.add(spot, f"expected keys with values, found {kind_of(spot)}", "write keys such as `opens_on:`")
            return EntryForm(spot, state, name)
        fields = Fields(spot, self.faults, self.known["entry_point"])
        takes, maps = spot.get("takes"), spot.get("maps")
        return EntryForm(
            spot=spot,
            state=spot.get("state") or state,
            name=fields.text("name", name),
            opens_on=fields.texts("opens_on"),
            entities=fields.texts("entities"),
            takes=None if takes is None else Reference(takes, text_of(takes, self.faults)),
            maps=None if maps is None else self.maps(maps),
            guard=self.guard(spot.get("guard")),
            description=fields.text("description"),
            signals=None if self.is_xstate else spot.get("signals"),
            profile=None if self.is_xstate else read_profile(spot.get("profile"), self.faults),
        )

    def event_types(self, spot: Spot | None) -> Iterator[EventTypeForm]:
        """Yield declared events: a list of names, or a mapping of names to payloads."""
        if spot is None:
            return
        if not spot.is_mapping:
            yield from (EventTypeForm(element, text_of(element, self.faults)) for element in spot.elements())
            return
        for name, body in spot.items():
            if body.value is None:
                yield EventTypeForm(spot.key(name), name)
                continue
            fields = Fields(body, self.faults, self.known["event_type"])
            takes = body.get("takes")
            schema = None if takes is None else self.context(takes)
            yield EventTypeForm(spot.key(name), name, schema, fields.text("description"))

    def allowances(self, spot: Spot | None) -> Iterator[AllowForm]:
        """Yield the allowances of a list of codes with places and reasons."""
        if spot is None:
            return
        if not spot.is_list:
            self.faults.add(spot, f"expected a list, found {kind_of(spot)}", "write items such as `- code: GC102`")
            return
        for element in spot.elements():
            fields = Fields(element, self.faults, self.known["allowance"])
            for key, remedy in _NEEDED_TO_ALLOW.items():
                fields.needs(key, remedy)
            if element.is_mapping:
                yield AllowForm(element, *(fields.text(key) for key in _NEEDED_TO_ALLOW))
