"""Faults in profiles, and in selections of the best target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, Final, TypeGuard

from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.callables import callable_name, fits, is_async
from gatechart.graph.selection import FILTERS, SCORERS, Best, NeedRule
from gatechart.values.delays import LONGEST_S
from gatechart.values.names import is_number, unkept
from gatechart.values.profiles import HIGHEST_COST, HIGHEST_TIER, HIGHEST_WEIGHT, LOWEST_TIER, Hours, Needs, Profile

_PROFILE: Final = 'write Profile(capabilities=("process_refund",), domains=("refunds",), tier=2)'
_NEEDS: Final = 'write Needs(capabilities=("process_refund",), domains=("refunds",), tier=2)'
LONGEST_PHRASE: Final = 2_000  # characters of a text in a profile or in needs


def profile_faults(place: str, profile: object) -> Iterator[Fault]:
    """Yield the faults of a profile; None is valid. place: where it is declared."""
    if profile is None:
        return
    if not isinstance(profile, Profile):
        yield Fault(place, f"{profile!r} is no profile", _PROFILE)
        return
    for name in ("capabilities", "domains", "languages", "samples"):
        yield from _text_faults(place, name, getattr(profile, name))
    if profile.tier is not None and not _is_tier(profile.tier, LOWEST_TIER):
        yield Fault(
            place, f"tier={profile.tier!r} is no tier", f"pass a whole number from {LOWEST_TIER} to {HIGHEST_TIER}"
        )
    if why := unkept(profile.group, LONGEST_PHRASE):
        yield Fault(place, f"group={profile.group!r}: {why}", "pass a text")
    if profile.cost is not None and not is_amount(profile.cost, HIGHEST_COST):
        yield Fault(place, f"cost={profile.cost!r} is no cost", f"pass a number from 0 to {HIGHEST_COST:g}")
    if profile.expected_s is not None and not is_amount(profile.expected_s, LONGEST_S):
        remedy = f"pass a number of seconds from 0 to {LONGEST_S} (100 years)"
        yield Fault(place, f"expected_s={profile.expected_s!r} is no time", remedy)
    yield from _schedule_faults(place, profile.schedule)


def best_faults(place: str, best: Best) -> Iterator[Fault]:
    """Yield the faults of a selection. place: where it is declared."""
    yield from terms_faults(place, best)
    for rule in best.rules:
        yield from _rule_faults(f"{place}, rules", rule)
    for scorer in (*(selector for selector, _ in best.scorers), *best.order):
        yield from _selector_faults(place, "scorer", scorer, SCORERS)
    for selector in best.filters:
        yield from _selector_faults(place, "filter", selector, FILTERS)


def terms_faults(place: str, best: Best) -> Iterator[Fault]:
    """Yield the faults of a selection, except in its rules and selectors, whose graph the caller may not have."""
    yield from needs_faults(f"{place}, needs", best.needs)
    for scorer, weight in best.scorers:
        if not is_amount(weight, HIGHEST_WEIGHT):
            name = scorer if isinstance(scorer, str) else callable_name(scorer)
            yield Fault(
                f"{place}, scorer {name}", f"{weight!r} is no weight", f"pass a number from 0 to {HIGHEST_WEIGHT:g}"
            )
    yield from _text_faults(place, "entries", best.entries)
    if best.least is not None and not is_share(best.least):
        yield Fault(place, f"least={best.least!r} is no text score", "pass a number from 0 to 1")


def _rule_faults(place: str, rule: object) -> Iterator[Fault]:
    if not isinstance(rule, NeedRule):
        yield Fault(place, f"{rule!r} is no rule", "write NeedRule(Needs(...), reason=..., mentions=...)")
        return
    if isinstance(rule.needs, Needs):
        yield from needs_faults(place, rule.needs)
    else:
        yield Fault(place, f"{rule.needs!r} are no needs", _NEEDS)
    yield from _text_faults(place, "mentions", rule.words)


def selector_faults(selections: Iterable[Best]) -> Iterator[Fault]:
    """Yield a fault for each name of several functions: packets hold only names, so they would be ambiguous."""
    known: dict[str, Any] = {}
    functions = [function for best in selections for function in best.functions]
    duplicates = [
        callable_name(function)
        for function in functions
        if known.setdefault(callable_name(function), function) is not function
    ]
    for name in dict.fromkeys(duplicates):
        yield Fault("selections", f"several functions are named {name!r}", "give each a name of its own")


def _schedule_faults(place: str, schedule: object) -> Iterator[Fault]:
    if not isinstance(schedule, tuple) or not all(isinstance(hours, Hours) for hours in schedule):
        remedy = 'write schedule=(Hours(("MON", "TUE"), "09:00", "17:00", "Europe/Berlin"),)'
        yield Fault(place, f"schedule={schedule!r} is no tuple of Hours", remedy)
        return
    for hours in schedule:
        if hours.fault is not None:
            yield Fault(f"{place}, schedule", f"{hours.fault[0]} cannot be", hours.fault[1])


def needs_faults(place: str, needs: object) -> Iterator[Fault]:
    """Yield the faults of needs, or of a function in their place; None is valid. place: where they are declared."""
    if needs is None:
        return
    if not isinstance(needs, Needs):
        if not callable(needs) or isinstance(needs, type) or is_async(needs) or not fits(needs, 1):
            problem = f"{callable_name(needs) if callable(needs) else repr(needs)} does not say at once what is needed"
            yield Fault(place, problem, f"{_NEEDS}, or pass a plain function of (packet)")
        return
    for name in ("capabilities", "domains", "languages"):
        yield from _text_faults(place, name, getattr(needs, name))
    if not _is_tier(needs.tier, 0):
        yield Fault(place, f"tier={needs.tier!r} is no tier", f"pass a whole number from 0 to {HIGHEST_TIER}")
    if not isinstance(needs.all, bool):
        yield Fault(place, f"all={needs.all!r} is neither true nor false", "pass True or False")


def _selector_faults(place: str, what: str, selector: Any, known: tuple[str, ...]) -> Iterator[Fault]:
    if isinstance(selector, str):
        if selector not in known:
            remedy = f"{suggestion(selector, known)}; one of your own is a function of (packet, candidate)"
            yield Fault(place, f"unknown {what} {selector!r}", remedy)
        return
    here = f"{place}, {what} {callable_name(selector)}"
    if not callable(selector) or is_async(selector) or not fits(selector, 2):
        problem = "it does not take (packet, candidate), or does not answer at once"
        yield Fault(here, problem, "pass a fast, plain function of two parameters")
    elif callable_name(selector) in (*SCORERS, *FILTERS):
        yield Fault(here, "there is one of this name already", "rename the function")


def _text_faults(place: str, name: str, texts: object) -> Iterator[Fault]:
    if not isinstance(texts, tuple):
        yield Fault(place, f"{name}={texts!r} is no tuple", f'write {name}=("...",)')
        return
    for text in texts:
        why = "it is empty" if text == "" else unkept(text, LONGEST_PHRASE)
        if why:
            yield Fault(place, f"{name}, {text!r}: {why}", "use a text that is not empty")


def _is_tier(tier: object, least: int) -> bool:
    return isinstance(tier, int) and not isinstance(tier, bool) and least <= tier <= HIGHEST_TIER


def is_share(share: object) -> bool:
    """Return whether a value is a number from 0 to 1."""
    return is_amount(share) and share <= 1


def is_amount(amount: object, most: float = inf) -> TypeGuard[float]:
    """Return whether a value is a finite number from 0 to `most`."""
    return is_number(amount) and 0 <= amount <= most
