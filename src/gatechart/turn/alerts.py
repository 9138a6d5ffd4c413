"""Alerts as effects of a turn: mail to the agent that delivers for a sink."""

from __future__ import annotations

from gatechart.values.alerts import ALERT, AlertMessage
from gatechart.values.effects import Send
from gatechart.values.framework import SINK_AGENT
from gatechart.values.names import AgentId, Payload


def sink_agent(sink: str) -> AgentId:
    """Return the id of the agent that delivers to a sink.

    >>> sink_agent("ops")
    'alerts:ops'
    """
    return f"{SINK_AGENT}{sink}"


def alert_effects(sink: str, alert: AlertMessage) -> tuple[Send, ...]:
    """Return the effects by which a turn alerts a sink.

    The alert is as durable as the turn, and an id goes to a sink once. Where no sink of that name is configured it
    waits until one is, and the watchdog finds it.
    """
    return (Send(sink_agent(sink), ALERT, alert_payload(alert), alert.id),)


def alert_payload(alert: AlertMessage) -> Payload:
    """Return an alert as JSON values: what `ALERT` carries, and what a webhook gets."""
    return {
        "id": alert.id,
        "kind": alert.kind,
        "title": alert.title,
        "at": alert.at.isoformat(),
        "severity": alert.severity.value,
        "agent_id": alert.agent_id,
        "graph": alert.graph,
        "details": dict(alert.details or {}),
    }
