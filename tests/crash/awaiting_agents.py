"""An agent whose call waits for a circuit breaker, in a process that kills itself at a point.

`main(url, file, point, count)` has it live to its end, and dies at the COUNT-th time that it comes to POINT (see
forks), or, with "waiting", while the call waits. With "nowhere" it lives, and leaves in FILE how often it came where.
The time, the uses of the tool, and the moment until which the call waits are in files beside that.
"""

import asyncio
import json
import logging
import os
import signal
from pathlib import Path

from gatechart import EscapePlan, Runtime, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.escape import AwaitBreaker
from gatechart.graph.definition import Invoke
from gatechart.signals import looping
from gatechart.tools import BreakerPolicy, ToolPolicies
from tests.crash.fault_points import FaultPoints
from tests.crash.waiting_agents import HOUR, NOON, KeptClock

ONCE = ToolPolicies(retry="off", breaker=BreakerPolicy(failures_in_a_row=1, break_s=3600))


class Services:
    """With a tool that is down for half an hour."""

    def __init__(self, folder, clock):
        @tool(repeat="safe", policies=ONCE)
        async def look(order: int) -> str:
            with (folder / "uses").open("a") as file:
                file.write(f"{order}\n")
            if clock.now() < NOON + HOUR / 2:
                raise ConnectionError("503")
            return f"order {order}"

        self.tools = ToolBox([look])


async def look(context, work):
    return [(await work.call("look", order=order)).ok for order in range(4)]


looking = StateTransitionGraph(
    "looking",
    states=[State("LOOKING", invoke=Invoke(look)), "FOUND"],
    transitions=[Transition("LOOKING", "done.invoke.look", "FOUND")],
    entry_points=["LOOKING"],
    signals=looping(),
    escape=EscapePlan({"refused_tool": AwaitBreaker(down="2h")}),
)


async def live(url, folder, *, dies=False):
    """Has the agent come to its end; the time goes on as soon as there is nothing but the wait."""
    clock = KeptClock(folder)
    async with Runtime.open(url, graphs=[looking], services=Services(folder, clock), clock=clock) as runtime:
        agent = await runtime.start_or_resume("looking", at="LOOKING", agent_id="w-1")
        async with asyncio.timeout(60):
            while agent.configuration != ("FOUND",):
                await asyncio.sleep(0.001)
                if clock.next_due is None or clock.next_due < NOON + HOUR or clock.sleeping != runtime.pending_work:
                    continue
                with (folder / "due").open("a") as file:
                    file.write(f"{clock.next_due.isoformat()}\n")
                if dies:
                    os.kill(os.getpid(), signal.SIGKILL)
                clock.advance_to(clock.next_due)


def main(url, file, point, count):
    logging.disable(logging.CRITICAL)
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, Path(file).parent, dies=point == "waiting"))
    Path(file).write_text(json.dumps(points.passed))
