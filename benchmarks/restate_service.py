"""What an engine calls while it is measured: `python -m benchmarks.restate_service gatechart|bare PORT`."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from typing import Any

import restate
from restate import ObjectContext, RunOptions, VirtualObject
from restate.serde import BytesSerde

from benchmarks.ring import FOLLOWING, STATES, ring
from gatechart.restate import serving
from gatechart.restate.auxiliary_objects import FOREVER
from gatechart.restate.service import answering

BYTES = BytesSerde()
AS_BYTES = RunOptions(serde=BYTES, type_hint=bytes)
FILLER = "x" * 200  # so that what is kept and answered is as long as with gatechart


def bare() -> VirtualObject:
    """An object that makes the same journal entries, each about as long, and knows nothing of charts."""
    objects = VirtualObject(
        "Bare",
        journal_retention=timedelta(0),
        idempotency_retention=timedelta(minutes=10),
        invocation_retry_policy=FOREVER,
    )

    @objects.handler("send")
    async def send(ctx: ObjectContext, told: dict[str, Any]) -> Any:
        kept, _ = await ctx.get("agent", BYTES), await ctx.get("ids", BYTES)

        async def move() -> bytes:
            known = json.loads(bytes(kept)) if kept else {"state": STATES[0], "moves": 0, "filler": FILLER}
            after = known | {"state": FOLLOWING[known["state"]], "moves": known["moves"] + 1}
            return json.dumps({"answer": {"filler": FILLER * 2}}).encode() + b"\n" + json.dumps(after).encode()

        answer, after = bytes(await ctx.run_typed("send", move, AS_BYTES)).split(b"\n")
        ctx.set("agent", after, BYTES)
        return json.loads(answer)["answer"]

    return objects


async def main(which: str, port: str) -> None:
    bind, forever = f"127.0.0.1:{port}", asyncio.Event()
    if which == "bare":
        async with answering(bind, restate.app([bare()])):
            await forever.wait()
    async with serving(bind, graphs=[ring]):
        await forever.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
