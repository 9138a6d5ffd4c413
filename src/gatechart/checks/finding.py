"""What a check finds, and the rules by which it looks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"  # it will fail when it is reached
    WARNING = "warning"  # most likely not what was meant
    NOTE = "note"  # could be better


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in a graph: where, what, and how to mend it."""

    code: str  # stable, "GC101"
    severity: Severity
    place: str  # "state 'WAITING'", as faults name it
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.code} {self.severity}: {self.place}: {self.problem}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """A finding that is meant to be so, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found in a graph: what is to be mended, and what is allowed."""

    findings: tuple[Finding, ...]
    allowed: tuple[Allowed, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding."""

    code: str
    severity: Severity
    meaning: str

    def at(self, place: str, problem: str, remedy: str) -> Finding:
        """The finding of this kind at a place."""
        return Finding(self.code, self.severity, place, problem, remedy)


UNREACHABLE: Final = Rule("GC101", Severity.WARNING, "a state that no entry point leads to")
NO_WAY_OUT: Final = Rule("GC102", Severity.WARNING, "a state that is not final and cannot be left")
NO_END: Final = Rule("GC103", Severity.WARNING, "an entry point from which no final state can be reached")
UNMARKED_FAILURE: Final = Rule(
    "GC104", Severity.WARNING, "a final state that is called like a failure and does not say that it is one"
)
SHADOWED: Final = Rule("GC201", Severity.WARNING, "a transition that an earlier one without a guard always forestalls")
ENDLESS: Final = Rule("GC202", Severity.ERROR, "a cycle of eventless transitions without guards")
CYCLE: Final = Rule("GC203", Severity.WARNING, "a cycle of eventless transitions that only guards can end")
NEVER_RAISED: Final = Rule("GC204", Severity.WARNING, "a transition that waits for an event that nothing raises")
NEVER_AWAITED: Final = Rule("GC205", Severity.WARNING, "an event that is raised and no transition waits for")
RESULT_UNUSED: Final = Rule("GC206", Severity.NOTE, "an invoke whose end no transition waits for")
UNKNOWN_FIELD: Final = Rule("GC301", Severity.ERROR, "an expression that uses a field which the context type lacks")
UNDESCRIBED: Final = Rule("GC302", Severity.NOTE, "an entry point without a description")
CANNOT_START: Final = Rule("GC303", Severity.ERROR, "an entry point that leaves a required field of the context empty")
MISSPELT: Final = Rule("GC304", Severity.WARNING, "a state whose name looks like a misspelling of another")
ALLOWANCE_UNUSED: Final = Rule("GC401", Severity.WARNING, "an allowance for something that is not there")
ALLOWANCE_UNREASONED: Final = Rule("GC402", Severity.WARNING, "an allowance without a reason, which allows nothing")
HANDOFF_AT_THE_END: Final = Rule(
    "GC501", Severity.ERROR, "a handoff on the way to a final state, where nothing can wait"
)
HANDOFF_UNANSWERED: Final = Rule("GC502", Severity.WARNING, "a state that waits for a handoff, but not for each answer")
NO_SUCH_DOOR: Final = Rule("GC503", Severity.ERROR, "a handoff to a graph or an entry point that is not there")
SECOND_OWNER: Final = Rule(
    "GC504", Severity.WARNING, "a transition from anywhere that also leaves a state in which the work was given away"
)

RULES: Final = (
    UNREACHABLE,
    NO_WAY_OUT,
    NO_END,
    UNMARKED_FAILURE,
    SHADOWED,
    ENDLESS,
    CYCLE,
    NEVER_RAISED,
    NEVER_AWAITED,
    RESULT_UNUSED,
    UNKNOWN_FIELD,
    UNDESCRIBED,
    CANNOT_START,
    MISSPELT,
    ALLOWANCE_UNUSED,
    ALLOWANCE_UNREASONED,
    HANDOFF_AT_THE_END,
    HANDOFF_UNANSWERED,
    NO_SUCH_DOOR,
    SECOND_OWNER,
)
