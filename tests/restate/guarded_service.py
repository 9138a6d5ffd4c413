"""A service whose agents call what is down or up, through a circuit breaker, in a process that tests kill.

`python -m tests.restate.guarded_service PORT NAMESPACE LEDGER BREAK_S` serves at PORT, which several of them share. The
file LEDGER tells of each call, by the process that made it. What is called is up once there is a file beside it that
ends with .up, and answers once there is one that ends with .answers.
"""

import asyncio
import os
import sys
from pathlib import Path

from pydantic import Field

from gatechart import AgentContext, State, StateTransitionGraph, Transition
from gatechart.graph.definition import Invoke
from gatechart.restate import serving
from gatechart.tools import BreakerPolicy

PERMITS = 3


class Guarded(AgentContext):
    outcomes: list[str] = Field(default_factory=list)


async def call(context, work):
    break_s, crm = work.services
    async with work.breaker("crm", BreakerPolicy(failures_in_a_row=2, break_s=break_s, permits=PERMITS)):
        return await crm()


def note(context, event):
    context.outcomes.append(event.payload.get("result") or event.payload["type"])


guarded = StateTransitionGraph(
    "guarded",
    context=Guarded,
    states=[State("CALLING", invoke=Invoke(call))],
    transitions=[
        Transition("CALLING", "error.invoke.call", "RESTING", actions=note),
        Transition("CALLING", "done.invoke.call", "RESTING", actions=note),
        Transition("RESTING", "CALLED", "CALLING"),
    ],
    entry_points=["CALLING"],
)


def calls(ledger):
    """What is called, as each process sees it."""

    async def crm():
        with ledger.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if not ledger.with_suffix(".up").exists():
            raise ConnectionError("503")
        while not ledger.with_suffix(".answers").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return "ok"

    return crm


async def serve(port, namespace, ledger, break_s):
    services = float(break_s), calls(Path(ledger))
    service = {"graphs": guarded, "services": services, "namespace": namespace, "shares_address": True}
    async with serving(f"127.0.0.1:{port}", **service) as stop:
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
