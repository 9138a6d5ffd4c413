"""What can be said of a graph without running it: findings, what entry points reach, paths to test."""

from gatechart.checks.allow import Allow
from gatechart.checks.check import check
from gatechart.checks.events import RaisesEvents
from gatechart.checks.fields import NamesFields
from gatechart.checks.finding import RULES, Finding, Rule, Severity
from gatechart.checks.paths import Path, PathStep, TooManyConfigurationsError, paths
from gatechart.checks.reach import reach

__all__ = [
    "RULES",
    "Allow",
    "Finding",
    "NamesFields",
    "Path",
    "PathStep",
    "RaisesEvents",
    "Rule",
    "Severity",
    "TooManyConfigurationsError",
    "check",
    "paths",
    "reach",
]
