"""A script that is interrupted: it says what it has done, one line at a time, until Ctrl-C.

Run as `python -m tests.runtime.interrupted URL`.
"""

import asyncio
import sys

from gatechart import Runtime
from tests.runtime.ledgers import Faults, ledger


async def main(url):
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


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
