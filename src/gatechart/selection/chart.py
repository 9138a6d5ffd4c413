"""Profiles of a chart file: from nodes to values, and from values back to keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from gatechart.chartfiles.faults import Faults, Fields, Spot, text_of
from gatechart.chartfiles.selections import non_defaults, tier_of
from gatechart.chartfiles.words import in_keys
from gatechart.errors.root import suggestion
from gatechart.selection.chart_keys import PROFILE_KEYS
from gatechart.values.profiles import DAYS, Hours, Profile

_EVERY_DAY: Final = Hours()


def read_profile(spot: Spot | None, faults: Faults) -> Profile | None:
    """Return a profile without its faulty parts, whose faults are added; None if there is none."""
    if spot is None:
        return None
    given = Fields(spot, faults, PROFILE_KEYS["profile"])
    return Profile(
        capabilities=given.texts("capabilities"),
        domains=given.texts("domains"),
        tier=tier_of(spot.get("tier"), faults),
        languages=given.texts("languages"),
        samples=given.texts("samples"),
        group=given.text("group"),
        schedule=tuple(_schedule(given, faults)),
        cost=given.number("cost"),
        expected_s=given.number("expected_s"),
    )


def written_profile(profile: Profile) -> dict[str, Any]:
    """Return a profile as data, without defaults."""
    schedule = [non_defaults(hours, _EVERY_DAY) for hours in profile.schedule]
    return non_defaults(profile, Profile()) | ({"schedule": schedule} if schedule else {})


def _schedule(profile: Fields, faults: Faults) -> Iterator[Hours]:
    """Yield the hours of a profile."""
    for spot in profile.values("schedule"):
        given = Fields(spot, faults, PROFILE_KEYS["hours"])
        before = len(faults.found)
        days = tuple(_days(given, faults)) if spot.get("days") is not None else _EVERY_DAY.days
        times = {key: given.text(key, getattr(_EVERY_DAY, key)) for key in ("begins", "ends", "zone")}
        hours = Hours(days if len(faults.found) == before else _EVERY_DAY.days, **times)
        if hours.fault is None:
            yield hours
            continue
        problem, remedy = hours.fault
        where = next((value for _, value in spot.items() if repr(value.node.text) in problem), spot)
        faults.add(where, f"{problem} is none", in_keys(remedy))


def _days(hours: Fields, faults: Faults) -> Iterator[str]:
    for value in hours.values("days"):
        day = text_of(value, faults)
        if day in DAYS:
            yield day
        elif day:
            faults.add(value, f"{day!r} is not a day", suggestion(day, DAYS))
