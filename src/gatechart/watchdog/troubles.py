"""What went wrong lately with events whose senders waited for the outcome, which leave no mail behind."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from gatechart.errors.event import ActionFailedError, ContextInvalidError, MicrostepLimitError
from gatechart.errors.operation import TurnTimeoutError
from gatechart.values.names import AgentId, Payload
from gatechart.watchdog.terms import SENT_WINDOW_S

WINDOW: Final = timedelta(seconds=SENT_WINDOW_S)
MOST_COUNTED: Final = 100  # of an agent
MOST_AGENTS: Final = 200  # of each kind; of more, those are forgotten of which was heard longest ago
MOST_TOLD: Final = 20  # agents of each kind with a sign of life
UNDOES: Final = (ActionFailedError, ContextInvalidError, MicrostepLimitError, TurnTimeoutError)
"""What turns raise that are undone because of what the application's code does."""
_LONGEST: Final = 300  # characters of a reason

Trouble: TypeAlias = Literal["refused", "undone"]


class Troubles:
    """Counts, in memory, refused and undone events for each agent of a host. Its signs of life tell of them."""

    def __init__(self) -> None:
        """Begin with none."""
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
        """Return by kind and agent how often it was, since when, and the newest reason; nothing if nothing was."""
        for kind, seen in self._seen.items():
            for agent_id in [each for each, times in seen.items() if now - times[-1] > WINDOW]:
                self._forget(kind, agent_id)
        told = {kind: self._counted(kind, seen, now) for kind, seen in self._seen.items() if seen}
        return {"troubles": told} if told else {}

    def forget(self, agent_id: AgentId) -> bool:
        """Forget an agent that is erased, and what its exceptions said. Return whether anything was known of it."""
        is_known = any(agent_id in seen for seen in self._seen.values())
        for kind in self._seen:
            self._forget(kind, agent_id)
        return is_known

    def _counted(self, kind: Trouble, seen: dict[AgentId, deque[datetime]], now: datetime) -> dict[str, Payload]:
        recent = {agent_id: [each for each in times if now - each <= WINDOW] for agent_id, times in seen.items()}
        worst = sorted(recent, key=lambda agent_id: -len(recent[agent_id]))[:MOST_TOLD]
        return {
            each: {
                "count": len(recent[each]),
                "since": recent[each][0].isoformat(),
                "reason": self._reasons[kind, each],
            }
            for each in worst
        }

    def _forget(self, kind: Trouble, agent_id: AgentId) -> None:
        self._seen[kind].pop(agent_id, None)
        self._reasons.pop((kind, agent_id), None)
