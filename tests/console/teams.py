"""A reception that has its work taken over by whoever fits best."""

from gatechart import (
    AgentContext,
    EntryPoint,
    Fallbacks,
    Handoff,
    HandoffPacket,
    Human,
    SameTarget,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.handoff import Message, ReasoningStep, ToolCall
from gatechart.selection import Best, NeedRule, Needs, Profile


class Case(AgentContext):
    current_problem: str = ""


def team(name, profile=None):
    return StateTransitionGraph(
        name,
        context=Case,
        states=[State("DONE", final=True)],
        transitions=[Transition("WORKING", "SOLVED", "DONE")],
        entry_points=[EntryPoint("WORKING", profile=profile)],
    )


def listen(context, event):
    context.current_problem = event.payload["text"]


def packet_of(context, event):
    return HandoffPacket(
        current_problem=context.current_problem,
        user_id="ada",
        conversation=[
            Message(role="user", content=context.current_problem),
            Message(
                role="assistant", content="", tool_calls=[ToolCall(name="look_up", arguments={"id": 7}, output=[1])]
            ),
        ],
        reasoning=[ReasoningStep(step_id="1", action="looked", details="in the list", outcome="nothing")],
        entities={"order": "A-7"},
    )


refunds = team("refunds", Profile(domains=("refunds",), capabilities=("process_refund",), tier=2))
orders = team("orders", Profile(domains=("orders",)))
experts = team("experts", Profile(domains=("orders", "refunds"), tier=3, cost=5))
people = team("people")
RULES = (
    NeedRule(Needs(domains=("refunds",)), mentions="money back"),
    NeedRule(Needs(domains=("orders",)), mentions="order"),
)
reception = StateTransitionGraph(
    "reception",
    context=Case,
    transitions=[
        Transition(
            "LISTENING",
            "ASKED",
            "HANDING_ON",
            actions=[
                listen,
                Handoff(
                    Best(rules=RULES, order=("load", "cost")),
                    packet=packet_of,
                    fallbacks=Fallbacks(Human("people", at="WORKING")),
                ),
            ],
        ),
        Transition("HANDING_ON", "handoff.failed", "LISTENING"),
    ],
    entry_points=["LISTENING"],
)
nobody = StateTransitionGraph(
    "nobody",
    context=Case,
    states=[State("WORKING", final=True)],
    entry_points=[EntryPoint("WORKING", guard=lambda context, event: False)],
)
insisting = StateTransitionGraph(
    "insisting",
    context=Case,
    transitions=[
        Transition(
            "LISTENING",
            "ASKED",
            "HANDING_ON",
            actions=[listen, Handoff("nobody", at="WORKING", fallbacks=Fallbacks(SameTarget(attempts=60, first_s=0)))],
        ),
        Transition("HANDING_ON", "handoff.failed", "LISTENING"),
    ],
    entry_points=["LISTENING"],
)
graphs = [reception, refunds, orders, experts, people, nobody, insisting]


async def ask(runtime, text):
    """Have the reception ask, and return its handoffs, the oldest first."""
    agent = await runtime.start("reception", at="LISTENING")
    await agent.send("ASKED", {"text": text})
    await agent.until(ended=True)
    return await runtime.handoffs(source=agent.id)
