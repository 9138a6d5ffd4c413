"""Tests of a store's promises about requests from other processes to its owner."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from gatechart.ports import Asking, Requests
from gatechart.tasks import start_task
from gatechart.testing.records import NOON
from gatechart.values.queries import Request

FIRST = Request("r-1", "ana", '{"verb":"stop","id":"a"}', NOON)
SECOND = Request("r-2", "ana", '{"verb":"stop","id":"b"}', NOON)
THIRD = Request("r-3", "ben", '{"verb":"stop","id":"c"}', NOON)
BEFORE, AFTER = NOON - timedelta(seconds=1), NOON + timedelta(seconds=1)
SOON_S = 5.0


class RequestsContract:
    """The tests of requests. Subclass it, and provide both sides of one database as fixtures.

    `asking`: the side of the process that asks. `requests`: the owner's side.
    """

    pytestmark = pytest.mark.asyncio

    async def test_what_is_asked_is_taken_once_and_in_order(self, asking: Asking, requests: Requests) -> None:
        """The order and the count hold also if requests are taken in several calls."""
        numbers = [await asking.ask(each) for each in (FIRST, SECOND, THIRD)]
        requests_taken = [*await requests.take(BEFORE, limit=2), *await requests.take(BEFORE, limit=2)]
        assert [each.number for each in requests_taken] == numbers == sorted(set(numbers))
        assert [(each.id, each.asker, each.call, each.until) for each in requests_taken] == [
            (each.id, each.asker, each.call, each.until) for each in (FIRST, SECOND, THIRD)
        ]
        assert list(await requests.take(BEFORE, limit=9)) == []

    async def test_an_answer_is_there_until_it_is_forgotten(self, asking: Asking, requests: Requests) -> None:
        """The answer belongs to one request only."""
        first, second = await asking.ask(FIRST), await asking.ask(SECOND)
        await requests.take(BEFORE, limit=9)
        await requests.answer(first, '{"answer":1}', BEFORE)
        assert [await asking.answer_to(each) for each in (first, second, 999)] == ['{"answer":1}', None, None]
        await asking.forget(first)
        assert await asking.answer_to(first) is None
        for number in (first, second, 999):
            await requests.answer(number, "{}", BEFORE)
        assert [await asking.answer_to(each) for each in (first, second, 999)] == [None, "{}", None]

    async def test_what_is_forgotten_is_not_taken_again(self, asking: Asking, requests: Requests) -> None:
        """The asker may have done the work itself since then."""
        number = await asking.ask(FIRST)
        await requests.take(BEFORE, limit=9)
        await asking.forget(number)
        assert list(await requests.take(BEFORE, limit=9, again=True)) == []

    async def test_what_is_asked_again_under_its_id_is_asked_once(self, asking: Asking, requests: Requests) -> None:
        """The first request may have been taken in the meantime, or not."""
        number = await asking.ask(FIRST)
        assert await asking.ask(FIRST) == number
        assert len(await requests.take(BEFORE, limit=9)) == 1
        assert await asking.ask(FIRST) == number
        assert list(await requests.take(BEFORE, limit=9)) == []

    async def test_what_was_not_taken_can_be_withdrawn(self, asking: Asking, requests: Requests) -> None:
        """A request that was taken cannot be withdrawn, whether answered or not."""
        first, second, third = [await asking.ask(each) for each in (FIRST, SECOND, THIRD)]
        assert await asking.withdraw(first)
        assert [each.number for each in await requests.take(BEFORE, limit=1)] == [second]
        assert [await asking.withdraw(second), await asking.withdraw(third)] == [False, True]
        await requests.answer(second, "{}", BEFORE)
        assert not await asking.withdraw(second)
        assert await asking.ask(FIRST) > third

    async def test_what_was_not_taken_in_time_is_forgotten(self, asking: Asking, requests: Requests) -> None:
        """An asker that gave up long ago must not find its request executed."""
        number = await asking.ask(FIRST)
        assert list(await requests.take(AFTER, limit=9)) == []
        assert await asking.withdraw(number)
        assert list(await requests.take(BEFORE, limit=9)) == []

    async def test_what_was_taken_and_not_answered_is_taken_again_by_the_next_owner(
        self, asking: Asking, requests: Requests
    ) -> None:
        """The next owner takes it, however late, since it may have been executed already."""
        numbers = [await asking.ask(each) for each in (FIRST, SECOND)]
        await requests.take(BEFORE, limit=9)
        await requests.answer(numbers[0], "{}", BEFORE)
        late = await asking.ask(THIRD)
        assert [each.number for each in await requests.take(AFTER, limit=9, again=True)] == [numbers[1]]
        assert await asking.withdraw(late)

    async def test_an_answer_that_nobody_fetches_is_forgotten_in_the_end(
        self, asking: Asking, requests: Requests
    ) -> None:
        """The next `take` forgets it, but not before an hour has passed."""
        number = await asking.ask(FIRST)
        await requests.take(BEFORE, limit=9)
        await requests.answer(number, "{}", BEFORE)
        for hours, answer in ((0.9, "{}"), (1.1, None)):
            moment = BEFORE + timedelta(hours=hours)
            again = Request(f"again {hours}", "ana", "{}", moment)
            await asking.ask(again)
            assert len(await requests.take(moment, limit=9)) == 1
            assert await asking.answer_to(number) == answer

    async def test_the_owner_is_woken_by_what_is_asked(self, asking: Asking, requests: Requests) -> None:
        """Requests from before and during its wait wake the owner, but requests that it has taken do not."""
        await asking.ask(FIRST)
        await asyncio.wait_for(requests.asked(), SOON_S)
        await requests.take(BEFORE, limit=9)
        waiting = start_task(requests.asked())
        assert not (await asyncio.wait((waiting,), timeout=0.05))[0]
        await asking.ask(SECOND)
        await asyncio.wait_for(waiting, SOON_S)

    async def test_who_is_asked_can_be_told(self, asking: Asking) -> None:
        """`owner` describes the owner for a message."""
        assert "process" in await asking.owner()
