"""The handoff of work to another agent: the packet, its messages, and what fills it."""

from gatechart.handoff.conversation import ConversationContext
from gatechart.handoff.packet import (
    Attempt,
    FallbackKind,
    FallbackStep,
    HandoffPacket,
    MediaPart,
    Message,
    Metadata,
    Part,
    PathStep,
    Priority,
    ProviderMessage,
    ReasoningStep,
    SelectionTerms,
    TextPart,
    ToolCall,
    packet_schema,
)
from gatechart.handoff.reading import PacketMigration, read_packet
from gatechart.values.handoffs import HandoffStatus, Mode, Reason

__all__ = [
    "Attempt",
    "ConversationContext",
    "FallbackKind",
    "FallbackStep",
    "HandoffPacket",
    "HandoffStatus",
    "MediaPart",
    "Message",
    "Metadata",
    "Mode",
    "PacketMigration",
    "Part",
    "PathStep",
    "Priority",
    "ProviderMessage",
    "Reason",
    "ReasoningStep",
    "SelectionTerms",
    "TextPart",
    "ToolCall",
    "packet_schema",
    "read_packet",
]
