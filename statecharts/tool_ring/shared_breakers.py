"""`python -m statecharts.tool_ring.shared_breakers` plays agents that share circuit breakers, few and many at once.

For each seed and each number at once it shows how many agents finish, how many end with a person, and how long they
waited for circuit breakers, by the virtual clock.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from statistics import median
from typing import Annotated, Final

import typer
from rich.console import Console

from statecharts.tool_ring.play import ENDS, WITH_A_PERSON, Played, Situation, play
from statecharts.tool_ring.tools import Chances

SEEDS: Final = tuple(range(1, 11))
SIZES: Final = (1, 10, 100, 1_000)
FEWEST: Final = 100
"""Agents that are played for each seed at least: ten times ten at once, or a hundred times one."""

AgentsOption = Annotated[list[int], typer.Option("--agents", min=1, help="Play so many at once; may be repeated.")]
SeedsOption = Annotated[list[int], typer.Option("--seed", help="Seed of the failures; may be repeated.")]
PlanOption = Annotated[bool, typer.Option("--plan/--no-plan", help="Play them with or without their escape plan.")]
DbOption = Annotated[float, typer.Option("--db-tool", min=0, max=1, help="Part of the uses of db_tool that fail.")]
ApiOption = Annotated[float, typer.Option("--api-tool", min=0, max=1, help="Part of the uses of api_tool that fail.")]


def main(
    agents: AgentsOption = list(SIZES),  # noqa: B006  typer reads it
    seed: SeedsOption = list(SEEDS),  # noqa: B006
    plan: PlanOption = True,
    db_tool: DbOption = Chances.db_tool,
    api_tool: ApiOption = Chances.api_tool,
) -> None:
    """Play agents that share circuit breakers, in groups of each size, 100 agents or more for each seed."""
    logging.getLogger("gatechart").setLevel(logging.CRITICAL)  # tools that fail are what this is about
    console = Console(highlight=False)
    heading = "at once   seed   agents  finished  with a person  exhausted  no end  waited (median, p95, most; s)"
    console.print(heading, soft_wrap=True)
    for size in agents:
        for each in seed:
            situation = Situation("shared breakers", Chances(db_tool, api_tool, seed=each), has_plan=plan)
            console.print(row(size, each, asyncio.run(play_groups(situation, size))), soft_wrap=True)


async def play_groups(situation: Situation, size: int, agents: int = FEWEST) -> Played:
    """Play agents in groups of so many at once, each group with circuit breakers of its own. Agents differ by number.

    agents: how many to play in all; one group is played at least.
    """
    groups = range(0, max(agents, size), size)
    return together([await play(situation, size, first=first, measures_waits=True) for first in groups])


def together(groups: Sequence[Played]) -> Played:
    """Return what became of the agents of several groups."""
    ends, ways = Counter[str](), Counter[str]()
    for each in groups:
        ends.update(dict(each.ends))
        ways.update(dict(each.ways))
    return Played(
        tuple((name, ends[name]) for name in dict.fromkeys((*ENDS, *ends))),
        tuple(sorted(chain.from_iterable(each.steps for each in groups))),
        tuple(ways.most_common()),
        tuple(sorted(chain.from_iterable(each.waited_s for each in groups))),
    )


def row(size: int, seed: int, played: Played) -> str:
    """Return a line of the report."""
    ends, waited = dict(played.ends), played.waited_s
    p95 = waited[min(len(waited) * 95 // 100, len(waited) - 1)]
    person, exhausted = ends[WITH_A_PERSON], ends["EXHAUSTED"]
    no_end = played.count - sum(ends[name] for name in ENDS)
    counts = f"{size:7,}  {seed:5}  {played.count:7,}  {played.finished:8,}  {person:13,}  {exhausted:9,}  {no_end:6,}"
    return f"{counts}   {median(waited):,.0f}, {p95:,.0f}, {waited[-1]:,.0f}"


if __name__ == "__main__":
    typer.run(main)
