"""The keys of selections in charts, with the kinds of their values."""

from __future__ import annotations

from typing import Any, Final

from gatechart.values.profiles import HIGHEST_TIER, HIGHEST_WEIGHT

SELECTION_KEYS: Final[dict[str, dict[str, str]]] = {
    "best": {
        "name": "name",
        "needs": "needed",
        "rules": "need_rules",
        "scorers": "weights",
        "order": "texts",
        "filters": "texts",
        "least": "share",
        "entries": "texts",
    },
    "needs": {"capabilities": "texts", "domains": "texts", "tier": "needed_tier", "languages": "texts", "all": "flag"},
    "need_rule": {"needs": "needs", "reason": "handoff_reason", "mentions": "texts"},
}
"""The keys of each part, with the kinds of their values."""

SELECTION_MEANINGS: Final = {
    "capabilities": "Capabilities, such as process_refund; one that matches is enough.",
    "domains": "Domains, such as refunds; one that matches is enough.",
    "tier": "Its level: higher tiers take work that lower ones could not do; 1 by default.",
    "languages": "Languages, such as de; any by default.",
    "best": "The best target in the directory, chosen once the turn is committed.",
    "needs": "The needs of the work: one of the capabilities, one of the domains, a tier at least, a language.",
    "scorers": "Scorers with weights: built-in names, or names of bound functions of packet and candidate.",
    "order": "Scorers in order: each decides between candidates that are equal by the previous ones.",
    "filters": "Additional filters: person, local, or bound functions of packet and candidate.",
    "least": "The lowest text score of a match.",
    "entries": "Ids in the directory, such as a person's: one of these is chosen, whatever the text scores.",
    "mentions": "Words of which one must be mentioned; any text matches by default.",
    "rules": "Needs of work that mentions a word; the first rule that applies counts.",
}


def selection_kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values of these keys, for the JSON Schema of charts."""
    rule = {"$ref": f"#/$defs/{dialect}.need_rule"}
    return {
        "best": {"anyOf": [{"$ref": f"#/$defs/{dialect}.best"}, {"type": "null"}]},
        "needs": {"$ref": f"#/$defs/{dialect}.needs"},
        "needed": {"anyOf": [{"type": ["string", "number"]}, {"$ref": f"#/$defs/{dialect}.needs"}]},
        "weights": {
            "type": "object",
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": HIGHEST_WEIGHT},
            "minProperties": 1,
        },
        "need_rules": {"anyOf": [rule, {"type": "array", "items": rule}]},
        "needed_tier": {"type": "integer", "minimum": 0, "maximum": HIGHEST_TIER},
    }


def require_in_selections(parts: dict[str, Any]) -> None:
    """Require the keys that rules and selections need."""
    parts["need_rule"]["required"] = ["needs"]
    parts["best"]["not"] = {"required": ["scorers", "order"]}
