"""Recent failures of events whose sender waited for the outcome. Such events leave no mail that shows the failure."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from gatechart.errors.event import ActionFailedError, ContextInvalidError, MicrostepLimitError
from gatechart.errors.operation import TurnTimeoutError
from gatechart.values.names import AgentId, Payload
from gatechart.watchdog.terms import SENT_WINDOW_S

WINDOW: Final = timedelta(seconds=SENT_WINDOW_S)
MOST_COUNTED: Final = 100  # events of an agent
MOST_AGENTS: Final = 200  # agents of each kind; beyond that, those with the oldest newest event are dropped
MOST_TOLD: Final = 20  # agents of each kind that a sign of life lists
UNDOES: Final = (ActionFailedError, ContextInvalidError, MicrostepLimitError, TurnTimeoutError)
"""Errors of turns that are rolled back because of the application's code."""
_LONGEST: Final = 300  # characters of a reason

Trouble: TypeAlias = Literal["refused", "undone"]


class Troubles:
    """Counts refused and undone events for each agent of a host, in memory. The host's signs of life report them."""

    def __init__(self) -> None:
        """Start without events."""
        self._seen: dict[Trouble, dict[AgentId, deque[datetime]]] = {"refused": {}, "undone": {}}
        self._reasons: dict[tuple[Trouble, AgentId], str] = {}

    def note(self, kind: Trouble, agent_id: AgentId, reason: str, now: datetime) -> None:
        """Count an event."""
        seen = self._seen[kind]
        times = seen.pop(agent_id, None) or deque(maxlen=MOST_COUNTED)
        times.append(now)
        seen[agent_id] = times  # as the last
        self._reasons[kind, agent_id] = reason[:_LONGEST]
        if len(seen) > MOST_AGENTS:
            self._forget(kind, next(iter(seen)))

    def facts(self, now: datetime) -> Payload:
        """Return count, first time and newest reason by kind and agent; an empty mapping without recent events."""
        for kind, seen in self._seen.items():
            for agent_id in [agent for agent, times in seen.items() if now - times[-1] > WINDOW]:
                self._forget(kind, agent_id)
        counts = {kind: self._counted(kind, seen, now) for kind, seen in self._seen.items() if seen}
        return {"troubles": counts} if counts else {}

    def forget(self, agent_id: AgentId) -> bool:
        """Forget an erased agent and the texts of its exceptions. Return whether it had any entry."""
        is_known = any(agent_id in seen for seen in self._seen.values())
        for kind in self._seen:
            self._forget(kind, agent_id)
        return is_known

    def _counted(self, kind: Trouble, seen: dict[AgentId, deque[datetime]], now: datetime) -> dict[str, Payload]:
        recent = {agent_id: [time for time in times if now - time <= WINDOW] for agent_id, times in seen.items()}
        worst = sorted(recent, key=lambda agent_id: -len(recent[agent_id]))[:MOST_TOLD]
        return {
            agent_id: {
                "count": len(recent[agent_id]),
                "since": recent[agent_id][0].isoformat(),
                "reason": self._reasons[kind, agent_id],
            }
            for agent_id in worst
        }

    def _forget(self, kind: Trouble, agent_id: AgentId) -> None:
        self._seen[kind].pop(agent_id, None)
        self._reasons.pop((kind, agent_id), None)
