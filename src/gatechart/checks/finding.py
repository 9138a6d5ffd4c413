"""What a check finds, and what a rule is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from gatechart.checks.analysis import Analysis

Hit: TypeAlias = tuple[str, str, str]  # place, problem, remedy


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
    """The outcome of all checks of a graph: what is to be mended, and what is allowed."""

    findings: tuple[Finding, ...]
    allowed: tuple[Allowed, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding, together with the function that looks for it."""

    code: str
    severity: Severity
    meaning: str  # what is found, in a clause
    explanation: str  # when it is found, and what is left alone; from the function's docstring
    search: Callable[[Analysis], Iterable[Hit]]

    def findings(self, analysis: Analysis) -> Iterator[Finding]:
        """Yield what the rule finds, each once, in the order of the document."""
        for place, problem, remedy in dict.fromkeys(self.search(analysis)):
            yield Finding(self.code, self.severity, place, problem, remedy)


def rule(code: str, severity: Severity, meaning: str) -> Callable[[Callable[[Analysis], Iterable[Hit]]], Rule]:
    """Make a function that looks for one kind of finding a `Rule`.

    The function yields place, problem and remedy. Its docstring explains the rule to users.
    """

    def decorate(search: Callable[[Analysis], Iterable[Hit]]) -> Rule:
        return Rule(code, severity, meaning, inspect.getdoc(search) or "", search)

    return decorate
