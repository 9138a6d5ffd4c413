"""The keys of profiles in charts, with the kinds of their values."""

from __future__ import annotations

from typing import Any, Final

from gatechart.values.delays import LONGEST_S
from gatechart.values.profiles import DAYS, HIGHEST_COST, HIGHEST_TIER

PROFILE_KEYS: Final[dict[str, dict[str, str]]] = {
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
}
"""The keys of each part, with the kinds of their values."""

PROFILE_MEANINGS: Final = {
    "profile": "What the entry point can do, for selections to find it; of a chart, the default of its entry points.",
    "samples": "Sentences that people say when they need it.",
    "group": "Members of one group fail together.",
    "schedule": "When it takes work; always by default.",
    "cost": "The cost of a piece of work, in any unit.",
    "expected_s": "Seconds that a piece of work should take at most; longer work earns less reward in learning.",
    "days": "Days on which the hours begin; every day by default.",
    "begins": "When the hours begin, such as 09:00.",
    "ends": "When the hours end, such as 17:00; a time before the begin is on the next day.",
}


def profile_kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values of these keys, for the JSON Schema of charts."""
    hours = {"$ref": f"#/$defs/{dialect}.hours"}
    day = {"enum": list(DAYS)}
    return {
        "profile": {"$ref": f"#/$defs/{dialect}.profile"},
        "tier": {"type": "integer", "minimum": 1, "maximum": HIGHEST_TIER},
        "cost": {"type": "number", "minimum": 0, "maximum": HIGHEST_COST},
        "expected_s": {"type": "number", "minimum": 0, "maximum": LONGEST_S},
        "hours": {"anyOf": [hours, {"type": "array", "items": hours}]},
        "days": {"anyOf": [day, {"type": "array", "items": day, "minItems": 1}]},
    }
