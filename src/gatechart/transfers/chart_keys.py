"""The keys of transfers in charts, with the kinds of their values."""

from __future__ import annotations

from typing import Any, Final

from gatechart.chartfiles.handoff_keys import without

TRANSFER_KEYS: Final[dict[str, dict[str, str]]] = {
    "transfers": {
        "targets": "transfer_targets",
        "most": "limit",
        "otherwise": "text",
        "resets_on": "texts",
        "arguments": "flag",
        "status": "function",
    },
    "to": {
        "state": "text",
        "graph": "name",
        "best": "best",
        "at": "name",
        "description": "text",
        "guard": "guard",
        "actions": "actions",
        "takes": "text",
        "packet": "function",
        "deadline": "delay",
        "fallbacks": "fallbacks",
        "waits": "text",
        "transcript": "flag",
    },
}
"""The keys of each part, with the kinds of their values."""

TRANSFER_MEANINGS: Final = {
    "transfers": "Targets that are offered to a model as tools; the state's invoke chooses among them.",
    "targets": "States, and entry points of other graphs, to choose among.",
    "most": "How many choices the state has, over all its entries; null switches the transfers off.",
    "otherwise": "The state that follows when no choice is left, or none is made.",
    "resets_on": "Events that reset the count of choices.",
    "arguments": "Whether the tools take a reason, a summary and the target's own arguments; true by default.",
    "status": "The name of a bound function of the context that returns the progress of the task, for the model.",
    "waits": "The state that waits while another graph decides; added by default.",
}


def transfer_kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values of these keys, for the JSON Schema of charts."""

    def part(name: str) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{dialect}.{name}"}

    def one_or_many(kind: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [kind, {"type": "array", "items": kind}]}

    text: dict[str, Any] = {"type": ["string", "number"]}
    return {
        "transfers": part("transfers"),
        "transfer_targets": one_or_many({"anyOf": [text, part("to")]}),
        "limit": {"type": ["integer", "null"], "minimum": 1},
    }


def require_in_transfers(parts: dict[str, Any]) -> None:
    """Require the targets of transfers, and that each target is of exactly one kind."""
    parts["transfers"]["required"] = ["targets"]
    parts["to"]["oneOf"] = [
        {
            "required": ["state"],
            **without("graph", "best", "at", "packet", "deadline", "fallbacks", "waits", "transcript"),
        },
        {"required": ["graph", "at"], **without("state", "best")},
        {"required": ["best"], **without("state", "graph", "at")},
    ]
