"""`python -m statecharts.tool_ring` plays the ring, and shows what became of its agents with and without their plan."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column, Table

from statecharts.tool_ring.picture import to_svg
from statecharts.tool_ring.play import ENDS, Played, Situation, play, play_apart, situations

errors = Console(stderr=True)

AgentsOption = Annotated[int, typer.Option("--agents", min=1, help="Play so many agents in each situation.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the failures.")]


TogetherOption = Annotated[
    bool, typer.Option("--together", help="Play all agents of a situation at once: they share their circuit breakers.")
]
PictureOption = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE", dir_okay=False, help="Draw what became of them, as SVG.")
]


def main(
    agents: AgentsOption = 40, seed: SeedOption = 1, together: TogetherOption = False, picture: PictureOption = None
) -> None:
    """Play agents in a ring of states whose tools fail, with and without their plan to get out. Nothing is kept."""
    logging.getLogger("gatechart").setLevel(logging.CRITICAL)  # tools that fail are what this is about
    played: list[tuple[Situation, Played]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    try:
        with Progress(*columns, console=errors) as progress:
            for situation in situations(seed):
                tell = partial(progress.advance, progress.add_task(situation.name, total=agents))
                playing = play(situation, agents, on_ended=tell) if together else play_apart(situation, agents, tell)
                played.append((situation, asyncio.run(playing)))
    except KeyboardInterrupt:
        Console().print(table(played))
        raise typer.Exit(130) from None
    Console().print(table(played))
    if picture is not None:
        picture.write_text(to_svg(played), encoding="utf-8")


def table(played: list[tuple[Situation, Played]]) -> Table:
    """Return what became of the agents of each situation as a table."""
    ends = (each.lower() for each in ENDS)
    found = Table("situation", *ends, "steps (most)", Column("ways tried", min_width=16), box=SIMPLE)
    for situation, each in played:
        ways = "\n".join(f"{name} {count}" for name, count in each.ways)
        steps = f"{each.usual_steps:g} ({each.steps[-1]})"
        found.add_row(situation.name, *(str(count) for _, count in each.ends), steps, ways)
    return found


if __name__ == "__main__":
    typer.run(main)
