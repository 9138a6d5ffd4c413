"""Profiles and needs as a chart file has them: from nodes to values, and from values back to keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from gatechart.charts.faults import Faults, Fields, Spot, kind_of, text_of
from gatechart.charts.selection_keys import SELECTION_KEYS
from gatechart.charts.words import in_keys
from gatechart.errors import suggestion
from gatechart.graph import NeedRule
from gatechart.values import DAYS, LOWEST_TIER, Hours, Needs, Profile, Reason

_EVERY_DAY: Final = Hours()
_REASONS: Final = tuple(reason.value for reason in Reason)


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


def read_needs(spot: Spot, faults: Faults) -> Needs:
    """Return what work needs, without what has faults, which are added."""
    given = Fields(spot, faults, SELECTION_KEYS["needs"])
    tier = spot.get("tier")
    return Needs(
        capabilities=given.texts("capabilities"),
        domains=given.texts("domains"),
        tier=0 if tier is None else _tier(tier, faults, least=0) or 0,
        languages=given.texts("languages"),
        all=given.flag("all"),
    )


def read_rules(spot: Spot, faults: Faults) -> Iterator[NeedRule]:
    """Yield rules by which work needs something; those with faults, which are added, need nothing."""
    for each in spot.elements():
        given = Fields(each, faults, SELECTION_KEYS["need_rule"])
        needs = given.needs("needs", "write `needs:` with domains, capabilities, a tier or languages")
        reason = given.choice("reason", _REASONS, _REASONS[-1]) if each.get("reason") is not None else None
        found = Needs() if needs is None else read_needs(needs, faults)
        yield NeedRule(found, reason=reason, mentions=given.texts("mentions"))


def written_needs(needs: Needs) -> dict[str, Any]:
    """Return what work needs as data."""
    return _told_apart(needs, Needs())


def written_rule(rule: NeedRule) -> dict[str, Any]:
    """Return a rule as data."""
    reason = {} if rule.reason is None else {"reason": rule.reason.value}
    return {**reason, **({"mentions": list(rule.words)} if rule.words else {}), "needs": written_needs(rule.needs)}


def _tier(spot: Spot | None, faults: Faults, least: int = LOWEST_TIER) -> int | None:
    if spot is None:
        return None
    tier: Any = spot.value
    if isinstance(tier, int) and not isinstance(tier, bool) and tier >= least:
        return tier
    faults.add(spot, f"expected a tier, found {kind_of(spot)}", f"write a whole number, {least} or more")
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


def _told_apart(value: Profile | Hours | Needs, usual: Profile | Hours | Needs) -> dict[str, Any]:
    """Return the fields in which a value differs from the usual one, as data."""
    given = {each.name: getattr(value, each.name) for each in fields(value)}
    told = {name: content for name, content in given.items() if content != getattr(usual, name)}
    return {name: list(content) if isinstance(content, tuple) else content for name, content in told.items()}
