"""Hosts: processes that host agents or stand by for that, and their signs of life."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from gatechart.values.frozen import value
from gatechart.values.homes import Role
from gatechart.values.names import Payload

BEAT_S: Final = 5.0
"""Seconds between two signs of life of a host."""

MOST_HOSTS: Final = 200
"""The most hosts of which a store keeps a sign of life: those with the newest."""


@value
class HostRecord:
    """A host as it is stored and shown."""

    id: str
    role: Role  # OWNER also for one that took the database over, STANDBY until it becomes the owner
    machine: str  # its host name
    pid: int
    started: datetime  # aware, UTC, as `seen`
    seen: datetime  # its newest sign of life
    facts: Payload  # JSON values: what it uses, as far as that is measured

    @property
    def name(self) -> str:
        """The host in words."""
        return f"{self.role.value} {self.machine}:{self.pid}"
