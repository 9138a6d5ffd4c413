"""Find problems in stored data: norms for silences, and rules for agents, mail and hosts. Pure."""

from gatechart.watchdog.norms import Norm, declared_norms, learned_norms, silences
from gatechart.watchdog.rules import (
    found_breakers,
    found_hosts,
    found_mail,
    found_misplaced,
    found_refused,
    found_stuck,
    found_undelivered,
    found_undone,
    troubles_of,
)
from gatechart.watchdog.terms import Act, WatchdogTerms

__all__ = [
    "Act",
    "Norm",
    "WatchdogTerms",
    "declared_norms",
    "found_breakers",
    "found_hosts",
    "found_mail",
    "found_misplaced",
    "found_refused",
    "found_stuck",
    "found_undelivered",
    "found_undone",
    "learned_norms",
    "silences",
    "troubles_of",
]
