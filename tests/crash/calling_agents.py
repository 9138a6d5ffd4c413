"""An agent whose invoke calls tools of all kinds, in a process that kills itself at a point.

`main(url, file, point, count)` has it live to its end, and dies at the COUNT-th time that it comes to POINT (see
forks). With "nowhere" it lives, and leaves in FILE how often it came where. What the tools do is in a file beside that.
"""

import asyncio
import json
from pathlib import Path

from pydantic import Field

from gatechart import AgentContext, Retry, Runtime, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.graph.definition import Invoke
from gatechart.tools import ToolContext
from gatechart.values.tool_policies import ToolPolicies
from tests.crash.fault_points import FaultPoints

AT_ONCE = ToolPolicies(retry=Retry(attempts=3, first_s=0.001))


class Shop:
    """Services with tools, each of which leaves a line when it has acted."""

    def __init__(self, folder, points):
        self._file = folder / "deeds"
        self._points = points
        self.tools = ToolBox([pay, look, refund])

    def act(self, *deed):
        self._points.pass_by(f"before {deed[0]}")
        with self._file.open("a") as file:
            file.write(" ".join(deed) + "\n")
        self._points.pass_by(f"after {deed[0]}")
        return self._file.read_text().count(f"{deed[0]} ")


@tool(policies=AT_ONCE)
def pay(context: ToolContext, order: str) -> str:
    context.services.act("pay", order)
    return "paid"


@tool(repeat="safe", policies=AT_ONCE)
def look(context: ToolContext, order: str) -> str:
    if context.services.act("look", order) == 1:
        raise ConnectionError("not yet")
    return "found"


@tool(repeat="keyed", key="order", policies=AT_ONCE)
async def refund(context: ToolContext, order: str, amount: int) -> int:
    context.services.act("refund", context.idempotency_key)
    return amount


class Case(AgentContext):
    results: list[str] = Field(default_factory=list)


async def serve(context, work):
    calls = [
        await work.call(look, "4711"),
        await work.call("pay", order="4711", call_id="payment"),
        await work.call("pay", order="4712"),
        await work.call(refund, "4711", 5),
    ]
    return [str(each.value if each.ok else each.failure.kind.value) for each in calls]


def keep(context, event):
    context.results = event.payload["result"]


calling = StateTransitionGraph(
    "calling",
    context=Case,
    states=[State("CALLING", invoke=Invoke(serve)), "CALLED"],
    transitions=[Transition("CALLING", "done.invoke.serve", "CALLED", actions=keep)],
    entry_points=["CALLING"],
)


async def live(url, folder, points=None):
    """Has the agent come to its end."""
    shop = Shop(folder, points or FaultPoints())
    async with Runtime.open(url, graphs=[calling], services=shop) as runtime:
        agent = await runtime.start_or_resume("calling", at="CALLING", agent_id="c-1")
        await agent.until("CALLED", timeout=20)


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, Path(file).parent, points))
    Path(file).write_text(json.dumps(points.passed))
