"""`python -m statecharts.service_desk.moves FILE` plays conversations with several services, and shows a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import typer

from gatechart import Runtime
from statecharts.service_desk.catalogue import Catalogue
from statecharts.service_desk.command import File, Services, Store, run
from statecharts.service_desk.conversations import Conversation
from statecharts.service_desk.moves.owners import ledgers
from statecharts.service_desk.moves.replay import graphs_for, load, replay
from statecharts.service_desk.moves.report import MovesReport, report_of, tables
from statecharts.service_desk.report import Unplayed


def main(file: File = None, store: Store = "memory:", services: Services = None) -> None:
    """Play conversations with several services: an agent for each service, a handoff for each move between them.

    Started again on the same store, it goes on where it stopped. The exit code is 1 if something could not be played.
    """

    async def play(
        conversations: Sequence[Conversation], catalogue: Catalogue, on_acts: Callable[[int], None]
    ) -> MovesReport:
        unplayed = list[Unplayed]()
        async with Runtime.open(store, graphs=graphs_for(catalogue)) as runtime:
            started = perf_counter()
            played = await replay(
                conversations,
                catalogue,
                runtime,
                on_progress=lambda one: on_acts(one.acts),
                on_problem=unplayed.append,
            )
            took_s = perf_counter() - started
            kept = await ledgers(runtime, [one.id for one in played])
        return report_of(played, kept, took_s, unplayed)

    run(file, services, load, play, tables)


if __name__ == "__main__":
    typer.run(main)
