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
    """Looks for what is wrong, every so often, and tells of it: agents, sinks of alerts, the log, metrics.

    An agent hears of a finding about it as `alarm.watchdog.<kind>`, if its graph has a transition on that. By default
    the watchdog does no more. Each finding is told of and acted on once, until a look no longer finds it, whatever
    crashes in between. A restart that is closed leaves the finding as it is, until the agent has another turn; one that
    is only tried again too soon is tried later. An agent whose graph the home lacks is told of, and acted on only once
    the home has that graph.
    """

    every: Delay
    sinks: tuple[str, ...]  # told of each finding
    acts: Mapping[FindingKind, tuple[Act, ...]]  # what is done about agents, by kind
    escalate_to: Handoff | None  # where ESCALATE hands an agent's work
    restart_at: Mapping[str, str]  # entry points at which RESTART has agents begin anew, by graph
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
        """Say how often it looks, and what it does.

        alerts: names of sinks. acts: by kind of finding, such as `{"waiting": Act.WAKE}`.
        restart_at: by graph, the entry point at which Act.RESTART has agents begin anew; the others do so where they
        began, with what they began with.
        A home refuses to open if it has no such graph or entry point.
        Raises ValueError for a duration, a kind or an act that is none, and for ESCALATE without escalate_to.
        """
        named = (alerts,) if isinstance(alerts, str) else tuple(alerts)
        done = {
            _known(FindingKind, kind, "kind of finding"): tuple(_known(Act, each, "act") for each in one_or_more(act))
            for kind, act in acts.items()
        }
        if escalate_to is None and any(Act.ESCALATE in each for each in done.values()):
            raise ValueError("Act.ESCALATE needs escalate_to=Handoff(...), which says who gets the work")
        if not seconds_in(every, "every"):
            raise ValueError("the watchdog looks every 0 seconds; give a longer duration")
        object.__setattr__(self, "every", every)
        object.__setattr__(self, "sinks", tuple(checked_key(each, "sink") for each in named))
        object.__setattr__(self, "acts", MappingProxyType(done))
        object.__setattr__(self, "escalate_to", escalate_to)
        named_doors = {graph: name_of(door) for graph, door in restart_at.items()}
        object.__setattr__(self, "restart_at", MappingProxyType(named_doors))
        object.__setattr__(self, "terms", terms or WatchdogTerms())

    def check_restarts(self, registry: Registry) -> None:
        """Raise UnknownGraphError or EntryRefusedError if restart_at names what the home does not have."""
        for graph, door in self.restart_at.items():
            registry.graph(graph).entry_point(door)

    def acts_on(self, kind: FindingKind | str) -> tuple[Act, ...]:
        """Return what is done about the agent of a finding."""
        return self.acts.get(FindingKind(kind), ())

    @property
    def every_s(self) -> float:
        """Seconds between two looks."""
        return seconds_in(self.every)


def _known(kind: type[E], given: str, what: str) -> E:
    """Return a member of a closed set. Raises ValueError, which names the members."""
    if given not in [*kind]:
        raise ValueError(f"{given!r} is no {what}; those are {', '.join(kind)}")
    return kind(given)
