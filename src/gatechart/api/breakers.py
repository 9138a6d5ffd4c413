"""The verbs about circuit breakers, which every home of agents has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from gatechart.api.arguments import made
from gatechart.api.breaker_commands import BreakersCommand, CloseBreakerCommand, IsolateBreakerCommand
from gatechart.api.commands import Command
from gatechart.turn import checked_key
from gatechart.values import BreakerRecord


class BreakersHome(ABC):
    """The part of `AgentHome` that is about circuit breakers."""

    @abstractmethod
    async def execute(self, command: Command) -> Any:
        """See AgentHome."""
        ...

    async def breakers(self, *, after: str | None = None, limit: int = 100) -> Sequence[BreakerRecord]:
        """List the circuit breakers that are not closed, by name, a page at a time: pass the last name as `after`.

        One that is open stays so until a call is made after its `retry_at`. Raises PayloadError.
        """
        found: Sequence[BreakerRecord] = await self.execute(made(BreakersCommand, after=after, limit=limit))
        return found

    async def isolate_breaker(self, name: str, *, reason: str) -> BreakerRecord:
        """Let no call through a circuit breaker until `close_breaker`, whether or not it was ever used.

        reason: for whoever lists breakers, and for the callers that it rejects. Raises PayloadError.
        """
        command = made(IsolateBreakerCommand, name=checked_key(name, "breaker"), reason=reason)
        breaker: BreakerRecord = await self.execute(command)
        return breaker

    async def close_breaker(self, name: str) -> BreakerRecord:
        """Let calls through a circuit breaker again, and forget what it counted. Raises PayloadError."""
        breaker: BreakerRecord = await self.execute(made(CloseBreakerCommand, name=checked_key(name, "breaker")))
        return breaker
