"""Agents that switch between tools."""

from gatechart import EscapePlan, Invoke, State, StateTransitionGraph, ToolBox, Transition
from gatechart import tool as made
from gatechart.escape import SwitchTool
from gatechart.graph.signals import Signal
from gatechart.signals import ToolFailures
from gatechart.tools import ToolPolicies

ONCE = ToolPolicies(retry="off", breaker="off")


OWN = EscapePlan({"failing": SwitchTool("spare")}, cooldown="1s")


class Desk:
    """Services with a tool that always fails, and another that may be called in its place."""

    def __init__(self, escape=OWN):
        options = {} if escape is None else {"escape": escape}

        @made(policies=ONCE, repeat="safe", capabilities=["find", "read"], **options)
        async def search() -> str:
            raise ConnectionError("no answer")

        @made(policies=ONCE, repeat="safe")
        async def spare() -> str:
            return "found"

        self.tools = ToolBox([search, spare])


async def look(context, work):
    for _ in range(9):
        if (result := await work.call("search")).ok:
            return result.answered_by
    return await work.sleep("for long", "1d")


def seeker(of_state=None, of_graph=None):
    return StateTransitionGraph(
        "seeker",
        states=[State("LOOKING", invoke=Invoke(look, id="look"), escape=of_state), State("DONE", final=True)],
        transitions=[Transition("LOOKING", "done.invoke.look", "DONE")],
        entry_points=["LOOKING"],
        signals=Signal(ToolFailures(2), "failing"),
        escape=of_graph,
    )
