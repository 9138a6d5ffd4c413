"""The watchdog as a program configures it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gatechart.graph import Handoff
from gatechart.turn import checked_key
from gatechart.values import Delay, FindingKind, seconds_in
from gatechart.watchdog import Act, WatchdogTerms


@dataclass(frozen=True, slots=True)
class Watchdog:
    """Looks for what is wrong, every so often, and tells of it: agents, sinks of alerts, the log, metrics.

    An agent hears of a finding about it as `alarm.watchdog.<kind>`, if its graph has a transition on that. By default
    the watchdog does no more. Each finding is told of and acted on once, until a look no longer finds it, whatever
    crashes in between.
    """

    every: Delay
    sinks: tuple[str, ...]  # told of each finding
    acts: Mapping[FindingKind, tuple[Act, ...]]  # what is done about agents, by kind
    escalate_to: Handoff | None  # where ESCALATE hands an agent's work
    terms: WatchdogTerms

    def __init__(
        self,
        every: Delay = "1m",
        *,
        alerts: Iterable[str] | str = (),
        acts: Mapping[FindingKind | str, Iterable[Act | str] | Act | str] = MappingProxyType({}),
        escalate_to: Handoff | None = None,
        terms: WatchdogTerms | None = None,
    ) -> None:
        """Say how often it looks, and what it does.

        alerts: names of sinks. acts: by kind of finding, such as `{"waiting": Act.WAKE}`.
        Raises ValueError for a duration, a kind or an act that is none, and for ESCALATE without escalate_to.
        """
        named = (alerts,) if isinstance(alerts, str) else tuple(alerts)
        done = {
            FindingKind(kind): tuple(Act(each) for each in ((act,) if isinstance(act, str) else act))
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
        object.__setattr__(self, "terms", terms or WatchdogTerms())

    @property
    def every_s(self) -> float:
        """Seconds between two looks."""
        return seconds_in(self.every)
