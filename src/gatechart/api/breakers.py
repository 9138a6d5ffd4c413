"""Commands and verbs about circuit breakers."""

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
    """`isolate_breaker`. A breaker that is isolated stays so, so the command can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = BREAKER
    route: ClassVar[Route] = Route(
        "POST", "/breakers/{name}/isolate", "Let no call through a circuit breaker until it is closed"
    )
    verb: Literal["isolate_breaker"] = "isolate_breaker"
    name: BreakerName
    reason: str


class CloseBreakerCommand(WritingCommand):
    """`close_breaker`. A breaker that is closed stays so, so the command can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = BREAKER
    route: ClassVar[Route] = Route("POST", "/breakers/{name}/close", "Let calls through a circuit breaker again")
    verb: Literal["close_breaker"] = "close_breaker"
    name: BreakerName


class BreakersHome(Executor):
    """The part of `AgentHome` that is about circuit breakers."""

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
