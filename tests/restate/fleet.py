"""A service of counting agents, in a process that may be killed.

`python -m tests.restate.fleet PORT LEDGER ROLE STORE`. LEDGER is a file to which every step that is really taken
adds a line. ROLE: `here` projects turns into the STORE; `elsewhere` shares its port with others and leaves that to one
whose role is `only`.
"""

import asyncio
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from gatechart import AgentContext, Invoke, State, StateTransitionGraph, Step, ToolBox, Transition, tool
from gatechart.restate import Terms, serving
from gatechart.tools import ToolContext, ToolPolicies
from gatechart.values.delays import Retry
from gatechart.values.tool_policies import Rate

BETWEEN_S = 1.0  # that a charge takes, so that some are under way whenever something is killed


class Count(AgentContext):
    seen: list[int] = Field(default_factory=list)
    passed: list[list] = Field(default_factory=list)  # what others passed on: by whom, and which
    rings: int = 0
    receipts: list[str] = Field(default_factory=list)


def see(context, event, turn):
    n = event.payload["n"]
    context.seen.append(n)
    neighbour = event.payload.get("neighbour")
    if neighbour is not None:
        turn.send(neighbour, "PASSED", {"by": turn.agent_id, "n": n})
    if event.payload.get("rings"):
        turn.after("50ms", "RANG", key=f"ring {n}")


def hear(context, event):
    context.passed.append([event.payload["by"], event.payload["n"]])


def choke(context, event):
    raise ValueError("no action can digest this")


def ring(context, event):
    context.rings += 1


async def charge(context, work):
    """Two steps, each of which leaves a line in the ledger when it is really taken, as each beginning does."""

    def step(name):
        work.services.write(f"{work.agent_id} {len(context.seen)} {name} {os.getpid()}")
        return name

    step("begun")
    first = await work.step("first", step, "first")
    await asyncio.sleep(BETWEEN_S)
    return [first, await work.step("second", step, "second")]


def keep(context, event):
    context.receipts.append(" ".join(event.payload["result"]))


counting = StateTransitionGraph(
    "counting",
    context=Count,
    states=["COUNTING", State("CHARGING", invoke=Invoke(charge, retry=Retry(attempts=5, first_s=0.05)))],
    transitions=[
        Transition("COUNTING", "CHARGED", "CHARGING"),
        Transition("CHARGING", "done.invoke.charge", "COUNTING", actions=keep),
        *(
            Transition(state, event, actions=action)
            for state in ("COUNTING", "CHARGING")
            for event, action in (("COUNTED", see), ("PASSED", hear), ("RANG", ring), ("POISONED", choke))
        ),
    ],
    entry_points=["COUNTING"],
)


WAIT_S = 4.0  # of each wait of an agent that cools


async def cool(context, work):
    """A wait, and a step that fails twice with a wait between: each try leaves its time in the ledger."""

    def fail():
        work.services.write(f"tried {time.time()}")
        raise ConnectionError("down")

    work.services.write(f"begun {time.time()}")
    await work.sleep("cooling", WAIT_S)
    await work.step(Step("flaky", retry=Retry(attempts=2, first_s=WAIT_S)), fail)


cooling = StateTransitionGraph(
    "cooling",
    states=[State("COOLING", invoke=cool), "FAILED"],
    transitions=[Transition("COOLING", "error.invoke.cool", "FAILED")],
    entry_points=["COOLING"],
)


@tool(repeat="safe", policies=ToolPolicies(rate=Rate(1, WAIT_S), breaker="off"))
async def measure(context: ToolContext) -> str:
    context.services.write(f"measured {time.time()}")
    return "cold"


async def pace(context, work):
    """Two calls, of which the second waits for the rate."""
    work.services.write(f"paced {time.time()}")
    return [(await work.call(measure)).unwrap() for _ in range(2)]


pacing = StateTransitionGraph(
    "pacing",
    states=[State("PACING", invoke=pace), "PACED"],
    transitions=[Transition("PACING", "done.invoke.pace", "PACED")],
    entry_points=["PACING"],
)


HANGS_S = 4.0  # how long a payment takes, so that the process can be killed amid it


@tool(repeat="safe")
def look(context: ToolContext) -> str:
    context.services.write(f"looked {time.time()}")
    return "found"


@tool
async def pay(context: ToolContext) -> str:
    context.services.write(f"paid {time.time()}")
    await asyncio.sleep(HANGS_S)
    return "paid"


async def serve(context, work):
    calls = [await work.call(look), await work.call(pay), await work.call(look)]
    return [call.value if call.ok else call.failure.kind.value for call in calls]


def keep_calls(context, event):
    context.receipts = event.payload["result"]


calling = StateTransitionGraph(
    "calling",
    context=Count,
    states=[State("CALLING", invoke=serve), "CALLED"],
    transitions=[Transition("CALLING", "done.invoke.serve", "CALLED", actions=keep_calls)],
    entry_points=["CALLING"],
)


class Ledger:
    """Where steps and tools leave their lines."""

    def __init__(self, path):
        self._path = path
        self.tools = ToolBox([measure, look, pay])

    def write(self, line):
        with self._path.open("a") as file:
            file.write(f"{line}\n")


async def main(port, ledger, role, store):
    projection = {"here": {"projection": store}, "only": {"projection": store, "only_projects": True}}
    async with serving(
        f"127.0.0.1:{port}",
        graphs=[counting, cooling, pacing, calling],
        services=Ledger(Path(ledger)),
        terms=Terms(projection_s=0.2, idle_s=0.1, mail_retry=Retry(attempts=2, first_s=0.1)),
        stops_on_sigterm=True,
        **projection.get(role, {"is_projected_elsewhere": True, "shares_address": True}),
    ) as stop:
        await stop.wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
