"""Cases at a desk as tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rich.text import Text

from gatechart.api import descriptions
from gatechart.cli.agent_views import snapshot_document
from gatechart.cli.handoff_views import fact_cells, print_conversation, print_sections, prose
from gatechart.cli.output import (
    Cell,
    Document,
    age_text,
    print_facts,
    print_hint,
    print_line,
    print_table,
    status_text,
    zoned_text,
)
from gatechart.contrib.human_desk.context import DeskContext, Subtask, SubtaskStatus
from gatechart.contrib.human_desk.graph import RANKS
from gatechart.drawing.text import visible
from gatechart.handoff.packet import Priority
from gatechart.values.agents import Outcome, Snapshot, Status
from gatechart.values.handoffs import Mode

_STYLES: Final = {Priority.URGENT: "bold red", Priority.HIGH: "yellow", Priority.NORMAL: "", Priority.LOW: "dim"}
_STEPS: Final = {SubtaskStatus.ASKED: "yellow", SubtaskStatus.COMPLETED: "cyan", SubtaskStatus.FAILED: "bold red"}
_LONGEST: Final = 120  # characters of a problem in a list


@dataclass(frozen=True, slots=True)
class Case:
    """A case at a desk."""

    snapshot: Snapshot
    context: DeskContext

    @property
    def state(self) -> str:
        """The active states."""
        return ", ".join(self.snapshot.configuration)

    @property
    def rank(self) -> tuple[bool, int, float, str]:
        """The sort key: by urgency and then by age."""
        arrived = self.context.arrived
        since = 0.0 if arrived is None else arrived.timestamp()
        return self.snapshot.status is not Status.ACTIVE, RANKS[self.context.priority], since, self.snapshot.agent_id

    def age(self, now: datetime) -> timedelta:
        """Return how long the case has been at the desk."""
        return now - (self.context.arrived or now)


def case_document(case: Case, now: datetime) -> Document:
    """Describe a case briefly."""
    context = case.context
    return {
        "agent_id": case.snapshot.agent_id,
        "desk": case.snapshot.graph,
        "state": case.snapshot.configuration,
        "status": case.snapshot.status,
        "priority": context.priority,
        "overdue": context.overdue,
        "arrived": context.arrived,
        "age_s": round(case.age(now).total_seconds()),
        "operator": context.operator,
        "reason": context.reason,
        "mode": context.mode,
        "asked_by": context.asked_by,
        "asked_graph": context.asked_graph,
        "handoff": context.handoff,
        "problem": context.current_problem,
    }


def whole_document(case: Case, now: datetime) -> Document:
    """Describe a case with its whole context."""
    return {**case_document(case, now), "context": snapshot_document(case.snapshot)["context"]}


def print_cases(cases: Sequence[Case], now: datetime) -> None:
    """Print cases, one per row."""
    columns = ("CASE", "STATE", "PRIORITY", "AGE", "OPERATOR", "FROM, REASON, PROBLEM")
    print_table(columns, (_row(case, now) for case in cases), whole=columns[:5])


def print_case(case: Case, now: datetime) -> None:
    """Print everything that an operator needs to know about a case."""
    print_facts(_facts(case, now))
    if problem := fact_cells(descriptions.problem_facts(case.context)):
        print_line()
        print_facts(problem)
    print_conversation(case.context.messages)
    print_sections(descriptions.known_sections(case.context))
    print_sections(descriptions.way_sections(case.context.path, case.context.attempts))
    if case.context.subtasks:
        print_line()
        print_table(("SUB-TASK", "", ""), map(_subtask_row, case.context.subtasks))


def hint_at_what_would_do(case: Case, outcome: Outcome) -> None:
    """Print the next step when an event was refused."""
    name, operator = case.snapshot.agent_id, case.context.operator
    if outcome.status is not Status.ACTIVE:
        print_hint(f"the case is {outcome.status.value}; see `gatechart desk show {name}`")
    elif outcome.configuration == ("WAITING",):
        print_hint(f"the case has not been taken; take it with `gatechart desk take {name} --operator NAME`")
    elif outcome.configuration == ("RETURNING",):
        print_hint(
            f"the case is offered to {case.context.asked_by}; `gatechart send {name} KEEP` withdraws the offer, "
            "unless it was accepted by then"
        )
    elif outcome.event == "TAKE":
        print_hint(f"{operator} has taken the case; `gatechart desk release {name}` releases it")
    elif outcome.event == "RETURN" and case.context.mode is None:
        print_hint(f"no agent handed the case over; end the case with `gatechart desk resolve {name}`")


def _row(case: Case, now: datetime) -> Sequence[Cell]:
    context = case.context
    cell = Text(visible(_origin_text(context)))
    if context.current_problem:
        cell.append(f"\n{_short(context.current_problem)}", "dim")
    agent, age = case.snapshot.agent_id, age_text(case.age(now))
    return agent, case.state, _priority(context), age, context.operator or "–", cell


def _facts(case: Case, now: datetime) -> Iterator[tuple[str, Cell]]:
    snapshot, context = case.snapshot, case.context
    yield "case", snapshot.agent_id
    yield "desk", snapshot.graph
    yield "state", case.state
    yield "status", status_text(snapshot.status)
    yield "priority", _priority(context)
    if context.arrived is not None:
        yield "arrived", f"{zoned_text(context.arrived)}, {age_text(case.age(now))} ago"
    yield "operator", context.operator or "–"
    yield "asked by", _origin_text(context, whole=True)
    if context.handoff:
        yield "handoff", context.handoff
    if snapshot.status is not Status.ACTIVE:
        yield "answer", prose(context.answer or "–")
        yield "rating", str(context.rating or "–")
        yield "note", prose(context.remark or "–")


def _origin_text(context: DeskContext, *, whole: bool = False) -> str:
    """Return who handed the case over, and why."""
    if not context.asked_by:
        return "no agent; it was started at the desk"
    reason = f": {context.reason.value}" if context.reason else ""
    if not whole:
        return f"{context.asked_by} ({context.asked_graph}){reason}"
    state = f", in {context.asked_state}" if context.asked_state else ""
    waits = "it waits for the result" if context.mode is Mode.DELEGATE else "it transferred the case"
    return f"{context.asked_by}, of {context.asked_graph}{state}{reason}; {waits}"


def _priority(context: DeskContext) -> Text:
    cell = Text(context.priority.value, _STYLES[context.priority])
    return cell.append(", overdue", "bold red") if context.overdue else cell


def _subtask_row(subtask: Subtask) -> Sequence[Cell]:
    where = f"{subtask.graph} at {subtask.entry_point}"
    cell = Text(visible(subtask.task or where))
    if subtask.task:
        cell.append(f"\n{visible(where)}", "dim")
    details = subtask.details or ", ".join(f"{name}={value}" for name, value in subtask.result.items())
    return cell, Text(subtask.status.value, _STEPS.get(subtask.status, "dim")), prose(details)


def _short(text: str) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
