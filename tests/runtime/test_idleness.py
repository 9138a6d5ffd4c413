"""Places and idleness: no place is lost or taken twice, whatever waits, goes on, fails and is cancelled."""

import asyncio
from random import Random

import pytest

from gatechart.hosting.idleness import Idleness, SharedPlace

PLACES = 2


class Limit:
    def __init__(self):
        self.stands = False

    def stop(self):
        self.stands = True

    def go_on(self):
        self.stands = False


async def pauses(random):
    for _ in range(random.randrange(4)):
        await asyncio.sleep(0)


async def branch(random, idleness):
    """Steps and waits one after the other; some waits are given up."""
    for _ in range(random.randrange(1, 5)):
        async with idleness.busy():
            await pauses(random)
            if random.random() < 0.7:
                async with asyncio.timeout(0 if random.random() < 0.2 else None):
                    async with idleness.waiting():
                        await pauses(random)
        await pauses(random)
        if random.random() < 0.1:
            raise LookupError("a branch fails")


async def invocation(random, places, left):
    async with SharedPlace(places) as place:
        for _ in range(2):
            idleness = Idleness(place)
            idleness.limit = Limit()
            branches = [asyncio.ensure_future(branch(random, idleness)) for _ in range(random.randrange(1, 4))]
            try:
                await asyncio.gather(*branches, return_exceptions=random.random() < 0.5)
            except (LookupError, TimeoutError):
                pass
            finally:
                idleness.end()
                if random.random() < 0.5:
                    for each in branches:
                        each.cancel()
            left.extend(branches)


@pytest.mark.parametrize("seed", range(200))
async def test_all_places_are_free_once_all_has_ended(seed):
    random, places, left = Random(seed), asyncio.Semaphore(PLACES), []
    tasks = [asyncio.ensure_future(invocation(random, places, left)) for _ in range(6)]
    for _ in range(random.randrange(60)):
        await asyncio.sleep(0)
    for each in random.sample(tasks, random.randrange(4)):
        each.cancel()
    async with asyncio.timeout(60):
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*left, return_exceptions=True)
        for _ in range(PLACES):
            await places.acquire()
    assert places.locked()


async def test_a_place_is_held_by_no_more_than_there_are():
    places, running, most = asyncio.Semaphore(PLACES), 0, 0

    async def runs():
        nonlocal running, most
        async with SharedPlace(places) as place:
            idleness = Idleness(place)
            for _ in range(20):
                async with idleness.busy():
                    running += 1
                    most = max(most, running)
                    await asyncio.sleep(0)
                    running -= 1
                    async with idleness.waiting():
                        await asyncio.sleep(0)

    async with asyncio.timeout(60):
        await asyncio.gather(*(runs() for _ in range(7)))
    assert (most, places._value) == (PLACES, PLACES)


async def test_the_limit_stands_still_exactly_while_there_are_only_waits():
    idleness = Idleness()
    idleness.limit = limit = Limit()
    async with idleness.busy():
        assert not limit.stands
        async with idleness.waiting():
            assert limit.stands
            async with idleness.busy():
                assert not limit.stands
            assert limit.stands
        assert not limit.stands
    with pytest.raises(LookupError):
        async with idleness.busy(), idleness.waiting():
            raise LookupError("given up")
    assert not limit.stands
