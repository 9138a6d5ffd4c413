"""The main job from end to end: `make demo`, or `python -m statecharts.demo`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from gatechart import Runtime, Snapshot
from gatechart.errors import DrawingError
from gatechart.runtime import Role
from gatechart.testing import VirtualClock
from statecharts import examples
from statecharts.customer_service import customer_service
from statecharts.customer_service.scenarios import scenarios as customer_service_scenarios
from statecharts.drawings import draw_all
from statecharts.fleet import COMMITTED, REPEATED, agent_id_of, events_of, run_fleet
from statecharts.leave_approval.scenarios import scenarios as leave_approval_scenarios
from statecharts.scenario import play
from statecharts.service_desk import service_desk
from statecharts.service_desk.replay import load, replay
from statecharts.service_desk.report import ReplayReport, tables
from statecharts.services import Services

ROOT: Final = Path(__file__).parent.parent
CONVERSATIONS: Final = ROOT.parent / "shared" / "data" / "sgd" / "dialogues.jsonl.gz"
DRAWN_INTO: Final = ROOT / "build" / "demo"
FLEET: Final = 300

console = Console(highlight=False)


def main() -> None:
    """Run the whole demonstration; the exit code is 1 if an agent did not end as expected."""
    logging.getLogger("gatechart").setLevel(logging.ERROR)  # the scenarios' refusals are part of their stories
    with TemporaryDirectory(prefix="gatechart-demo-") as folder:
        sound = asyncio.run(tell_scenarios(_url(folder, "scenarios.db")))
        sound &= survive_a_kill(_url(folder, "fleet.db"))
        replay_conversations(_url(folder, "conversations.db"))
    show_drawings()
    console.print("\n[bold green]All agents ended as they should.[/]" if sound else "\n[bold red]See above.[/]")
    sys.exit(not sound)


async def tell_scenarios(url: str) -> bool:
    """Plays every scenario on a database; returns whether each ended where it should."""
    _heading("1. Agents enter at different doors", "Each row is an agent in an SQLite file, begun at an entry point.")
    table = Table("entered at", "what happens", "ended in", box=None, padding=(0, 2, 0, 0))
    sound = True
    clock = VirtualClock(datetime.now(UTC))  # timers of days fire at once
    async with Runtime.open(url, graphs=examples, services=Services(), clock=clock) as runtime:
        for scenario in (*customer_service_scenarios, *leave_approval_scenarios):
            agent = await play(scenario, runtime, clock=clock)
            start, *_ = await agent.history(limit=1)
            is_right = agent.configuration == (scenario.ends_in,)
            sound &= is_right
            ended = agent.configuration[0] if is_right else f"[red]{agent.configuration[0]}, not {scenario.ends_in}[/]"
            table.add_row(start.entry_point, scenario.story, ended)
    console.print(table)
    return sound


def survive_a_kill(url: str) -> bool:
    """Kills a fleet at work, lets a new process finish, and compares every agent with an uninterrupted run."""
    total = events_of(FLEET)
    _heading(
        "2. A fleet is killed, and goes on",
        f"{FLEET} agents are sent {total:,} events in a child process, which gets SIGKILL in the middle.",
    )
    before = _run_fleet(url, kill_after=total // 2)
    console.print(f"killed after {before[COMMITTED]:,} committed events")
    after = _run_fleet(url)
    console.print(
        f"a new process resumed the agents: {after[COMMITTED]:,} events were still to do; "
        f"{after[REPEATED]:,} were sent again, known by their ids, and not applied twice"
    )
    wrong = asyncio.run(_differences(url))
    for line in wrong:
        console.print(f"[red]{line}[/]")
    console.print(f"{FLEET - len(wrong)} of {FLEET} agents ended exactly as in an uninterrupted run")
    return not wrong


def _run_fleet(url: str, kill_after: int | None = None) -> dict[str, int]:
    """How many outcomes of each kind the child process told of, until its end or its death."""
    told = {COMMITTED: 0, REPEATED: 0}
    command = [sys.executable, "-m", "statecharts.fleet", url, str(FLEET)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child,
        Progress(console=console, transient=True) as progress,
    ):
        bar = progress.add_task("events", total=events_of(FLEET))
        for line in child.stdout or ():
            told[line.strip()] += 1
            progress.advance(bar)
            if told[COMMITTED] == kill_after:
                child.send_signal(signal.SIGKILL)
                break
    if kill_after is None and child.returncode:
        raise SystemExit(f"the fleet's process failed with exit code {child.returncode}")
    return told


async def _differences(url: str) -> list[str]:
    """List the agents that differ from what they would be without the kill, one line each."""
    expected = await _lives("memory:", run=True)
    found = await _lives(url, run=False)
    return [f"{id}: {found[id]}, not {expected[id]}" for id in expected if found[id] != expected[id]]  # noqa: A001


async def _lives(url: str, *, run: bool) -> dict[str, tuple[Snapshot, tuple[str, ...]]]:
    """Every agent's snapshot, without its times, and the names of the events it took, in order."""
    async with Runtime.open(
        url, graphs=[customer_service], services=Services(), role=Role.OWNER if run else Role.READER
    ) as runtime:
        if run:
            await run_fleet(runtime, FLEET)
        agents = [await runtime.resume(agent_id_of(number)) for number in range(FLEET)]
        return {
            agent.id: (
                replace(agent.snapshot, started=None, changed=None),  # the two runs are not at the same time
                tuple(entry.event.name for entry in await agent.history()),
            )
            for agent in agents
        }


def replay_conversations(url: str) -> None:
    """Plays real conversations through the service desk, where they are at hand."""
    file = Path(os.environ.get("GATECHART_CONVERSATIONS", CONVERSATIONS))
    _heading("3. Real conversations", "One agent for each conversation, one event for each thing that is said.")
    if not file.exists():
        console.print(f"{file} is not there; name a file of conversations with GATECHART_CONVERSATIONS")
        return
    console.print(tables(asyncio.run(_replay(file, url))))


async def _replay(file: Path, url: str) -> ReplayReport:
    conversations, catalogue = load(file)
    async with Runtime.open(url, graphs=[service_desk]) as runtime:
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task("conversations", total=len(conversations))
            return await replay(conversations, catalogue, runtime, on_progress=lambda _: progress.advance(bar))


def show_drawings() -> None:
    """Draws the charts, and says where they are."""
    _heading("4. The charts, drawn", "Entry points are doors; the last drawing shows the path of an agent.")
    try:
        for path in draw_all(DRAWN_INTO):
            console.print(f"{path.relative_to(ROOT)}")
    except DrawingError as error:
        console.print(str(error))


def _heading(title: str, text: str) -> None:
    console.print(f"\n[bold]{title}[/]\n{text}\n")


def _url(folder: str, name: str) -> str:
    return f"sqlite+aiosqlite:///{folder}/{name}"


if __name__ == "__main__":
    main()
