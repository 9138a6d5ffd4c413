"""Commands and verbs for circuit breakers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from gatechart.api.arguments import made
from gatechart.api.codec import BREAKER, BREAKERS, Answer
from gatechart.api.command import Command, Executor, Limit, WritingCommand
from gatechart.api.route import Route
from gatechart.turn.arguments import checked_key
from gatechart.values.breakers import BreakerRecord
from gatechart.values.names import LONGEST_NAME

BreakerName: TypeAlias = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class BreakersCommand(Command):
    """`breakers`."""

    answer: ClassVar[Answer[Any]] = BREAKERS
    route: ClassVar[Route] = Route("GET", "/breakers", "List circuit breakers that are not closed, a page at a time")
    verb: Literal["breakers"] = "breakers"
    after: BreakerName | None = None
    limit: Limit = 100


class IsolateBreakerCommand(WritingCommand):
    """`isolate_breaker`. A repeat leaves the breaker isolated, so it is safe."""

    answer: ClassVar[Answer[Any]] = BREAKER
    route: ClassVar[Route] = Route(
        "POST", "/breakers/{name}/isolate", "Reject all calls at a circuit breaker until it is closed"
    )
    verb: Literal["isolate_breaker"] = "isolate_breaker"
    name: BreakerName
    reason: str


class CloseBreakerCommand(WritingCommand):
    """`close_breaker`. A repeat leaves the breaker closed, so it is safe."""

    answer: ClassVar[Answer[Any]] = BREAKER
    route: ClassVar[Route] = Route("POST", "/breakers/{name}/close", "Let calls through a circuit breaker again")
    verb: Literal["close_breaker"] = "close_breaker"
    name: BreakerName


class BreakersHome(Executor):
    """The part of `AgentHome` for circuit breakers."""

    async def breakers(self, *, after: str | None = None, limit: int = 100) -> Sequence[BreakerRecord]:
        """List the circuit breakers that are not closed, by name, a page at a time: pass the last name as `after`.

        A breaker stays open until the first call after its `retry_at`. Raises PayloadError.
        """
        breakers: Sequence[BreakerRecord] = await self.execute(made(BreakersCommand, after=after, limit=limit))
        return breakers

    async def isolate_breaker(self, name: str, *, reason: str) -> BreakerRecord:
        """Reject all calls at a circuit breaker until `close_breaker`, even if no call has used it yet.

        reason: shown in lists of breakers and to rejected callers. Raises PayloadError.
        """
        command = made(IsolateBreakerCommand, name=checked_key(name, "breaker"), reason=reason)
        breaker: BreakerRecord = await self.execute(command)
        return breaker

    async def close_breaker(self, name: str) -> BreakerRecord:
        """Let calls through a circuit breaker again, and reset its counters. Raises PayloadError."""
        breaker: BreakerRecord = await self.execute(made(CloseBreakerCommand, name=checked_key(name, "breaker")))
        return breaker
