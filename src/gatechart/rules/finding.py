"""The findings of a check, and the rules that produce them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from gatechart.rules.analysis import Analysis

Hit: TypeAlias = tuple[str, str, str]  # place, problem, remedy


class Severity(StrEnum):
    """The severity of a finding."""

    ERROR = "error"  # fails when it is reached
    WARNING = "warning"  # most likely a mistake
    NOTE = "note"  # could be improved


@dataclass(frozen=True, slots=True)
class Finding:
    """A likely mistake in a graph: its place, the problem, and a remedy."""

    code: str  # stable, "GC101"
    severity: Severity
    place: str  # "state 'WAITING'", named as in definition errors
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.code} {self.severity}: {self.place}: {self.problem}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """A finding that the graph's author accepts, and the reason."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of all checks of a graph: findings to correct, and allowed findings."""

    findings: tuple[Finding, ...]
    allowed: tuple[Allowed, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding, with the function that searches for it."""

    code: str
    severity: Severity
    meaning: str  # name of the mistake, in a clause
    explanation: str  # conditions and exceptions; from the function's docstring
    search: Callable[[Analysis], Iterable[Hit]]

    def findings(self, analysis: Analysis) -> Iterator[Finding]:
        """Yield the findings of the rule, without duplicates, in document order."""
        for place, problem, remedy in dict.fromkeys(self.search(analysis)):
            yield Finding(self.code, self.severity, place, problem, remedy)


def rule(code: str, severity: Severity, meaning: str) -> Callable[[Callable[[Analysis], Iterable[Hit]]], Rule]:
    """Turn a function that searches for one kind of finding into a `Rule`.

    The function yields place, problem and remedy. Its docstring explains the rule to users.
    """

    def decorate(search: Callable[[Analysis], Iterable[Hit]]) -> Rule:
        return Rule(code, severity, meaning, inspect.getdoc(search) or "", search)

    return decorate
