"""Alerts to people and programs outside: webhooks and mail, durable, tried again, under a stable id."""

from gatechart.alerts.mailbox import Mailbox
from gatechart.alerts.sinks import Alerts, AlertSink
from gatechart.alerts.webhook import Webhook

__all__ = [
    "AlertSink",
    "Alerts",
    "Mailbox",
    "Webhook",
]
