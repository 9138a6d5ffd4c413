"""Profiles as a chart file has them: from nodes to profiles, and from profiles back to keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from gatechart.charts.faults import Faults, Fields, Spot, kind_of, text_of
from gatechart.charts.selection_keys import SELECTION_KEYS
from gatechart.charts.words import in_keys
from gatechart.errors import suggestion
from gatechart.values import DAYS, LOWEST_TIER, Hours, Profile

_EVERY_DAY: Final = Hours()


def read_profile(spot: Spot | None, faults: Faults) -> Profile | None:
    """Return a profile without what has faults, which are added; None where nothing is said of it."""
    if spot is None:
        return None
    given = Fields(spot, faults, SELECTION_KEYS["profile"])
    return Profile(
        capabilities=given.texts("capabilities"),
        domains=given.texts("domains"),
        tier=_tier(spot.get("tier"), faults),
        languages=given.texts("languages"),
        samples=given.texts("samples"),
        group=given.text("group"),
        schedule=tuple(_schedule(given, faults)),
        cost=given.number("cost"),
    )


def written_profile(profile: Profile) -> dict[str, Any]:
    """Return a profile as data, without what it leaves out."""
    schedule = [_told_apart(each, _EVERY_DAY) for each in profile.schedule]
    return _told_apart(profile, Profile()) | ({"schedule": schedule} if schedule else {})


def _tier(spot: Spot | None, faults: Faults) -> int | None:
    if spot is None:
        return None
    tier: Any = spot.value
    if isinstance(tier, int) and not isinstance(tier, bool) and tier >= LOWEST_TIER:
        return tier
    faults.add(spot, f"expected a tier, found {kind_of(spot)}", f"write a whole number, {LOWEST_TIER} or more")
    return None


def _schedule(profile: Fields, faults: Faults) -> Iterator[Hours]:
    """Yield the hours of a profile."""
    for spot in profile.values("schedule"):
        given = Fields(spot, faults, SELECTION_KEYS["hours"])
        before = len(faults.found)
        days = tuple(_days(given, faults)) if spot.get("days") is not None else _EVERY_DAY.days
        times = {key: given.text(key, getattr(_EVERY_DAY, key)) for key in ("begins", "ends", "zone")}
        hours = Hours(days if len(faults.found) == before else _EVERY_DAY.days, **times)
        if hours.fault is None:
            yield hours
            continue
        problem, remedy = hours.fault
        where = next((each for _, each in spot.items() if repr(each.node.text) in problem), spot)
        faults.add(where, f"{problem} is none", in_keys(remedy))


def _days(hours: Fields, faults: Faults) -> Iterator[str]:
    for each in hours.values("days"):
        day = text_of(each, faults)
        if day in DAYS:
            yield day
        elif day:
            faults.add(each, f"{day!r} is no day", suggestion(day, DAYS))


def _told_apart(value: Profile | Hours, usual: Profile | Hours) -> dict[str, Any]:
    """Return the fields in which a value differs from the usual one, as data."""
    given = {each.name: getattr(value, each.name) for each in fields(value)}
    told = {name: content for name, content in given.items() if content != getattr(usual, name)}
    return {name: list(content) if isinstance(content, tuple) else content for name, content in told.items()}
