"""Check a graph with every rule, of the core and of the features, without running the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gatechart.errors.root import suggestion
from gatechart.escape import rules as escape_rules
from gatechart.graph.definition import Allow
from gatechart.graph.graph import AnyGraph
from gatechart.rules import entities as entity_rules
from gatechart.rules import events as event_rules
from gatechart.rules import handoffs as handoff_rules
from gatechart.rules import states as state_rules
from gatechart.rules.analysis import Analysis
from gatechart.rules.finding import Allowed, Finding, Hit, Report, Rule, Severity, rule
from gatechart.selection import rules as selection_rules
from gatechart.signals import rules as signal_rules
from gatechart.transfers import rules as transfer_rules
from gatechart.values.profiles import Candidate


def check(graph: AnyGraph, *, allow: Sequence[Allow] = ()) -> tuple[Finding, ...]:
    """Return the likely mistakes in a valid graph, by code, then in document order. Never raises.

    allow: findings to accept, in addition to the graph's own allowances. Guards are not evaluated and no action runs.
    Cost: a graph of 1,000 states takes some tens of milliseconds.
    """
    return report(graph, allow=allow).findings


def check_all(graphs: Iterable[AnyGraph]) -> Mapping[str, tuple[Finding, ...]]:
    """Return the findings of each graph of an application, by name. Each handoff must lead to one of the graphs."""
    among = tuple(graphs)
    return {graph.name: report(graph, among=among).findings for graph in among}


def report(
    graph: AnyGraph,
    *,
    allow: Sequence[Allow] = (),
    among: Sequence[AnyGraph] | None = None,
    registered: Iterable[Candidate] = (),
) -> Report:
    """Return the findings of a graph and the allowed findings, each with its reason.

    among: the graphs that may receive handoffs; if omitted, targets are not checked, and neither are allowances for
    such findings.
    registered: other candidates in the directory. Their capabilities and entry points count as existing, and allowances
    for findings that depend on them are not checked.
    """
    analysis = Analysis(graph, among, tuple(registered), allow=(*graph.allow, *allow))
    findings = tuple(finding for rule in RULES if rule not in _ABOUT_ALLOWANCES for finding in rule.findings(analysis))
    judged = replace(analysis, findings=tuple((finding.code, finding.place) for finding in findings))
    reasons = {
        (allowance.code, allowance.place): allowance.reason for allowance in judged.allow if allowance.reason.strip()
    }
    allowed = {finding: reasons[key] for finding in findings if (key := (finding.code, finding.place)) in reasons}
    about_allowances = (finding for rule in _ABOUT_ALLOWANCES for finding in rule.findings(judged))
    kept = [*(finding for finding in findings if finding not in allowed), *about_allowances]
    return Report(
        tuple(sorted(kept, key=lambda finding: finding.code)),
        tuple(Allowed(finding, reason) for finding, reason in allowed.items()),
    )


# Rules about allowances


def _allowance_place(allow: Allow) -> str:
    return f"allowance of {allow.code} at {allow.place}"


@rule("GC401", Severity.WARNING, "an allowance without a finding")
def unused_allowance(analysis: Analysis) -> Iterator[Hit]:
    """No allowance should outlive its cause."""
    for allowance in analysis.allow:
        is_whole = analysis.among is not None and not analysis.registered
        is_judged = is_whole or allowance.code not in _AMONG_GRAPHS
        if is_judged and allowance.reason.strip() and (allowance.code, allowance.place) not in analysis.findings:
            remedy = _remedy(allowance, analysis.findings)
            yield _allowance_place(allowance), "nothing of the kind is found there", remedy


def _remedy(unused: Allow, findings: Sequence[tuple[str, str]]) -> str:
    codes = tuple(known.code for known in RULES)
    if unused.code not in codes:
        return f"unknown code {unused.code!r}: {suggestion(unused.code, codes)}"
    places = tuple(place for code, place in findings if code == unused.code)
    return suggestion(unused.place, places) if places else "drop it"


@rule("GC402", Severity.WARNING, "an allowance without a reason, which allows nothing")
def unreasoned_allowance(analysis: Analysis) -> Iterator[Hit]:
    """Later readers of the graph need the reason, to decide whether it still holds."""
    for allowance in analysis.allow:
        if not allowance.reason.strip():
            yield _allowance_place(allowance), "it has no reason, so it allows nothing", "say why it is meant to be so"


_ABOUT_ALLOWANCES: Final = (unused_allowance, unreasoned_allowance)  # search in the findings of the other rules


_AMONG_GRAPHS: Final = {
    known.code
    for known in (
        handoff_rules.no_such_target,
        entity_rules.nothing_fills,
        transfer_rules.lost_arguments,
        selection_rules.unfit_selection,
        selection_rules.shared_sample,
        selection_rules.unfilled_payload,
    )
}
"""Codes of rules with findings, or with more findings, only if the graphs of the application are known."""


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
        yield from (value for value in vars(module).values() if isinstance(value, Rule))
    yield from _ABOUT_ALLOWANCES


RULES: Final = tuple(sorted(_rules(), key=lambda known: known.code))
"""All rules, by code. To add a rule, write a function with `@rule` in a module of rules."""
