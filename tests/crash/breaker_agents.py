"""Agents whose calls fail until a circuit breaker opens, in a process that kills itself at a point (see fault_points).

`main(url, point, count)` has them call, and dies at the COUNT-th time that it comes to POINT (see forks); with
"nowhere" once the breaker rejects a call.
"""

import asyncio
import os
import signal

from pydantic import Field

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition
from gatechart.graph.definition import Invoke
from gatechart.tools import BreakerPolicy
from tests.crash.fault_points import FaultPoints

POLICY = BreakerPolicy(failures_in_a_row=2, break_s=3600)


class Caller(AgentContext):
    outcomes: list[str] = Field(default_factory=list)


async def call(context, work):
    async with work.breaker("crm", POLICY):
        raise ConnectionError("503")


def note(context, event):
    context.outcomes.append(event.payload["type"])


caller = StateTransitionGraph(
    "caller",
    context=Caller,
    states=[State("CALLING", invoke=Invoke(call))],
    transitions=[
        Transition("CALLING", "error.invoke.call", "RESTING", actions=note),
        Transition("RESTING", "CALLED", "CALLING"),
    ],
    entry_points=["CALLING"],
)


async def live(url):
    """Has an agent call until it is rejected."""
    async with Runtime.open(url, graphs=[caller]) as runtime:
        agent = await runtime.start_or_resume("caller", at="CALLING", agent_id="a")
        await agent.until("RESTING")
        while agent.context.outcomes[-1] != "BreakerOpenError":
            await agent.send("CALLED")
            await agent.until("RESTING")
        return agent.context.outcomes


async def die(url):
    """Dies as soon as the agent is rejected, while its runtime is open."""
    async with Runtime.open(url, graphs=[caller]) as runtime:
        agent = await runtime.start("caller", at="CALLING", agent_id="a")
        for _ in range(2):
            await agent.until("RESTING")
            await agent.send("CALLED")
        await agent.until("RESTING")
        os.kill(os.getpid(), signal.SIGKILL)


def main(url, point, count):
    FaultPoints(point, int(count)).install()
    asyncio.run(die(url) if point == "nowhere" else live(url))
