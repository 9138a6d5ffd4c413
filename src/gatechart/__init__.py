"""Agents driven by statecharts that have many doors: durable, typed, drawn.

Each name is imported when it is first used, so that `import gatechart` is quick. What calls return is in
`gatechart.results`, what they raise in `gatechart.errors`.
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
    from gatechart.checks import check
    from gatechart.clients import DatabaseClient, HttpClient
    from gatechart.context import AgentContext
    from gatechart.drawing import draw, draw_async
    from gatechart.escape import getting_out
    from gatechart.graph import (
        ANY,
        Accepts,
        Best,
        EntryPoint,
        EscapePlan,
        EventType,
        Handoff,
        Initial,
        Invoke,
        Migration,
        NeedRule,
        OnRefusal,
        Recall,
        Signal,
        Signals,
        State,
        StateTransitionGraph,
        Then,
        To,
        Transfers,
        Transition,
        answered,
    )
    from gatechart.handoff import (
        ConversationContext,
        Fallbacks,
        HandoffPacket,
        Human,
        OtherGraph,
        PacketMigration,
        SameTarget,
    )
    from gatechart.hosting.transfers import TransferOutcome
    from gatechart.hosting.watching import Watchdog
    from gatechart.models import ModelLoop
    from gatechart.runtime import (
        Choosing,
        Limits,
        Retention,
        Runtime,
        Step,
        Subscription,
        WhenFull,
        Work,
    )
    from gatechart.signals import (
        Confidence,
        ErrorRate,
        GoesInCircles,
        Keywords,
        Lacks,
        NoProgress,
        Noticed,
        Repeats,
        RetriesOver,
        Risk,
        SameCall,
        SameQuestion,
        Sentiment,
        ToolFailures,
        ToolRefusals,
        UserAsked,
        VisitsOver,
        handing_on,
        looping,
    )
    from gatechart.tools import ToolBox, ToolContext, ToolError, ToolResult, tool
    from gatechart.turn import Turn
    from gatechart.turn.transfer_offer import TransferOffer
    from gatechart.values import (
        AnyOf,
        BreakerPolicy,
        Capability,
        Detector,
        Event,
        Every,
        HandoffStatus,
        Hours,
        Look,
        Mail,
        MailStatus,
        Mode,
        Needs,
        Outcome,
        Profile,
        Reason,
        Refused,
        Retry,
        Role,
        Snapshot,
        Status,
        ToolPolicies,
    )
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

if not TYPE_CHECKING:  # a type checker would take any other name for one of this package, of type Any

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = import_module(f"{__name__}.{_HOMES[name]}")
        found = home if name == _HOMES[name] else getattr(home, name)
        globals()[name] = found  # asked once
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
