"""Policies of tool calls in charts and in a deployment's file: their keys, parsed and written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, Final

from gatechart.chartfiles.faults import Faults, Fields, Keys, Spot, kind_of, retry_of, text_of
from gatechart.chartfiles.words import in_keys
from gatechart.values.breakers import BreakerPolicy
from gatechart.values.delays import Retry
from gatechart.values.tool_policies import RATE_REMEDY, Capability, PoliciesByTool, Rate, ToolPolicies, under_tool

TOOL_KEYS: Final[dict[str, dict[str, str]]] = {
    "tool": {
        "total_s": "limit_s",
        "alternatives": "alternatives",
        "retry": "tool_retry",
        "breaker": "tool_breaker",
        "bulkhead": "places",
        "rate": "rate",
        "timeout_s": "limit_s",
    },
    "breaker": {
        "failures_in_a_row": "count",
        "failure_ratio": "share",
        "window_s": "number",
        "minimum_throughput": "count",
        "break_s": "number",
        "break_growth": "factor",
        "most_break_s": "number",
        "permits": "count",
    },
    "capability": {"capability": "text"},
}
"""The keys of each part, with the kinds of their values."""

TOOL_MEANINGS: Final = {
    "tools": "Policies for tool calls, by the tool's name, or * for every tool; those of a state take precedence.",
    "total_s": "The longest duration of a call in seconds, with its attempts, waits and alternatives; or off.",
    "alternatives": "Tools to call in place of a failing one, in this order: names, or capabilities; or off.",
    "capability": "Every tool with this capability.",
    "breaker": "When failing calls are refused; or off.",
    "bulkhead": "How many calls may run at once; or off.",
    "rate": "How many calls may start within a time: 60/min, 5/s, 10/30s; or off.",
    "failures_in_a_row": "How many consecutive failures open the breaker.",
    "failure_ratio": "The share of failed calls in the window that opens the breaker.",
    "window_s": "The length in seconds of the window for the ratio.",
    "minimum_throughput": "The fewest calls in the window for which the ratio opens the breaker.",
    "break_s": "Seconds from the opening to the first trial; 60 by default.",
    "break_growth": "The factor by which each break is longer than the one before.",
    "most_break_s": "The longest break in seconds.",
    "permits": "How many trial calls are allowed once the break is over.",
}

_OFF: Final = "off"
_USUAL: Final = under_tool(BreakerPolicy())
_REMEDIES: Final = {
    "rate": f"{RATE_REMEDY}, or off",
    "bulkhead": "write a whole number above 0, or off",
    "breaker": "write `{failures_in_a_row: 5, break_s: 60}`, or off",
    "alternatives": "name tools, or write `{capability: ...}`",
}
_A_LIMIT: Final = "write seconds above 0, or off"


def read_policies(spot: Spot | None, faults: Faults, keys: Keys) -> dict[str, ToolPolicies]:
    """Return policies by tool, without faulty ones, whose faults are added. keys: the keys of all parts of charts."""
    if spot is None:
        return {}
    Fields(spot, faults)
    policies_by_tool = {name: _Reader(body, faults, keys).policies() for name, body in spot.items()}
    return {name: policies for name, policies in policies_by_tool.items() if policies is not None}


class _Reader:
    """The reader of the policies of one tool."""

    def __init__(self, spot: Spot, faults: Faults, keys: Keys) -> None:
        self.spot = spot
        self.faults = faults
        self.keys = keys

    def policies(self) -> ToolPolicies | None:
        """Return the policies; None after a fault, which is added."""
        before = len(self.faults.found)
        Fields(self.spot, self.faults, self.keys["tool"])
        parsed = {key: self.policy(key, value) for key, value in self.spot.items() if key in self.keys["tool"]}
        return ToolPolicies(**parsed) if len(self.faults.found) == before else None

    def policy(self, key: str, value: Spot) -> Any:
        """Return one policy; None after a fault."""
        if value.value == _OFF:
            return _OFF
        if key == "retry":
            return retry_of(Retry, value, self.faults, self.keys["retry"])
        if key == "alternatives":
            return tuple(self.alternatives(value))
        if key == "breaker":
            return self.breaker(value)
        return self.rate(value) if key == "rate" else self.number(key, value, is_whole=key == "bulkhead")

    def number(self, key: str, value: Spot, *, is_whole: bool) -> float | None:
        """Return a number above 0."""
        number = value.value
        is_number = isinstance(number, int if is_whole else int | float) and not isinstance(number, bool)
        if is_number and number > 0:
            return float(number) if not is_whole else int(number)
        self.faults.add(value, f"expected a number above 0, found {kind_of(value)}", _REMEDIES.get(key, _A_LIMIT))
        return None

    def rate(self, value: Spot) -> Rate | None:
        """Return a rate."""
        text = text_of(value, self.faults)
        try:
            return Rate.of(text) if text else None
        except ValueError:
            self.faults.add(value, f"{text!r} is not a rate", _REMEDIES["rate"])
            return None

    def breaker(self, value: Spot) -> BreakerPolicy | None:
        """Return the policy of a breaker; null for the default."""
        if value.value is None:
            return _USUAL
        known = Fields(value, self.faults, self.keys["breaker"])
        given = {key: known.number(key) for key in self.keys["breaker"] if value.get(key) is not None}
        whole = [key for key, kind in self.keys["breaker"].items() if kind == "count"]
        if None in given.values() or not value.is_mapping:
            return None
        for key in whole:
            if not isinstance(given.get(key, 1), int):
                self.faults.add(value.get(key) or value, f"{given[key]} is not a whole number", _REMEDIES["breaker"])
                return None
        try:
            return BreakerPolicy(**given)  # type: ignore[arg-type]
        except ValueError as error:
            self.faults.add(value, in_keys(str(error)), _REMEDIES["breaker"])
            return None

    def alternatives(self, value: Spot) -> Iterator[str | Capability]:
        """Yield the valid tools and capabilities."""
        for element in value.elements():
            if not element.is_mapping:
                text = text_of(element, self.faults)
                yield from (text,) if text else ()
                continue
            named = Fields(element, self.faults, self.keys["capability"]).needs("capability", _REMEDIES["alternatives"])
            name = "" if named is None else text_of(named, self.faults)
            yield from (Capability(name),) if name else ()


def written_policies(policies: PoliciesByTool) -> dict[str, Any]:
    """Return policies as data."""
    return {
        name: {key: _written(key, each) for key, each in policies_of_tool.said.items() if each is not None}
        for name, policies_of_tool in policies.items()
    }


def _written(key: str, policy: Any) -> Any:
    if isinstance(policy, Retry):
        return _non_defaults(policy, Retry())
    if isinstance(policy, BreakerPolicy):
        return _non_defaults(policy, replace(_USUAL, failures_in_a_row=policy.failures_in_a_row and 5))
    if key == "alternatives" and policy != _OFF:
        return [{"capability": each.name} if isinstance(each, Capability) else each for each in policy]
    return str(policy) if isinstance(policy, Rate) else policy


def _non_defaults(value: Any, usual: Any) -> dict[str, Any]:
    field_values = {field_.name: getattr(value, field_.name) for field_ in fields(value)}
    return {name: value for name, value in field_values.items() if value != getattr(usual, name) and value is not None}


def tool_kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values of these keys, for the JSON Schema of charts."""

    def part(name: str) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{dialect}.{name}"}

    off, text = {"const": _OFF}, {"type": ["string", "number"]}
    alternative = {"anyOf": [text, part("capability")]}
    return {
        "tools": {"type": "object", "additionalProperties": part("tool")},
        "limit_s": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, off]},
        "places": {"anyOf": [{"type": "integer", "minimum": 1}, off]},
        "rate": {"anyOf": [{"type": "string", "pattern": r"^\s*\d{1,6}\s*/\s*\S+\s*$"}, off]},
        "tool_retry": {"anyOf": [part("retry"), {"type": "null"}, off]},
        "tool_breaker": {"anyOf": [part("breaker"), {"type": "null"}, off]},
        "alternatives": {"anyOf": [alternative, {"type": "array", "items": alternative}]},
    }
