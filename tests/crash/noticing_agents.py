"""An agent whose invoke calls a tool that fails until a signal fires, in a process that kills itself at a point.

`main(url, file, point, count)` has it live to its end, and dies at the COUNT-th time that it comes to POINT (see
fault_points). With "nowhere" it lives, and leaves in FILE how often it came where. The calls and the answer are in a
file beside that, in the order made.
"""

import asyncio
import json
from collections import Counter
from functools import partial
from pathlib import Path

from pydantic import Field

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.graph.definition import Invoke
from gatechart.graph.signals import Signal
from gatechart.signals import ToolFailures
from gatechart.tools import ToolContext
from gatechart.values.tool_policies import ToolPolicies
from gatechart.values.trail import Called, Noted, digest_of, entries_in
from tests.crash.fault_points import FaultPoints

FAILING, FINE = (1, 2, 3), (4, 5)
ONCE = ToolPolicies(retry="off", breaker="off")


class Case(AgentContext):
    answers: list = Field(default_factory=list)
    results: list = Field(default_factory=list)


class Shop:
    """Services with a tool that fails for the first orders."""

    def __init__(self, folder):
        self.note = partial(note, folder)
        self.tools = ToolBox([find])


def note(folder, deed):
    with (folder / "deeds").open("a") as file:
        file.write(f"{deed}\n")


@tool(repeat="safe", policies=ONCE)
async def find(context: ToolContext, order: int) -> str:
    context.services.note(order)
    if order in FAILING:
        raise ConnectionError(f"no answer about {order}")
    return "found"


async def search(context, work):
    talk = await work.for_agent("talk")
    results = []
    for order in (*FAILING, *FINE):
        recorder = work if order % 2 else talk  # records of the invocation, and of the agent
        results.append((await recorder.call("find", order=order, call_id=f"find-{order}")).ok)
    await work.note("confidence", 0.9)
    return results


def answer(context, event, turn):
    turn.services.note("answered")
    context.answers.append(len(event.payload["evidence"]))


def keep(context, event):
    context.results = event.payload["result"]


noticing = StateTransitionGraph(
    "noticing",
    context=Case,
    states=[State("SEARCHING", invoke=Invoke(search)), "FOUND"],
    transitions=[
        Transition("SEARCHING", "signal.failing", actions=answer),
        Transition("SEARCHING", "done.invoke.search", "FOUND", actions=keep),
    ],
    entry_points=["SEARCHING"],
    signals=Signal(ToolFailures(len(FAILING)), "failing"),
)


async def live(url, folder):
    """Have the agent come to its end."""
    async with Runtime.open(url, graphs=[noticing], services=Shop(folder)) as runtime:
        agent = await runtime.start_or_resume("noticing", at="SEARCHING", agent_id="n-1")
        await agent.until("FOUND", timeout=20)


def check_noticed(agent, folder, deaths):
    """Each call is on the trail once, and the signal fired once, at the same call, before the next one was made."""
    assert agent.context.answers == [1]
    assert agent.context.results == [False] * len(FAILING) + [True] * len(FINE)
    entries = entries_in(agent.snapshot.trail.text)
    calls = [each.arguments for each in entries if isinstance(each, Called)]
    assert calls == [digest_of({"order": order}) for order in (*FAILING, *FINE)]
    assert [each for each in entries if isinstance(each, Noted)] == [Noted("confidence", 0.9)]
    deeds = (folder / "deeds").read_text().split()
    done = Counter(deeds)
    assert all(1 <= done[str(order)] <= 1 + deaths for order in (*FAILING, *FINE))
    assert 1 <= done["answered"] <= 1 + deaths  # an action may run again, where the turn was not committed
    assert deeds.index("4") > deeds.index("answered")


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, Path(file).parent))
    Path(file).write_text(json.dumps(points.passed))
