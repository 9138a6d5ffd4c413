"""The handoff of work to another agent: the packet, its lifecycle, and fallbacks. Values and pure functions."""

from gatechart.graph import Fallbacks, Human, OtherGraph, SameTarget
from gatechart.handoff.conversation import (
    SUMMARY,
    ConversationContext,
    fields_for,
    packet_of,
    with_choice,
    with_finding,
)
from gatechart.handoff.fallbacks import fallback_steps, fallbacks_of, next_offer
from gatechart.handoff.lifecycle import FINAL, LEGAL, check_change, illegal_change, is_open
from gatechart.handoff.loops import MOST_HOPS, has_achieved, loop_in
from gatechart.handoff.packet import (
    SCHEMA_VERSION,
    Attempt,
    FallbackKind,
    FallbackStep,
    HandoffPacket,
    Message,
    Metadata,
    Part,
    PathStep,
    Priority,
    ReasoningStep,
    SelectionTerms,
    ToolCall,
    packet_schema,
)
from gatechart.handoff.reading import UNREAD, PacketMigration, read_packet
from gatechart.handoff.selections import (
    awaits_choice,
    best_of,
    chosen_again,
    with_attempt,
    with_selection,
)

__all__ = [
    "FINAL",
    "LEGAL",
    "MOST_HOPS",
    "SCHEMA_VERSION",
    "SUMMARY",
    "UNREAD",
    "Attempt",
    "ConversationContext",
    "FallbackKind",
    "FallbackStep",
    "Fallbacks",
    "HandoffPacket",
    "Human",
    "Message",
    "Metadata",
    "OtherGraph",
    "PacketMigration",
    "Part",
    "PathStep",
    "Priority",
    "ReasoningStep",
    "SameTarget",
    "SelectionTerms",
    "ToolCall",
    "awaits_choice",
    "best_of",
    "check_change",
    "chosen_again",
    "fallback_steps",
    "fallbacks_of",
    "fields_for",
    "has_achieved",
    "illegal_change",
    "is_open",
    "loop_in",
    "next_offer",
    "packet_of",
    "packet_schema",
    "read_packet",
    "with_attempt",
    "with_choice",
    "with_finding",
    "with_selection",
]
