"""Event types: the events that a graph declares, with their payload schemas."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gatechart.context import describe_fields
from gatechart.errors.definition import Fault
from gatechart.graph.payload_schema import JsonSchema
from gatechart.values.framework import (
    is_framework_event,
)
from gatechart.values.frozen import fill
from gatechart.values.names import LONGEST_NAME, EventName, Name, is_reserved, name_of, unkept


@dataclass(frozen=True)
class EventType:
    """An event that agents of a graph accept, with the schema of its payload.

    takes: a pydantic model, or a JSON Schema as a mapping. Guards and actions get the payload as `event.data`: the
    model, or the JSON values. Without it any payload passes, and `event.data` is None.
    """

    name: EventName
    takes: type[BaseModel] | JsonSchema | None = None
    description: str = ""

    def __init__(
        self,
        name: Name,
        *,
        takes: type[BaseModel] | Mapping[str, Any] | JsonSchema | None = None,
        description: str = "",
    ) -> None:
        schema = _json_schema(takes) if isinstance(takes, Mapping) else takes
        fill(self, name=name_of(name), takes=schema, description=description)

    @property
    def expected(self) -> str:
        """The payload's fields in one line; empty if any payload passes."""
        if self.takes is None:
            return ""
        if isinstance(self.takes, JsonSchema):
            return str(self.takes)
        return f"{self.takes.__name__}({describe_fields(self.takes)})"

    @property
    def payload_schema(self) -> Mapping[str, Any] | None:
        """The payload's JSON Schema; None if any payload passes."""
        if self.takes is None:
            return None
        schema: Mapping[str, Any] = (
            self.takes.plain if isinstance(self.takes, JsonSchema) else self.takes.model_json_schema()
        )
        return schema

    @property
    def structure(self) -> tuple[str, str | None]:
        """The part that a graph's fingerprint covers: the name, and the model's name or the schema."""
        if isinstance(self.takes, JsonSchema):
            return self.name, self.takes.canonical
        return self.name, None if self.takes is None else self.takes.__name__


def _json_schema(schema: Mapping[str, Any]) -> Any:
    """Return the schema; the mapping itself if it is not JSON, which validation reports."""
    try:
        return JsonSchema(json.dumps(dict(schema), ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return schema


def event_faults(types: Iterable[Any], closed: object, *, is_framework: bool = False) -> Iterator[Fault]:
    """Yield the faults of declared events. is_framework: whether the graph belongs to the framework itself."""
    known: list[str] = []
    for event_type in types:
        place = f"event {getattr(event_type, 'name', event_type)!r}"
        if not isinstance(event_type, EventType) or not isinstance(event_type.name, str):
            yield Fault(place, "it is not an event type", "write a name, or EventType(name, takes=...)")
            continue
        yield from _name_faults(place, event_type.name, known, is_framework=is_framework)
        yield from _schema_faults(place, event_type.takes)
        known.append(event_type.name)
    if not isinstance(closed, bool):
        yield Fault("events_closed", f"{closed!r} is neither true nor false", "pass True or False")
    elif closed and not known:
        yield Fault("events_closed", "no event is declared, so every event would be refused", "list them with events=")


def _name_faults(place: str, name: str, known: Collection[str], *, is_framework: bool) -> Iterator[Fault]:
    problem = unkept(name, LONGEST_NAME) or ("" if name else "it is empty")
    if problem:
        yield Fault(place, f"its name: {problem}", "give it a shorter name, of characters that a text can have")
    elif is_reserved(name) and not (is_framework and is_framework_event(name)):
        yield Fault(place, "only gatechart itself sends events of this name", "drop it; its payload is known")
    elif name.split() != [name] or name.endswith((".*", ".")) or name == "*":
        yield Fault(place, "it is a pattern of names", "declare each event by its own name")
    if name in known:
        yield Fault(place, "it is declared twice", "declare it once")


def _schema_faults(place: str, takes: Any) -> Iterator[Fault]:
    if isinstance(takes, JsonSchema):
        for problem, remedy in takes.faults():
            yield Fault(place, problem, remedy)
    elif takes is not None and not (isinstance(takes, type) and issubclass(takes, BaseModel)):
        yield Fault(place, f"takes={takes!r} is not a schema", "pass a pydantic model, or a JSON Schema")
