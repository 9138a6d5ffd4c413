"""What ways out mean for the functions of invokes and their tools, on every home."""

from datetime import UTC, datetime

import pytest

from gatechart import EscapePlan, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.escape import Nudge, Reroute, SwitchTool
from gatechart.graph.definition import ANY, Invoke
from gatechart.graph.signals import Signal
from gatechart.signals import ToolFailures
from gatechart.testing import VirtualClock
from gatechart.tools import ToolPolicies
from gatechart.values.breakers import BreakerPolicy
from tests.runtime.busy_agents import Task, note, noted, opened

FAILING = Signal(ToolFailures(3), "failing")
NO_RETRY = ToolPolicies(retry="off", breaker="off")


@pytest.fixture
def clock(place):
    return VirtualClock(datetime(2030, 1, 1, 12, tzinfo=UTC))


class Shop:
    """Services with a tool that fails until it is mended, another that does the same, and what was called."""

    def __init__(self, breaker="off"):
        self.called = []
        self.is_broken = True

        @tool(policies=ToolPolicies(retry="off", breaker=breaker), capabilities="look")
        async def look(order: int) -> str:
            self.called.append("look")
            if self.is_broken:
                raise ConnectionError("not there")
            return f"order {order}"

        @tool(policies=NO_RETRY, capabilities="look")
        async def look_elsewhere(order: int) -> str:
            self.called.append("look_elsewhere")
            return f"order {order}, elsewhere"

        self.tools = ToolBox([look, look_elsewhere])


def asking(function, *strategies, transitions=(), **more):
    return StateTransitionGraph(
        "asking",
        context=Task,
        states=[
            State("ASKING", invoke=Invoke(function, id="f")),
            State("LATER", invoke=Invoke(function, id="g")),
            State("DONE", final=True),
        ],
        transitions=[
            Transition("ASKING", "LATER", "LATER"),
            *(Transition(ANY, f"{kind}.invoke.{each}", actions=note) for kind in ("done", "error") for each in "fg"),
            *transitions,
        ],
        entry_points=["ASKING", *more.pop("doors", ())],
        signals=FAILING,
        escape=EscapePlan({"failing": strategies}, **more),
    )


def looking(*orders):
    async def look(context, work):
        found = [await work.call("look", order=each) for each in orders]
        return [each.answered_by for each in found]

    return look


async def test_the_function_goes_on_with_the_tool_that_a_way_out_put_in_place_of_the_one_that_fails(place, clock):
    shop = Shop()
    async with opened(place, asking(looking(1, 2, 3, 4, 5), SwitchTool()), shop, clock) as runtime:
        agent = await runtime.start("asking", at="ASKING")
        [[event, payload]] = await noted(agent, 1)
        assert (event, payload["result"]) == ("done.invoke.f", ["", "", "", "look_elsewhere", "look_elsewhere"])
        assert shop.called == ["look"] * 3 + ["look_elsewhere"] * 2
        assert [turn.event.name for turn in await agent.history() if turn.event.name.startswith("escape.")] == [
            "escape.switch_tool"
        ]


async def test_the_function_calls_nothing_more_once_a_way_out_leads_elsewhere(place, clock):
    shop = Shop()
    away = [Transition("ASKING", "escape.reroute", "HELPED"), Transition("HELPED", "GO", "DONE")]
    async with opened(place, asking(looking(1, 2, 3, 4), Reroute(), transitions=away), shop, clock) as runtime:
        agent = await runtime.start("asking", at="ASKING")
        await agent.until("HELPED")
        assert shop.called == ["look"] * 3


async def test_a_switch_holds_in_a_later_state_and_after_a_restart(place, clock):
    graph = asking(looking(1, 2, 3), SwitchTool())
    async with opened(place, graph, Shop(), clock) as runtime:
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await noted(agent, 1)
    shop = Shop()
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.resume("a")
        await agent.send("LATER")
        await noted(agent, 2)
        assert shop.called == ["look_elsewhere"] * 3


@pytest.mark.needs("takes_a_clock")
async def test_a_switch_ends_once_the_circuit_breaker_of_the_tool_has_closed(place, clock):
    shop = Shop(BreakerPolicy(failures_in_a_row=3, break_s=30))
    async with opened(place, asking(looking(1, 2, 3, 4), SwitchTool()), shop, clock) as runtime:
        agent = await runtime.start("asking", at="ASKING")
        await noted(agent, 1)
        assert shop.called == ["look"] * 3 + ["look_elsewhere"]
        assert agent.snapshot.trail.escapes.switched == (("look", "look_elsewhere"),)
        shop.is_broken = False
        shop.called.clear()
        clock.advance(31)
        await agent.send("LATER")
        await noted(agent, 2)
        assert shop.called == ["look"] * 4
        assert agent.snapshot.trail.escapes.switched == ()


async def test_a_switch_to_a_tool_that_the_arguments_do_not_fit_calls_the_tool_itself(place, clock):
    shop = Shop()

    @tool(policies=NO_RETRY, capabilities="look")
    async def look_by_name(name: str) -> str:
        return name

    shop.tools = ToolBox([*shop.tools.only(["look"]), look_by_name])
    async with opened(place, asking(looking(1, 2, 3, 4), SwitchTool()), shop, clock) as runtime:
        agent = await runtime.start("asking", at="ASKING")
        await noted(agent, 1)
        assert agent.snapshot.trail.escapes.switched == (("look", "look_by_name"),)
        assert shop.called == ["look"] * 4


async def test_a_function_reads_what_a_way_out_wants_it_to_know(place, clock):
    async def look(context, work):
        told = [await work.nudge()]
        for order in range(3):
            await work.call("look", order=order)
        return [*told, await work.nudge()]

    async with opened(place, asking(look, Nudge("Ask a person.")), Shop(), clock) as runtime:
        agent = await runtime.start("asking", at="ASKING")
        [[_, payload]] = await noted(agent, 1)
        assert payload["result"] == ["", "Ask a person."]
