"""What machines read: each value as a JSON object whose keys stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

from pydantic_core import to_json

from gatechart.api import (
    EntryDocument,
    HandoffDocument,
    MailDocument,
    OutcomeDocument,
    SnapshotDocument,
    facts_of,
)
from gatechart.checks import Allowed, Finding, Report, reach
from gatechart.cli.codes import ExitCode
from gatechart.graph import Edge, EntryPoint, StateTransitionGraph, callable_name
from gatechart.values import ActiveInvocation, HandoffRecord, HistoryEntry, Mail, Migrated, Outcome, Snapshot

Document: TypeAlias = dict[str, Any]


def text_of(document: Document) -> str:
    """The document as JSON text, indented."""
    return to_json(document, indent=2).decode()


def snapshot_document(snapshot: Snapshot) -> Document:
    """An agent as it was last committed."""
    return SnapshotDocument.of(snapshot).model_dump(exclude={"memory", "entered", "handoffs"})


def outcome_document(agent_id: str, outcome: Outcome) -> Document:
    """What became of an event; `refusal` is null where it was applied."""
    return OutcomeDocument.of(agent_id, outcome).model_dump()


def entry_document(entry: HistoryEntry) -> Document:
    """A turn of an agent's history."""
    return EntryDocument.of(entry).model_dump(exclude={"agent_id"})


def mail_document(mail: Mail) -> Document:
    """Mail, or a timer: that has a `state` or a `key`."""
    return MailDocument.of(mail).model_dump(exclude={"epoch"})


def running_document(running: ActiveInvocation) -> Document:
    """What a state of an agent invokes, as long as it has not ended."""
    call = running.invocation
    return {"invoke": call.invoke, "state": call.state, "since_version": call.epoch}


def handoff_document(handoff: HandoffRecord) -> Document:
    """A handoff as it stands, without what it hands on."""
    return HandoffDocument.of(handoff).model_dump(exclude={"packet"})


def migrated_document(migrated: Migrated) -> Document:
    """What becomes of a stored agent; its `problem` is null unless it is stuck."""
    document = {field.name: getattr(migrated, field.name) for field in fields(migrated)}
    return {**document, "fate": migrated.fate.value}


def check_document(
    graphs: Sequence[StateTransitionGraph], reports: Mapping[str, Report], *, has_failed: bool
) -> Document:
    """Graphs, and what was found in them, by their names. `failed` tells what the exit code tells."""
    return {
        "graphs": [_graph_document(graph) for graph in graphs],
        "findings": [_finding_document(name, each) for name, report in reports.items() for each in report.findings],
        "allowed": [_allowed_document(name, each) for name, report in reports.items() for each in report.allowed],
        "failed": has_failed,
    }


def accepted_document(accepted: Mapping[str, Sequence[Edge]]) -> list[Document]:
    """The events that an agent accepts, each with its transitions in the order in which they are asked."""
    return [
        {"event": event, "transitions": [_edge_document(edge) for edge in edges]} for event, edges in accepted.items()
    ]


def error_document(error: BaseException, message: str, code: ExitCode, trace: str | None) -> Document:
    """What a command raised; `facts` are the error's own, and `traceback` is there where it was asked for."""
    return {
        "error": type(error).__name__,
        "message": message,
        "exit_code": int(code),
        "facts": facts_of(error),
        **({} if trace is None else {"traceback": trace}),
    }


def _graph_document(graph: StateTransitionGraph) -> Document:
    """A graph by the names it declares."""
    reached = reach(graph)
    return {
        "graph": graph.name,
        "graph_version": graph.version,
        "fingerprint": graph.fingerprint,
        "states": graph.states,
        "events": graph.events,
        "transitions": [transition.label for transition in graph.transitions],
        "entry_points": [
            {**_entry_point_document(entry), "reaches": reached[entry.name]} for entry in graph.entry_points.values()
        ],
    }


def _finding_document(graph: str, finding: Finding) -> Document:
    return {
        "graph": graph,
        "code": finding.code,
        "severity": finding.severity,
        "place": finding.place,
        "problem": finding.problem,
        "remedy": finding.remedy,
    }


def _allowed_document(graph: str, allowed: Allowed) -> Document:
    return {**_finding_document(graph, allowed.finding), "reason": allowed.reason}


def _entry_point_document(entry: EntryPoint) -> Document:
    return {
        "name": entry.name,
        "state": entry.state,
        "opens_on": entry.opens_on,
        "takes": entry.takes.__name__ if entry.takes else None,
        "guard": callable_name(entry.guard) if entry.guard else None,
    }


def _edge_document(edge: Edge) -> Document:
    return {
        "source": edge.source,
        "targets": edge.targets,
        "guard": edge.ask.name if edge.ask else None,
        "actions": [step.name for step in edge.steps],
    }
