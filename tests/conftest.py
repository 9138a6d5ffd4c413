"""What tests share: places to keep agents, and an end to those that hang."""

import os
import signal

import pytest

import gatechart.testing.contracts  # noqa: F401  before what it lets pytest rewrite
from gatechart.stores import MemoryStore

from .postgres import LOOSE, SAFE, NoServerError, Server
from .skipped import LOUD, pytest_terminal_summary  # noqa: F401  the latter for pytest

DEADLINE_S = 90


@pytest.fixture
def sqlite_path(tmp_path):
    """Where a database may be created."""
    return tmp_path / "agents.db"


@pytest.fixture
def sqlite_url(sqlite_path):
    """The URL of a database that does not exist yet."""
    return f"sqlite+aiosqlite:///{sqlite_path}"


@pytest.fixture(scope="session")
def postgres_server(request):
    """A server that is fast and forgets what it knew when it crashes."""
    yield from served(request, LOOSE)


@pytest.fixture
def safe_server(request):
    """A server of the test's own, which may be stopped and started."""
    yield from served(request, SAFE)


def served(request, settings):
    try:
        server = Server(*settings)
    except NoServerError as error:
        pytest.skip(f"{LOUD}PostgreSQL: {error}")
    with server:
        yield server


@pytest.fixture
def postgres_url(postgres_server):
    """The URL of a database with tables, in which nothing is yet."""
    name = postgres_server.borrowed()
    yield postgres_server.url(name)
    postgres_server.back(name)


@pytest.fixture
def empty_postgres_url(postgres_server):
    """The URL of a database without tables."""
    name = postgres_server.new()
    yield postgres_server.url(name)
    postgres_server.ask(f"DROP DATABASE {name} (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def crash_url(request):
    """The URL of an empty database, for processes that are killed."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "empty_postgres_url")


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request):
    """What `Runtime.open` opens; opened again, it holds what was kept there before."""
    if request.param == "memory":
        return MemoryStore()
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


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
