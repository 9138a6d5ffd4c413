"""Alerts: messages to people and programs outside, delivered by named sinks."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from gatechart.values.frozen import value
from gatechart.values.names import AgentId, Payload

ALERT: Final = "gatechart.alert"
"""Event that brings an alert to the agent of a sink."""


class Severity(StrEnum):
    """The severity of the problem that an alert reports."""

    NOTICE = "notice"  # for information
    WARNING = "warning"  # to investigate
    CRITICAL = "critical"  # to act on


@value
class AlertMessage:
    """A message to a sink. The same id is delivered again only if the sink's answer was lost."""

    id: str  # the same for each attempt at delivery, so that a receiver recognises a repeat
    kind: str  # type of the problem, such as `escape` or `stuck`; for programs
    title: str  # one line, for people
    at: datetime  # aware, UTC
    severity: Severity = Severity.WARNING
    agent_id: AgentId = ""  # the agent concerned; empty if there is none
    graph: str = ""
    details: Payload | None = None  # JSON values: evidence, attempted remedies, suggestions
