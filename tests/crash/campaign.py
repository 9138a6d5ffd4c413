"""Very many events for a crew, whose process is killed at random times, and so is the database server, and both.

`python -m tests.crash.campaign URL FOLDER SEED AGENTS EACH` is that process: it does all that is asked of the crew, or
goes on with it.
"""

import asyncio
import logging
import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gatechart.errors import StoreBusyError, StoreFailedError, StoreUnreachableError
from gatechart.hosting.limits import Limits
from gatechart.values.delays import Retry
from tests.crash.crew import Journal, errands, main
from tests.crash.havoc import havoc
from tests.crash.ledger import opened_ledger

ROOT = Path(__file__).parents[2]
LIMITS = Limits(mail_retry=Retry(attempts=2, first_s=0.01, factor=1.0), timers=100, resident=1000, invokes=50)
BEARS = (StoreBusyError, StoreFailedError, StoreUnreachableError)  # while a server is away; a file is never
SOON = 0.3  # how often a process is killed soon after it began
LAST = 0.95  # of the errands: the kills are over before the work is


@dataclass(frozen=True)
class Plan:
    """What is asked of a crew, and how often something is killed on the way."""

    agents: int
    each: int  # errands of one agent
    kills: int
    checks: int = 1  # the ledger is read before every so manieth begin
    seed: int = 1
    ends_s: float = 150.0  # how long all of it may take

    @property
    def events(self):
        return self.agents * self.each


class Host:
    """A process that hosts a crew. Before it begins, what the last one left is checked."""

    def __init__(self, url, folder, plan, say):
        self._url, self._folder, self._plan, self._say = url, folder, plan, say
        self._process = None
        self._begins = 0

    def begin(self):
        if self._begins and self._begins % self._plan.checks == 0:
            journal = Journal(self._folder / "journal")
            asyncio.run(opened_ledger(self._url, journal)).check()
            self._say(f"killed {self._begins} times; {len(journal.marks('ack'))} acknowledged, all is well")
        self._begins += 1
        given = map(str, (self._url, self._folder, self._plan.seed, self._plan.agents, self._plan.each))
        with (self._folder / "host.log").open("ab") as log:
            self._process = subprocess.Popen([sys.executable, "-m", __spec__.name, *given], cwd=ROOT, stderr=log)

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._said(self._process.wait())

    @property
    def is_over(self):
        """Whether it has done all that was asked of it."""
        return self._said(self._process.poll()) == 0

    def _said(self, code):
        assert code in (None, 0, -signal.SIGKILL), (self._folder / "host.log").read_text()[-4000:]
        return code


class Progress:
    """How much of its work a crew has tried, read from a journal that grows."""

    def __init__(self, path):
        self._path, self._read, self._tried = path, 0, set()

    @property
    def tried(self):
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read)
                read = file.read()
            whole = read[: read.rfind(b"\n") + 1]
            self._read += len(whole)
            self._tried.update(line for line in whole.splitlines() if line.startswith(b"try "))
        return len(self._tried)


async def moments(host, journal, plan):
    """When something is killed: anywhere on the way to the end, now and then soon after the last time."""
    chance, progress = random.Random(plan.seed), Progress(journal.path)
    for share in sorted(chance.uniform(0, LAST) for _ in range(plan.kills)):
        if chance.random() < SOON:
            await asyncio.sleep(chance.uniform(0, 1.5))
        while progress.tried < share * plan.events and not host.is_over:  # noqa: ASYNC110  it tells nobody
            await asyncio.sleep(0.02)
        await asyncio.sleep(chance.uniform(0, 0.1))
        yield


async def campaign(url, folder, plan, server=None, say=lambda _: None):
    """All that is asked is done, and right. Returns the ledger, and how often something was killed.

    say: hears what becomes of it, line by line.
    """
    host, journal = Host(url, folder, plan, say), Journal(folder / "journal")
    groups = [(host,)] if server is None else [(host,), (server,), (server, host)]
    host.begin()
    try:
        async with asyncio.timeout(plan.ends_s):
            kills = await havoc(groups, moments(host, journal, plan))
            while not host.is_over:  # noqa: ASYNC110  it tells nobody
                await asyncio.sleep(0.05)
    finally:
        host.kill()
    ledger = await opened_ledger(url, journal)
    ledger.check_settled()
    assert journal.marks("try") == {each.mark for each in errands(plan.seed, plan.agents, plan.each)}
    return ledger, kills


def child(url, folder, seed, agents, each):
    """Does all that is asked of the crew."""
    logging.disable(logging.CRITICAL)
    wanted = list(errands(int(seed), int(agents), int(each)))
    bears = () if url.startswith("sqlite") else BEARS
    asyncio.run(main(url, Journal(Path(folder) / "journal"), wanted, LIMITS, bears))


if __name__ == "__main__":
    child(*sys.argv[1:])
