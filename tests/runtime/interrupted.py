"""A script that is interrupted: it says what it has done, one line at a time, until Ctrl-C.

`main(url)` is forked (see tests/forked.py).
"""

import asyncio

from gatechart import Runtime
from tests.runtime.ledgers import Faults, ledger


def main(url):
    asyncio.run(work(url))


async def work(url):
    async with Runtime.open(url, graphs=[ledger], services=Faults()) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await agent.send("SET", {"timers": [[3600, "later", "k"]]})
        n = 0
        while True:
            n += 1
            await runtime.post("l-1", "NOTED", {"n": f"posted {n}"}, event_id=f"p-{n}")
            print("posted", n, flush=True)  # noqa: T201
            await agent.send("NOTED", {"n": f"sent {n}"}, event_id=f"s-{n}")
            print("sent", n, flush=True)  # noqa: T201
