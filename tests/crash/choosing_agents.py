"""An agent whose model never stops choosing the loop, in a process that kills itself at a point.

`main(url, file, point, count)` has it live to its end, and dies at the COUNT-th time that it comes to POINT (see
forks). With "nowhere" it lives, and leaves in FILE how often it came where.
"""

import asyncio
import json
from pathlib import Path

from gatechart import (
    AgentContext,
    Event,
    Invoke,
    Refused,
    Runtime,
    State,
    StateTransitionGraph,
    To,
    Transfers,
    Transition,
)
from gatechart.values.transfers import count_of
from tests.crash.fault_points import FaultPoints

MOST = 2


class Paper(AgentContext):
    searches: int = 0


def choose(points):
    points.pass_by("model")
    return "transfer_to_SEARCHING"


async def check(context, work):
    offer = await work.transfer_tools()
    if offer.tools:
        wanted = await work.step("model", choose, work.services)
        work.services.pass_by("before choice")
        await work.transfer(wanted, {"reason": "too little"}, call_id="c-1")
        work.services.pass_by("after choice")


async def search(context, work):
    return "one more"


def count(context, event):
    context.searches += 1


def may_search(context: Paper, event: Event) -> bool | Refused:
    return context.searches < 10 or Refused("there is nothing more")


choosing = StateTransitionGraph(
    "choosing",
    context=Paper,
    states=[
        State(
            "CHECKING",
            invoke=Invoke(check),
            transfers=Transfers(
                [To("SEARCHING", actions=count, guard=may_search), "WRITING"], most=MOST, otherwise="WRITING"
            ),
        ),
        State("SEARCHING", invoke=Invoke(search)),
        State("WRITING", final=True),
    ],
    transitions=[Transition("SEARCHING", "done.invoke.search", "CHECKING")],
    entry_points=["CHECKING"],
)


async def live(url, points=None):
    """Has the agent come to its end."""
    async with Runtime.open(url, graphs=[choosing], services=points or FaultPoints()) as runtime:
        agent = await runtime.start_or_resume("choosing", at="CHECKING", agent_id="p-1")
        await agent.until("WRITING", timeout=20)


def check_choices(agent):
    """The loop was chosen as often as it may be, and then `otherwise` followed."""
    count = count_of(agent.snapshot.transfers, "CHECKING")
    assert (agent.configuration, agent.context.searches) == (("WRITING",), MOST)
    assert (count.taken, len(count.visits)) == (MOST, MOST)
    assert agent.snapshot.version == 2 + 2 * MOST  # after its start, each choice, each search, and `otherwise`


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, points))
    Path(file).write_text(json.dumps(points.passed))
