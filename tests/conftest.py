"""What tests share: places to keep agents, and an end to those that hang."""

import os
import signal

import pytest

from gatechart.stores import MemoryStore

DEADLINE_S = 90


@pytest.fixture
def sqlite_path(tmp_path):
    """Where a database may be created."""
    return tmp_path / "agents.db"


@pytest.fixture
def sqlite_url(sqlite_path):
    """The URL of a database that does not exist yet."""
    return f"sqlite+aiosqlite:///{sqlite_path}"


@pytest.fixture(params=["memory", "sqlite"])
def place(request):
    """What `Runtime.open` opens; opened again, it holds what was kept there before."""
    return MemoryStore() if request.param == "memory" else request.getfixturevalue("sqlite_url")


@pytest.fixture
def unmeasured(monkeypatch):
    """Children do not measure what they cover, which takes a third of their time, and is lost when they are killed."""
    for name in [name for name in os.environ if name.startswith("COV")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _ends(request):
    """A test that hangs fails, with an error in the midst of whatever it waits for; slow ones take their time."""
    if request.node.get_closest_marker("slow") is not None:
        yield
        return

    def fail(*_):
        raise TimeoutError("the test hangs")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S, 5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
