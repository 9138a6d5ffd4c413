"""An agent that talks with a model, and what its tools do."""

from collections import Counter

from pydantic import Field

from gatechart import ConversationContext, State, StateTransitionGraph, ToolBox, Transition
from gatechart.graph.definition import Invoke
from gatechart.models import OpenAIModel, keep_messages


class Chat(ConversationContext):
    answers: list = Field(default_factory=list)
    waits_for: list = Field(default_factory=list)
    approved: dict = Field(default_factory=dict)
    failures: list = Field(default_factory=list)


class Services:
    """A model behind the scripted server, and tools that count their calls."""

    def __init__(self, server, *tools, model=OpenAIModel):
        self.model = model("m", url=server.url)
        self.tools = ToolBox(tools)
        self.calls = Counter()


def hear(context, event):
    context.say("user", event.payload["text"], time=event.time)


def keep(context, event):
    result = event.payload["result"]
    context.answers.append(result["answer"])
    keep_messages(context, event)


def wait(context, event):
    context.waits_for = event.payload["result"]["waits_for"]


def decide(context, event):
    context.approved |= event.payload["approved"]


def fail(context, event):
    context.failures.append([event.payload["type"], event.payload["message"]])


def chat(loop, *transitions, **more):
    """A graph that answers what it is asked, by the loop."""
    return StateTransitionGraph(
        "chat",
        context=Chat,
        states=[State("THINKING", invoke=Invoke(loop, id="think"))],
        transitions=[
            Transition("LISTENING", "ASKED", "THINKING", actions=hear),
            Transition("THINKING", "done.invoke.think", "APPROVING", guard=waits, actions=wait),
            Transition("THINKING", "done.invoke.think", "LISTENING", actions=keep),
            Transition("THINKING", "error.invoke.think", "FAILED", actions=fail),
            Transition("THINKING", "INTERRUPTED", "LISTENING"),
            Transition("APPROVING", "DECIDED", "THINKING", actions=decide),
            Transition("FAILED", "RETRIED", "THINKING"),
            Transition("FAILED", "ASKED", "THINKING", actions=hear),
            *transitions,
        ],
        entry_points=["LISTENING"],
        **more,
    )


def waits(context, event):
    return bool(event.payload["result"]["waits_for"])


def said(agent):
    """Who said what, with the results of calls."""
    return [
        (each.role, each.content, *(call.output if not call.error else call.error for call in each.tool_calls))
        for each in agent.context.messages
    ]
