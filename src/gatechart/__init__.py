"""Agents driven by statecharts that have many doors: durable, typed, drawn."""

from gatechart.agent import Agent
from gatechart.context import AgentContext
from gatechart.graph import ANY, EntryPoint, OnRefusal, State, StateTransitionGraph, Transition
from gatechart.runtime import Runtime
from gatechart.turn import Turn
from gatechart.values import (
    Event,
    HistoryEntry,
    Outcome,
    Page,
    Refusal,
    RefusalReason,
    Snapshot,
    Status,
)

__all__ = [
    "ANY",
    "Agent",
    "AgentContext",
    "EntryPoint",
    "Event",
    "HistoryEntry",
    "OnRefusal",
    "Outcome",
    "Page",
    "Refusal",
    "RefusalReason",
    "Runtime",
    "Snapshot",
    "State",
    "StateTransitionGraph",
    "Status",
    "Transition",
    "Turn",
]
