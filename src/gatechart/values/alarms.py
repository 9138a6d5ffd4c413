"""Alarms from outside: warnings that a monitoring system sends to agents."""

from __future__ import annotations

from typing import Final

from gatechart.values.frozen import value
from gatechart.values.names import AgentId

ALARM: Final = "alarm."
"""Prefix of the event that reports an alarm to agents; the alarm's name follows."""

ALARM_NAME: Final = r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$"
"""Regular expression that the names of alarms match."""

WATCHDOG_NAME: Final = r"^watchdog(\.|$)"
"""Regular expression that matches the alarm names reserved for the framework."""


@value
class RaisedAlarm:
    """An accepted alarm, sent as durable mail to the agents that it names or that match its query."""

    alarm_id: str
    event: str  # name of the event that the agents receive
    recipients: tuple[AgentId, ...]
    repeat: bool = False  # the alarm was raised before; these are its recipients from the first time
