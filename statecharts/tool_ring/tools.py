"""The tools of the ring. Each use of one fails by a draw of its own, which depends on the seed, the call and the try.

Two calls with the same arguments are two draws: what failed once may succeed the next time. A repeat of one call after
a crash draws the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

from gatechart import Retry, ToolBox, tool
from gatechart.tools import AnyTool, BreakerPolicy, ToolContext, ToolPolicies

POLICIES: Final = ToolPolicies(
    retry=Retry(attempts=3, first_s=0.5),  # two more after the first
    breaker=BreakerPolicy(failures_in_a_row=3, break_s=30.0),
)

SPOILT: Final = "spoilt"  # a cursor that the database refuses
RECORDS: Final = "read records"


class ToolDownError(Exception):
    """The tool did not answer; another attempt may."""


@dataclass(frozen=True)
class Chances:
    """How often tools fail, from 0 to 1, and the seed of the draws."""

    db_tool: float = 0.3
    api_tool: float = 0.4
    alt_db_tool: float = 0.1
    spoils: bool = False  # whether the API's first answer spoils the cursor, which only an earlier version still has
    seed: int = 0

    def draw(self, name: str, call: ToolContext) -> None:
        """Raise ToolDownError if this use fails."""
        drawn = Random(f"{self.seed} {call.agent_id} {call.idempotency_key} {call.attempt} {name}").random()
        if drawn < getattr(self, name):
            raise ToolDownError(f"{name} is down")


def tools_of(chances: Chances, *, has_alternative: bool = True) -> ToolBox:
    """Return the three tools. has_alternative: whether the second database can do what the first one does."""

    @tool(repeat="safe", policies=POLICIES, capabilities=RECORDS, retry_on=ToolDownError)
    async def db_tool(call: ToolContext, cursor: str) -> str:
        """Read a record from the database."""
        if cursor == SPOILT:
            raise ValueError("there is no such cursor")
        chances.draw("db_tool", call)
        return "record"

    @tool(repeat="safe", policies=POLICIES, capabilities=RECORDS if has_alternative else (), retry_on=ToolDownError)
    async def alt_db_tool(call: ToolContext, cursor: str) -> str:
        """Read a record from the other database."""
        if cursor == SPOILT:
            raise ValueError("there is no such cursor")
        chances.draw("alt_db_tool", call)
        return "record"

    @tool(repeat="safe", policies=POLICIES)
    async def api_tool(call: ToolContext, asked: int) -> str:
        """Ask the API where to read next. asked: how often it was asked before."""
        chances.draw("api_tool", call)
        return SPOILT if chances.spoils and asked == 0 else f"page {asked + 1}"

    tools: list[AnyTool] = [db_tool, alt_db_tool, api_tool]
    return ToolBox(tools)


@dataclass
class RingServices:
    """The services of the ring's agents."""

    tools: ToolBox = field(default_factory=lambda: tools_of(Chances()))
