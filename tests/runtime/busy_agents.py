"""An agent that is busy with what its state invokes, and which notes all that comes of it."""

import asyncio
from collections import Counter

from pydantic import Field

from gatechart import ANY, AgentContext, Runtime, State, StateTransitionGraph, Transition
from tests.runtime.support import eventually


class Task(AgentContext):
    query: str = "red shoes"
    notes: list = Field(default_factory=list)


class Services:
    """What invoked functions find, and where they wait until a test lets them go on."""

    def __init__(self):
        self.calls = Counter()
        self.seen = []
        self.open = asyncio.Event()
        self.fails = Counter()  # how often each is still to fail

    def call(self, name):
        self.calls[name] += 1
        if self.fails[name]:
            self.fails[name] -= 1
            raise LookupError(f"{name} is not there")
        return f"{name} {self.calls[name]}"


def note(context, event):
    context.notes.append([event.name, dict(event.payload)])


def busy(*invokes, **more):
    """A graph whose state BUSY invokes, and which notes all that comes of it."""
    reports = [f"{kind}.invoke.{each.id}" for each in invokes for kind in ("done", "error", "progress")]
    return StateTransitionGraph(
        "busy",
        context=Task,
        states=["IDLE", State("BUSY", invoke=invokes), "LEFT"],
        transitions=[
            *(Transition(ANY, report, actions=note) for report in reports),
            Transition("IDLE", "BEGAN", "BUSY", actions=asked),
            Transition("BUSY", "CHANGED", actions=change),
            Transition("BUSY", "AGAIN", "BUSY"),
            Transition("BUSY", "LEFT", "IDLE"),
        ],
        entry_points=["IDLE", "BUSY"],
        **more,
    )


def asked(context, event):
    context.query = event.payload.get("query", context.query)


def change(context, event):
    context.query = "changed"


def opened(place, graph, services, clock, **more):
    return Runtime.open(place, graphs=graph, services=services, clock=clock, **more)


async def noted(agent, count):
    """The notes, once there are so many."""
    await eventually(lambda: len(agent.context.notes) >= count)
    return agent.context.notes
