"""One engine for all tests of a process; they skip, and say why, where it cannot be had."""

import gc
import signal
from contextlib import contextmanager

import pytest

from gatechart import Runtime
from tests.on_restate.engines import EngineMissingError, engine_in
from tests.skipped import LOUD

pytest.importorskip("restate", reason="NOT TESTED on Restate: the extra gatechart[restate] is missing")

from tests.on_restate.place import RestatePlace

HYPERCORN = "ignore:.*(TCPServer|hypercorn).*"
"""It leaves a coroutine behind where a connection ends while it is being closed."""


def pytest_collection_modifyitems(items):
    """The tests here see to their own warnings, not to those of the server in their process."""
    for item in items:
        if "on_restate" in str(item.path):
            item.add_marker(pytest.mark.filterwarnings(HYPERCORN))


@pytest.fixture(autouse=True)
def _ends():
    """Fails a test that hangs, in the midst of whatever it waits for."""

    def fail(*_):
        raise TimeoutError("the test hangs")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, 20)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True, scope="module")
def _swept():
    """Collects what the server has left behind while its warnings are ignored, rather than in the midst of others."""
    yield
    gc.collect()


@contextmanager
def there_or_skipped(folder):
    """An engine that runs in the folder. Skips the test, and says why, where there is none."""
    try:
        with engine_in(folder) as running:
            yield running
    except EngineMissingError as error:
        pytest.skip(f"{LOUD}Restate: {error}")


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    """An engine that runs."""
    with there_or_skipped(tmp_path_factory.mktemp("engine")) as running:
        yield running


@pytest.fixture
def place(engine, monkeypatch):
    """What `Runtime.open` opens here: the tests of the other homes know no other way."""
    elsewhere = Runtime.open

    def opened(store=None, **more):
        return store.open(**more) if isinstance(store, RestatePlace) else elsewhere(store, **more)

    monkeypatch.setattr(Runtime, "open", opened)
    return RestatePlace(engine)
