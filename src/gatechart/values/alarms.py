"""Alarms from outside: what somebody who watches agents from elsewhere tells them."""

from __future__ import annotations

from typing import Final

from gatechart.values.frozen import value
from gatechart.values.names import AgentId

ALARM: Final = "alarm."
"""Beginning of the name of the event by which agents hear of an alarm; the alarm's name follows."""

ALARM_NAME: Final = r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$"
"""Regular expression that the names of alarms match."""

WATCHDOG_NAME: Final = r"^watchdog(\.|$)"
"""Regular expression of the names among them that are the framework's own."""


@value
class RaisedAlarm:
    """An alarm that was accepted: the agents that it named, or that were found, hear of it as durable mail."""

    alarm_id: str
    event: str  # as the agents get it
    recipients: tuple[AgentId, ...]
    repeat: bool = False  # the alarm was raised before; these are the agents of that time
