"""The tests here have no home but Restate."""

import gc
import logging
import signal

import pytest

from tests.restate.fixtures import there_or_skipped

__all__ = ["there_or_skipped"]

pytest.importorskip("restate", reason="NOT TESTED on Restate: the extra gatechart[restate] is missing")


@pytest.fixture(autouse=True)
def _processes(processes):
    """Everything here needs an engine."""


@pytest.fixture(autouse=True)
def _ends():
    """Fails a test that hangs, in the midst of whatever it waits for."""

    def fail(*_):
        raise TimeoutError("the test hangs")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, 60)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True, scope="module")
def _swept():
    """Has what hypercorn leaves unread collected here, and without a word, rather than in the midst of other tests."""
    told = logging.getLogger("asyncio")
    told.disabled = True
    yield
    gc.collect()
    told.disabled = False


@pytest.fixture
def place(restate_place):
    """A place on the engine."""
    return restate_place
