"""The keys of signals in charts, with the kinds of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gatechart.graph.signals import usual_name
from gatechart.signals.circles import GoesInCircles
from gatechart.signals.failures import ErrorRate, RetriesOver, ToolFailures, ToolRefusals
from gatechart.signals.lacking import Lacks
from gatechart.signals.measures import Confidence, Noticed, Risk, Sentiment
from gatechart.signals.no_progress import NoProgress, VisitsOver
from gatechart.signals.presets import Preset, handing_on, looping
from gatechart.signals.questions import SameQuestion
from gatechart.signals.repeats import Repeats, SameCall
from gatechart.signals.said import Keywords, UserAsked
from gatechart.values.detectors import Detector

DETECTORS: Final[dict[type[Detector], dict[str, str]]] = {
    Repeats: {"period": "count", "times": "count", "window": "count"},
    SameCall: {"n": "count", "window": "count"},
    ToolFailures: {"n": "count", "within": "number", "same": "shared", "among": "texts"},
    ToolRefusals: {"n": "count", "among": "texts"},
    RetriesOver: {"n": "whole", "per": "per"},
    ErrorRate: {"above": "share", "least": "count", "last": "count"},
    NoProgress: {"turns": "count", "seconds": "number", "measure": "text"},
    VisitsOver: {"state": "text", "n": "count"},
    Confidence: {"below": "measured", "measure": "text", "margin": "number"},
    UserAsked: {"phrases": "phrases", "also": "phrases"},
    Keywords: {"phrases": "phrases", "also": "phrases"},
    Lacks: {"what": "lacking", "rules": "need_rules", "has": "texts"},
    GoesInCircles: {"threshold": "share"},
    SameQuestion: {"similarity": "share", "last": "count", "times": "count", "shortest": "whole"},
    Sentiment: {"function": "function", "below": "measured", "margin": "number"},
    Risk: {"function": "function", "above": "measured", "margin": "number"},
    Noticed: {"function": "function", "kinds": "whole"},
}
NAMED: Final = {usual_name(kind): kind for kind in DETECTORS}
PRESETS: Final[dict[str, Callable[..., Preset]]] = {"handing_on": handing_on, "looping": looping}
_OF_PRESETS: Final = {
    "handing_on": {
        "failures": "none_or_count",
        "turns": "none_or_count",
        "seconds": "none_or_number",
        "asked": "user_asked",
        "keywords": "words",
        "confidence": "none_or_number",
        "rules": "need_rules",
    },
    "looping": {
        "window": "none_or_count",
        "calls": "none_or_count",
        "failures": "none_or_count",
        "within": "number",
    },
}
JOINED: Final = {"any": "symptoms", "all": "symptoms", "not": "symptom", "any_of": "least"}
SYMPTOM: Final = {name: f"detector.{name}" for name in NAMED} | JOINED
ANSWER: Final = {"answer": "handoff", "waits": "text", "otherwise": "text"}
BOUNDS: Final = {"states": "count", "calls": "count", "window": "count", "most_bytes": "count"}

SIGNAL_KEYS: Final[dict[str, dict[str, str]]] = {
    "signals": {
        "notice": "noticed",
        "ignore": "texts",
        "said": "by_event",
        "task": "text",
        "measure": "text",
        **BOUNDS,
    },
    "signal": {
        **{name: f"preset.{name}" for name in PRESETS},
        **SYMPTOM,
        "of": "symptoms",
        "name": "text",
        "reason": "handoff_reason",
        **ANSWER,
    },
    "symptom": {**SYMPTOM, "of": "symptoms"},
    **{f"detector.{name}": DETECTORS[kind] for name, kind in NAMED.items()},
    **{f"preset.{name}": keys for name, keys in _OF_PRESETS.items()},
}
"""The keys of each part, with the kinds of their values."""

SIGNAL_MEANINGS: Final = {
    "signals": "What agents notice about themselves: a list, a mapping with `notice`, or off.",
    "notice": "Presets, and detectors, alone or joined.",
    "ignore": "Fields of payloads and arguments to ignore in comparisons, such as times.",
    "said": "Events that carry messages, each with the payload field that holds the text.",
    "task": "The field of the context with the id of the task at hand.",
    "measure": "The field of the context, or the noted measure, whose growth is progress.",
    "handing_on": "Failing tools, no progress, a request for a person, trouble, low confidence; null turns one off.",
    "looping": "The same moves, the same calls, or failures of one tool, again and again; null turns one off.",
    "any": "Holds while any of these holds.",
    "all": "Holds while all of these hold.",
    "not": "Holds while this does not hold.",
    "any_of": "Holds while at least this many of the symptoms under `of` hold.",
    "progress": "Whether entering the state counts as progress.",
    "answer": "A handoff that is offered when no transition takes the signal.",
}

OFF: Final = "off"
"""The value that switches signals off."""

CHOICES: Final = {
    "lacking": ("domain", "capability"),
    "shared": ("tool", "arguments", "error"),
    "per": ("tool", "task"),
}
"""The values of parameters that have only a few."""


def signal_kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values of these keys, for the JSON Schema of charts."""

    def part(name: str) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{dialect}.{name}"}

    def or_none(kind: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [kind, {"type": "null"}]}

    one = {"anyOf": [{"enum": [*PRESETS, *NAMED]}, part("signal")]}
    symptom = {"anyOf": [{"enum": list(NAMED)}, part("symptom")]}
    several = {"anyOf": [symptom, {"type": "array", "items": symptom, "minItems": 1}]}
    text = {"type": ["string", "number"]}
    return {
        "signals": {"anyOf": [one, {"type": "array", "items": one}, part("signals"), {"const": OFF}]},
        "noticed": {"anyOf": [one, {"type": "array", "items": one}]},
        "by_event": {"type": "object", "additionalProperties": text},
        "symptom": symptom,
        "symptoms": several,
        "least": {"type": "integer", "minimum": 1},
        "measured": {"type": "number"},
        "none_or_count": {"type": ["integer", "null"], "minimum": 1},
        "none_or_number": {"type": ["number", "null"], "minimum": 0},
        "phrases": {"type": "object", "additionalProperties": {"anyOf": [text, {"type": "array", "items": text}]}},
        "lacking": {"enum": list(CHOICES["lacking"])},
        "shared": {"enum": list(CHOICES["shared"])},
        "per": {"enum": list(CHOICES["per"])},
        "user_asked": or_none(part("detector.user_asked")),
        "words": or_none(part("detector.keywords")),
        **{f"detector.{name}": or_none(part(f"detector.{name}")) for name in NAMED},
        **{f"preset.{name}": or_none(part(f"preset.{name}")) for name in PRESETS},
    }
