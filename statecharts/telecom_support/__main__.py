"""`python -m statecharts.telecom_support DATA` plays the benchmark's tasks, and shows a score."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gatechart import Runtime
from gatechart.testing import VirtualClock
from statecharts.hurry import hurried
from statecharts.telecom_support.graph import graphs
from statecharts.telecom_support.play import POLICY_TIME, Chances, Task, play, sample
from statecharts.telecom_support.score import Score, Scored, tables
from statecharts.telecom_support.tau2 import BenchmarkMissingError, tasks_in
from statecharts.telecom_support.tools import Services

INTERRUPTED: Final = 130  # the exit code of a command that Ctrl-C ended

errors = Console(stderr=True)

Data = Annotated[
    Path | None,
    typer.Argument(
        envvar="GATECHART_TAU2_TELECOM", help="The benchmark: tau2_telecom.tar.gz, or the folder it was unpacked into."
    ),
]
FailingOption = Annotated[float, typer.Option("--failing", min=0, max=0.9, help="Share of tool uses that fail.")]
TasksOption = Annotated[int | None, typer.Option("--tasks", min=1, help="Play so many tasks, drawn at random.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the draws, of tasks and of failures.")]
AskFirstOption = Annotated[
    bool, typer.Option("--ask-first", help="Refuel data only where the ticket permits it, not where it says nothing.")
]


def main(
    data: Data = None,
    failing: FailingOption = 0.0,
    tasks: TasksOption = None,
    seed: SeedOption = 0,
    ask_first: AskFirstOption = False,
) -> None:
    """Play the tasks of tau2-bench's telecom domain, and tell how many were repaired, and how many handed over.

    Nothing is fetched, and nothing is kept. Ctrl-C ends it with the score so far; the exit code is then 130.
    """
    logging.getLogger("gatechart").setLevel(logging.ERROR)  # tools that fail are what the score is about
    if data is None:
        raise _complaint("nothing to play; name tau2_telecom.tar.gz, or set GATECHART_TAU2_TELECOM")
    scored = list[Scored]()
    started = perf_counter()
    is_interrupted = False
    try:
        errors.print("reading the benchmark's tasks, which takes a while")
        with tasks_in(data) as found:
            chosen = sample(found, tasks, seed)
            started = perf_counter()
            play_all(chosen, Chances(failing, seed), scored.append, presumes_consent=not ask_first)
    except BenchmarkMissingError as error:
        raise _complaint(str(error)) from None
    except KeyboardInterrupt:
        is_interrupted = True
    Console().print(tables(Score(tuple(scored), perf_counter() - started)))
    if is_interrupted:
        raise typer.Exit(INTERRUPTED)


def play_all(
    tasks: Sequence[Task], chances: Chances, on_scored: Callable[[Scored], None], *, presumes_consent: bool
) -> None:
    """Play the tasks, and show a progress bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors) as progress:
        bar = progress.add_task("tasks", total=len(tasks))

        def tell(scored: Scored) -> None:
            on_scored(scored)
            progress.advance(bar)

        asyncio.run(_played(tasks, chances, tell, presumes_consent=presumes_consent))


async def _played(
    tasks: Sequence[Task], chances: Chances, on_scored: Callable[[Scored], None], *, presumes_consent: bool
) -> None:
    clock, services = VirtualClock(POLICY_TIME), Services()
    async with (
        Runtime.open("memory:", graphs=graphs, services=services, clock=clock) as runtime,
        hurried(clock, runtime),
    ):
        await play(tasks, runtime, services, chances, presumes_consent=presumes_consent, on_scored=on_scored)


def _complaint(text: str) -> typer.Exit:
    """Print the text unwrapped, and return the exception that ends the command."""
    errors.print(text, markup=False, soft_wrap=True)
    return typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
