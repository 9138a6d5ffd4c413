"""Analyse a graph without running it: findings, the states that entry points reach, and paths for tests.

To add a check, write a function with `@rule` in the module of its subject. It needs no other registration.
"""

from gatechart.checks.analysis import reach
from gatechart.checks.checking import RULES, check, check_all, report
from gatechart.checks.event_rules import RaisesEvents
from gatechart.checks.finding import Allowed, Finding, Report, Rule, Severity
from gatechart.checks.paths import Microstep, Path, TooManyConfigurationsError, paths
from gatechart.checks.state_rules import NamesFields
from gatechart.graph.definition import Allow

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
