"""What becomes of stored agents where they go on with other graphs than before."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gatechart.values.names import AgentId, StateName


class Fate(StrEnum):
    """What becomes of a stored agent, given the graphs that are registered."""

    STAYS = "stays"  # its version is registered, and is as it was
    CHANGED = "changed"  # its version is registered, but was changed since the agent's last turn; the agent fits
    MIGRATES = "migrates"  # its version is not registered, and migrations lead to the newest
    STUCK = "stuck"  # it fits nowhere, and stays as it was


@dataclass(frozen=True, slots=True)
class Migrated:
    """What becomes of one stored agent. What it has beside its snapshot is counted: mail (timers included), invokes."""

    agent_id: AgentId
    graph: str
    fate: Fate
    before: str  # the version of the graph that it has
    after: str  # that it goes on with; as before where it is stuck
    source: tuple[StateName, ...]  # its configuration
    target: tuple[StateName, ...]  # that it goes on with
    problem: str | None = None  # why it is stuck
    mail_amended: int = 0
    mail_ended: int = 0
    timers_begun: int = 0
    invokes_kept: int = 0  # that begin again, with their steps
    invokes_ended: int = 0
    invokes_begun: int = 0
