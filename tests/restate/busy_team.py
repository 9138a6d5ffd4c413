"""A team of which the one of the highest tier is busy, as only the `Choosing` of its service knows."""

from gatechart import AgentContext, EntryPoint, Handoff, State, StateTransitionGraph, Transition
from gatechart.runtime import Choosing
from gatechart.selection import Best, Profile


def working(name, tier):
    return StateTransitionGraph(
        name,
        states=[State("DONE", final=True)],
        transitions=[Transition("WORKING", "SOLVED", "DONE")],
        entry_points=[EntryPoint("WORKING", profile=Profile(tier=tier))],
    )


asking = StateTransitionGraph(
    "asking",
    context=AgentContext,
    transitions=[Transition("LISTENING", "ASKED", "HANDING_ON", actions=Handoff(Best(order=("load", "tier"))))],
    entry_points=["LISTENING"],
)
graphs = [asking, working("senior", 3), working("junior", 1)]


def busy(candidate):
    return 1.0 if candidate.graph == "senior" else 0.0


async def make_choosing():
    return Choosing(load=busy)
