"""A host of agents that gives signs of life until it is killed: `main(url, file)` names itself in FILE once it did."""

import asyncio
import os
from pathlib import Path

from gatechart import Limits, Runtime, StateTransitionGraph

idle = StateTransitionGraph("idle", states=["HERE"], entry_points=["HERE"])


async def live(url, file):
    async with Runtime.open(url, graphs=[idle], limits=Limits(beat_s=0.05)) as runtime:
        while not await runtime.hosts():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        Path(file).write_text(str(os.getpid()))  # noqa: ASYNC240
        await asyncio.sleep(60)


def main(url, file):
    asyncio.run(live(url, file))
