"""All that can be said against a graph without running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gatechart.checks.allow import parted
from gatechart.checks.cycles import cycle_findings
from gatechart.checks.ends import endless_findings, stuck_findings
from gatechart.checks.events import event_findings
from gatechart.checks.failures import failure_findings
from gatechart.checks.fields import entry_findings, field_findings
from gatechart.checks.finding import NO_SUCH_DOOR, Finding, Report
from gatechart.checks.handoffs import door_findings, handoff_findings, owner_findings
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


def check_all(graphs: Iterable[StateTransitionGraph]) -> Mapping[str, tuple[Finding, ...]]:
    """What is found in each of the graphs of an application, by name; each handoff must lead to one of them."""
    among = tuple(graphs)
    return {graph.name: report(graph, among=among).findings for graph in among}


def report(
    graph: StateTransitionGraph,
    *,
    allow: Sequence[Allow] = (),
    among: Sequence[StateTransitionGraph] | None = None,
) -> Report:
    """The same together with the findings that are allowed, each with the reason that is given for it.

    among: the graphs to which work may be handed on; where left out, that is not asked, nor allowed in vain.
    """
    ways = find_ways(graph)
    found = reached(graph, ways)
    findings = (
        *unreachable_findings(graph, found),
        *stuck_findings(graph, ways),
        *endless_findings(graph, found),
        *failure_findings(graph),
        *shadow_findings(graph),
        *cycle_findings(graph, ways),
        *event_findings(graph),
        *field_findings(graph),
        *entry_findings(graph),
        *spelling_findings(graph),
        *handoff_findings(graph),
        *owner_findings(graph),
        *(() if among is None else door_findings(graph, among)),
    )
    allowances = (each for each in (*graph.allow, *allow) if among is not None or each.code != NO_SUCH_DOOR.code)
    return parted(sorted(findings, key=lambda finding: finding.code), tuple(allowances))
