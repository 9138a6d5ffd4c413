"""The report of a move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import TypeAlias

from gatechart.values.names import AgentId

Tell: TypeAlias = Callable[[str, int, int], None]
"""Progress callback, called with the current activity, the number done, and the total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """The result of a move, or of a check. Each number counts items that were compared on both sides."""

    source: str
    to: str
    agents: int = 0
    ended: int = 0  # of these, no longer active
    unborn: int = 0  # agents that have mail but have not started
    mail: int = 0  # waiting mail, timers included, and refused or dead mail
    invokes: int = 0  # open invokes
    steps: int = 0  # recorded steps of these invokes
    entries: int = 0  # of their journals
    places: int = 0  # slots held by handoffs
    breakers: int = 0  # circuit breakers that are not closed
    turns: int = 0  # turns of history that were moved
    turns_left: int = 0  # turns that only the old database has
    were_there: int = 0  # agents that an earlier, interrupted move had brought
    digest: str = ""  # of all agents; the same on both sides
    before: datetime | None = None  # time of an earlier move; None if there was none
    awakened: int = 0  # agents that this move awakened
    is_dry: bool = False


class Digest:
    """A digest of many agents, independent of their order."""

    def __init__(self) -> None:
        self._of: dict[AgentId, bytes] = {}

    def add(self, agent_id: AgentId, digest: str) -> None:
        """Add an agent's digest."""
        self._of[agent_id] = bytes.fromhex(digest)

    def __str__(self) -> str:
        total = sha256()
        for agent_id in sorted(self._of):
            total.update(agent_id.encode(errors="replace") + b"\0" + self._of[agent_id])
        return total.hexdigest()
