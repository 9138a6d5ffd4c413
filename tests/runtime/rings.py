"""A chart whose agents go in circles until they escape."""

import asyncio
from datetime import UTC, datetime

from gatechart import AgentContext, EscapePlan, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.signals import Signal
from gatechart.signals import Repeats
from gatechart.values.agents import Status

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

CIRCLE = [Transition("A", "GO", "B"), Transition("B", "GO", "A")]


WAY_OUT = [Transition("E", "GO", "DONE")]


def ring(*strategies, transitions=CIRCLE, doors=("A",), context=AgentContext, **plan):
    return StateTransitionGraph(
        "ring",
        context=context,
        states=[State("DONE", final=True)],
        transitions=transitions,
        entry_points=doors,
        signals=Signal(Repeats()),
        escape=EscapePlan({"repeats": strategies}, **plan),
    )


async def go_round(agent, most=60):
    """Send events until the agent has ended."""
    for _ in range(most):
        if agent.snapshot.status is not Status.ACTIVE:
            return
        await agent.send("GO")


def tried(agent):
    return [(each.strategy, each.came_to) for each in agent.snapshot.trail.escapes.tried]


async def attempts(agent):
    return [turn for turn in await agent.history() if turn.event.name.startswith("escape.")]


class Sink:
    def __init__(self):
        self.got = asyncio.Queue()

    async def deliver(self, alert):
        await self.got.put(alert)
