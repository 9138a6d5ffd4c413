"""Entities of a packet at an entry point: collisions with the source agent's own values, and missing declarations."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from gatechart.context import LISTED
from gatechart.errors.event import PayloadError
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.graph.packet_fields import packet_fields
from gatechart.handoff.filling import collisions
from gatechart.handoff.packet import HandoffPacket
from gatechart.secrets import MASK, describes_secrets, has_secrets, hidden

_LONGEST_VALUE: Final = 60  # characters of a value in the details


def collision_details(graph: AnyGraph, entry: EntryPoint, packet: HandoffPacket) -> str:
    """Describe collisions of the packet's entities with the source agent's own values; empty if there are none.

    The text has both values of the first ten fields. It masks secrets and cuts off long values.
    """
    names = tuple(collisions(packet, packet_fields(entry, graph.context)))
    if not names:
        return ""
    listed = [_collision(graph, entry, packet, name) for name in names[:LISTED]]
    more = [f"and {len(names) - LISTED:,} more"] if len(names) > LISTED else []
    return f"the agent's own values were kept, not its entities: {'; '.join((*listed, *more))}"


def _collision(graph: AnyGraph, entry: EntryPoint, packet: HandoffPacket, name: str) -> str:
    values = packet.internal_state[name], packet.entities[name]
    is_secret = any(_is_secret(kind, name) for kind in (entry.takes, graph.context) if kind is not None)
    own, entity = (MASK, MASK) if is_secret else map(_shown, values)
    return f"{name} is {own}, not {entity}"


def _is_secret(kind: type[BaseModel], name: str) -> bool:
    """Return whether the model has a field of this name that is or holds a secret."""
    field = kind.model_fields.get(name)
    if field is None or not has_secrets(kind):
        return False
    annotation: Any = field.annotation
    return describes_secrets(TypeAdapter(annotation).core_schema)


def _shown(value: Any) -> str:
    text = json.dumps(hidden(value), ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def with_remedy(error: PayloadError, graph: AnyGraph, entry: EntryPoint, payload: BaseModel | None) -> PayloadError:
    """Add a remedy to an error about missing fields whose names a packet has as entities: to declare these entities."""
    names = _undeclared(graph, entry, payload, error) if isinstance(payload, HandoffPacket) else ()
    if not names:
        return error
    listed = ", ".join(names)
    declared = (*entry.entities, *names)
    remedy = f"the packet has {listed} as entities, which fill no field that is not declared; to let them, declare "
    how = f"entities={declared!r} on entry point {entry.name!r}"
    return replace(error, problems=(*error.problems, f"{remedy}{how}"))


def _undeclared(graph: AnyGraph, entry: EntryPoint, packet: HandoffPacket, error: PayloadError) -> tuple[str, ...]:
    """Return at most ten fields that the error reports and that an undeclared entity would fill."""
    known = {*entry.entities, *packet.internal_state}
    names = (name for name in packet_fields(entry, graph.context) if name in packet.entities and name not in known)
    return tuple(islice((name for name in names if _is_about(error, graph, entry, name)), LISTED))


def _is_about(error: PayloadError, graph: AnyGraph, entry: EntryPoint, name: str) -> bool:
    """Return whether the error reports a problem with a field. Pydantic uses the alias of the field."""
    fields = [kind.model_fields[name] for kind in (entry.takes, graph.context) if kind and name in kind.model_fields]
    labels = (name, *(field.alias for field in fields if field.alias))
    return any(problem.startswith(tuple(f"{label}: " for label in labels)) for problem in error.problems)
