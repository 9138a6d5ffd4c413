"""Frozen values for selections: profiles of entry points, needs of work, and the choice of a target."""

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
"""Concurrent pieces of work. A capacity of None means unlimited."""
HIGHEST_COST: Final = 1e12
HIGHEST_WEIGHT: Final = 1e6
"""Weight of a scorer in a selection."""


@value
class Hours:
    """The hours when an entry point accepts work, in a time zone. An end before the beginning is on the next day.

    >>> office = Hours(("MON", "TUE"), "09:00", "17:00", "Europe/Berlin")
    >>> office.contains(datetime.fromisoformat("2026-03-30T07:30:00+00:00"))
    True
    """

    days: tuple[str, ...] = DAYS  # days when the hours begin
    begins: str = "00:00"
    ends: str = "00:00"  # equal to `begins`: a whole day
    zone: str = "UTC"

    @property
    def fault(self) -> tuple[str, str] | None:
        """Problem and remedy if the hours are invalid; None if they are valid."""
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
        """Return whether an aware moment lies in these hours."""
        there = moment.astimezone(ZoneInfo(self.zone))
        begins, ends = time.fromisoformat(self.begins), time.fromisoformat(self.ends)
        today, clock = there.weekday(), there.time()
        if begins < ends:
            return DAYS[today] in self.days and begins <= clock < ends
        began_today = DAYS[today] in self.days and clock >= begins
        return began_today or (DAYS[today - 1] in self.days and clock < ends)


@value
class Profile:
    """The abilities of an entry point. Fields left out are taken from the graph's profile."""

    capabilities: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tier: int | None = None  # higher tiers take work that lower ones could not do; `LOWEST_TIER` if None
    languages: tuple[str, ...] = ()  # such as "de"; none: any
    samples: tuple[str, ...] = ()  # typical sentences of users whose requests belong here
    group: str = ""  # entry points of one group fail together
    schedule: tuple[Hours, ...] = ()  # none: always
    cost: float | None = None  # of a piece of work, in any unit; 0 if None
    expected_s: float | None = None  # seconds that a piece of work should take at most; None: any time

    def over(self, default: Profile | None) -> Profile:
        """Return the profile with its missing fields taken from the default."""
        if default is None:
            return self
        empty = Profile()
        own = {name: getattr(self, name) for name in self.__match_args__}
        return replaced(default, **{name: field for name, field in own.items() if field != getattr(empty, name)})

    @property
    def level(self) -> int:
        """Its effective tier."""
        return LOWEST_TIER if self.tier is None else self.tier


@value
class Needs:
    """The requirements of work: one of the capabilities, one of the domains, a tier, a language.

    >>> Needs(domains=("refunds",)).joined(Needs(tier=2))
    Needs(capabilities=(), domains=('refunds',), tier=2, languages=(), all=False)
    """

    capabilities: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tier: int = 0  # the lowest acceptable one
    languages: tuple[str, ...] = ()
    all: bool = False  # whether every capability and every domain is needed

    @property
    def text(self) -> str:
        """The needs in words; empty if there are none.

        >>> Needs(capabilities=("query_order", "modify_order"), tier=2).text
        'query_order or modify_order, tier 2'
        """
        either = " and " if self.all else " or "
        tier = f"tier {self.tier}" if self.tier else ""
        parts = either.join(self.capabilities), either.join(self.domains), tier, " or ".join(self.languages)
        return ", ".join(filter(None, parts))

    def are_met_by(self, profile: Profile) -> bool:
        """Return whether a profile meets the needs. Its hours are not considered."""
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
    """An entry of the directory as selections see it: an entry point of a graph, or a person or agent behind one."""

    id: str  # "orders.REVIEWING", or the id under which it was registered
    graph: str
    entry_point: str
    agent: AgentId = ""  # an existing agent; a new one if empty
    profile: Profile = Profile()
    text: str = ""  # its description, and the payload that it takes
    is_local: bool = True  # whether a graph of this home declares it; otherwise it was registered
    is_person: bool = False
    capacity: int | None = None  # None: unlimited
    held: int = 0  # open work
    load: float | None = None  # from 0 to 1, from a function; None: open work divided by capacity
    is_open: bool = True  # false if an operator closed it
    is_pinned: bool = False  # whether an operator pinned it
    open_breakers: tuple[str, ...] = ()
    performance: float = 1.0
    users: tuple[str, ...] = ()  # users for whom it recently completed work
    is_excluded: bool = False  # whether an operator excluded it from selections
    mark_reason: str = ""  # the operator's reason for closing, excluding or pinning it


@value
class Judged:
    """A candidate of a choice: its scores, or why it was excluded."""

    id: str
    total: float = 0.0  # weighted sum of the scores; 0 if the selection uses an order of scorers
    scores: tuple[tuple[str, float], ...] = ()  # by scorer, before weighting
    fell: str = ""  # name of the filter that excluded it, with the reason; empty if none did
    parts: tuple[tuple[str, float], ...] = ()  # parts of its score "learned": prior, learned and bonus


@value
class Explanation:
    """The explanation of a choice: every candidate with its scores, or why it was excluded."""

    needs: Needs
    judged: tuple[Judged, ...]  # the best first, then the excluded ones
    left_out: int = 0  # number of further candidates, which are not listed
    seed: str = ""  # of the random draw
    tied: tuple[str, ...] = ()  # ids of the candidates that the draw decided between
    details: str = ""  # in words
    probability: float = 1.0  # that the chosen candidate was chosen


@value
class Choice:
    """A choice of a target; without a candidate, nothing matched."""

    explanation: Explanation
    candidate: Candidate | None = None
    probability: float = 1.0  # that this candidate was chosen
    chances: tuple[tuple[str, float], ...] = ()  # probability of each candidate, by id; the first few
    noted: Mapping[str, Any] | None = None  # record of the choice, to be joined with its outcome later; JSON values


def _share_one(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(is_same_language(one.casefold(), other.casefold()) for one in some for other in others)


def is_same_language(one: str, other: str) -> bool:
    """Return whether two lower-case tags have the same language, and the same region if both name one.

    >>> is_same_language("de", "de-at"), is_same_language("de-ch", "de-at")
    (True, False)
    """
    return one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")


def _union(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*some, *others)))
