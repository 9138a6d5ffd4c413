"""Very many events, with a kill every few seconds: `python -m tests.crash.soak --events 200000`.

A crew works in a child, which is killed at random times; the next goes on. Every few kills, and in the end, all that is
in the database is checked. What is left lies in --folder, to be looked at where something is amiss.
"""

import argparse
import asyncio
import logging
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gatechart.runtime.limits import Limits
from gatechart.values import Retry
from tests.crash.crew import Journal, errands, main
from tests.crash.ledger import opened_ledger

ROOT = Path(__file__).parents[2]
LIMITS = Limits(mail_retry=Retry(attempts=2, first_s=0.01, factor=1.0), timers=100, resident=1000, invokes=50)
EACH = 200  # errands of one agent


def child(url, folder, agents, seed):
    """What the child does: all that is asked of the crew."""
    logging.disable(logging.CRITICAL)
    wanted = list(errands(seed, agents, EACH))
    asyncio.run(main(url, Journal(folder / "journal"), wanted, LIMITS))


def lives(url, folder, agents, seed, say, check_every):
    """Children that are killed after some seconds, until one comes to its end. Returns how many were killed."""
    chance, journal, kills = random.Random(seed), Journal(folder / "journal"), 0
    command = [sys.executable, "-m", "tests.crash.soak", "--child", str(folder), "--seed", str(seed)]
    while True:
        with subprocess.Popen([*command, "--events", str(agents * EACH)], cwd=ROOT) as process:
            _await_death(process, chance, journal)
        if process.returncode == 0:
            return kills
        assert process.returncode == -signal.SIGKILL, "the child failed"
        kills += 1
        checked = ""
        if kills % check_every == 0:
            asyncio.run(opened_ledger(url, journal)).check()
            checked = ", all is well"
        say(f"killed {kills} times; {len(journal.marks('ack'))} acknowledged{checked}")


def _await_death(process, chance, journal):
    """Kills the child some time after it began, now and then, else some time after it got to work."""
    size = journal.size
    while chance.random() > 0.003 and journal.size == size and process.poll() is None:
        time.sleep(0.05)
    try:
        process.wait(chance.uniform(0.0, 45.0))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)


def soak(folder, events, seed=1, say=print, check_every=10):
    """Returns how many children were killed, and the seconds that it took. Raises AssertionError."""
    began, agents = time.monotonic(), max(events // EACH, 1)
    url = f"sqlite+aiosqlite:///{folder / 'agents.db'}"
    kills = lives(url, folder, agents, seed, say, check_every)
    ledger = asyncio.run(opened_ledger(url, Journal(folder / "journal")))
    ledger.check_settled()
    turns = sum(map(len, ledger.histories.values()))
    took_s = time.monotonic() - began
    size = (folder / "agents.db").stat().st_size
    say(f"{agents * EACH} events, {turns} turns, {kills} kills, {took_s:.0f} s, {size / 2**20:.0f} MiB: all is well")
    return kills, took_s


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--child", type=Path, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        place = given.child
        child(f"sqlite+aiosqlite:///{place / 'agents.db'}", place, given.events // EACH, given.seed)
    else:
        soak(
            given.folder or Path(tempfile.mkdtemp(prefix="soak-")),
            given.events,
            given.seed,
            lambda line: print(time.strftime("%H:%M:%S"), line, flush=True),  # noqa: T201
        )
