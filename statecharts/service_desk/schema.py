"""What a service can do, as its schema tells it: intents with the slots that they take, and the values of slots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

DONT_CARE: Final = "dontcare"  # the value of a slot of which the user leaves the choice to the service


class Kind(StrEnum):
    """What the values of a slot are about, whatever the service calls the slot."""

    DATE = "date"
    TIME = "time"
    PEOPLE = "people"
    NUMBER = "number"
    FLAG = "flag"
    PLACE = "place"
    NAME = "name"
    TEXT = "text"


_NAMED: Final[Mapping[Kind, frozenset[str]]] = MappingProxyType(
    {
        Kind.DATE: frozenset({"date", "day", "checkin", "checkout"}),
        Kind.TIME: frozenset({"time", "hour"}),
        Kind.PLACE: frozenset(
            {"city", "town", "country", "region", "state", "neighborhood", "area", "location", "place", "address"}
            | {"street", "station", "stop", "airport", "venue", "origin", "destination", "where", "from", "to"}
        ),
        Kind.NAME: frozenset({"name", "title", "restaurant", "hotel", "theater", "attraction", "event"}),
    }
)
_DESCRIBED: Final[Mapping[Kind, frozenset[str]]] = MappingProxyType(
    {
        Kind.DATE: frozenset({"date"}),
        Kind.TIME: frozenset({"time"}),
        Kind.PLACE: frozenset({"city", "town", "location", "place", "area", "address"}),
        Kind.NAME: frozenset({"name", "title"}),
    }
)
_COUNT: Final = frozenset({"number", "num", "count"})
_PEOPLE: Final = frozenset(
    {"people", "persons", "person", "guests", "guest", "adults", "attendees", "party", "group", "riders", "rider"}
    | {"travelers", "traveler", "travellers", "passengers", "passenger", "seats", "seat", "tickets", "ticket"}
)
_EXCHANGED: Final = (  # one service's address is another one's destination, and its name a title
    frozenset({Kind.PLACE, Kind.NAME}),
    frozenset({Kind.PEOPLE, Kind.NUMBER}),
)


class Brought(BaseModel):
    """The base of all that comes from outside: it is frozen, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Slot(Brought):
    """A detail that a service takes or tells."""

    kind: Kind = Kind.TEXT
    values: tuple[str, ...] = ()  # the only ones it can have; empty where it can have any
    examples: tuple[str, ...] = ()  # of those that it can have, where it can have any

    def takes(self, value: str) -> bool:
        """Whether the slot can have this value. Everything may be left to the service."""
        return value == DONT_CARE or not self.values or value in self.values


class Intent(Brought):
    """Something that a service can do for its user."""

    name: str = Field(min_length=1)
    is_transactional: bool  # it changes something: it buys, books, reserves
    required_slots: tuple[str, ...] = ()
    optional_slots: dict[str, str] = {}  # with the values that hold where the user gives none

    @property
    def slots(self) -> frozenset[str]:
        """All the slots that it takes."""
        return frozenset((*self.required_slots, *self.optional_slots))


class Service(Brought):
    """What one service can do."""

    name: str = Field(min_length=1)
    intents: dict[str, Intent]
    slots: dict[str, Slot]

    def takes(self, slot: str, value: str) -> bool:
        """Whether there is such a slot, and it can have this value."""
        return slot in self.slots and self.slots[slot].takes(value)


class Known(Brought):
    """A value that was said before, be it to another service, and what it is about."""

    slot: str
    kind: Kind
    value: str

    def means(self, slot: str, kind: Kind) -> bool:
        """Whether the slot asks for just this: it has the same name, or is about the same thing."""
        return slot == self.slot or (kind == self.kind and kind not in (Kind.TEXT, Kind.NUMBER, Kind.FLAG))

    def fits(self, slot: str, kind: Kind) -> bool:
        """Whether the slot can have it: an address is some ride's destination, and a TEXT may be anything."""
        kinds = {kind, self.kind}
        return self.means(slot, kind) or len(kinds) == 1 or Kind.TEXT in kinds or kinds in _EXCHANGED


def kind_of(name: str, description: str = "", values: Iterable[str] = ()) -> Kind:
    """Return what a slot is about, judging by its values, its name, or its description.

    >>> kind_of("check_in_date").value, kind_of("where_to").value, kind_of("group_size", values=["1", "2"]).value
    ('date', 'place', 'people')
    >>> kind_of("receiver", "Name of the contact to whom the money goes").value
    'name'
    """
    listed, named, described = frozenset(values), _words(name), _words(description)
    if listed and listed <= {"True", "False"}:
        return Kind.FLAG
    if named & _COUNT or (listed and all(value.isdecimal() for value in listed)):
        return Kind.PEOPLE if (named | described) & _PEOPLE else Kind.NUMBER
    for words, known in ((named, _NAMED), (described, _DESCRIBED)):
        for kind, of_it in known.items():
            if words & of_it:
                return kind
    return Kind.TEXT


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()))
