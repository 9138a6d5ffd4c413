"""Agents driven by statecharts that have many doors: durable, typed, drawn."""

from gatechart.agent import Agent
from gatechart.context import AgentContext
from gatechart.graph import ANY, EntryPoint, Invoke, Migration, OnRefusal, State, StateTransitionGraph, Transition
from gatechart.runtime import Limits, Runtime, Subscription, WhenFull, Work
from gatechart.turn import Turn
from gatechart.values import (
    Event,
    Fate,
    Forgotten,
    HistoryEntry,
    Mail,
    MailStatus,
    Migrated,
    Outcome,
    Page,
    Receipt,
    Refusal,
    RefusalReason,
    Retry,
    Snapshot,
    Status,
    Stored,
)

__all__ = [
    "ANY",
    "Agent",
    "AgentContext",
    "EntryPoint",
    "Event",
    "Fate",
    "Forgotten",
    "HistoryEntry",
    "Invoke",
    "Limits",
    "Mail",
    "MailStatus",
    "Migrated",
    "Migration",
    "OnRefusal",
    "Outcome",
    "Page",
    "Receipt",
    "Refusal",
    "RefusalReason",
    "Retry",
    "Runtime",
    "Snapshot",
    "State",
    "StateTransitionGraph",
    "Status",
    "Stored",
    "Subscription",
    "Transition",
    "Turn",
    "WhenFull",
    "Work",
]
