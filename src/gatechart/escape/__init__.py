"""Strategies that free an agent from the problems that its signals report. Pure."""

from gatechart.escape.attempts import (
    Tactic,
    after_call,
    after_try,
    found_first,
    judged,
    next_tries,
    tactic_for,
    with_asked,
    without_answer,
    without_way,
)
from gatechart.escape.calls import CallsMade
from gatechart.escape.presets import getting_out
from gatechart.escape.restarts import asked_restart, finding_asked, restart_tactic
from gatechart.escape.routes import leads_away, routes
from gatechart.escape.scene import Scene, ToolFacts, failed_tools, known_states, looks_back
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

__all__ = [
    "Alert",
    "AwaitBreaker",
    "CallsMade",
    "CutOut",
    "EscapePlan",
    "GiveUp",
    "HandOn",
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
    "after_call",
    "after_try",
    "asked_restart",
    "failed_tools",
    "finding_asked",
    "found_first",
    "getting_out",
    "judged",
    "known_states",
    "leads_away",
    "looks_back",
    "next_tries",
    "restart_tactic",
    "routes",
    "tactic_for",
    "with_asked",
    "without_answer",
    "without_way",
]
