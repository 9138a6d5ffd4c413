"""Findings: problems of agents, mail and hosts that are visible from outside them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from gatechart.values.alerts import Severity
from gatechart.values.frozen import value
from gatechart.values.names import AgentId, Payload

FOUND: Final = "alarm.watchdog."
"""Prefix of the event that reports a finding to an agent; the kind follows, as in `alarm.watchdog.stuck`.

Alarms from outside cannot use this prefix."""


class FindingKind(StrEnum):
    """The problem that a finding reports."""

    STUCK = "stuck"  # an agent had no turn for longer than its states expect
    WAITING = "waiting"  # mail for an agent is due but not applied
    UNCLAIMED = "unclaimed"  # mail waits for a nonexistent agent
    FAILING = "failing"  # mail for an agent fails and is retried: its turns are undone
    DEAD = "dead"  # mail for an agent failed at every attempt
    UNDONE = "undone"  # turns for events sent to an agent raised recently, and were undone
    REFUSED = "refused"  # an agent recently refused many of the events sent to it
    BREAKER = "breaker"  # a circuit breaker is open
    SILENT = "silent"  # a host stopped sending heartbeats
    BUSY = "busy"  # a host uses its processors without progress
    UNDELIVERED = "undelivered"  # a sink of alerts accepts none
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
    """A problem that an operator should know about, or act on. It lasts until a scan no longer finds it."""

    kind: FindingKind
    subject: str  # id of an agent or a host, or name of a breaker or a sink
    since: datetime | None  # aware, UTC; None if unknown
    text: str  # one sentence
    remedy: str  # suggested remedy, with commands
    graph: str = ""
    evidence: Payload | None = None  # JSON values

    @property
    def key(self) -> str:
        """Key of the problem, the same in every scan that finds it."""
        return f"{self.kind.value}:{self.subject}"

    @property
    def severity(self) -> Severity:
        """Severity of the problem."""
        return SEVERITIES[self.kind]

    @property
    def agent_id(self) -> AgentId:
        """The agent concerned; empty if the finding concerns no existing agent."""
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
    """Return whether findings of two scans with the same key are one. A turn of the agent in between starts another.

    before, now: evidence of the two findings.
    """
    return (before or {}).get("version") == (now or {}).get("version")
