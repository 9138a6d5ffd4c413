"""The watchdog as a program configures it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from gatechart.graph.handoff import Handoff
from gatechart.graph.names import one_or_more
from gatechart.hosting.registry import Registry
from gatechart.turn.arguments import checked_key
from gatechart.values.delays import Delay, seconds_in
from gatechart.values.findings import FindingKind
from gatechart.values.names import Name, name_of
from gatechart.watchdog.terms import Act, WatchdogTerms

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Watchdog:
    """Checks for problems at a fixed interval, and reports them to agents, alert sinks, the log and metrics.

    An agent receives a finding about itself as `alarm.watchdog.<kind>`, if its graph has a transition for that event.
    By default the watchdog only reports. It reports and handles each finding once, even across crashes, until a check
    no longer finds it. If a restart is refused because the entry point is closed, the finding stays until the agent has
    another turn. If the restart comes too soon after the last one, the watchdog retries it later. A finding about an
    agent whose graph the home lacks is reported at once, and handled when the home has that graph.
    """

    every: Delay
    sinks: tuple[str, ...]  # receive an alert for each finding
    acts: Mapping[FindingKind, tuple[Act, ...]]  # actions on the agent of a finding, by kind of finding
    escalate_to: Handoff | None  # the handoff that ESCALATE requests
    restart_at: Mapping[str, str]  # entry points where RESTART restarts agents, by graph
    terms: WatchdogTerms

    def __init__(
        self,
        every: Delay = "1m",
        *,
        alerts: Iterable[str] | str = (),
        acts: Mapping[FindingKind | str, Iterable[Act | str] | Act | str] = MappingProxyType({}),
        escalate_to: Handoff | None = None,
        restart_at: Mapping[str, Name] = MappingProxyType({}),
        terms: WatchdogTerms | None = None,
    ) -> None:
        """Configure the interval of the checks, and the actions.

        alerts: names of sinks. acts: actions by kind of finding, such as `{"waiting": Act.WAKE}`.
        restart_at: by graph, the entry point where Act.RESTART restarts agents. Agents of other graphs restart at
        their original entry point, with their original payload.
        A home refuses to open if it lacks such a graph or entry point.
        Raises ValueError for an invalid duration, kind or act, and for ESCALATE without escalate_to.
        """
        sinks = (alerts,) if isinstance(alerts, str) else tuple(alerts)
        acts_by_kind = {
            _member(FindingKind, kind, "kind of finding"): tuple(
                _member(Act, act, "act") for act in one_or_more(chosen)
            )
            for kind, chosen in acts.items()
        }
        if escalate_to is None and any(Act.ESCALATE in chosen for chosen in acts_by_kind.values()):
            raise ValueError("Act.ESCALATE needs escalate_to=Handoff(...), which names the receiver of the work")
        if not seconds_in(every, "every"):
            raise ValueError("every is 0 seconds; give the watchdog a longer interval")
        object.__setattr__(self, "every", every)
        object.__setattr__(self, "sinks", tuple(checked_key(sink, "sink") for sink in sinks))
        object.__setattr__(self, "acts", MappingProxyType(acts_by_kind))
        object.__setattr__(self, "escalate_to", escalate_to)
        entry_points = {graph: name_of(entry_point) for graph, entry_point in restart_at.items()}
        object.__setattr__(self, "restart_at", MappingProxyType(entry_points))
        object.__setattr__(self, "terms", terms or WatchdogTerms())

    def check_restarts(self, registry: Registry) -> None:
        """Raise UnknownGraphError or EntryRefusedError if restart_at names an unknown graph or entry point."""
        for graph, entry_point in self.restart_at.items():
            registry.graph(graph).entry_point(entry_point)

    def acts_on(self, kind: FindingKind | str) -> tuple[Act, ...]:
        """Return the configured actions on the agent of a finding of this kind."""
        return self.acts.get(FindingKind(kind), ())

    @property
    def every_s(self) -> float:
        """Seconds between two checks."""
        return seconds_in(self.every)


def _member(members: type[E], value: str, noun: str) -> E:
    """Return the enum member with this value. Raises ValueError, which lists the members."""
    if value not in [*members]:
        raise ValueError(f"{value!r} is not a valid {noun}; use one of {', '.join(members)}")
    return members(value)
