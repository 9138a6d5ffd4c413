"""An agent whose model takes ten turns with two calls each, in a process that kills itself at a point.

`main(url, file, point, count)` has it live to its end, and dies at the COUNT-th time that it comes to POINT (see
fault_points). With "nowhere" it lives, and leaves in FILE how often it came where. What the model was asked and which
calls were made is in files beside that.
"""

import asyncio
import json
from collections import Counter
from pathlib import Path

from gatechart import (
    ConversationContext,
    ModelLoop,
    Retry,
    Runtime,
    State,
    StateTransitionGraph,
    ToolBox,
    Transition,
    tool,
)
from gatechart.graph.definition import Invoke
from gatechart.models import OpenAIModel, keep_messages
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from gatechart.tools import ToolPolicies
from tests.crash.fault_points import FaultPoints

TURNS = 10
ONCE = ToolPolicies(retry="off", breaker="off")


class Talk(ConversationContext):
    answer: str = ""


def keep(context, event):
    context.answer = event.payload["result"]["answer"]
    keep_messages(context, event)


def services(folder, url):
    """A model that asks for two calls in each of ten turns, and tools that note their calls."""

    class Services:
        model = OpenAIModel("m", url=url)
        tools = ToolBox([noting("look", folder, repeat="safe"), noting("pay", folder, repeat="never")])

    return Services()


def noting(name, folder, **options):
    @tool(name=name, policies=ONCE, **options)
    async def made(turn: int) -> str:
        with (folder / "calls").open("a") as file:
            file.write(f"{name} {turn}\n")
        return f"{name} {turn} is done"

    return made


def script(folder):
    def reply(body):
        turn = sum(each["role"] == "assistant" for each in body["messages"]) + 1
        with (folder / "asked").open("a") as file:
            file.write(f"{turn}\n")
        return Calls(("look", {"turn": turn}), ("pay", {"turn": turn})) if turn <= TURNS else Says("All is done.")

    return reply


def talking():
    loop = ModelLoop(tools=["look", "pay"], prompt=lambda _: "Go on.", retry=Retry(attempts=2, first_s=0))
    return StateTransitionGraph(
        "talking",
        context=Talk,
        states=[State("THINKING", invoke=Invoke(loop, id="think")), "DONE", "FAILED"],
        transitions=[
            Transition("THINKING", "done.invoke.think", "DONE", actions=keep),
            Transition("THINKING", "error.invoke.think", "FAILED"),
        ],
        entry_points=["THINKING"],
    )


def opened(url, folder, server):
    return Runtime.open(url, graphs=[talking()], services=services(folder, server.url))


async def live(url, folder):
    """Have the agent come to its end."""
    async with scripted_model(script(folder)) as server, opened(url, folder, server) as runtime:
        agent = await runtime.start_or_resume("talking", at="THINKING", agent_id="t-1")
        await agent.until("DONE", "FAILED", timeout=20)


def check_talk(agent, folder, deaths):
    """Each turn and call is there once; what died with its process was asked again, or is not known."""
    asked = Counter((folder / "asked").read_text().split())
    calls = Counter((folder / "calls").read_text().splitlines())
    assert len(asked) == TURNS + 1
    assert asked.total() <= TURNS + 1 + deaths
    assert agent.configuration == ("DONE",)
    assert agent.snapshot.version == 2  # after its start and the end of its invoke
    *turns, last = agent.context.messages
    assert (len(turns), last.content, agent.context.answer) == (TURNS, "All is done.", "All is done.")
    for number, turn in enumerate(turns, start=1):
        look, pay = turn.tool_calls
        assert look.output == f"look {number} is done"
        assert 1 <= calls[f"look {number}"] <= 1 + deaths
        assert calls[f"pay {number}"] <= 1
        assert pay.output == f"pay {number} is done" if not pay.error else pay.error.startswith("outcome unknown")
    assert sum(bool(turn.tool_calls[1].error) for turn in turns) <= deaths


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, Path(file).parent))
    Path(file).write_text(json.dumps(points.passed))
