"""The keys of handoffs in charts, with the kinds of their values."""

from __future__ import annotations

from typing import Any, Final

from gatechart.values.handoffs import Mode, Reason

OF_AN_AGENT: Final = {"agent": "name", "best": "best", "at": "name", "packet": "function", "fallbacks": "fallbacks"}
HANDOFF_KEYS: Final[dict[str, dict[str, str]]] = {
    "handoff": {
        "to": "name",
        "best": "best",
        "at": "name",
        "mode": "mode",
        "reason": "handoff_reason",
        "deadline": "delay",
        "fallbacks": "fallbacks",
        "packet": "function",
        "agent": "function",
        "achieved": "function",
        "transcript": "flag",
    },
    "handing_on": {"handoff": "handoff"},
    "fallback": {
        "same_target": "retry",
        "other_graph": "name",
        "human": "name",
        "best": "best",
        "at": "name",
        "agent": "text",
    },
}
"""The keys of each part, with the kinds of their values."""

HANDOFF_MEANINGS: Final = {
    "mode": "transfer: the other agent takes over; delegate: this agent waits for the result.",
    "fallbacks": "Fallbacks for a rejected offer, in this order.",
    "packet": "The name of a bound function of context and event that builds the packet.",
    "achieved": "The name of a bound function of context and event that returns the progress; then work may come back.",
    "same_target": "Offers to the same target again, after a wait.",
    "other_graph": "Offers to another graph.",
    "human": "Offers to a graph for people.",
    "transcript": "Whether the packet also has the messages of the agent's model loops; true by default.",
    "handoff": "Offers the work to another agent.",
    "deadline": "For the acceptance of a transfer, for the result of a delegation: 500ms, 30s, 1h30m, 2d, PT1H30M.",
}


def handoff_kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values of these keys, for the JSON Schema of charts."""

    def part(name: str) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{dialect}.{name}"}

    def one_or_many(kind: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [kind, {"type": "array", "items": kind}]}

    text: dict[str, Any] = {"type": ["string", "number"]}
    return {
        "handoff": part("handoff"),
        "mode": {"enum": [mode.value for mode in Mode]},
        "handoff_reason": {"enum": [reason.value for reason in Reason]},
        "name": {**text, "minLength": 1},
        "fallbacks": one_or_many(part("fallback")),
    }


def require_in_handoffs(parts: dict[str, Any]) -> None:
    """Require that invokes, and the targets of handoffs and fallbacks, are of exactly one kind."""
    parts["invoke"]["oneOf"] = [
        {"required": ["src"], **without("agent", "best", "at", "packet", "fallbacks")},
        {"required": ["agent", "at"], **without("src", "best", "params", "retry")},
        {"required": ["best"], **without("src", "agent", "at", "params", "retry")},
    ]
    parts["handoff"]["oneOf"] = [
        {"required": ["to", "at"], **without("best")},
        {"required": ["best"], **without("to", "at", "agent")},
    ]
    parts["handing_on"]["required"] = ["handoff"]
    parts["fallback"]["oneOf"] = [
        {"required": ["same_target"], **without("other_graph", "human", "best", "at", "agent")},
        {"required": ["other_graph", "at"], **without("same_target", "human", "best")},
        {"required": ["human", "at"], **without("same_target", "other_graph", "best")},
        {"required": ["best"], **without("same_target", "other_graph", "human", "at", "agent")},
    ]


def without(*keys: str) -> dict[str, Any]:
    """Return a schema that allows none of these keys."""
    return {"not": {"anyOf": [{"required": [key]} for key in keys]}}
