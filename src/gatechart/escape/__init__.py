"""Escape plans: the strategies of an agent after a signal fired, from cheap to drastic ones."""

from gatechart.escape.attempts import Tactic
from gatechart.escape.presets import getting_out
from gatechart.escape.routes import routes
from gatechart.escape.scene import Scene, ToolFacts
from gatechart.escape.strategies import (
    Alert,
    AwaitBreaker,
    CutOut,
    Nudge,
    Repair,
    Reroute,
    Restart,
    Rollback,
    SwitchTool,
)
from gatechart.graph.escape import EscapePlan, GiveUp, HandOn, Strategy, ToHuman
from gatechart.values.escapes import EnterAt, NoWay

__all__ = [
    "Alert",
    "AwaitBreaker",
    "CutOut",
    "EnterAt",
    "EscapePlan",
    "GiveUp",
    "HandOn",
    "NoWay",
    "Nudge",
    "Repair",
    "Reroute",
    "Restart",
    "Rollback",
    "Scene",
    "Strategy",
    "SwitchTool",
    "Tactic",
    "ToHuman",
    "ToolFacts",
    "getting_out",
    "routes",
]
