"""Processes that are killed while others rely on them, and calls that are made again until they get through."""

import asyncio
from itertools import cycle

from gatechart.errors import OutsideError


async def until_done(call, bears=OutsideError):
    """The result of a call that is made again, under the same ids, for as long as the outside fails."""
    while True:
        try:
            return await call()
        except bears:
            await asyncio.sleep(0.05)


async def every(pause_s, times):
    """So many moments, each so long after the one before."""
    for _ in range(times):
        await asyncio.sleep(pause_s)
        yield


async def havoc(groups, moments):
    """At each moment kills all of the next group, and has them begin again, in order. Returns how often.

    groups: of whatever has `kill` and `begin`, both of which return when that is done.
    """
    kills, turns = 0, cycle(groups)
    async for _ in moments:
        group = next(turns)
        for victim in group:
            await asyncio.to_thread(victim.kill)
        for victim in group:
            await asyncio.to_thread(victim.begin)
        kills += 1
    return kills
