"""What tests share: places to keep agents, and an end to those that hang."""

import gc
import logging
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

import gatechart.testing.contracts  # noqa: F401  before what it lets pytest rewrite
from gatechart.stores import MemoryStore
from tests.restate.fixtures import HYPERCORN, engine, restate_place  # noqa: F401  to whoever asks for them

from . import legality, skipped
from .backups import PostgresBackup, SqliteBackup
from .eager import EagerLoops
from .homes import POSTGRESQL, RESTATE, home_of, in_memory_too, on_sqlite_too, shown_elsewhere, why_not_on_restate
from .postgres import LOOSE, SAFE, NoServerError, Server
from .skipped import LOUD

DEADLINE_S = 90
ON_RESTATE = Path(__file__).parent / "restate"  # tests with no other home
PLACES = {"sqlite": "sqlite_url", "postgresql": "postgres_url", "restate": "restate_place"}
LEFT_OUT = pytest.StashKey[Counter]()  # how many tests say nothing of Restate, by reason

legality.watch()


@pytest.fixture(autouse=True)
def _no_test_silences_the_next():
    """Undo what a test does to the loggers, as commands and programs of documents do that run in this process."""
    names = ["root", *(name for name in logging.root.manager.loggerDict if name.split(".")[0] == "gatechart")]
    before = [(each, each.level, each.disabled, each.propagate) for each in map(logging.getLogger, names)]
    yield
    for logger, level, disabled, propagate in before:
        logger.disabled, logger.propagate = disabled, propagate
        logger.setLevel(level)


@pytest.fixture
def sqlite_path(tmp_path):
    """Where a database may be created."""
    return tmp_path / "agents.db"


@pytest.fixture
def sqlite_url(sqlite_path):
    """The URL of a database that does not exist yet."""
    return f"sqlite+aiosqlite:///{sqlite_path}"


@pytest.fixture(scope="session")
def processes():
    """Asked for by every fixture that starts a process; whatever uses one of them is marked `processes`."""


@pytest.fixture(scope="session")
def postgres_server(request, processes):
    """A server that is fast and forgets what it knew when it crashes."""
    yield from served(request, LOOSE)


@pytest.fixture
def safe_server(request, processes):
    """A server of the test's own, which may be stopped and started."""
    yield from served(request, SAFE)


def served(request, settings):
    try:
        server = Server(*settings)
    except NoServerError as error:
        pytest.skip(f"{LOUD}PostgreSQL: {error}")
    with server:
        yield server


def pytest_addoption(parser):
    """Add an option that runs the tests under an event loop whose tasks start eagerly."""
    parser.addoption(
        "--eager-tasks", action="store_true", help="give event loops asyncio.eager_task_factory (Python 3.12)"
    )


def pytest_configure(config):
    """Let the collector run as seldom as `gatechart run` does: every 700 objects takes an eighth of the tests' time."""
    if config.option.eager_tasks:
        config.pluginmanager.register(EagerLoops())
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the collector from going through a million objects again and again that live as long as the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """Mark what needs processes, and as slow what other tests show. Take out what Restate is declared not to do."""
    mark("processes", [item for item in items if "processes" in getattr(item, "fixturenames", ())])
    mark("in_memory_too", in_memory_too(items))
    mark("on_sqlite_too", on_sqlite_too(items))
    mark("slow", shown_elsewhere(items))
    reasons = {item: why_not_on_restate(item) for item in items if home_of(item) == "restate"}
    for item in [item for item in items if item in reasons or item.path.is_relative_to(ON_RESTATE)]:
        item.add_marker(pytest.mark.filterwarnings(HYPERCORN))  # not to fail by what the server in this process does
    for item in reasons:
        if item.get_closest_marker("sample_on_restate") is None:
            item.add_marker(pytest.mark.slow)
    left_out = [item for item, reason in reasons.items() if reason]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not reasons.get(item)]
    config.stash[LEFT_OUT] = Counter(filter(None, reasons.values()))


def mark(name, items):
    """Marks tests."""
    for item in items:
        item.add_marker(name)


def pytest_terminal_summary(terminalreporter, config):
    """Says what was not tested, and why."""
    skipped.pytest_terminal_summary(terminalreporter)
    if config.option.verbose > 0:
        for reason, count in config.stash.get(LEFT_OUT, Counter()).most_common():
            terminalreporter.write_line(f"not on Restate: {count} tests: {reason}")


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


@pytest.fixture(params=["sqlite", POSTGRESQL])
def crash_url(request):
    """The URL of an empty database, for processes that are killed."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "empty_postgres_url")


@pytest.fixture(params=["sqlite", POSTGRESQL])
def backup(request):
    """An empty database of which a backup can be taken. What is restored says who owned it, so it is taken over."""
    if request.param == "sqlite":
        return SqliteBackup(request.getfixturevalue("sqlite_path"))
    return PostgresBackup(request.getfixturevalue("postgres_url"), request.getfixturevalue("empty_postgres_url"))


@pytest.fixture(params=["memory", "sqlite", POSTGRESQL, RESTATE])
def place(request):
    """What `Runtime.open` opens; opened again, it holds what was kept there before."""
    return MemoryStore() if request.param == "memory" else request.getfixturevalue(PLACES[request.param])


@pytest.fixture
def unmeasured(monkeypatch, processes):
    """Children do not measure what they cover, which takes a third of their time, and is lost when they are killed."""
    for name in [name for name in os.environ if name.startswith("COV")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _ends(request):
    """A test that hangs fails, with an error in the midst of whatever it waits for; slow ones take their time."""
    on_restate = home_of(request.node) == "restate"
    if request.node.get_closest_marker("slow") is not None and not on_restate:
        yield
        return

    def fail(*_):
        raise TimeoutError("the test hangs")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S, 5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def _commits_are_legal():
    """A test that commits what no agent can be in fails, whatever it is about."""
    yield
    illegal = legality.found()
    assert not illegal, illegal
