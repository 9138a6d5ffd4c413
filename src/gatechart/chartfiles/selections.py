"""Selections of a chart file: from nodes to values, and from values back to keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, Final, TypeAlias

from gatechart.chartfiles.bindings import Bindings
from gatechart.chartfiles.faults import Faults, Fields, Spot, kind_of, text_of
from gatechart.chartfiles.model import BestForm, Reference
from gatechart.chartfiles.selection_keys import SELECTION_KEYS
from gatechart.errors.root import suggestion
from gatechart.graph.callables import callable_name
from gatechart.graph.selection import FILTERS, SCORERS, Best, NeedRule
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import HIGHEST_TIER, LOWEST_TIER, Hours, Needs, Profile

Written: TypeAlias = Callable[[Any], Any]

_USUAL: Final = Best()
_REASONS: Final = tuple(reason.value for reason in Reason)


def best_form(spot: Spot, faults: Faults) -> BestForm:
    """Return the form of a selection; null is the default selection."""
    if spot.value is None:
        return BestForm(spot, _USUAL.name)
    given = Fields(spot, faults, SELECTION_KEYS["best"])
    needs, rules, scorers, order = (spot.get(key) for key in ("needs", "rules", "scorers", "order"))
    if scorers is not None and order is not None:
        faults.add(spot, "it has `scorers` and `order`", "let a weighted sum decide, or one scorer after the other")
    return BestForm(
        spot=spot,
        name=given.text("name") or _USUAL.name,
        needs=None if needs is None else _needs_or_function(needs, faults),
        rules=() if rules is None else tuple(read_rules(rules, faults)),
        scorers=None if scorers is None else tuple(_weights(scorers, faults)),
        order=() if scorers is not None else tuple(_references(given, "order", faults)),
        filters=tuple(_references(given, "filters", faults)),
        least=given.number("least"),
        entries=given.texts("entries"),
    )


def made_best(form: BestForm, bindings: Bindings) -> Best:
    """Return a selection with its functions. A fault is added for each unbound name."""

    def named(references: Iterable[Reference], what: str, known: Sequence[str]) -> list[Any]:
        return [_named(reference, what, known, bindings) for reference in references]

    weights = None
    if form.scorers is not None:
        scorers = named((scorer for scorer, _ in form.scorers), "scorer", SCORERS)
        weights = dict(zip(scorers, (weight for _, weight in form.scorers), strict=True))
    needs = bindings.function(form.needs, "function") if isinstance(form.needs, Reference) else form.needs
    return Best(
        needs,
        rules=form.rules,
        scorers=weights,
        order=named(form.order, "scorer", SCORERS),
        filters=named(form.filters, "filter", FILTERS),
        least=form.least,
        entries=form.entries,
        name=form.name,
    )


def written_best(best: Best, function: Written) -> dict[str, Any]:
    """Return a selection as data, without defaults. function: returns the name of a function."""
    needs = written_needs(best.needs) if isinstance(best.needs, Needs) else best.needs and function(best.needs)
    weights = {_written(scorer, function): weight for scorer, weight in best.scorers}
    data = {
        "name": "" if best.name == _USUAL.name else best.name,
        "rules": [written_rule(rule) for rule in best.rules],
        "scorers": {} if best.scorers == _USUAL.scorers else weights,
        "order": [_written(each, function) for each in best.order],
        "filters": [_written(filter_, function) for filter_ in best.filters],
        "entries": list(best.entries),
    }
    changed = {key: content for key, content in data.items() if content}
    return (
        changed
        | ({} if best.needs is None else {"needs": needs})
        | ({} if best.least is None else {"least": best.least})
    )


def _written(given: str | Callable[..., Any], function: Written) -> str:
    if isinstance(given, str):
        return given
    name = callable_name(given)
    if function(given) != name:
        raise ValueError(f"{name!r} of a selection has parameters, which no chart can hold there")
    return name


def _named(reference: Reference, what: str, known: Sequence[str], bindings: Bindings) -> Any:
    """Return the name of a built-in filter or scorer, or a bound function."""
    name = reference.name
    if name in known or not name:
        return name or known[0]
    if bindings.unbound is None and bindings.value(name) is None:
        remedy = f"{suggestion(name, known)}; or bind a function of packet and candidate to it"
        bindings.faults.add(reference.spot, f"no {what} is called {name!r}", remedy)
        return known[0]
    return bindings.function(reference, "function")


def _references(given: Fields, key: str, faults: Faults) -> Iterator[Reference]:
    yield from (Reference(value, text_of(value, faults)) for value in given.values(key))


def _weights(spot: Spot, faults: Faults) -> Iterator[tuple[Reference, float]]:
    fields = Fields(spot, faults)
    for name, value in spot.items():
        weight = fields.number(name)
        if weight is not None:
            yield Reference(value, name), weight
    if spot.value == {}:
        faults.add(spot, "it names no scorer", "name a scorer with its weight, or drop `scorers`")


def _needs_or_function(spot: Spot, faults: Faults) -> Needs | Reference:
    return read_needs(spot, faults) if spot.is_mapping else Reference(spot, text_of(spot, faults))


def read_needs(spot: Spot, faults: Faults) -> Needs:
    """Return needs without the faulty ones, whose faults are added."""
    given = Fields(spot, faults, SELECTION_KEYS["needs"])
    tier = spot.get("tier")
    return Needs(
        capabilities=given.texts("capabilities"),
        domains=given.texts("domains"),
        tier=0 if tier is None else tier_of(tier, faults, least=0) or 0,
        languages=given.texts("languages"),
        all=given.flag("all"),
    )


def read_rules(spot: Spot, faults: Faults) -> Iterator[NeedRule]:
    """Yield rules for needs; faulty rules, whose faults are added, need nothing."""
    for each in spot.elements():
        given = Fields(each, faults, SELECTION_KEYS["need_rule"])
        needs = given.needs("needs", "write `needs:` with domains, capabilities, a tier or languages")
        reason = given.choice("reason", _REASONS, _REASONS[-1]) if each.get("reason") is not None else None
        parsed = Needs() if needs is None else read_needs(needs, faults)
        yield NeedRule(parsed, reason=reason, mentions=given.texts("mentions"))


def written_needs(needs: Needs) -> dict[str, Any]:
    """Return needs as data."""
    return non_defaults(needs, Needs())


def written_rule(rule: NeedRule) -> dict[str, Any]:
    """Return a rule as data."""
    reason = {} if rule.reason is None else {"reason": rule.reason.value}
    return {**reason, **({"mentions": list(rule.words)} if rule.words else {}), "needs": written_needs(rule.needs)}


def tier_of(spot: Spot | None, faults: Faults, least: int = LOWEST_TIER) -> int | None:
    """Return a tier; None if there is none, or after a fault, which is added. least: the lowest tier allowed."""
    if spot is None:
        return None
    tier: Any = spot.value
    if isinstance(tier, int) and not isinstance(tier, bool) and least <= tier <= HIGHEST_TIER:
        return tier
    faults.add(spot, f"expected a tier, found {kind_of(spot)}", f"write a whole number from {least} to {HIGHEST_TIER}")
    return None


def non_defaults(value: Profile | Hours | Needs, usual: Profile | Hours | Needs) -> dict[str, Any]:
    """Return the fields that differ from the defaults, as data."""
    field_values = {field_.name: getattr(value, field_.name) for field_ in fields(value)}
    changed = {name: content for name, content in field_values.items() if content != getattr(usual, name)}
    return {name: list(content) if isinstance(content, tuple) else content for name, content in changed.items()}
