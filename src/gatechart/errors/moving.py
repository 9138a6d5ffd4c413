"""Agents that move from one home to another, and what keeps them from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gatechart.errors.root import EventError, OutsideError

SHOWN = 10  # agents that an error names in its text


@dataclass(eq=False)
class StoreMovedError(OutsideError):
    """The agents of the database live elsewhere now; it is kept for reading only."""

    path: str
    to: str
    since: datetime | None

    def __str__(self) -> str:
        since = f" at {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        return (
            f"the agents of {self.path} were moved to {self.to}{since}; go on there, or open the database for reading"
        )


@dataclass(eq=False)
class MoveError(OutsideError):
    """Agents cannot be moved, or not all of them. Their database is as it was, and can be used as before."""

    path: str
    to: str
    problem: str
    remedy: str
    agents: tuple[str, ...]  # that it is about; none where it is about all

    def __str__(self) -> str:
        named = ", ".join(map(repr, self.agents[:SHOWN]))
        more = f" and {len(self.agents) - SHOWN:,} more" if len(self.agents) > SHOWN else ""
        about = f" ({named}{more})" if self.agents else ""
        return f"the agents of {self.path} were not moved to {self.to}: {self.problem}{about}; {self.remedy}"


@dataclass(eq=False)
class AgentAsleepError(EventError):
    """The agent is being moved here, and does nothing before the move has ended. Mail to it is kept."""

    agent_id: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} is being moved here and asleep; call again when `gatechart move` has ended, "
            "and run that again where it was interrupted"
        )
