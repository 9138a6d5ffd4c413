"""Handoffs and entries of the directory in words, as the command line and the console show them."""

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
"""The name of a fact, and its text, or a moment that each reader sees in a time zone of their own."""

Section: TypeAlias = tuple[str, Sequence[tuple[str, ...]]]
"""A heading, and rows of as many texts each; texts may have several lines."""

_NOBODY: Final = "nobody"


def handoff_facts(handoff: HandoffRecord) -> Iterator[Fact]:
    """Yield what a handoff is: from whom, to whom, and why."""
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
    """Return from whom to whom a handoff goes, on one line."""
    to = (handoff.target_graph, handoff.entry_point, handoff.target)
    where = _nobody(handoff) if handoff.is_to_nobody else target_text(*to)
    return f"{handoff.mode.value} from {handoff.source} ({handoff.source_graph}) → {where}"


def _nobody(handoff: HandoffRecord) -> str:
    """Say that a handoff has no target: as yet, or because nobody was right for it."""
    return "nobody yet" if handoff.status is HandoffStatus.CHOOSING else _NOBODY


def target_text(graph: str, entry_point: str, agent: str) -> str:
    """Name a target; "nobody" if there is none."""
    at = f" at {entry_point}" if entry_point else ""
    return (f"{agent} ({graph}){at}" if agent else f"{graph}{at}") or _NOBODY


def problem_facts(told: Any) -> Iterator[Fact]:
    """Yield what the problem is, and whose, as in a packet or in the context of a person's case."""
    metadata = told.metadata
    facts = {
        "problem": told.current_problem,
        "first asked": "" if told.initial_query == told.current_problem else told.initial_query,
        "suggested": told.suggested_action,
        "user": told.user_id,
        "session": told.session_id,
        "locale": metadata.locale,
        "environment": metadata.environment,
        "evidence": told.evidence,
    }
    return ((name, fact) for name, fact in facts.items() if fact)


def known_sections(told: Any) -> Iterator[Section]:
    """Yield what was tried, found, assumed and decided, as in a packet or in the context of a person's case."""
    yield "Tried", [(each.action, _tried_text(each)) for each in told.reasoning]
    yield "Entities", value_rows(told.entities)
    yield "State", value_rows(told.internal_state)
    yield "Assumed", [(each,) for each in told.assumptions]
    yield "Decided", [(each,) for each in told.decisions]


def way_sections(path: Iterable[PathStep], attempts: Iterable[Attempt]) -> Iterator[Section]:
    """Yield the earlier agents, and the offers that failed."""
    yield "Way", [(each.graph, each.agent, each.state, each.achieved or "–") for each in path]
    yield "In vain", list(map(_attempt_texts, attempts))


def packet_sections(packet: HandoffPacket) -> Iterator[Section]:
    """Yield what a packet holds beside the problem and the conversation."""
    yield from known_sections(packet)
    yield from way_sections(packet.path, packet.attempts)
    yield "Still to be tried", [(each.kind.value, _fallback_text(each)) for each in packet.fallbacks]
    yield "Unknown fields", value_rows(packet.__pydantic_extra__ or {})


def value_rows(values: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return the names of JSON values, and each as text."""
    return [(name, _plain_text(value)) for name, value in values.items()]


def explanation_in(stored: Mapping[str, Any]) -> Explanation:
    """Read why a target was chosen; what this release cannot read is told as it is stored."""
    try:
        return explanation_of(stored)
    except ValidationError:
        return Explanation(Needs(), (), details=f"this release cannot read {_plain_text(stored)}")


def choice_facts(why: Explanation) -> Iterator[Fact]:
    """Yield how a choice came out, what was needed, and among whom a draw decided."""
    facts = {
        "choice": why.details,
        "needed": needs_text(why.needs),
        "drawn from": f"{', '.join(why.tied)}, by the seed {why.seed}" if why.tied else "",
        "probability": f"{why.probability:.2f}" if why.probability < 1 else "",
    }
    return ((name, fact) for name, fact in facts.items() if fact)


def tool_call_text(call: ToolCall) -> str:
    """Return a call with its arguments and what came of it."""
    given = ", ".join(f"{name}={_plain_text(value)}" for name, value in call.arguments.items())
    return f"{call.name}({given}) → {f'error: {call.error}' if call.error else _plain_text(call.output)}"


def _plain_text(value: Any) -> str:
    """Return a JSON value as text; a string as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tried_text(step: ReasoningStep) -> str:
    """Return what was tried, why, and what came of it."""
    details = "; ".join(filter(None, (step.details, step.reasoning and f"because {step.reasoning}")))
    return f"{details} → {step.outcome}".lstrip() if step.outcome else details


def _fallback_text(step: FallbackStep) -> str:
    """Return to whom work is offered next."""
    if step.kind is FallbackKind.SAME_TARGET:
        return f"up to {step.attempts} offers to the same target"
    if step.selection is not None:
        return _terms_text(step.selection)
    return target_text(step.graph, step.entry_point, step.agent)


def _terms_text(terms: SelectionTerms) -> str:
    who, needs = " or ".join(terms.entries) or "the best", needs_text(terms.needs)
    return f"{who} for {needs}" if needs else who


def _wanted_text(stored: Any) -> str:
    """Return what a stored selection looks for; empty if there is none that this release can read."""
    try:
        return _terms_text(SelectionTerms.model_validate(stored))
    except ValidationError:
        return ""


def _attempt_texts(attempt: Attempt) -> tuple[str, str]:
    """Return to whom an offer went, and why it came to nothing."""
    obstacle = "" if attempt.obstacle is None else attempt.obstacle.value
    to = target_text(attempt.graph, attempt.entry_point, "")
    return to, ": ".join(filter(None, (obstacle, attempt.details)))


def entry_facts(entry: DirectoryEntry) -> Iterator[Fact]:
    """Yield what an entry of the directory can do, and how things stand there."""
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
    """Return "yes" if an entry takes work, "first" if an operator pinned it, else why it takes none."""
    return entry.unavailable or ("first" if entry.mark is Mark.PINNED else "yes")


def load_text(entry: DirectoryEntry) -> str:
    """Return how much work an entry has, of how much it takes."""
    candidate = entry.candidate
    counted = str(candidate.held) if candidate.capacity is None else f"{candidate.held} of {candidate.capacity}"
    return counted if candidate.load is None else f"{counted}, {candidate.load:.0%} busy"


def outcome_texts(outcome: WorkOutcome) -> tuple[str, str, str, str]:
    """Return how work ended, and a person's answers: whether it was needed, in time, and how good the work was."""
    quality = "" if outcome.quality is None else f"{outcome.quality:g}"
    ended = outcome.ended.value.replace("_", " ")
    return ended, _answer_text(outcome.needed), _answer_text(outcome.in_time), quality


def _answer_text(given: bool | None) -> str:
    return "" if given is None else "yes" if given else "no"


def _hours_text(hours: Hours) -> str:
    return f"{' '.join(hours.days)} {hours.begins}-{hours.ends} {hours.zone}"
