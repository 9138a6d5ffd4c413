"""A model that looks four things up, pays once that is approved, and hands its work on, in a process that kills itself.

Its conversation is summarized after each turn. `main(url, file, point, count)` as in talking_agents.
"""

import asyncio
import json
import re
from collections import Counter
from pathlib import Path

from gatechart import (
    ConversationContext,
    EntryPoint,
    HandoffPacket,
    ModelLoop,
    Retry,
    Runtime,
    State,
    StateTransitionGraph,
    To,
    ToolBox,
    Transfers,
    Transition,
)
from gatechart.graph.definition import Invoke
from gatechart.handoff.conversation import SUMMARY
from gatechart.models import OpenAIModel, Summarize, keep_messages
from gatechart.models.transcript import FOLLOWED
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from tests.crash.fault_points import FaultPoints
from tests.crash.talking_agents import noting

LOOKS = 4
TRANSFER = "transfer_to_refunds_at_REVIEWING"


class Case(ConversationContext):
    is_approved: bool = False


def services(folder, url):
    class Services:
        model = OpenAIModel("m", url=url)
        tools = ToolBox([noting("look", folder, repeat="safe"), noting("pay", folder, repeat="never")])

    return Services()


def reply(body):
    """Go by what the conversation says, because a model has no memory."""
    messages = body["messages"]
    newest = max((int(each) for each in re.findall(r"look (\d+) is done", str(messages))), default=0)
    if "Refund." in str(messages[0]["content"]):
        return Says("Refunded.")
    if "Summarize the conversation" in str(messages[-1]["content"]):
        return Says(f"So far, look {newest} is done.")
    if newest < LOOKS:
        return Calls(("look", {"turn": newest + 1}))
    return Calls(("pay", {"turn": 1}), (TRANSFER, {"reason": "it is paid"}, "t"))


def approve(context, event):
    context.is_approved = True


def waits(context, event):
    return bool(event.payload["result"]["waits_for"])


def graphs():
    loop = ModelLoop(
        tools=["look", "pay"],
        retry=Retry(attempts=2, first_s=0),
        approval=lambda context, call: call.name == "look" or context.is_approved or None,
        compaction=Summarize(at_tokens=110, keep=1),
    )
    transfers = Transfers([To("refunds", at="REVIEWING", waits="AWAY"), "GAVE_UP"], otherwise="GAVE_UP")
    support = StateTransitionGraph(
        "support",
        context=Case,
        states=[State("THINKING", invoke=Invoke(loop, id="think"), transfers=transfers), "AWAY", "GIVEN", "GAVE_UP"],
        transitions=[
            Transition("LISTENING", "ASKED", "THINKING", actions=hear),
            Transition("THINKING", "done.invoke.think", "APPROVING", guard=waits),
            Transition("THINKING", "error.invoke.think", "GAVE_UP"),
            Transition("APPROVING", "DECIDED", "THINKING", actions=approve),
            Transition("AWAY", "handoff.accepted", "GIVEN"),
            Transition("AWAY", "handoff.rejected", "GAVE_UP"),
        ],
        entry_points=["LISTENING"],
    )
    review = Invoke(ModelLoop(instructions="Refund.", retry=Retry(attempts=2, first_s=0)), id="review")
    refunds = StateTransitionGraph(
        "refunds",
        context=ConversationContext,
        states=[State("REVIEWING", invoke=review), "REFUNDED"],
        transitions=[Transition("REVIEWING", "done.invoke.review", "REFUNDED", actions=keep_messages)],
        entry_points=[EntryPoint("REVIEWING", takes=HandoffPacket)],
    )
    return [support, refunds]


def hear(context, event):
    context.say("user", "Refund order 7", time=event.time)


async def live(url, folder):
    """Have the work come to its end at the second agent."""
    async with (
        scripted_model(reply) as server,
        Runtime.open(url, graphs=graphs(), services=services(folder, server.url)) as runtime,
    ):
        agent = await runtime.start_or_resume("support", at="LISTENING", agent_id="h-1")
        if agent.configuration == ("LISTENING",):
            await agent.send("ASKED", event_id="asked")
        await agent.until("APPROVING", "AWAY", "GIVEN", timeout=20)
        if agent.configuration == ("APPROVING",):
            await agent.send("DECIDED", event_id="decided")
        await agent.until("GIVEN", timeout=20)
        (handoff,) = await runtime.handoffs()
        await (await runtime.resume(handoff.target)).until("REFUNDED", timeout=20)


async def check_work(runtime, folder, deaths):
    """The next agent has the whole conversation once, and nothing was paid twice."""
    calls = Counter((folder / "calls").read_text().splitlines())
    assert calls["pay 1"] <= 1
    assert all(1 <= calls[f"look {turn}"] <= 1 + deaths for turn in range(1, LOOKS + 1))
    (handoff,) = await runtime.handoffs()
    agent = await runtime.resume(handoff.target)
    asked, summary, *_, turn, last = agent.context.messages
    assert (asked.content, summary.role, last.content) == ("Refund order 7", SUMMARY, "Refunded.")
    pay, transfer = turn.tool_calls
    assert pay.output == "pay 1 is done" if not pay.error else pay.error.startswith("outcome unknown")
    assert bool(pay.error) <= deaths
    assert (transfer.name, transfer.output) == (TRANSFER, FOLLOWED)
    assert Counter(each.role for each in agent.context.messages)[SUMMARY] == 1
    assert "look 4 is done" in str(agent.context.messages)


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, Path(file).parent))
    Path(file).write_text(json.dumps(points.passed))
