"""The fields that a packet fills where it enters a graph."""

from __future__ import annotations

from typing import Any

from gatechart.graph.definition import EntryPoint


def packet_fields(entry: EntryPoint, context: Any) -> tuple[str, ...]:
    """Return the names of the fields that a packet fills at an entry point: the payload's, then the context's.

    context: the type of the graph's context. A conversation has parts of its own for what every packet has, so only
    the fields that a subclass adds are among them. None are if `maps` says what becomes of a whole packet.
    """
    takes = entry.takes
    if takes is None:
        return own_fields(context)
    if getattr(takes, "fits_every_context", False):  # a packet
        return own_fields(context) if entry.maps is None else ()
    more = own_fields(context) if _is_conversation(context) else ()
    return tuple(dict.fromkeys((*takes.model_fields, *more)))


def own_fields(context: Any) -> tuple[str, ...]:
    """Return the names of the fields of a context that are no parts of a conversation."""
    parts: frozenset[str] = getattr(context, "conversation_fields", frozenset())
    return tuple(name for name in context.model_fields if name not in parts)


def _is_conversation(context: Any) -> bool:
    return hasattr(context, "conversation_fields")
