"""Very many events, with a kill again and again: `python -m tests.crash.soak --events 200000 --home postgresql`.

It is the campaign of the tests (see campaign.py), as long as you like. What is left lies in --folder, to be looked at
where something is amiss; a server's database goes with its server.
"""

import argparse
import asyncio
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.crash.campaign import Plan, campaign
from tests.postgres import SAFE, Server

EACH = 200  # errands of one agent
PER_KILL = 2000  # events


def say(line):
    print(time.strftime("%H:%M:%S"), line, flush=True)  # noqa: T201


def soak(folder, home, events, seed):
    """Says how it went. Raises AssertionError where something is amiss."""
    began = time.monotonic()
    kills = max(events // PER_KILL, 1)
    plan = Plan(max(events // EACH, 1), EACH, kills, checks=10, seed=seed, ends_s=events)
    with ExitStack() as opened:
        server = opened.enter_context(Server(*SAFE)) if home == "postgresql" else None
        url = server.url(server.new()) if server else f"sqlite+aiosqlite:///{folder / 'agents.db'}"
        ledger, kills = asyncio.run(campaign(url, folder, plan, server, say))
    turns = sum(map(len, ledger.histories.values()))
    say(f"{plan.events} events, {turns} turns, {kills} kills, {time.monotonic() - began:.0f} s: all is well")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--home", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    soak(given.folder or Path(tempfile.mkdtemp(prefix="soak-")), given.home, given.events, given.seed)
