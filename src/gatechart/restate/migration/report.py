"""What became of a move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import TypeAlias

from gatechart.values import AgentId

Tell: TypeAlias = Callable[[str, int, int], None]
"""Called with what is done, how many are, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was moved, or would be. Each number is of what was compared on both sides."""

    source: str
    to: str
    agents: int = 0
    ended: int = 0  # of these, no longer active
    unborn: int = 0  # that have mail and are yet to begin
    mail: int = 0  # that waits, with timers, and that was refused or is dead
    invokes: int = 0  # that are open
    steps: int = 0  # that these have recorded
    places: int = 0  # that handoffs hold
    turns: int = 0  # of the history, that went along
    turns_left: int = 0  # that can be read in the old database only
    were_there: int = 0  # agents that an earlier, interrupted move had brought
    digest: str = ""  # of all agents; the same on both sides
    before: datetime | None = None  # when they were moved, where that was before
    awakened: int = 0  # that go on there since this move
    is_dry: bool = False


class Digest:
    """Of many agents, in whatever order they are added."""

    def __init__(self) -> None:
        self._of: dict[AgentId, bytes] = {}

    def add(self, agent_id: AgentId, digest: str) -> None:
        """Takes an agent's digest in."""
        self._of[agent_id] = bytes.fromhex(digest)

    def __str__(self) -> str:
        total = sha256()
        for agent_id in sorted(self._of):
            total.update(agent_id.encode(errors="replace") + b"\0" + self._of[agent_id])
        return total.hexdigest()
