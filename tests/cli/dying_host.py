"""A host of agents that dies before it answers what it was asked to do, and has done."""

import asyncio
import os
import signal
import sys

from gatechart import Runtime
from gatechart.stores.sql.requests import SqlRequests
from tests.contrib.human_desk.support import office


async def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


async def host():
    SqlRequests.answer = die
    async with Runtime.open(graphs=office):
        print("hosting", file=sys.stderr, flush=True)  # noqa: T201
        await asyncio.Event().wait()


def main():
    asyncio.run(host())
