"""What the tool calls of one process share: places under bulkheads, rates, and the policies of the deployment."""

from __future__ import annotations

from collections import Counter, deque
from datetime import datetime, timedelta

from gatechart.values import PoliciesByTool, Rate


class ToolGates:
    """The places and rates of tools, by the tools' names. Limits come with each call, whose policies they are."""

    def __init__(self, policies: PoliciesByTool | None = None) -> None:
        """policies: those of the deployment, stronger than what tools and graphs say."""
        self.policies: PoliciesByTool = policies or {}
        self._under_way: Counter[str] = Counter()
        self._begun: dict[str, deque[datetime]] = {}  # moments at which calls under a rate began, or are to begin

    def enter(self, tool: str, limit: int | None) -> bool:
        """Take a place for a call; return False if so many are under way. limit: None for no limit."""
        if limit is not None and self._under_way[tool] >= limit:
            return False
        self._under_way[tool] += 1
        return True

    def leave(self, tool: str) -> None:
        """Give a place back."""
        self._under_way[tool] -= 1
        if not self._under_way[tool]:
            del self._under_way[tool]

    def under_way(self, tool: str) -> int:
        """Return how many calls hold a place, those among them that have not ended though their time is over."""
        return self._under_way[tool]

    def reserve(self, tool: str, rate: Rate, now: datetime, within_s: float) -> float | None:
        """Return the seconds to wait before a call may begin, which is then counted.

        None if that would be more than `within_s`; then it is not counted.
        """
        begun = self._begun.get(tool)
        if begun is None or begun.maxlen != rate.calls:
            begun = self._begun[tool] = deque(begun or (), maxlen=rate.calls)
        begins = now
        if len(begun) == rate.calls:
            begins = max(now, begun[0] + timedelta(seconds=rate.per_s))
        wait_s = (begins - now).total_seconds()
        if wait_s > within_s:
            return None
        begun.append(begins)
        return wait_s
