"""What the tool calls of one process share: places under bulkheads, rates, and the policies of the deployment.

Circuit breakers, which all processes share, are in `breakers`.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from datetime import datetime, timedelta

from gatechart.values.tool_policies import PoliciesByTool, Rate


class ToolGates:
    """The places and rates of tools, by the tools' names. Limits come with each call, whose policies they are."""

    def __init__(self, policies: PoliciesByTool | None = None) -> None:
        """policies: those of the deployment, stronger than what tools and graphs say."""
        self.policies: PoliciesByTool = policies or {}
        self._under_way: Counter[str] = Counter()
        # The newest calls under a rate: moments at which they began or are to begin, in order, and their keys.
        self._begun: dict[str, list[tuple[datetime, str]]] = {}

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

    def reserve(self, tool: str, rate: Rate, now: datetime, within_s: float, key: str) -> float | None:
        """Return the seconds to wait before a call may begin, which is then counted under its key.

        None if that would be more than `within_s`; then it is not counted.
        """
        begun, begins = self._begun.get(tool, ()), now
        if len(begun) >= rate.calls:
            begins = max(now, begun[-rate.calls][0] + timedelta(seconds=rate.per_s))
        wait_s = (begins - now).total_seconds()
        if wait_s > within_s:
            return None
        self._count(tool, rate, begins, key)
        return wait_s

    def count_again(self, tool: str, rate: Rate, begins: datetime, key: str) -> None:
        """Count a call that had reserved its moment, perhaps in another process, unless it is counted here."""
        if all(key != counted for _, counted in self._begun.get(tool, ())):
            self._count(tool, rate, begins, key)

    def _count(self, tool: str, rate: Rate, begins: datetime, key: str) -> None:
        begun = self._begun.setdefault(tool, [])
        insort(begun, (begins, key))
        del begun[: -rate.calls]
