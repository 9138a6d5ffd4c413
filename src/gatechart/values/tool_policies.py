"""Policies of tool calls: rates, concurrency, time limits, retries, breakers, and alternatives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias

from gatechart.values.breakers import BreakerPolicy
from gatechart.values.delays import Retry, seconds_of

Off: TypeAlias = Literal["off"]
"""In place of a policy: switches off the policy of a weaker layer."""

EVERY_TOOL: Final = "*"
"""In place of a tool's name: the policies apply to every tool."""

_BREAK_S: Final = 60.0  # default break of a tool's breaker
RATE_REMEDY: Final = "write '60/min', '5/s', '1000/h' or '10/30s', at most 10,000 calls"

_MOST_CALLS: Final = 10_000  # a rate stores the start of each of its calls
_UNITS_S: Final = {
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
}
_RATE: Final = re.compile(r"\s*(\d{1,6})\s*/\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate limit: at most `calls` calls start within any `per_s` seconds.

    >>> Rate.of("60/min"), Rate.of("10/30s")
    (Rate(calls=60, per_s=60.0), Rate(calls=10, per_s=30.0))
    """

    calls: int
    per_s: float

    def __post_init__(self) -> None:
        if not 1 <= self.calls <= _MOST_CALLS or not self.per_s > 0:
            raise ValueError(f"{self} is not possible: {RATE_REMEDY}")

    @classmethod
    def of(cls, text: str) -> Rate:
        """Read a rate. Raises ValueError, which names valid forms."""
        match = _RATE.fullmatch(text)
        per_s = None if match is None else _UNITS_S.get(match[2]) or seconds_of(match[2])
        if match is None or not per_s:
            raise ValueError(f"{text!r} is not a rate: {RATE_REMEDY}")
        return cls(int(match[1]), per_s)

    def __str__(self) -> str:
        return f"{self.calls}/{self.per_s:g}s"


@dataclass(frozen=True, slots=True)
class Capability:
    """Every tool with a capability, in the order of the tool box. Used among a tool's alternatives."""

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("Capability('') names nothing; write what the tools can do, such as Capability('search')")


Alternative: TypeAlias = str | Capability
"""A tool by its name, or the tools of a capability."""


@dataclass(frozen=True, init=False)
class ToolPolicies:
    """The policies for the calls of a tool. None leaves a policy to the weaker layer, "off" switches it off.

    The policies of a call wrap each other in the order of the fields, the first outermost.

    >>> own = ToolPolicies(timeout_s=5, rate="60/min")
    >>> ToolPolicies(timeout_s=2, rate="off").over(own)
    ToolPolicies(rate='off', timeout_s=2)
    """

    total_s: float | Off | None  # limit of the whole call, including attempts, waits and alternatives
    alternatives: tuple[Alternative, ...] | Off | None  # tools to call after a failure, in this order
    retry: Retry | Off | None
    breaker: BreakerPolicy | Off | None
    bulkhead: int | Off | None  # concurrent calls
    rate: Rate | Off | None
    timeout_s: float | Off | None  # limit of each attempt

    def __init__(
        self,
        *,
        total_s: float | Off | None = None,
        alternatives: Iterable[Alternative] | Alternative | None = None,
        retry: Retry | Off | None = None,
        breaker: BreakerPolicy | Off | None = None,
        bulkhead: int | Off | None = None,
        rate: Rate | str | None = None,
        timeout_s: float | Off | None = None,
    ) -> None:
        policies = {
            "total_s": _above_zero("total_s", total_s),
            "alternatives": _alternatives(alternatives),
            "retry": retry,
            "breaker": under_tool(breaker) if isinstance(breaker, BreakerPolicy) else breaker,
            "bulkhead": _above_zero("bulkhead", bulkhead),
            "rate": Rate.of(rate) if isinstance(rate, str) and rate != "off" else rate,
            "timeout_s": _above_zero("timeout_s", timeout_s),
        }
        for name, policy in policies.items():
            object.__setattr__(self, name, policy)

    def over(self, weaker: ToolPolicies) -> ToolPolicies:
        """Return these policies, completed from a weaker layer."""
        own = {name: policy for name, policy in self.said.items() if policy is not None}
        return ToolPolicies(**{**weaker.said, **own})

    @property
    def said(self) -> dict[str, Any]:
        """The policies by name; None where none is set."""
        return {policy_field.name: getattr(self, policy_field.name) for policy_field in fields(self)}

    def __repr__(self) -> str:
        policies = ", ".join(f"{name}={policy!r}" for name, policy in self.said.items() if policy is not None)
        return f"ToolPolicies({policies})"


PoliciesByTool: TypeAlias = Mapping[str, ToolPolicies]
"""One layer: policies by the tool's name, with "*" for every tool."""


def effective_policies(tool: str, own: ToolPolicies, layers: Iterable[PoliciesByTool]) -> ToolPolicies:
    """Return the policies of a tool's calls. own: the tool's own. layers: stronger ones, the weakest first.

    Within a layer, policies for the tool's name are stronger than policies for every tool.
    """
    effective = own
    for layer in layers:
        for name in (EVERY_TOOL, tool):
            if name in layer:
                effective = layer[name].over(effective)
    return effective


def _above_zero(name: str, number: Any) -> Any:
    if number is not None and number != "off" and (isinstance(number, str | bool) or not number > 0):
        raise ValueError(f"ToolPolicies({name}={number!r}) lets no call through; give a number above 0, or 'off'")
    return number


def under_tool(breaker: BreakerPolicy) -> BreakerPolicy:
    """Return the policy of a tool's breaker, with 60 s for a break that has no length.

    >>> under_tool(BreakerPolicy()).break_s, under_tool(BreakerPolicy(break_s=5)).break_s
    (60.0, 5)
    """
    return breaker if breaker.break_s is not None else replace(breaker, break_s=_BREAK_S)


def _alternatives(value: Iterable[Alternative] | Alternative | None) -> tuple[Alternative, ...] | Off | None:
    if value is None or value == "off":
        return value if value is None else "off"
    several = (value,) if isinstance(value, str | Capability) else tuple(value)
    for alternative in several:
        if not isinstance(alternative, str | Capability) or not alternative:
            raise ValueError(f"{alternative!r} is not an alternative; name a tool, or write Capability('search')")
    return several
