"""The fields that a packet fills at an entry point of a graph, and the required fields of the payload."""

from __future__ import annotations

from typing import Any

from gatechart.graph.definition import EntryPoint


def packet_fields(entry: EntryPoint, context: Any) -> tuple[str, ...]:
    """Return the names of the fields that a packet fills at an entry point: the payload's, then the context's.

    context: the type of the graph's context. For a conversation, only fields added by a subclass count, because the
    others are parts of every packet. Empty if `maps` takes the whole packet.
    """
    takes = entry.takes
    if takes is None:
        return own_fields(context)
    if getattr(takes, "fits_every_context", False):  # a packet
        return own_fields(context) if entry.maps is None else ()
    more = own_fields(context) if _is_conversation(context) else ()
    return tuple(dict.fromkeys((*takes.model_fields, *more)))


def own_fields(context: Any) -> tuple[str, ...]:
    """Return the names of a context's fields, without the parts of a conversation."""
    parts: frozenset[str] = getattr(context, "conversation_fields", frozenset())
    return tuple(name for name in context.model_fields if name not in parts)


def required_fields(entry: EntryPoint) -> frozenset[str]:
    """Return the required fields of the entry point's payload."""
    takes = entry.takes
    if takes is None or getattr(takes, "fits_every_context", False):  # a packet
        return frozenset()
    return frozenset(name for name, field in takes.model_fields.items() if field.is_required())


def _is_conversation(context: Any) -> bool:
    return hasattr(context, "conversation_fields")
