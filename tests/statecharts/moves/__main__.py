"""`python -m tests.statecharts.moves FILE [STORE]`: plays the conversations of a file, and shows the report."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from time import perf_counter

from rich.console import Console

from gatechart import Runtime
from statecharts.service_desk.conversations import of_several_services, read_catalogue, read_conversations
from tests.statecharts.moves.owners import ledgers
from tests.statecharts.moves.replay import graphs_for, replay
from tests.statecharts.moves.report import report_of, tables


async def main(file: Path, store: str = "memory:", every: str = "1") -> None:
    """Plays every nth conversation of the file on the store."""
    catalogue = read_catalogue(file.with_name("services.json"))
    conversations = of_several_services(read_conversations(file))[:: int(every)]
    async with Runtime.open(store, graphs=graphs_for(catalogue)) as runtime:
        started = perf_counter()
        played = await replay(conversations, catalogue, runtime)
        took_s = perf_counter() - started
        report = report_of(played, await ledgers(runtime, [one.id for one in played]))
    console = Console()
    console.print(tables(report))
    console.print(f"{took_s:.1f} s, {sum(len(one.heard) for one in played) / took_s:,.0f} events/s")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
