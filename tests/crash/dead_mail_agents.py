"""Agents whose mail dies at once, in a process that kills itself at a point (see fault_points).

`main(url, point, count)` has them live, and dies at the COUNT-th time that it comes to POINT (see forks).
"""

import asyncio

from pydantic import Field

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import UnknownAgentError
from gatechart.graph.handoff import Handoff
from gatechart.hosting.limits import Limits
from gatechart.values.delays import Retry
from gatechart.values.handoffs import Mode
from tests.crash.fault_points import FaultPoints

LIMITS = Limits(mail_retry=Retry(attempts=1))
KINDS = ("own", "delegate")


class Mourner(AgentContext):
    told: list = Field(default_factory=list)


def write_to_itself(context, event, turn):
    turn.send(turn.agent_id, "OWN")


def stumble(context, event):
    context.told.append(event.payload["a key that is missing"])


def keep(context, event):
    context.told.append([event.payload["event"], event.payload["number"]])


mourner = StateTransitionGraph(
    "mourner",
    context=Mourner,
    states=["TALKING", "WAITING"],
    transitions=[
        Transition("TALKING", "own", "WAITING", actions=write_to_itself),
        Transition("TALKING", "delegate", "WAITING", actions=Handoff("helper", at="DONE", mode=Mode.DELEGATE)),
        Transition("WAITING", "OWN", "GLAD", actions=stumble),
        Transition("WAITING", "handoff.completed", "GLAD", actions=stumble),
        Transition("WAITING", "error.mail", "SAVED", actions=keep),
    ],
    entry_points=["TALKING"],
)
helper = StateTransitionGraph("helper", states=[State("DONE", final=True)], entry_points=["DONE"])


async def live(url):
    """Has an agent of each kind come as far as it can; what was done before is not done again."""
    async with Runtime.open(url, graphs=[mourner, helper], limits=LIMITS) as runtime:
        for kind in KINDS:
            try:
                agent = await runtime.resume(kind)
            except UnknownAgentError:
                agent = await runtime.start("mourner", at="TALKING", agent_id=kind)
            await agent.send(kind, event_id=f"{kind}-1")
        for kind in KINDS:
            await (await runtime.resume(kind)).until("SAVED")


def main(url, point, count):
    FaultPoints(point, int(count)).install()
    asyncio.run(live(url))
