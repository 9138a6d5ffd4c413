"""Findings: what is wrong with agents, mail and hosts, as whoever looks at them from outside sees it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from gatechart.values.alerts import Severity
from gatechart.values.frozen import value
from gatechart.values.names import AgentId, Payload

FOUND: Final = "alarm.watchdog."
"""Beginning of the name of the event that tells an agent of a finding; the kind follows, as in `alarm.watchdog.stuck`.

Alarms from outside cannot have such a name."""


class FindingKind(StrEnum):
    """What a finding is about."""

    STUCK = "stuck"  # an agent had no turn for longer than is normal in its states
    WAITING = "waiting"  # mail of an agent could be applied and is not
    UNCLAIMED = "unclaimed"  # mail waits for an agent that does not exist
    FAILING = "failing"  # mail of an agent fails, and is tried again: its turns are undone
    DEAD = "dead"  # mail of an agent failed at every attempt
    UNDONE = "undone"  # turns of events that were sent to an agent raised lately, and were undone
    REFUSED = "refused"  # an agent refused much of what it was sent lately
    BREAKER = "breaker"  # a circuit breaker is open
    SILENT = "silent"  # a host gave no sign of life
    BUSY = "busy"  # a host uses its processors and gets nowhere
    UNDELIVERED = "undelivered"  # a sink of alerts takes none
    MISPLACED = "misplaced"  # an application's agent has an id or a graph that belongs to the framework


SEVERITIES: Final = {
    FindingKind.STUCK: Severity.WARNING,
    FindingKind.WAITING: Severity.WARNING,
    FindingKind.UNCLAIMED: Severity.NOTICE,
    FindingKind.FAILING: Severity.WARNING,
    FindingKind.DEAD: Severity.CRITICAL,
    FindingKind.UNDONE: Severity.WARNING,
    FindingKind.REFUSED: Severity.NOTICE,
    FindingKind.BREAKER: Severity.WARNING,
    FindingKind.SILENT: Severity.CRITICAL,
    FindingKind.BUSY: Severity.WARNING,
    FindingKind.UNDELIVERED: Severity.CRITICAL,
    FindingKind.MISPLACED: Severity.WARNING,
}


@value
class HealthFinding:
    """Something that somebody should know about, or act on. It lasts until a look no longer finds it."""

    kind: FindingKind
    subject: str  # an agent's id, a host's, the name of a breaker or a sink
    since: datetime | None  # aware, UTC; None if that is not known
    text: str  # one sentence
    remedy: str  # what would help, in the words of commands
    graph: str = ""
    evidence: Payload | None = None  # JSON values

    @property
    def key(self) -> str:
        """The same for each look that finds this."""
        return f"{self.kind.value}:{self.subject}"

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return SEVERITIES[self.kind]

    @property
    def agent_id(self) -> AgentId:
        """The agent that it is about; empty if it is about none that exists."""
        others = (FindingKind.UNCLAIMED, FindingKind.BREAKER, FindingKind.SILENT, FindingKind.BUSY)
        return "" if self.kind in others or self.kind is FindingKind.UNDELIVERED else self.subject

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            "kind": self.kind.value,
            "subject": self.subject,
            "severity": self.severity.value,
            "since": None if self.since is None else self.since.isoformat(),
            "graph": self.graph,
            "text": self.text,
            "evidence": dict(self.evidence or {}),
            "remedy": self.remedy,
        }


def has_lasted(before: Payload | None, now: Payload | None) -> bool:
    """Tell whether findings with the same key, of two looks, are one: an agent with a turn between stands still anew.

    before, now: their evidence.
    """
    return (before or {}).get("version") == (now or {}).get("version")
