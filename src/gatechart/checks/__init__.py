"""Analyse a graph without running it: findings, the states that entry points reach, and paths for tests.

To add a check, write a function with `@rule` in the module of its subject. It needs no other registration.
"""

from gatechart.checks.checking import RULES, check, check_all, report
from gatechart.graph.definition import Allow
from gatechart.rules.analysis import reach
from gatechart.rules.events import RaisesEvents
from gatechart.rules.finding import Allowed, Finding, Report, Rule, Severity
from gatechart.rules.paths import Microstep, Path, TooManyConfigurationsError, paths
from gatechart.rules.states import NamesFields

__all__ = [
    "RULES",
    "Allow",
    "Allowed",
    "Finding",
    "Microstep",
    "NamesFields",
    "Path",
    "RaisesEvents",
    "Report",
    "Rule",
    "Severity",
    "TooManyConfigurationsError",
    "check",
    "check_all",
    "paths",
    "reach",
    "report",
]
