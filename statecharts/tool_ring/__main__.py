"""`python -m statecharts.tool_ring` plays the ring, and shows what became of its agents with and without their plan."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from statecharts.tool_ring.play import ENDS, Played, Situation, play, situations

errors = Console(stderr=True)

AgentsOption = Annotated[int, typer.Option("--agents", min=1, help="Play so many agents at once.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the failures.")]


def main(agents: AgentsOption = 20, seed: SeedOption = 0) -> None:
    """Play agents in a ring of states whose tools fail, with and without their plan to get out.

    All agents of a situation share the circuit breakers of one process. Nothing is kept.
    """
    logging.getLogger("gatechart").setLevel(logging.CRITICAL)  # tools that fail are what this is about
    played: list[tuple[Situation, Played]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    try:
        with Progress(*columns, console=errors) as progress:
            for situation in situations(seed):
                tell = partial(progress.advance, progress.add_task(situation.name, total=agents))
                played.append((situation, asyncio.run(play(situation, agents, on_ended=tell))))
    except KeyboardInterrupt:
        Console().print(table(played))
        raise typer.Exit(130) from None
    Console().print(table(played))


def table(played: list[tuple[Situation, Played]]) -> Table:
    """Return what became of the agents of each situation as a table."""
    found = Table("situation", *(each.lower() for each in ENDS), "steps", "at most", "ways tried")
    for situation, each in played:
        ways = ", ".join(f"{name} {count}" for name, count in each.ways)
        counts = (str(count) for _, count in each.ends)
        found.add_row(situation.name, *counts, f"{each.usual_steps:g}", str(each.steps[-1]), ways)
    return found


if __name__ == "__main__":
    typer.run(main)
