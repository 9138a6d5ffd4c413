"""What the shop's charts ask: of a question what it is about, of a talk what was tried."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from gatechart import Event, HandoffPacket
from gatechart.signals import Said, TrailEntry
from statecharts.online_shop.context import ShopContext

FROM_THE_WORKSHOP: Final = "order from the workshop"
"""The action that the reasoning trace names."""

REFUNDS: Final = frozenset({"refund", "refunds", "money"})
SPECIAL: Final = frozenset({"engraved", "custom", "special"})
ORDERS: Final = frozenset({"order", "parcel", "delivery", "status"})
HOURS: Final = frozenset({"open", "hours"})


def asks_about_refund(_context: ShopContext, event: Event) -> bool:
    """Whether it is about money that comes back."""
    return _is_about(REFUNDS, event)


def asks_for_special(_context: ShopContext, event: Event) -> bool:
    """Whether the customer wants something made as they wish."""
    return _is_about(SPECIAL, event)


def asks_about_order(_context: ShopContext, event: Event) -> bool:
    """Whether it is about what was ordered."""
    return _is_about(ORDERS, event)


def is_for_orders(_context: ShopContext, event: Event) -> bool:
    """Whether it is about what was ordered or is to be ordered."""
    return _is_about(ORDERS | SPECIAL, event)


def asks_about_hours(_context: ShopContext, event: Event) -> bool:
    """Whether it is about when the shop is open."""
    return _is_about(HOURS, event)


def is_beyond_orders(trail: Sequence[TrailEntry], _context: ShopContext) -> bool:
    """Whether the customer said something last that agents for orders and refunds know nothing about."""
    return _is_beyond(REFUNDS | SPECIAL | ORDERS, trail)


def is_beyond_enquiries(trail: Sequence[TrailEntry], _context: ShopContext) -> bool:
    """Whether the customer said something last of which even general enquiries know nothing."""
    return _is_beyond(REFUNDS | SPECIAL | ORDERS | HOURS, trail)


def has_tried_workshop(context: ShopContext, _event: Event) -> bool:
    """Whether the workshop was asked before, by this agent or by one that had the talk before it."""
    return context.tried(FROM_THE_WORKSHOP)


def handles_orders(packet: HandoffPacket) -> bool | str:
    """Whether it is about orders, or comes back to who had it; else why agents for orders do not take it."""
    is_about_orders = bool(_words(packet.current_problem) & (ORDERS | SPECIAL))
    return is_about_orders or not packet.is_new or f"it is not about an order: {packet.current_problem}"


def _is_beyond(known: frozenset[str], trail: Sequence[TrailEntry]) -> bool:
    said = [each.text for each in trail if isinstance(each, Said)]
    return bool(said) and not _words(said[-1]) & known


def _is_about(words: frozenset[str], event: Event) -> bool:
    return bool(words & _words(str(event.payload.get("text", ""))))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))
