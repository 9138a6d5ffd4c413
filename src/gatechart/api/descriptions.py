"""Texts for handoffs and directory entries, shared by the command line and the console."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from gatechart.handoff.packet import (
    Attempt,
    FallbackKind,
    FallbackStep,
    HandoffPacket,
    PathStep,
    ReasoningStep,
    SelectionTerms,
    ToolCall,
)
from gatechart.selection.explaining import explanation_of, needs_text
from gatechart.values.directory import DirectoryEntry, Mark, WorkOutcome
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.profiles import Explanation, Hours, Needs

Fact: TypeAlias = tuple[str, str | datetime]
"""The name of a fact and its text, or a time, which is shown in the reader's time zone."""

Section: TypeAlias = tuple[str, Sequence[tuple[str, ...]]]
"""A heading, and rows with the same number of texts; texts may have several lines."""

_NOBODY: Final = "nobody"


def handoff_facts(handoff: HandoffRecord) -> Iterator[Fact]:
    """Yield the facts of a handoff: its source, target, reason and status."""
    kind = "a new agent" if handoff.is_new else "the agent"
    yield "handoff", handoff.id
    if handoff.request != handoff.id:
        yield "request", f"{handoff.request} (this is a later attempt of it)"
    yield "status", handoff.status.value
    yield "mode", handoff.mode.value
    yield "reason", handoff.reason.value
    yield "from", f"{handoff.source}, of {handoff.source_graph}"
    there = f"{kind} {handoff.target}, of {handoff.target_graph} at {handoff.entry_point}"
    yield "to", _nobody(handoff) if handoff.is_to_nobody else there
    if handoff.status is HandoffStatus.CHOOSING and (wanted := _wanted_text(handoff.packet.get("selection"))):
        yield "wanted", wanted
    if handoff.packet.get("recipient"):
        yield "chosen", str(handoff.packet["recipient"])
    if handoff.deadline is not None:
        yield "deadline", handoff.deadline


def route_text(handoff: HandoffRecord) -> str:
    """Describe the source and the target of a handoff on one line."""
    to = (handoff.target_graph, handoff.entry_point, handoff.target)
    where = _nobody(handoff) if handoff.is_to_nobody else target_text(*to)
    return f"{handoff.mode.value} from {handoff.source} ({handoff.source_graph}) → {where}"


def _nobody(handoff: HandoffRecord) -> str:
    """Describe a missing target: not chosen yet, or no suitable entry."""
    return "nobody yet" if handoff.status is HandoffStatus.CHOOSING else _NOBODY


def target_text(graph: str, entry_point: str, agent: str) -> str:
    """Return the name of a target; "nobody" if there is none."""
    at = f" at {entry_point}" if entry_point else ""
    return (f"{agent} ({graph}){at}" if agent else f"{graph}{at}") or _NOBODY


def problem_facts(holder: Any) -> Iterator[Fact]:
    """Yield the facts about the problem and its user. holder: a packet, or the context of a case for a person."""
    metadata = holder.metadata
    facts = {
        "problem": holder.current_problem,
        "first asked": "" if holder.initial_query == holder.current_problem else holder.initial_query,
        "suggested": holder.suggested_action,
        "user": holder.user_id,
        "session": holder.session_id,
        "locale": metadata.locale,
        "environment": metadata.environment,
        "evidence": holder.evidence,
    }
    return ((name, fact) for name, fact in facts.items() if fact)


def known_sections(holder: Any) -> Iterator[Section]:
    """Yield the attempts, entities, state, assumptions and decisions. holder: as in `problem_facts`."""
    yield "Tried", [(step.action, _tried_text(step)) for step in holder.reasoning]
    yield "Entities", value_rows(holder.entities)
    yield "State", value_rows(holder.internal_state)
    yield "Assumed", [(assumption,) for assumption in holder.assumptions]
    yield "Decided", [(decision,) for decision in holder.decisions]


def way_sections(path: Iterable[PathStep], attempts: Iterable[Attempt]) -> Iterator[Section]:
    """Yield the earlier agents, and the offers that failed."""
    yield "Way", [(step.graph, step.agent, step.state, step.achieved or "–") for step in path]
    yield "In vain", list(map(_attempt_texts, attempts))


def packet_sections(packet: HandoffPacket) -> Iterator[Section]:
    """Yield the sections of a packet, except the problem and the conversation."""
    yield from known_sections(packet)
    yield from way_sections(packet.path, packet.attempts)
    yield "Still to be tried", [(fallback.kind.value, _fallback_text(fallback)) for fallback in packet.fallbacks]
    yield "Unknown fields", value_rows(packet.__pydantic_extra__ or {})


def value_rows(values: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return a row for each JSON value: its name, and the value as text."""
    return [(name, _plain_text(value)) for name, value in values.items()]


def explanation_in(stored: Mapping[str, Any]) -> Explanation:
    """Read the explanation of a choice; if this release cannot read it, show the stored JSON."""
    try:
        return explanation_of(stored)
    except ValidationError:
        return Explanation(Needs(), (), details=f"this release cannot read {_plain_text(stored)}")


def choice_facts(why: Explanation) -> Iterator[Fact]:
    """Yield the outcome of a choice, the requirements, and the candidates of a random draw."""
    facts = {
        "choice": why.details,
        "needed": needs_text(why.needs),
        "drawn from": f"{', '.join(why.tied)}, by the seed {why.seed}" if why.tied else "",
        "probability": f"{why.probability:.2f}" if why.probability < 1 else "",
    }
    return ((name, fact) for name, fact in facts.items() if fact)


def tool_call_text(call: ToolCall) -> str:
    """Describe a call with its arguments and its result."""
    given = ", ".join(f"{name}={_plain_text(value)}" for name, value in call.arguments.items())
    return f"{call.name}({given}) → {f'error: {call.error}' if call.error else _plain_text(call.output)}"


def _plain_text(value: Any) -> str:
    """Return a JSON value as text; a string as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tried_text(step: ReasoningStep) -> str:
    """Describe a step: details, reason and outcome."""
    details = "; ".join(filter(None, (step.details, step.reasoning and f"because {step.reasoning}")))
    return f"{details} → {step.outcome}".lstrip() if step.outcome else details


def _fallback_text(step: FallbackStep) -> str:
    """Describe the next target of the work."""
    if step.kind is FallbackKind.SAME_TARGET:
        return f"up to {step.attempts} offers to the same target"
    if step.selection is not None:
        return _terms_text(step.selection)
    return target_text(step.graph, step.entry_point, step.agent)


def _terms_text(terms: SelectionTerms) -> str:
    who, needs = " or ".join(terms.entries) or "the best", needs_text(terms.needs)
    return f"{who} for {needs}" if needs else who


def _wanted_text(stored: Any) -> str:
    """Describe a stored selection; empty if there is none, or if this release cannot read it."""
    try:
        return _terms_text(SelectionTerms.model_validate(stored))
    except ValidationError:
        return ""


def _attempt_texts(attempt: Attempt) -> tuple[str, str]:
    """Return the target of a failed offer, and the reason for the failure."""
    obstacle = "" if attempt.obstacle is None else attempt.obstacle.value
    to = target_text(attempt.graph, attempt.entry_point, "")
    return to, ": ".join(filter(None, (obstacle, attempt.details)))


def entry_facts(entry: DirectoryEntry) -> Iterator[Fact]:
    """Yield the abilities and the current state of a directory entry."""
    candidate = entry.candidate
    profile = candidate.profile
    facts: dict[str, str | datetime | None] = {
        "entry": entry.id,
        "work begins": f"{candidate.graph} at {candidate.entry_point}",
        "agent": candidate.agent,
        "what": "a person" if candidate.is_person else "",
        "text": " / ".join(candidate.text.splitlines()),
        "can": ", ".join(profile.capabilities),
        "knows about": ", ".join(profile.domains),
        "languages": ", ".join(profile.languages),
        "tier": str(profile.level),
        "group": profile.group,
        "samples": str(len(profile.samples) or ""),
        "hours": "; ".join(map(_hours_text, profile.schedule)),
        "work": load_text(entry),
        "available": availability_text(entry),
        "mark": ": ".join(filter(None, (entry.mark.value, entry.mark_reason))) if entry.mark is not Mark.NONE else "",
        "performance": f"{candidate.performance:.2f}",
        "so far": f"{entry.completed} completed, {entry.failed} failed, {entry.came_back} came back",
        "registered by": entry.registrant,
        "belonged to": _former(entry),
        "expires": entry.expires,
    }
    return ((name, fact) for name, fact in facts.items() if fact)


def _former(entry: DirectoryEntry) -> str:
    if entry.former_registrant is None or entry.changed_hands is None:
        return ""
    since = f"{entry.changed_hands:%Y-%m-%d %H:%M} UTC"
    return f"{entry.former_registrant or 'the operators'}, until {since}; its record was dropped"


def availability_text(entry: DirectoryEntry) -> str:
    """Return "yes" if an entry takes work, "first" if an operator pinned it, else why it takes no work."""
    return entry.unavailable or ("first" if entry.mark is Mark.PINNED else "yes")


def load_text(entry: DirectoryEntry) -> str:
    """Return the number of pieces of work that an entry has, and its capacity."""
    candidate = entry.candidate
    counted = str(candidate.held) if candidate.capacity is None else f"{candidate.held} of {candidate.capacity}"
    return counted if candidate.load is None else f"{counted}, {candidate.load:.0%} busy"


def outcome_texts(outcome: WorkOutcome) -> tuple[str, str, str, str]:
    """Return how work ended, and its ratings: whether it was needed, in time, and its quality."""
    quality = "" if outcome.quality is None else f"{outcome.quality:g}"
    ended = outcome.ended.value.replace("_", " ")
    return ended, _answer_text(outcome.needed), _answer_text(outcome.in_time), quality


def _answer_text(given: bool | None) -> str:
    return "" if given is None else "yes" if given else "no"


def _hours_text(hours: Hours) -> str:
    return f"{' '.join(hours.days)} {hours.begins}-{hours.ends} {hours.zone}"
