"""A store whose opening is cancelled leaves no connection behind, wherever the cancellation hits."""

import asyncio
import gc
import warnings
from functools import partial
from types import coroutine

import pytest

from gatechart.stores import open_store
from tests.homes import POSTGRESQL

MOST_STEPS = 500


@pytest.fixture(params=["sqlite", POSTGRESQL])
def url(request):
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


@coroutine
def cut(work, at):
    """Await the work, and cancel the task where it suspends for the nth time; return whether it never did."""
    number, go_on = 0, partial(work.send, None)
    while True:
        try:
            awaited = go_on()
        except StopIteration:
            return number < at
        number += 1
        if number == at:
            asyncio.current_task().cancel()
        try:
            go_on = partial(work.send, (yield awaited))
        except BaseException as error:
            go_on = partial(work.throw, error)


async def is_opened(url, step):
    """Whether a store opens before its task is cancelled."""
    opening = open_store(url)
    try:
        is_before = await cut(opening.__aenter__(), step)
    except asyncio.CancelledError:
        return False
    await opening.__aexit__(None, None, None)
    return is_before


async def test_wherever_an_opening_is_cancelled_no_connection_stays_open(url):
    assert await is_opened(url, MOST_STEPS)
    for step in range(1, MOST_STEPS):
        with warnings.catch_warnings(record=True, action="always", category=ResourceWarning) as told:
            is_done = await asyncio.create_task(is_opened(url, step))
            gc.collect()
        assert list(map(str, told)) == [], step
        if is_done:
            return
