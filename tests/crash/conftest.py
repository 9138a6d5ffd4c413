"""Processes that are killed, and the databases in which they work."""

from itertools import count

import pytest

from tests.crash.forked_processes import ForkedProcesses
from tests.homes import POSTGRESQL


@pytest.fixture(autouse=True)
def _unmeasured(unmeasured):
    """No child here measures what it covers."""


@pytest.fixture(scope="session")
def forks(processes):
    """From which processes come that are killed."""
    forks = ForkedProcesses()
    yield forks
    forks.close()


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
