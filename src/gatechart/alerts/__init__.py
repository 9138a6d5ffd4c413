"""Durable alerts to people and other programs, by webhook and mail. Failed deliveries are retried under a stable id."""

from gatechart.alerts.mailbox import Mailbox
from gatechart.alerts.sinks import Alerts, AlertSink
from gatechart.alerts.webhook import Webhook

__all__ = [
    "AlertSink",
    "Alerts",
    "Mailbox",
    "Webhook",
]
