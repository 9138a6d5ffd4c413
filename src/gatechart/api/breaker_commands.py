"""Commands about circuit breakers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from gatechart.api.base_command import BaseCommand, Limit, WritingCommand
from gatechart.api.codec import BREAKER, BREAKERS, Answer
from gatechart.api.route import Route
from gatechart.values import LONGEST_NAME

BreakerName: TypeAlias = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class BreakersCommand(BaseCommand):
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
