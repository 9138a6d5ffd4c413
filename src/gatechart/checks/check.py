"""All that can be said against a graph without running it."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.checks.allow import parted
from gatechart.checks.cycles import cycle_findings
from gatechart.checks.ends import endless_findings, stuck_findings
from gatechart.checks.events import event_findings
from gatechart.checks.fields import entry_findings, field_findings
from gatechart.checks.finding import Finding, Report
from gatechart.checks.reach import reached, unreachable_findings
from gatechart.checks.shadows import shadow_findings
from gatechart.checks.spelling import spelling_findings
from gatechart.checks.ways import find_ways
from gatechart.graph import Allow, StateTransitionGraph


def check(graph: StateTransitionGraph, *, allow: Sequence[Allow] = ()) -> tuple[Finding, ...]:
    """What is found in a sound graph that is most likely not meant, by code, then in document order. Never raises.

    allow: what is meant to be so, beside what the graph itself allows. Guards are not asked and no action is run.
    Cost: a graph of 1,000 states takes some tens of milliseconds.
    """
    return report(graph, allow=allow).findings


def report(graph: StateTransitionGraph, *, allow: Sequence[Allow] = ()) -> Report:
    """The same together with the findings that are allowed, each with the reason that is given for it."""
    ways = find_ways(graph)
    found = reached(graph, ways)
    findings = (
        *unreachable_findings(graph, found),
        *stuck_findings(graph, ways),
        *endless_findings(graph, found),
        *shadow_findings(graph),
        *cycle_findings(graph, ways),
        *event_findings(graph),
        *field_findings(graph),
        *entry_findings(graph),
        *spelling_findings(graph),
    )
    return parted(sorted(findings, key=lambda finding: finding.code), (*graph.allow, *allow))
