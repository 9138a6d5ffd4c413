"""How people see an agent, what became of an event, a history, a graph."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from rich.text import Text

from gatechart.checks import Finding, Report, Severity
from gatechart.cli.mail_views import origin_text
from gatechart.cli.printing import (
    Cell,
    print_error,
    print_facts,
    print_hint,
    print_line,
    print_table,
    print_warning,
    status_text,
)
from gatechart.drawing.text import function_text, visible
from gatechart.graph import Edge, EntryPoint, StateTransitionGraph
from gatechart.kernel import awaited_events, candidates, sendable
from gatechart.values import EventName, HistoryEntry, Outcome, Refusal, RefusalReason, Snapshot, Status

Accepted: TypeAlias = Mapping[EventName, Sequence[Edge]]

_SEVERITY_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "cyan"}
_LONGEST: Final = 200  # characters of a value in a history; --json tells it whole


def accepted_by(graph: StateTransitionGraph, snapshot: Snapshot) -> Accepted:
    """The events that one may send an agent now, guards not asked, with their transitions in the order of asking."""
    if snapshot.status is not Status.ACTIVE:
        return {}
    here = snapshot.configuration
    awaited = ((sendable(event), event) for event in awaited_events(graph, here))
    found = {name: candidates(graph, here, event) for name, event in awaited if name}
    return {event: tuple(dict.fromkeys(edge for edges in groups for edge in edges)) for event, groups in found.items()}


def print_agent(graph: StateTransitionGraph, snapshot: Snapshot) -> None:
    """An agent in short: where it is, and what it accepts there."""
    print_facts([*_agent_facts(snapshot), _accepts_fact(graph, snapshot)])


def print_whole_agent(snapshot: Snapshot, accepted: Accepted) -> None:
    """An agent with its context, and with the transitions that it can take."""
    print_facts(_agent_facts(snapshot))
    context = json.loads(snapshot.context)
    if context:
        print_line()
        print_table(("CONTEXT", ""), ((name, _plain(value)) for name, value in context.items()))
    if accepted:
        print_line()
        print_table(("ACCEPTS", "LEADS TO", "IF", "DOING"), _accepted_rows(accepted))


def print_outcome(graph: StateTransitionGraph, snapshot: Snapshot, outcome: Outcome) -> None:
    """What became of an event, and where the agent is now."""
    for guard in outcome.guard_errors:
        print_warning(f"the guard {guard.guard} of {guard.transition} raised {guard.raised}; it counts as no")
    if outcome.refusal is not None:
        print_error(_refusal_text(snapshot.agent_id, outcome.event, outcome.refusal))
        return
    if outcome.repeat:
        print_hint(f"this id was applied before, as version {outcome.version}; nothing was done again")
    took = ("took", Text("\n".join(outcome.taken)))
    print_facts([took, *_agent_facts(snapshot), _accepts_fact(graph, snapshot)])


def print_agents(agents: Sequence[Snapshot]) -> None:
    """Many agents, a row each."""
    print_table(("AGENT", "STATUS", "STATE", "GRAPH"), map(_agent_row, agents), whole=("AGENT", "STATUS"))


def print_history(entries: Sequence[HistoryEntry]) -> None:
    """An agent's turns, a row each."""
    columns = ("VERSION", "TIME (UTC)", "BY", "EVENT → STATE, CHANGES")
    print_table(columns, map(_entry_row, entries), whole=("VERSION", "TIME (UTC)"))


def print_graphs(graphs: Sequence[StateTransitionGraph]) -> None:
    """Graphs, a row each."""
    columns = ("GRAPH", "VERSION", "STATES", "TRANSITIONS", "ENTRY POINTS")
    print_table(columns, map(_graph_row, graphs), whole=("VERSION", "STATES", "TRANSITIONS"))
    print_line()


def print_reports(reports: Mapping[str, Report], *, with_allowed: bool) -> None:
    """What was found in graphs, by their names: a block for each finding, and at the end how many there are.

    with_allowed: what is allowed as well, with the reason in place of the remedy; it is counted in any case.
    """
    allowed = [(name, each) for name, report in reports.items() for each in report.allowed]
    findings = [(name, each) for name, report in reports.items() for each in report.findings]
    _print_rows("PLACE, PROBLEM → REMEDY", [_finding_row(name, each, each.remedy) for name, each in findings])
    if with_allowed:
        rows = [_finding_row(name, each.finding, f"allowed: {each.reason}") for name, each in allowed]
        _print_rows("PLACE, PROBLEM → REASON", rows)
    found = Counter(finding.severity for _, finding in findings)
    counts = [_count(found[severity], severity) for severity in Severity if found[severity]]
    told = f": {', '.join(counts)}" if counts else " without a fault"
    print_line(f"{_count(len(reports), 'graph')}{told}{f'; {len(allowed)} allowed' if allowed else ''}")


def _print_rows(heading: str, rows: Sequence[Sequence[Cell]]) -> None:
    if rows:
        print_table(("CODE", "SEVERITY", heading), rows, whole=("CODE", "SEVERITY"))
        print_line()


def _agent_facts(snapshot: Snapshot) -> Iterator[tuple[str, Cell]]:
    yield "agent", snapshot.agent_id
    yield "graph", f"{snapshot.graph}, version {snapshot.graph_version}"
    yield "state", ", ".join(snapshot.configuration)
    yield "status", status_text(snapshot.status)
    yield "version", str(snapshot.version)


def _accepts_fact(graph: StateTransitionGraph, snapshot: Snapshot) -> tuple[str, Cell]:
    return "accepts", ", ".join(accepted_by(graph, snapshot)) or "nothing any more"


def _accepted_rows(accepted: Accepted) -> Iterator[Sequence[Cell]]:
    for event, edges in accepted.items():
        for place, edge in enumerate(edges):
            implied = "else" if place else ""
            guard = function_text(edge.ask.name) if edge.ask else implied
            doing = ", ".join(function_text(step.name) for step in edge.steps)
            yield "" if place else event, ", ".join(edge.targets) or "(stays)", guard, doing


def _refusal_text(agent_id: str, event: EventName, refusal: Refusal) -> str:
    is_unknown = refusal.reason is RefusalReason.NO_TRANSITION
    near = get_close_matches(event, refusal.accepts, n=1) if is_unknown else ()
    meant = f". Did you mean {near[0]!r}?" if near else ""
    return f"agent {agent_id!r} refused {event!r}: {refusal}{meant}"


def _agent_row(snapshot: Snapshot) -> Sequence[Cell]:
    return snapshot.agent_id, status_text(snapshot.status), ", ".join(snapshot.configuration), snapshot.graph


def _entry_row(entry: HistoryEntry) -> Sequence[Cell]:
    moved = "" if entry.source == entry.target else f" → {', '.join(entry.target)}"
    begins = not entry.source  # then every field has changed; those that hold something tell more
    changes = [f"{name}={_short(value)}" for name, value in entry.changed.items() if value or not begins]
    changes += [f"{name}+={_short(list(items))}" for name, items in entry.appended.items()]
    told = Text(f"{entry.event.name}{moved}").append("".join(f"\n  {change}" for change in changes), "dim")
    return str(entry.version), f"{entry.event.time:%Y-%m-%d %H:%M:%S}", origin_text(entry.event), told


def _graph_row(graph: StateTransitionGraph) -> Sequence[Cell]:
    doors = Text("\n").join(map(_door, graph.entry_points.values()))
    return graph.name, graph.version, str(len(graph.states)), str(len(graph.transitions)), doors


def _finding_row(graph: str, finding: Finding, then: str) -> Sequence[Cell]:
    told = Text(visible(f"{graph}: {finding.place}"), "bold")
    told.append(f"\n{visible(finding.problem)}", "not bold").append(f"\n→ {visible(then)}", "not bold dim")
    return finding.code, Text(finding.severity, _SEVERITY_STYLES[finding.severity]), told


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _door(entry: EntryPoint) -> Text:
    return Text(entry.name).append("".join(f"\n  on {trigger}" for trigger in entry.opens_on), "dim")


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = visible(_plain(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
