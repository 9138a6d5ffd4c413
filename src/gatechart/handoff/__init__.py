"""Handing work to another agent: the packet, its life, what to try when it is rejected. Values and pure functions."""

from gatechart.graph import Again, Ladder, Other, Person
from gatechart.handoff.conversation import SUMMARY, ConversationContext, fields_for, packet_of
from gatechart.handoff.fallbacks import ladder_of, next_offer, rungs, with_attempt
from gatechart.handoff.lifecycle import LEGAL, check_change, is_open
from gatechart.handoff.loops import MOST_HOPS, has_achieved, loop_in
from gatechart.handoff.packet import (
    SCHEMA_VERSION,
    Attempt,
    HandoffPacket,
    Message,
    Metadata,
    Part,
    PathStep,
    Priority,
    ReasoningStep,
    Rung,
    RungKind,
    ToolCall,
    packet_schema,
)
from gatechart.handoff.reading import UNREAD, PacketMigration, read_packet

__all__ = [
    "LEGAL",
    "MOST_HOPS",
    "SCHEMA_VERSION",
    "SUMMARY",
    "UNREAD",
    "Again",
    "Attempt",
    "ConversationContext",
    "HandoffPacket",
    "Ladder",
    "Message",
    "Metadata",
    "Other",
    "PacketMigration",
    "Part",
    "PathStep",
    "Person",
    "Priority",
    "ReasoningStep",
    "Rung",
    "RungKind",
    "ToolCall",
    "check_change",
    "fields_for",
    "has_achieved",
    "is_open",
    "ladder_of",
    "loop_in",
    "next_offer",
    "packet_of",
    "packet_schema",
    "read_packet",
    "rungs",
    "with_attempt",
]
