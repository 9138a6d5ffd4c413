"""The services of a file `services.json`, in the form of the Schema-Guided Dialogue dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from statecharts.service_desk.problems import ConversationsError, first_problem
from statecharts.service_desk.schema import Intent, Service, Slot, kind_of


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # the file holds more than is read here


class _SlotRecord(_Record):
    name: str
    description: str = ""
    is_categorical: bool
    possible_values: tuple[str, ...] = ()  # of a slot that is not categorical: examples

    def slot(self) -> Slot:
        kind = kind_of(self.name, self.description, self.possible_values)
        if self.is_categorical:
            return Slot(kind=kind, values=self.possible_values)
        return Slot(kind=kind, examples=self.possible_values)


class _IntentRecord(_Record):
    name: str
    is_transactional: bool
    required_slots: tuple[str, ...]
    optional_slots: dict[str, str] = {}

    def intent(self) -> Intent:
        return Intent.model_validate(self.model_dump())


class _ServiceRecord(_Record):
    service: str = Field(validation_alias=AliasChoices("service", "service_name"))  # here, and in the dataset
    intents: tuple[_IntentRecord, ...]
    slots: tuple[_SlotRecord, ...]

    def schema_of(self) -> Service:
        return Service(
            name=self.service,
            intents={each.name: each.intent() for each in self.intents},
            slots={each.name: each.slot() for each in self.slots},
        )


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the services can do, by their names."""

    services: Mapping[str, Service]

    def service(self, name: str) -> Service:
        """Return the service's schema. Raises ConversationsError."""
        try:
            return self.services[name]
        except KeyError:
            problem = f"unknown; known are {', '.join(self.services) or 'none'}. Name the right file of services"
            raise ConversationsError(f"service {name!r}", problem) from None

    def intent(self, service: str, name: str) -> Intent:
        """Return the intent's schema. Raises ConversationsError."""
        intents = self.service(service).intents
        try:
            return intents[name]
        except KeyError:
            problem = f"unknown intent {name!r}; this service has {', '.join(intents)}. Name the right file of services"
            raise ConversationsError(f"service {service!r}", problem) from None


def read_catalogue(path: Path) -> Catalogue:
    """Read what the services of a file can do. Raises ConversationsError."""
    try:
        records = TypeAdapter(tuple[_ServiceRecord, ...]).validate_json(path.read_bytes())
    except OSError as error:
        raise ConversationsError(str(path), f"cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise ConversationsError(str(path), first_problem(error)) from error
    return Catalogue({record.service: record.schema_of() for record in records})
