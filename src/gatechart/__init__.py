"""Agents driven by statecharts that have many doors: durable, typed, drawn.

Each name is imported when it is first used, so that `import gatechart` is quick. The results of calls are in
`gatechart.results`, their errors in `gatechart.errors`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gatechart import sync
    from gatechart.agent import Agent
    from gatechart.alerts.mailbox import Mailbox
    from gatechart.alerts.sinks import Alerts
    from gatechart.alerts.webhook import Webhook
    from gatechart.charts import dump, load
    from gatechart.checks.checking import check
    from gatechart.clients import HttpClient
    from gatechart.clients.database import DatabaseClient
    from gatechart.context import AgentContext
    from gatechart.drawing import draw, draw_async
    from gatechart.escape.presets import getting_out
    from gatechart.graph.definition import ANY, EntryPoint, Initial, Invoke, OnRefusal, Recall, State, Then, Transition
    from gatechart.graph.escape import EscapePlan
    from gatechart.graph.events import EventType
    from gatechart.graph.graph import StateTransitionGraph
    from gatechart.graph.handoff import Accepts, Fallbacks, Handoff, Human, OtherGraph, SameTarget
    from gatechart.graph.migration import Migration
    from gatechart.graph.selection import Best, NeedRule
    from gatechart.graph.signals import Signal, Signals, answered
    from gatechart.graph.transfers import To, Transfers
    from gatechart.handoff.conversation import ConversationContext
    from gatechart.handoff.packet import HandoffPacket
    from gatechart.handoff.reading import PacketMigration
    from gatechart.hosting.choosing import Choosing
    from gatechart.hosting.invoke_context import Step, Work
    from gatechart.hosting.limits import Limits, WhenFull
    from gatechart.hosting.retention import Retention
    from gatechart.hosting.subscriptions import Subscription
    from gatechart.hosting.transfers import TransferOutcome
    from gatechart.hosting.watching import Watchdog
    from gatechart.models.loop import ModelLoop
    from gatechart.runtime.runtime import Runtime
    from gatechart.signals.circles import GoesInCircles
    from gatechart.signals.failures import ErrorRate, RetriesOver, ToolFailures, ToolRefusals
    from gatechart.signals.lacking import Lacks
    from gatechart.signals.measures import Confidence, Noticed, Risk, Sentiment
    from gatechart.signals.no_progress import NoProgress, VisitsOver
    from gatechart.signals.presets import handing_on, looping
    from gatechart.signals.questions import SameQuestion
    from gatechart.signals.repeats import Repeats, SameCall
    from gatechart.signals.said import Keywords, UserAsked
    from gatechart.tools.definition import ToolContext, tool
    from gatechart.tools.results import ToolResult
    from gatechart.tools.retries import ToolError
    from gatechart.tools.toolbox import ToolBox
    from gatechart.turn.transfer_offer import TransferOffer
    from gatechart.turn.turn_context import Turn
    from gatechart.values.agents import Event, Outcome, Refused, Snapshot, Status
    from gatechart.values.breakers import BreakerPolicy
    from gatechart.values.delays import Retry
    from gatechart.values.detectors import AnyOf, Detector, Look
    from gatechart.values.handoffs import HandoffStatus, Mode, Reason
    from gatechart.values.homes import Role
    from gatechart.values.mail import Mail, MailStatus
    from gatechart.values.profiles import Hours, Needs, Profile
    from gatechart.values.recurrence import Every
    from gatechart.values.tool_policies import Capability, ToolPolicies
    from gatechart.watchdog.terms import Act, WatchdogTerms

_NAMES: Final = {
    "agent": ("Agent",),
    "charts": (
        "dump",
        "load",
    ),
    "checks": ("check",),
    "clients": (
        "DatabaseClient",
        "HttpClient",
    ),
    "context": ("AgentContext",),
    "drawing": ("draw", "draw_async"),
    "escape": ("getting_out",),
    "graph": (
        "ANY",
        "Accepts",
        "Best",
        "EntryPoint",
        "EscapePlan",
        "EventType",
        "Handoff",
        "Initial",
        "Invoke",
        "Migration",
        "NeedRule",
        "OnRefusal",
        "Recall",
        "Signal",
        "Signals",
        "State",
        "StateTransitionGraph",
        "Then",
        "To",
        "Transfers",
        "Transition",
        "answered",
    ),
    "handoff": (
        "ConversationContext",
        "Fallbacks",
        "HandoffPacket",
        "Human",
        "OtherGraph",
        "PacketMigration",
        "SameTarget",
    ),
    "alerts.mailbox": ("Mailbox",),
    "alerts.sinks": ("Alerts",),
    "alerts.webhook": ("Webhook",),
    "hosting.transfers": ("TransferOutcome",),
    "hosting.watching": ("Watchdog",),
    "watchdog.terms": ("Act", "WatchdogTerms"),
    "models": ("ModelLoop",),
    "runtime": (
        "Choosing",
        "Limits",
        "Retention",
        "Runtime",
        "Step",
        "Subscription",
        "WhenFull",
        "Work",
    ),
    "signals": (
        "Confidence",
        "ErrorRate",
        "GoesInCircles",
        "Keywords",
        "Lacks",
        "NoProgress",
        "Noticed",
        "Repeats",
        "RetriesOver",
        "Risk",
        "SameCall",
        "SameQuestion",
        "Sentiment",
        "ToolFailures",
        "ToolRefusals",
        "UserAsked",
        "VisitsOver",
        "handing_on",
        "looping",
    ),
    "sync": ("sync",),
    "tools": ("ToolBox", "ToolContext", "ToolError", "ToolResult", "tool"),
    "turn": ("Turn",),
    "turn.transfer_offer": ("TransferOffer",),
    "values": (
        "AnyOf",
        "BreakerPolicy",
        "Capability",
        "Detector",
        "Event",
        "Every",
        "HandoffStatus",
        "Hours",
        "Look",
        "Mail",
        "MailStatus",
        "Mode",
        "Needs",
        "Outcome",
        "Profile",
        "Reason",
        "Refused",
        "Retry",
        "Role",
        "Snapshot",
        "Status",
        "ToolPolicies",
    ),
}
"""The names of this package, by the subpackage that defines them."""

_HOMES: Final = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "ANY",
    "Accepts",
    "Act",
    "Agent",
    "AgentContext",
    "Alerts",
    "AnyOf",
    "Best",
    "BreakerPolicy",
    "Capability",
    "Choosing",
    "Confidence",
    "ConversationContext",
    "DatabaseClient",
    "Detector",
    "EntryPoint",
    "ErrorRate",
    "EscapePlan",
    "Event",
    "EventType",
    "Every",
    "Fallbacks",
    "GoesInCircles",
    "Handoff",
    "HandoffPacket",
    "HandoffStatus",
    "Hours",
    "HttpClient",
    "Human",
    "Initial",
    "Invoke",
    "Keywords",
    "Lacks",
    "Limits",
    "Look",
    "Mail",
    "MailStatus",
    "Mailbox",
    "Migration",
    "Mode",
    "ModelLoop",
    "NeedRule",
    "Needs",
    "NoProgress",
    "Noticed",
    "OnRefusal",
    "OtherGraph",
    "Outcome",
    "PacketMigration",
    "Profile",
    "Reason",
    "Recall",
    "Refused",
    "Repeats",
    "Retention",
    "RetriesOver",
    "Retry",
    "Risk",
    "Role",
    "Runtime",
    "SameCall",
    "SameQuestion",
    "SameTarget",
    "Sentiment",
    "Signal",
    "Signals",
    "Snapshot",
    "State",
    "StateTransitionGraph",
    "Status",
    "Step",
    "Subscription",
    "Then",
    "To",
    "ToolBox",
    "ToolContext",
    "ToolError",
    "ToolFailures",
    "ToolPolicies",
    "ToolRefusals",
    "ToolResult",
    "TransferOffer",
    "TransferOutcome",
    "Transfers",
    "Transition",
    "Turn",
    "UserAsked",
    "VisitsOver",
    "Watchdog",
    "WatchdogTerms",
    "Webhook",
    "WhenFull",
    "Work",
    "answered",
    "check",
    "draw",
    "draw_async",
    "dump",
    "getting_out",
    "handing_on",
    "load",
    "looping",
    "sync",
    "tool",
]


if not TYPE_CHECKING and find_spec("httpx") is None:
    __all__.remove("HttpClient")  # `from gatechart import *` must work without the extra

if not TYPE_CHECKING:  # otherwise a type checker would accept any name of this package, as type Any

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = import_module(f"{__name__}.{_HOMES[name]}")
        exported = home if name == _HOMES[name] else getattr(home, name)
        globals()[name] = exported  # so that the next access skips this function
        return exported


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
