"""One engine for all tests of a process, and places on it; they skip, and say why, where it cannot be had."""

import gc
import logging
from contextlib import contextmanager

import pytest

from gatechart import Runtime
from tests.restate.engines import EngineMissingError, engine_in
from tests.skipped import LOUD

HYPERCORN = "ignore:.*(TCPServer|hypercorn).*"
"""It leaves a coroutine behind where a connection ends while it is being closed."""


@contextmanager
def there_or_skipped(folder, begun=engine_in):
    """What is begun in the folder: an engine that runs. Skips the test, and says why, where there is none."""
    pytest.importorskip("restate", reason="NOT TESTED on Restate: the extra is missing")
    try:
        with begun(folder) as running:
            yield running
    except EngineMissingError as error:
        pytest.skip(f"{LOUD}Restate: {error}")


@pytest.fixture(scope="session")
def engine(tmp_path_factory, processes):
    """An engine that runs."""
    with there_or_skipped(tmp_path_factory.mktemp("engine")) as running:
        gc.collect()
        gc.freeze()  # so that it takes no time to collect after each test what that left behind
        yield running


@pytest.fixture
def restate_place(engine, monkeypatch):
    """What `Runtime.open` opens here: the tests of the other homes know no other way."""
    from tests.restate.place import RestatePlace

    elsewhere, here = Runtime.open, RestatePlace(engine)

    def opened(store=None, **more):
        return store.open(**more) if isinstance(store, RestatePlace) else elsewhere(store, **more)

    monkeypatch.setattr(Runtime, "open", opened)
    monkeypatch.setattr(logging.getLogger("asyncio"), "disabled", True)  # it tells what hypercorn leaves unread
    yield here
    here.end()
