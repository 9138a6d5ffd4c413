"""State that the tool calls of one process share: bulkhead slots, rates, and the policies of the deployment.

Circuit breakers, which all processes share, are in `breakers`.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from datetime import datetime, timedelta

from gatechart.values.tool_policies import PoliciesByTool, Rate


class ToolGates:
    """Bulkhead slots and rates by tool name. Each call passes in the limits that its policies set."""

    def __init__(self, policies: PoliciesByTool | None = None) -> None:
        """policies: of the deployment; they override the policies of tools and graphs."""
        self.policies: PoliciesByTool = policies or {}
        self._under_way: Counter[str] = Counter()
        # The newest calls under a rate: their past or future start times, in order, and their keys.
        self._begun: dict[str, list[tuple[datetime, str]]] = {}

    def enter(self, tool: str, limit: int | None) -> bool:
        """Take a slot for a call; return False if `limit` calls are running. limit: None for no limit."""
        if limit is not None and self._under_way[tool] >= limit:
            return False
        self._under_way[tool] += 1
        return True

    def leave(self, tool: str) -> None:
        """Release a slot."""
        self._under_way[tool] -= 1
        if not self._under_way[tool]:
            del self._under_way[tool]

    def under_way(self, tool: str) -> int:
        """Return the number of calls that hold a slot, including calls that still run after their time limit."""
        return self._under_way[tool]

    def reserve(self, tool: str, rate: Rate, now: datetime, within_s: float, key: str) -> float | None:
        """Count a call under its key and return the seconds until it may start.

        Return None without counting the call if it would have to wait longer than `within_s`.
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
        """Count a call that had reserved its start time, perhaps in another process, unless it is already counted."""
        if all(key != counted for _, counted in self._begun.get(tool, ())):
            self._count(tool, rate, begins, key)

    def _count(self, tool: str, rate: Rate, begins: datetime, key: str) -> None:
        begun = self._begun.setdefault(tool, [])
        insort(begun, (begins, key))
        del begun[: -rate.calls]
