"""Ways out of agents with parallel regions, on every home: that of the region which goes round or fails."""

from __future__ import annotations

import pytest

from gatechart import EscapePlan, Runtime, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.escape import GiveUp, Reroute
from gatechart.graph.definition import Invoke
from gatechart.graph.signals import Signal
from gatechart.signals import ToolFailures, looping
from gatechart.tools import ToolPolicies
from gatechart.values.agents import Status

STILL = EscapePlan({"*": GiveUp()}, shared=True)  # of the region in which nothing happens
CIRCLE = [Transition("A", "GO", "B"), Transition("B", "GO", "A"), Transition("C", "GO", "DONE")]


def in_regions(first, second, **more):
    """An agent with two regions, in the order given."""
    return StateTransitionGraph("both", states=[State("BOTH", parallel=True, states=[first, second])], **more)


def going_round(**more):
    return State("ROUND", states=["A", "B", State("C"), State("DONE", final=True, progress=True)], initial="A", **more)


def standing(**more):
    return State("STANDING", states=["Y"], initial="Y", **more)


async def go_round(agent):
    for _ in range(12):
        if agent.snapshot.status is Status.ACTIVE:
            await agent.send("GO")


async def ways(agent):
    turns = await agent.history()
    return [(turn.event.name, {*turn.target}) for turn in turns if turn.event.name.startswith("escape.")]


@pytest.mark.parametrize("is_first", [True, False])
async def test_the_plan_of_the_region_that_goes_round_goes_before_that_of_one_that_stands(place, is_first):
    regions = [going_round(escape=EscapePlan({"repeats": Reroute("C")})), standing(escape=STILL)]
    graph = in_regions(
        *(regions if is_first else regions[::-1]),
        transitions=CIRCLE,
        entry_points=["BOTH", "C"],
        signals=looping(),
    )
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("both", at="BOTH")
        await go_round(agent)
        assert await ways(agent) == [("escape.reroute", {"C", "Y"})]


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_reroute_may_enter_again_where_another_region_stands(place, is_first):
    regions = [going_round(), standing()]
    graph = in_regions(
        *(regions if is_first else regions[::-1]),
        transitions=CIRCLE,
        entry_points=["BOTH", "C"],
        signals=looping(),
        escape=EscapePlan({"repeats": Reroute()}),
    )
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("both", at="BOTH")
        await go_round(agent)
        assert await ways(agent) == [("escape.reroute", {"C", "Y"})]


class Shop:
    def __init__(self):
        @tool(policies=ToolPolicies(retry="off", breaker="off"))
        async def look(order: int) -> str:
            raise ConnectionError("not there")

        self.tools = ToolBox([look])


async def look(context, work):
    for order in range(3):
        try:
            await work.call("look", order=order)
        except ConnectionError:
            continue


@pytest.mark.parametrize("is_first", [True, False])
async def test_the_plan_of_the_region_whose_tool_fails_goes_before_that_of_one_that_stands(place, is_first):
    asking = State(
        "ASKING",
        states=[State("LOOKING", invoke=Invoke(look)), State("C"), State("DONE", final=True, progress=True)],
        initial="LOOKING",
        escape=EscapePlan({"failing": Reroute()}),
    )
    regions = [asking, standing(escape=STILL)]
    graph = in_regions(
        *(regions if is_first else regions[::-1]),
        transitions=[
            Transition("C", "GO", "DONE"),
            Transition("LOOKING", "done.invoke.look"),
            Transition("LOOKING", "error.invoke.look"),
        ],
        entry_points=["BOTH", "C"],
        signals=Signal(ToolFailures(2), "failing"),
    )
    async with Runtime.open(place, graphs=[graph], services=Shop()) as runtime:
        agent = await runtime.start("both", at="BOTH")
        await agent.until("C", timeout=30)
        assert await ways(agent) == [("escape.reroute", {"C", "Y"})]
