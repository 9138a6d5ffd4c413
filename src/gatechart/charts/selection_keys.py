"""The keys of profiles and selections in charts, with the kinds of their values."""

from __future__ import annotations

from typing import Any, Final

from gatechart.values.delays import LONGEST_S
from gatechart.values.profiles import DAYS, HIGHEST_COST, HIGHEST_TIER, HIGHEST_WEIGHT

SELECTION_KEYS: Final[dict[str, dict[str, str]]] = {
    "profile": {
        "capabilities": "texts",
        "domains": "texts",
        "tier": "tier",
        "languages": "texts",
        "samples": "texts",
        "group": "text",
        "schedule": "hours",
        "cost": "cost",
        "expected_s": "expected_s",
    },
    "hours": {"days": "days", "begins": "text", "ends": "text", "zone": "text"},
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
    "profile": "What the entry point can do, for selections to find it; of a chart, the default of its entry points.",
    "capabilities": "Capabilities, such as process_refund; one that matches is enough.",
    "domains": "Domains, such as refunds; one that matches is enough.",
    "tier": "Its level: higher tiers take work that lower ones could not do; 1 by default.",
    "languages": "Languages, such as de; any by default.",
    "samples": "Sentences that people say when they need it.",
    "group": "Members of one group fail together.",
    "schedule": "When it takes work; always by default.",
    "cost": "The cost of a piece of work, in any unit.",
    "expected_s": "Seconds that a piece of work should take at most; longer work earns less reward in learning.",
    "best": "The best target in the directory, chosen once the turn is committed.",
    "needs": "The needs of the work: one of the capabilities, one of the domains, a tier at least, a language.",
    "scorers": "Scorers with weights: built-in names, or names of bound functions of packet and candidate.",
    "order": "Scorers in order: each decides between candidates that are equal by the previous ones.",
    "filters": "Additional filters: person, local, or bound functions of packet and candidate.",
    "least": "The lowest text score of a match.",
    "entries": "Ids in the directory, such as a person's: one of these is chosen, whatever the text scores.",
    "mentions": "Words of which one must be mentioned; any text matches by default.",
    "rules": "Needs of work that mentions a word; the first rule that applies counts.",
    "days": "Days on which the hours begin; every day by default.",
    "begins": "When the hours begin, such as 09:00.",
    "ends": "When the hours end, such as 17:00; a time before the begin is on the next day.",
}


def selection_kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values of these keys, for the JSON Schema of charts."""
    hours = {"$ref": f"#/$defs/{dialect}.hours"}
    rule = {"$ref": f"#/$defs/{dialect}.need_rule"}
    day = {"enum": list(DAYS)}
    return {
        "profile": {"$ref": f"#/$defs/{dialect}.profile"},
        "best": {"anyOf": [{"$ref": f"#/$defs/{dialect}.best"}, {"type": "null"}]},
        "needs": {"$ref": f"#/$defs/{dialect}.needs"},
        "needed": {"anyOf": [{"type": ["string", "number"]}, {"$ref": f"#/$defs/{dialect}.needs"}]},
        "weights": {
            "type": "object",
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": HIGHEST_WEIGHT},
            "minProperties": 1,
        },
        "need_rules": {"anyOf": [rule, {"type": "array", "items": rule}]},
        "tier": {"type": "integer", "minimum": 1, "maximum": HIGHEST_TIER},
        "needed_tier": {"type": "integer", "minimum": 0, "maximum": HIGHEST_TIER},
        "cost": {"type": "number", "minimum": 0, "maximum": HIGHEST_COST},
        "expected_s": {"type": "number", "minimum": 0, "maximum": LONGEST_S},
        "hours": {"anyOf": [hours, {"type": "array", "items": hours}]},
        "days": {"anyOf": [day, {"type": "array", "items": day, "minItems": 1}]},
    }


def require_in_selections(parts: dict[str, Any]) -> None:
    """Require the keys that rules and selections need."""
    parts["need_rule"]["required"] = ["needs"]
    parts["best"]["not"] = {"required": ["scorers", "order"]}
