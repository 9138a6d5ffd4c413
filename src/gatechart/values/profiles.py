"""What entry points can do, what work needs, and the choice between them: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from typing import Any, Final
from zoneinfo import ZoneInfo

from gatechart.values.frozen import replaced, value
from gatechart.values.names import AgentId
from gatechart.values.zones import zone_named, zone_remedy

DAYS: Final = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
LOWEST_TIER: Final = 1
HIGHEST_TIER: Final = 1_000
HIGHEST_CAPACITY: Final = 1_000_000
"""Pieces of work at once. What takes any number has no capacity at all."""
HIGHEST_COST: Final = 1e12
HIGHEST_WEIGHT: Final = 1e6
"""Of a scorer in a selection."""


@value
class Hours:
    """The hours in which an entry point takes work, by the clocks of a zone. An end before the begin is the next day's.

    >>> office = Hours(("MON", "TUE"), "09:00", "17:00", "Europe/Berlin")
    >>> office.contains(datetime.fromisoformat("2026-03-30T07:30:00+00:00"))
    True
    """

    days: tuple[str, ...] = DAYS  # on which it begins
    begins: str = "00:00"
    ends: str = "00:00"  # equal to `begins`: a whole day
    zone: str = "UTC"

    @property
    def fault(self) -> tuple[str, str] | None:
        """Problem and remedy if these are no hours."""
        if not isinstance(self.days, tuple):
            return f"days {self.days!r}", 'write a tuple such as ("MON", "TUE")'
        unknown = [day for day in self.days if day not in DAYS]
        if unknown or not self.days:
            return f"days {unknown!r}", f"name some of {', '.join(DAYS)}"
        for text in (self.begins, self.ends):
            try:
                is_clock = time.fromisoformat(text).tzinfo is None
            except (TypeError, ValueError):
                is_clock = False
            if not is_clock:
                return f"the time {text!r}", "write it as '09:00'"
        if zone_named(self.zone) is None:
            return f"the zone {self.zone!r}", zone_remedy()
        return None

    def contains(self, moment: datetime) -> bool:
        """Tell whether an aware moment lies in these hours."""
        there = moment.astimezone(ZoneInfo(self.zone))
        begins, ends = time.fromisoformat(self.begins), time.fromisoformat(self.ends)
        today, clock = there.weekday(), there.time()
        if begins < ends:
            return DAYS[today] in self.days and begins <= clock < ends
        began_today = DAYS[today] in self.days and clock >= begins
        return began_today or (DAYS[today - 1] in self.days and clock < ends)


@value
class Profile:
    """What an entry point can do. What is left out is taken from the graph's profile."""

    capabilities: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tier: int | None = None  # higher ones take what lower ones could not; `LOWEST_TIER` if None
    languages: tuple[str, ...] = ()  # such as "de"; none: any
    samples: tuple[str, ...] = ()  # sentences that people say when they come here
    group: str = ""  # what fails together
    schedule: tuple[Hours, ...] = ()  # none: always
    cost: float | None = None  # of a piece of work, in a unit of one's own; 0 if None
    expected_s: float | None = None  # seconds that a piece of work should take at most; None: any time

    def over(self, default: Profile | None) -> Profile:
        """Return the profile with what it leaves out taken from another."""
        if default is None:
            return self
        empty = Profile()
        own = {name: getattr(self, name) for name in self.__match_args__}
        return replaced(default, **{name: each for name, each in own.items() if each != getattr(empty, name)})

    @property
    def level(self) -> int:
        """Its tier."""
        return LOWEST_TIER if self.tier is None else self.tier


@value
class Needs:
    """What work needs of whoever takes it: one of the capabilities, one of the domains, a tier, a language.

    >>> Needs(domains=("refunds",)).joined(Needs(tier=2))
    Needs(capabilities=(), domains=('refunds',), tier=2, languages=(), all=False)
    """

    capabilities: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tier: int = 0  # at least
    languages: tuple[str, ...] = ()
    all: bool = False  # whether each capability and each domain is needed

    @property
    def text(self) -> str:
        """They in words; empty if there are none.

        >>> Needs(capabilities=("query_order", "modify_order"), tier=2).text
        'query_order or modify_order, tier 2'
        """
        either = " and " if self.all else " or "
        tier = f"tier {self.tier}" if self.tier else ""
        told = either.join(self.capabilities), either.join(self.domains), tier, " or ".join(self.languages)
        return ", ".join(filter(None, told))

    def are_met_by(self, profile: Profile) -> bool:
        """Return whether a profile has all that is needed, whatever its hours."""
        enough = all if self.all else any
        named = (self.capabilities, profile.capabilities), (self.domains, profile.domains)
        return (
            all(not wanted or enough(name in had for name in wanted) for wanted, had in named)
            and profile.level >= self.tier
            and (not self.languages or not profile.languages or _share_one(self.languages, profile.languages))
        )

    def joined(self, other: Needs) -> Needs:
        """Return the needs of both."""
        return Needs(
            _union(self.capabilities, other.capabilities),
            _union(self.domains, other.domains),
            max(self.tier, other.tier),
            _union(self.languages, other.languages),
            self.all or other.all,
        )


@value
class Candidate:
    """An entry of the directory, as a choice sees it: an entry point of a graph, or a person or agent behind one."""

    id: str  # "orders.REVIEWING", or the id under which it was registered
    graph: str
    entry_point: str
    agent: AgentId = ""  # an existing agent; a new one if empty
    profile: Profile = Profile()
    text: str = ""  # its description, and what it takes
    is_local: bool = True  # whether a graph of this home declares it; otherwise it was registered
    is_person: bool = False
    capacity: int | None = None  # None: unlimited
    held: int = 0  # open work
    load: float | None = None  # from 0 to 1, by a function; by default open work against capacity
    is_open: bool = True  # whether operators let it take work
    is_pinned: bool = False  # whether operators prefer it
    open_breakers: tuple[str, ...] = ()
    performance: float = 1.0
    users: tuple[str, ...] = ()  # for whom it completed work lately
    is_excluded: bool = False  # whether operators have it left out of selections
    mark_reason: str = ""  # what operators said who closed, excluded or pinned it


@value
class Judged:
    """A candidate of a choice: its scores, or why it fell out."""

    id: str
    total: float = 0.0  # weighted sum of the scores; 0 if an order of the scorers decides
    scores: tuple[tuple[str, float], ...] = ()  # by scorer, before they are weighted
    fell: str = ""  # name of the filter that left it out, with the reason; empty if it stayed
    parts: tuple[tuple[str, float], ...] = ()  # what its score "learned" is made of: prior, learned and bonus


@value
class Explanation:
    """Why a choice came out as it did: every candidate with each score, or why it fell out."""

    needs: Needs
    judged: tuple[Judged, ...]  # the best first, then those that fell out
    left_out: int = 0  # further candidates, which are not told
    seed: str = ""  # of the draw
    tied: tuple[str, ...] = ()  # among which the draw decided
    details: str = ""  # in words
    probability: float = 1.0  # with which the chosen one was chosen


@value
class Choice:
    """A choice of a target; without a candidate, nothing matched."""

    explanation: Explanation
    candidate: Candidate | None = None
    probability: float = 1.0  # with which it was chosen
    chances: tuple[tuple[str, float], ...] = ()  # with what probability each was chosen, by id; the first few
    noted: Mapping[str, Any] | None = None  # what is kept of it, to be joined by what comes of it; JSON values


def _share_one(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(is_same_language(one.casefold(), other.casefold()) for one in some for other in others)


def is_same_language(one: str, other: str) -> bool:
    """Tell whether two tags, in lower case, are of one language, and of one region where both name one.

    >>> is_same_language("de", "de-at"), is_same_language("de-ch", "de-at")
    (True, False)
    """
    return one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")


def _union(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*some, *others)))
