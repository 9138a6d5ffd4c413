"""The keys of escape plans in charts, with the kinds of their values."""

from __future__ import annotations

from typing import Any, Final

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
from gatechart.graph.escape import GiveUp, Strategy, ToHuman
from gatechart.graph.signals import usual_name

STRATEGIES: Final[dict[type[Strategy], dict[str, str]]] = {
    Nudge: {"text": "text"},
    SwitchTool: {"to": "texts"},
    AwaitBreaker: {"most": "delay", "down": "delay"},
    Reroute: {"at": "texts", "payload": "function"},
    CutOut: {"field": "text", "summary": "text", "allow": "texts"},
    Rollback: {"to": "back_to", "keep": "texts", "allow": "texts"},
    Restart: {"at": "text", "payload": "function", "keep": "texts", "allow": "texts"},
    Repair: {"flow": "flow", "then": "state", "otherwise": "state"},
    Alert: {"sink": "text", "text": "text"},
    ToHuman: {
        "to": "name",
        "best": "best",
        "at": "name",
        "reason": "handoff_reason",
        "fallbacks": "fallbacks",
        "otherwise": "state",
    },
    GiveUp: {},
}
STRATEGY_NAMES: Final = {usual_name(kind): kind for kind in STRATEGIES}
BACK_TO: Final = ("block", "checkpoint")
GETTING_OUT: Final = "getting_out"
"""Name of the default plan."""

_BOUNDS: Final = {"cooldown": "delay", "most_a_day": "count", "turns": "count", "learns": "flag"}
ESCAPE_KEYS: Final[dict[str, dict[str, str]]] = {
    "escape": {
        GETTING_OUT: GETTING_OUT,
        "strategies": "tactics",
        "tools": "tactics_by_tool",
        **_BOUNDS,
        "last": "strategy",
        "shared": "flag",
    },
    "strategy": {
        **{name: f"strategy.{name}" for name in STRATEGY_NAMES},
        "handoff": "handoff",
        "otherwise": "state",
    },
    GETTING_OUT: {"human": "name", "at": "name", "restart": "text", **_BOUNDS},
    **{f"strategy.{name}": STRATEGIES[kind] for name, kind in STRATEGY_NAMES.items()},
}
"""The keys of each part, with the kinds of their values."""

ESCAPE_MEANINGS: Final = {
    "escape": "How agents escape from what their signals notice, if no transition takes the signal.",
    "checkpoint": "Whether agents may be rolled back to the state.",
    "strategies": "Strategies by the name of the signal, from cheap to drastic; `*` for every other signal.",
    "escape.tools": "Strategies by signal for a tool that fails or is called repeatedly, by the name of the tool.",
    "cooldown": "How long a strategy is skipped after an attempt: 120s.",
    "most_a_day": "How many attempts an agent makes per day, by UTC, before the last one.",
    "turns": "Moves within which an attempt must lead to progress.",
    "last": "The strategy when no other is left: `to_human:`, `give_up` or `handoff:`.",
    "learns": "Whether strategies that led to progress before are tried earlier; true by default.",
    "shared": "Whether the plan may name signals that the chart lacks.",
    GETTING_OUT: "The default plan: another tool, a wait for its breaker, another path, a restart, then a person.",
    "nudge": "Tells the model that it repeats itself.",
    "switch_tool": "Calls another tool in place of the failing one.",
    "await_breaker": "Lets calls wait while the circuit breaker of their tool refuses them.",
    "reroute": "Takes another path: a transition for `escape.reroute`, or an entry point.",
    "cut_out": "Leaves the repeated block out of the conversation.",
    "rollback": "Rolls back to before the block, or to a checkpoint.",
    "restart": "Restarts at an entry point.",
    "repair": "Invokes a function or an agent that repairs the cause, and waits.",
    "alert": "Notifies people through a sink in the home's configuration.",
    "to_human": "Hands the work to a person.",
    "give_up": "Ends the agent as failed, with the evidence.",
    "strategy.rollback.to": "block, or checkpoint.",
    "strategy.switch_tool.to": "Tools to call in its place; by default the alternatives in its policies.",
    "most": "How long calls wait, from the attempt on: 8h.",
    "down": "How long the breaker may stay open without closing before calls stop waiting: 30m.",
    "strategy.reroute.at": "Entry points to enter; by default those that lead away from the failure.",
    "strategy.restart.at": "The entry point; by default the one at which the agent started.",
    "strategy.reroute.payload": "The name of a bound function of the context that returns the entry point's payload.",
    "strategy.restart.payload": "The name of a bound function of the context that returns the entry point's payload.",
    "keep": "Fields of the context that keep their values.",
    "strategy.rollback.allow": "Tools whose calls may be repeated although their policy forbids it.",
    "strategy.restart.allow": "Tools whose calls may be repeated although their policy forbids it.",
    "sink": "The name of a sink in the home's configuration.",
    "flow": "A function or an agent, as in `invoke`.",
}


def escape_kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values of these keys, for the JSON Schema of charts."""

    def part(name: str) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{dialect}.{name}"}

    text = {"type": ["string", "number"]}
    one = {"anyOf": [text, part("strategy")]}
    tactics = {"type": "object", "additionalProperties": {"anyOf": [one, {"type": "array", "items": one}]}}
    return {
        "escape": {"anyOf": [{"const": GETTING_OUT}, part("escape")]},
        GETTING_OUT: {"anyOf": [part(GETTING_OUT), {"type": "null"}]},
        "tactics": tactics,
        "tactics_by_tool": {"type": "object", "additionalProperties": tactics},
        "strategy": one,
        "back_to": {"enum": list(BACK_TO)},
        "flow": {"anyOf": [text, part("invoke")]},
        "state": text,
        **{f"strategy.{name}": {"anyOf": [part(f"strategy.{name}"), {"type": "null"}]} for name in STRATEGY_NAMES},
    }


def require_in_escapes(parts: dict[str, Any]) -> None:
    """Require that each strategy is of one kind, and has its required keys."""
    kinds = [*STRATEGY_NAMES, "handoff"]
    parts["strategy"]["oneOf"] = [{"required": [kind]} for kind in kinds]
    parts["strategy"]["dependentRequired"] = {"otherwise": ["handoff"]}
    parts["strategy.repair"]["required"] = ["flow", "then"]
    parts["strategy.alert"]["required"] = ["sink"]
    parts["escape"]["oneOf"] = [
        {"required": [GETTING_OUT], "maxProperties": 1},
        {"not": {"required": [GETTING_OUT]}, "anyOf": [{"required": ["strategies"]}, {"required": ["tools"]}]},
    ]
