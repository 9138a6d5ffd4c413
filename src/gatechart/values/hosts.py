"""Hosts: processes that host agents or wait on standby, and their heartbeats."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from gatechart.values.frozen import value
from gatechart.values.homes import Role
from gatechart.values.names import Payload

BEAT_S: Final = 5.0
"""Seconds between two heartbeats of a host."""

MOST_HOSTS: Final = 200
"""The maximum number of hosts whose heartbeats a store keeps: the most recently seen."""


@value
class HostRecord:
    """A host as it is stored and shown."""

    id: str
    role: Role  # OWNER also after a takeover; STANDBY until it becomes the owner
    machine: str  # its host name
    pid: int
    started: datetime  # aware, UTC, as `seen`
    seen: datetime  # its newest heartbeat
    facts: Payload  # JSON values: measured resource usage

    @property
    def name(self) -> str:
        """Role, machine and process id, for people."""
        return f"{self.role.value} {self.machine}:{self.pid}"
