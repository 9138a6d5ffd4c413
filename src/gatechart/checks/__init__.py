"""What can be said of a graph without running it: findings, what entry points reach, paths to test."""

from gatechart.checks.check import check, check_all, report
from gatechart.checks.events import RaisesEvents
from gatechart.checks.fields import NamesFields
from gatechart.checks.finding import RULES, Allowed, Finding, Report, Rule, Severity
from gatechart.checks.paths import Path, PathStep, TooManyConfigurationsError, paths
from gatechart.checks.reach import reach
from gatechart.graph import Allow

__all__ = [
    "RULES",
    "Allow",
    "Allowed",
    "Finding",
    "NamesFields",
    "Path",
    "PathStep",
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
