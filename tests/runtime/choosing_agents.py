"""Agents that have the target of their handoff chosen."""

import asyncio

from gatechart import Handoff, StateTransitionGraph, Transition
from gatechart.graph.selection import Best
from gatechart.values.profiles import Needs, Profile
from tests.insides import core_of
from tests.runtime.handovers import Talk, note, rest, worker

NOBODY = Best(Needs(domains=("moon",)))


plain = worker("plain", profile=Profile(domains=("refunds",)))


senior = worker("senior", profile=Profile(domains=("refunds",), tier=3))


HIGHEST = Best(Needs(domains=("refunds",)), order=("tier",))


def asking(best, name="asking", **more):
    """A graph whose agents hand on what they do, to whoever is best."""
    return StateTransitionGraph(
        name,
        context=Talk,
        transitions=[
            Transition("TALKING", "ASK", "WAITING", actions=Handoff(best, **more)),
            Transition("WAITING", "LEAVE", "TALKING"),
            Transition("WAITING", "handoff.completed", "TALKING", actions=note),
            Transition("WAITING", "handoff.failed", "FAILED", actions=note),
            Transition("WAITING", "handoff.rejected", "REFUSED", actions=note),
            Transition("WAITING", "handoff.expired", "LATE", actions=note),
            Transition("WAITING", "handoff.accepted", guard=lambda context, event: event.payload["mode"] == "delegate"),
        ],
        entry_points=["TALKING"],
    )


async def begun(runtime, graph="asking"):
    """An agent that has asked for the best, once all is at rest."""
    agent = await runtime.start(graph, at="TALKING")
    await agent.send("ASK")
    await rest(runtime)
    return agent


class Waiting:
    """A chooser that chooses when it is let, and fails before as often as it is told."""

    def __init__(self, runtime, failures=0):
        self._chooser = core_of(runtime).chooser
        self.failures, self.asked = failures, 0
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        core_of(runtime).chooser = self

    async def choose(self, packet, now):
        self.asked += 1
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the model does not answer")
        self.begun.set()
        await self.go_on.wait()
        return await self._chooser.choose(packet, now)
