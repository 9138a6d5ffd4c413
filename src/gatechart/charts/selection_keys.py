"""The keys of profiles and selections in charts, and the kinds of their values."""

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
    "profile": "What the entry point can do, by which selections find it; of a chart, that of all its entry points.",
    "capabilities": "What can be done, such as process_refund; one that matches is enough.",
    "domains": "What it is about, such as refunds; one that matches is enough.",
    "tier": "How much it can take on: higher tiers take what lower ones could not; 1 where left out.",
    "languages": "Languages, such as de; any where left out.",
    "samples": "Sentences that people say when they come here.",
    "group": "What fails together with others of the same group.",
    "schedule": "When it takes work; always where left out.",
    "cost": "What a piece of work costs, in a unit of one's own.",
    "expected_s": "Seconds that a piece of work should take at most; what takes longer is worth less to learning.",
    "best": "The best target in the directory, chosen once the turn is committed.",
    "needs": "What work needs: one of the capabilities, one of the domains, a tier at least, a language.",
    "scorers": "What decides, by weight: names of scorers, or of bound functions of packet and candidate.",
    "order": "Scorers of which each decides between those that are equal by the ones before it.",
    "filters": "Besides those that always apply: person, local, or bound functions of packet and candidate.",
    "least": "The text score from which on there is a match.",
    "entries": "Ids in the directory, such as that of a person: one of these is asked, whatever texts say.",
    "mentions": "Words of which one must be mentioned; any text will do where left out.",
    "rules": "What work needs that mentions a word; the first that applies counts.",
    "days": "Days on which the hours begin; each day where left out.",
    "begins": "When they begin, such as 09:00.",
    "ends": "When they end, such as 17:00; before the begin, it is the next day's.",
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
    """Require what rules and selections cannot do without."""
    parts["need_rule"]["required"] = ["needs"]
    parts["best"]["not"] = {"required": ["scorers", "order"]}
