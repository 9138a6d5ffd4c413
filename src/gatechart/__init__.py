"""Agents driven by statecharts with several declared entry points: durable, typed, drawn.

The names that most programs need are here. Each is imported when it is first used, so that `import gatechart` is quick.
Other public names are in the packages `gatechart.handoff`, `gatechart.signals`, `gatechart.selection`,
`gatechart.escape`, `gatechart.tools`, `gatechart.models` and so on. The results of calls are in `gatechart.results`,
their errors in `gatechart.errors`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gatechart.agent import Agent
    from gatechart.charts import load
    from gatechart.context import AgentContext
    from gatechart.drawing.render import draw
    from gatechart.graph.definition import (
        ANY,
        EntryPoint,
        Initial,
        Invoke,
        OnRefusal,
        Precedence,
        Recall,
        State,
        Then,
        Transition,
    )
    from gatechart.graph.escape import EscapePlan
    from gatechart.graph.events import EventType
    from gatechart.graph.graph import StateTransitionGraph
    from gatechart.graph.handoff import Accepts, Fallbacks, Handoff, Human, OtherGraph, SameTarget
    from gatechart.graph.migration import Migration
    from gatechart.graph.signals import Signals
    from gatechart.graph.transfers import To, Transfers
    from gatechart.handoff.conversation import ConversationContext
    from gatechart.handoff.packet import HandoffPacket
    from gatechart.hosting.invoke_context import Step, Work
    from gatechart.hosting.limits import Limits
    from gatechart.hosting.retention import Retention
    from gatechart.models.loop import ModelLoop
    from gatechart.runtime.runtime import Runtime
    from gatechart.tools.definition import tool
    from gatechart.tools.toolbox import ToolBox
    from gatechart.turn.turn_context import Turn
    from gatechart.values.agents import Event, Outcome, Refused, Snapshot, Status
    from gatechart.values.delays import Retry
    from gatechart.values.recurrence import Every

_NAMES: Final = {
    "agent": ("Agent",),
    "charts": ("load",),
    "context": ("AgentContext",),
    "drawing.render": ("draw",),
    "graph.definition": (
        "ANY",
        "EntryPoint",
        "Initial",
        "Invoke",
        "OnRefusal",
        "Precedence",
        "Recall",
        "State",
        "Then",
        "Transition",
    ),
    "graph.escape": ("EscapePlan",),
    "graph.events": ("EventType",),
    "graph.graph": ("StateTransitionGraph",),
    "graph.handoff": (
        "Accepts",
        "Fallbacks",
        "Handoff",
        "Human",
        "OtherGraph",
        "SameTarget",
    ),
    "graph.migration": ("Migration",),
    "graph.signals": ("Signals",),
    "graph.transfers": (
        "To",
        "Transfers",
    ),
    "handoff.conversation": ("ConversationContext",),
    "handoff.packet": ("HandoffPacket",),
    "hosting.invoke_context": (
        "Step",
        "Work",
    ),
    "hosting.limits": ("Limits",),
    "hosting.retention": ("Retention",),
    "models.loop": ("ModelLoop",),
    "runtime.runtime": ("Runtime",),
    "tools.definition": ("tool",),
    "tools.toolbox": ("ToolBox",),
    "turn.turn_context": ("Turn",),
    "values.agents": (
        "Event",
        "Outcome",
        "Refused",
        "Snapshot",
        "Status",
    ),
    "values.delays": ("Retry",),
    "values.recurrence": ("Every",),
}
"""The names of this package, by the module that defines them."""

_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names}
_PACKAGES: Final = (
    "handoff",
    "signals",
    "selection",
    "escape",
    "tools",
    "models",
    "mcp",
    "alerts",
    "watchdog",
    "results",
    "errors",
    "charts",
    "checks",
    "drawing",
    "runtime",
    "clients",
    "serving",
    "stores",
    "sync",
    "testing",
    "context",
)
"""The public packages, in the order in which a missing name is searched."""

__all__ = [
    "ANY",
    "Accepts",
    "Agent",
    "AgentContext",
    "ConversationContext",
    "EntryPoint",
    "EscapePlan",
    "Event",
    "EventType",
    "Every",
    "Fallbacks",
    "Handoff",
    "HandoffPacket",
    "Human",
    "Initial",
    "Invoke",
    "Limits",
    "Migration",
    "ModelLoop",
    "OnRefusal",
    "OtherGraph",
    "Outcome",
    "Precedence",
    "Recall",
    "Refused",
    "Retention",
    "Retry",
    "Runtime",
    "SameTarget",
    "Signals",
    "Snapshot",
    "State",
    "StateTransitionGraph",
    "Status",
    "Step",
    "Then",
    "To",
    "ToolBox",
    "Transfers",
    "Transition",
    "Turn",
    "Work",
    "draw",
    "load",
    "tool",
]


if not TYPE_CHECKING:  # otherwise a type checker would accept any name of this package, as type Any

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
            globals()[name] = value  # the next access does not come here
            return value
        if name in _PACKAGES:
            return import_module(f"{__name__}.{name}")
        if package := _package_of(name):
            # An AttributeError would lose its text in a `from` import.
            raise ImportError(f"{name!r} is not in {__name__!r}; write `from {package} import {name}`")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _package_of(name: str) -> str | None:
    """Return the public package that has a name."""
    if name.startswith("_"):
        return None
    for package in (f"{__name__}.{public}" for public in _PACKAGES):
        try:
            module = import_module(package)
        except ImportError:  # its extra is not installed
            continue
        if name in getattr(module, "__all__", ()):
            return package
    return None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
