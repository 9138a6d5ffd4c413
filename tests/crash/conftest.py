"""Processes that are killed, and the databases in which they work."""

import json
import os
import signal
from itertools import count
from pathlib import Path

import pytest

from tests.forked import fork
from tests.homes import POSTGRESQL


@pytest.fixture(autouse=True)
def _unmeasured(unmeasured):
    """No child here measures what it covers."""


class Forks:
    """Processes in which modules of this folder live."""

    def begin(self, module, *arguments, output=os.devnull, errors=os.devnull):
        """Begin the life of a module. output, errors: the files to which it adds what it prints."""
        with Path(os.devnull).open() as nobody, Path(output).open("a") as out, Path(errors).open("a") as err:
            return fork(f"tests.crash.{module}:main", *arguments, stdin=nobody, stdout=out, stderr=err)

    def live(self, module, *arguments, **files):
        """Let a module live to its end, and return how that was."""
        with self.begin(module, *arguments, **files) as process:
            return process.wait()


@pytest.fixture
def forks(processes):
    """From which processes come that are killed."""
    return Forks()


@pytest.fixture(params=["sqlite", POSTGRESQL])
def new_url(request, tmp_path):
    """Makes URLs of databases in which nothing is yet; with each the one before is done with."""
    if request.param == "sqlite":
        numbers = count(1)
        yield lambda: f"sqlite+aiosqlite:///{tmp_path / f'{next(numbers)}.db'}"
        return
    server, made = request.getfixturevalue("postgres_server"), []

    def drop():
        while made:
            server.ask(f"DROP DATABASE {made.pop()} (FORCE)")

    def new():
        drop()
        made.append(server.new())
        return server.url(made[0])

    yield new
    drop()


@pytest.fixture
def killed_at_commits(forks, new_url, tmp_path):
    """Kills processes of a module at every STEP-th commit, before and after it. Returns how many died.

    live: has the next process go on. check: looks at what is there then: at a URL, in a folder, after so many deaths.
    given: what the module is told beside.
    """

    async def killed(module, live, check, step, *given):
        (tmp_path / "0").mkdir()
        assert forks.live(module, new_url(), tmp_path / "0" / "points", "nowhere", 0, *given) == 0
        passed, kills = json.loads((tmp_path / "0" / "points").read_text()), 0
        for point in ("before COMMIT", "after COMMIT"):
            for nth in range(1, passed[point] + 1, step):
                url, folder = new_url(), tmp_path / f"{point} {nth}"
                folder.mkdir()
                died = forks.live(module, url, folder / "points", point, nth, *given) == -signal.SIGKILL
                await live(url, folder)
                await check(url, folder, deaths=int(died))
                kills += died
        return kills

    return killed
