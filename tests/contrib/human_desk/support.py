"""An office whose agents ask people at a desk, and steps that operators take."""

import asyncio
from datetime import UTC, datetime

from gatechart import ConversationContext, EntryPoint, State, StateTransitionGraph, Transition
from gatechart.contrib.human_desk import human_desk
from gatechart.graph.handoff import Handoff
from gatechart.handoff import ToolCall, read_packet
from gatechart.values.handoffs import HandoffStatus

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Order(ConversationContext):
    order: str = ""
    operator: str = "nobody at the desk"  # of the same name as a field of the desk's, and no business of it
    told: str = ""


def look_into(context, event, turn):
    context.order = "4711"
    context.current_problem = "a refund that failed"
    calls = [ToolCall(name="refund", arguments={"order": "4711"}, error="the bank is down")]
    context.say("agent", "let me see", turn.now, calls)
    context.entities["order"] = "4711"
    context.note("refund", outcome="the bank is down")


def keep(context, event):
    result = event.payload["result"]
    context.told = result["answer"] or result["note"]


def is_returned(context, event):
    return event.payload["result"]["outcome"] == "returned"


def take_back(context, event):
    context.take(read_packet(event.payload))


orders = StateTransitionGraph(
    "orders",
    context=Order,
    states=[
        State("WORK", states=["TALKING", "CHECKING", State("WHERE_IT_WAS", history="deep", initial="TALKING")]),
        State("CLOSED", final=True),
    ],
    transitions=[
        Transition("TALKING", "ASKED", "CHECKING", actions=look_into),
        Transition("WORK", "HELP", "ASKING", actions=Handoff("human_desk", at="HIGH", mode="delegate")),
        Transition("ASKING", "handoff.completed", "WHERE_IT_WAS", guard=is_returned, actions=keep),
        Transition("ASKING", "handoff.completed", "CLOSED", actions=keep),
        Transition("ASKING", "GIVEN_UP", "CLOSED"),
        Transition("WORK", "GIVE", "GIVING", actions=Handoff("human_desk", at="NORMAL", reason="user escalation")),
        Transition("WORK", "LEAVE", "LEAVING", actions=Handoff("human_desk", at="LOW")),
        Transition("GIVING", "handoff.accepted", "AWAY"),
        Transition("AWAY", "handoff.offered.TAKING_BACK", "WHERE_IT_WAS", actions=take_back),
    ],
    entry_points=["TALKING", EntryPoint("WHERE_IT_WAS", "TAKING_BACK")],
)

refunds = StateTransitionGraph(
    "refunds",
    context=Order,
    states=[State("PAID", final=True, data=lambda context, event: {"paid": context.order})],
    transitions=[Transition("REVIEWING", "PAY", "PAID")],
    entry_points=["REVIEWING"],
)

office = (orders, refunds, human_desk)


async def asking(runtime, event):
    """An agent that has asked the desk in that way; and the handoff once it is answered, with the agent that has it."""
    agent = await runtime.start("orders", at="TALKING", agent_id="o-1")
    await agent.send("ASKED")
    await agent.send(event)
    return agent, await accepted(runtime, source="o-1")


async def accepted(runtime, **of):
    """The newest handoff of these once it is accepted, with the agent that has it."""
    handoff = await answered(runtime, **of)
    return handoff, await runtime.resume(handoff.target)


async def answered(runtime, **of):
    """The newest handoff of these once it is no longer pending."""
    async with asyncio.timeout(60):
        while not (found := await runtime.handoffs(**of)) or found[-1].status is HandoffStatus.PENDING:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    return found[-1]


async def taken(case):
    """The case, taken by Ana."""
    assert (await case.send("TAKE", {"operator": "ana"})).applied
    return case


async def record(runtime, handoff):
    """The handoff as it stands now."""
    (found,) = await runtime.handoffs(handoff_id=handoff.id)
    return found


async def refused(agent, event, payload=None):
    """The refusal of an event, which has changed nothing."""
    before = agent.snapshot
    outcome = await agent.send(event, payload)
    assert agent.snapshot == before
    assert outcome.refusal is not None
    return outcome.refusal
