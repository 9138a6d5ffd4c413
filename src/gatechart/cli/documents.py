"""What machines read: each value as a JSON object whose keys stay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

from pydantic_core import to_json, to_jsonable_python

from gatechart.checks import Allowed, Finding, Report, reach
from gatechart.cli.codes import ExitCode
from gatechart.errors import GatechartError
from gatechart.graph import Edge, EntryPoint, StateTransitionGraph, callable_name
from gatechart.values import (
    GuardError,
    HandoffRecord,
    HistoryEntry,
    Mail,
    Migrated,
    Outcome,
    Refusal,
    Running,
    Snapshot,
)

Document: TypeAlias = dict[str, Any]


def text_of(document: Document) -> str:
    """The document as JSON text, indented."""
    return to_json(document, indent=2).decode()


def snapshot_document(snapshot: Snapshot) -> Document:
    """An agent as it was last committed."""
    return {
        "agent_id": snapshot.agent_id,
        "graph": snapshot.graph,
        "graph_version": snapshot.graph_version,
        "fingerprint": snapshot.fingerprint,
        "configuration": snapshot.configuration,
        "context": json.loads(snapshot.context),
        "version": snapshot.version,
        "status": snapshot.status,
    }


def outcome_document(agent_id: str, outcome: Outcome) -> Document:
    """What became of an event; `refusal` is null where it was applied."""
    return {
        "agent_id": agent_id,
        "event": outcome.event,
        "applied": outcome.applied,
        "repeat": outcome.repeat,
        "configuration": outcome.configuration,
        "version": outcome.version,
        "status": outcome.status,
        "taken": outcome.taken,
        "refusal": None if outcome.refusal is None else _refusal_document(outcome.refusal),
        "guard_errors": _guard_documents(outcome.guard_errors),
    }


def entry_document(entry: HistoryEntry) -> Document:
    """A turn of an agent's history."""
    return {
        "version": entry.version,
        "event": {
            "name": entry.event.name,
            "payload": entry.event.payload,
            "time": entry.event.time,
            "id": entry.event.id,
            "sender": entry.event.sender,
        },
        "source": entry.source,
        "target": entry.target,
        "taken": entry.taken,
        "changed": entry.changed,
        "appended": entry.appended,
        "status": entry.status,
        "took_us": entry.took_us,
        "guard_errors": _guard_documents(entry.guard_errors),
    }


def mail_document(mail: Mail) -> Document:
    """Mail, or a timer: that has a `state` or a `key`."""
    return {
        "number": mail.number,
        "agent_id": mail.recipient,
        "event": mail.event,
        "payload": mail.payload,
        "id": mail.id,
        "sender": mail.sender,
        "status": mail.status,
        "accepted": mail.accepted,
        "due": mail.due,
        "state": mail.state,
        "key": mail.key,
        "attempts": mail.attempts,
        "retry_at": mail.retry_at,
        "reason": mail.reason,
    }


def running_document(running: Running) -> Document:
    """What a state of an agent invokes, as long as it has not ended."""
    call = running.invocation
    return {"invoke": call.invoke, "state": call.state, "since_version": call.epoch}


def handoff_document(handoff: HandoffRecord) -> Document:
    """A handoff as it stands, without what it hands on."""
    return {
        "handoff": handoff.id,
        "request": handoff.request,
        "number": handoff.number,
        "status": handoff.status,
        "mode": handoff.mode,
        "reason": handoff.reason,
        "source": handoff.source,
        "source_graph": handoff.source_graph,
        "target": handoff.target,
        "target_graph": handoff.target_graph,
        "entry_point": handoff.entry_point,
        "is_new": handoff.is_new,
        "deadline": handoff.deadline,
        "changes": [{"status": each.status, "time": each.time, "details": each.details} for each in handoff.changes],
        "result": handoff.result,
    }


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
    facts = _facts_of(error) if isinstance(error, GatechartError) else {}
    return {
        "error": type(error).__name__,
        "message": message,
        "exit_code": int(code),
        "facts": to_jsonable_python(facts, fallback=repr),
        **({} if trace is None else {"traceback": trace}),
    }


def _facts_of(error: GatechartError) -> Document:
    return {field.name: getattr(error, field.name) for field in fields(error)}


def _refusal_document(refusal: Refusal) -> Document:
    return {
        "reason": refusal.reason,
        "configuration": refusal.configuration,
        "accepts": refusal.accepts,
        "guards": refusal.guards,
    }


def _guard_documents(errors: Sequence[GuardError]) -> list[Document]:
    return [{"guard": error.guard, "transition": error.transition, "raised": error.raised} for error in errors]


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
