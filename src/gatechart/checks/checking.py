"""Check a graph: every rule of the modules around, asked without running the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gatechart.checks import (
    entity_rules,
    escape_rules,
    event_rules,
    handoff_rules,
    selection_rules,
    signal_rules,
    state_rules,
    transfer_rules,
)
from gatechart.checks.analysis import Analysis
from gatechart.checks.finding import Allowed, Finding, Hit, Report, Rule, Severity, rule
from gatechart.errors import suggestion
from gatechart.graph import Allow, AnyGraph
from gatechart.values import Candidate


def check(graph: AnyGraph, *, allow: Sequence[Allow] = ()) -> tuple[Finding, ...]:
    """Return what is most likely not meant in a sound graph, by code, then in document order. Never raises.

    allow: what is meant to be so, beside what the graph itself allows. Guards are not asked and no action is run.
    Cost: a graph of 1,000 states takes some tens of milliseconds.
    """
    return report(graph, allow=allow).findings


def check_all(graphs: Iterable[AnyGraph]) -> Mapping[str, tuple[Finding, ...]]:
    """Return the findings of each graph of an application, by name; each handoff must lead to one of the graphs."""
    among = tuple(graphs)
    return {graph.name: report(graph, among=among).findings for graph in among}


def report(
    graph: AnyGraph,
    *,
    allow: Sequence[Allow] = (),
    among: Sequence[AnyGraph] | None = None,
    registered: Iterable[Candidate] = (),
) -> Report:
    """Return the findings of a graph together with those that are allowed, each with its reason.

    among: the graphs to which work may be handed on; if left out, targets are not checked, and allowances for them are
    not judged.
    registered: whoever is in the directory besides. What they can do, and where their work begins, exists; and
    allowances for what would be found without them are not judged.
    """
    analysis = Analysis(graph, among, tuple(registered), allow=(*graph.allow, *allow))
    found = tuple(finding for each in RULES if each not in _ABOUT_ALLOWANCES for finding in each.findings(analysis))
    judged = replace(analysis, found=tuple((finding.code, finding.place) for finding in found))
    reasons = {(each.code, each.place): each.reason for each in judged.allow if each.reason.strip()}
    allowed = {finding: reasons[key] for finding in found if (key := (finding.code, finding.place)) in reasons}
    about_allowances = (finding for each in _ABOUT_ALLOWANCES for finding in each.findings(judged))
    kept = [*(finding for finding in found if finding not in allowed), *about_allowances]
    return Report(
        tuple(sorted(kept, key=lambda finding: finding.code)),
        tuple(Allowed(finding, reason) for finding, reason in allowed.items()),
    )


# Rules about allowances


def _allowance_place(allow: Allow) -> str:
    return f"allowance of {allow.code} at {allow.place}"


@rule("GC401", Severity.WARNING, "an allowance for something that is not found")
def unused_allowance(analysis: Analysis) -> Iterator[Hit]:
    """So that no allowance outlives its cause."""
    for each in analysis.allow:
        is_whole = analysis.among is not None and not analysis.registered
        is_judged = is_whole or each.code not in _AMONG_GRAPHS
        if is_judged and each.reason.strip() and (each.code, each.place) not in analysis.found:
            yield _allowance_place(each), "nothing of the kind is found there", _remedy(each, analysis.found)


def _remedy(unused: Allow, found: Sequence[tuple[str, str]]) -> str:
    codes = tuple(each.code for each in RULES)
    if unused.code not in codes:
        return f"unknown code {unused.code!r}: {suggestion(unused.code, codes)}"
    places = tuple(place for code, place in found if code == unused.code)
    return suggestion(unused.place, places) if places else "drop it"


@rule("GC402", Severity.WARNING, "an allowance without a reason, which allows nothing")
def unreasoned_allowance(analysis: Analysis) -> Iterator[Hit]:
    """Whoever reads the graph later needs to know whether the reason still holds."""
    for each in analysis.allow:
        if not each.reason.strip():
            yield _allowance_place(each), "it has no reason, so it allows nothing", "say why it is meant to be so"


_ABOUT_ALLOWANCES: Final = (unused_allowance, unreasoned_allowance)  # judged by what the others found


_AMONG_GRAPHS: Final = {
    each.code
    for each in (
        handoff_rules.no_such_target,
        entity_rules.nothing_fills,
        transfer_rules.lost_arguments,
        selection_rules.nobody_fits,
        selection_rules.shared_sample,
        selection_rules.unfilled_payload,
    )
}
"""Codes of what is found, or found more of, if the graphs of the application are known."""


def _rules() -> Iterator[Rule]:
    for module in (
        state_rules,
        event_rules,
        handoff_rules,
        entity_rules,
        transfer_rules,
        signal_rules,
        selection_rules,
        escape_rules,
    ):
        yield from (each for each in vars(module).values() if isinstance(each, Rule))
    yield from _ABOUT_ALLOWANCES


RULES: Final = tuple(sorted(_rules(), key=lambda each: each.code))
"""All rules, by code. A rule is added by one function with `@rule` in a module of rules, and nothing else."""
