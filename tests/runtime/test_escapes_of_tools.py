"""Escape plans of tools themselves, on every home: what plans of states and graphs say of the tool goes before them."""

import asyncio

import pytest

from gatechart import EscapePlan, Invoke, Runtime, State, StateTransitionGraph, ToolBox, Transition
from gatechart import tool as made
from gatechart.alerts import Alerts
from gatechart.escape import Alert, GiveUp, Nudge, SwitchTool
from gatechart.graph.signals import Signal
from gatechart.signals import ToolFailures
from gatechart.tools import ToolPolicies
from gatechart.values.escapes import CameTo
from gatechart.values.fired_signals import Reaction
from gatechart.values.mail import MailStatus
from tests.runtime.test_escapes import Sink

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


async def attempt(place, graph, escape=OWN, until="DONE"):
    async with Runtime.open(place, graphs=graph, services=Desk(escape)) as runtime:
        agent = await runtime.start("seeker", at="LOOKING")
        await agent.until(until, timeout=30)
        return [(each.strategy, each.came_to) for each in agent.snapshot.trail.escapes.tried], await agent.history()


async def test_a_tool_that_does_not_exist_takes_nobodys_place_and_the_history_says_so(place):
    lost = EscapePlan({"failing": SwitchTool(["lost", "spare"])})
    tried, _ = await attempt(place, seeker(), lost)
    assert tried == [("switch_tool_to_lost_spare", CameTo.PROGRESS)]
    lost = EscapePlan({"failing": SwitchTool("lost")})
    tried, history = await attempt(place, seeker(of_graph=EscapePlan({}, last=GiveUp())), lost, until="GAVE_UP")
    assert [name for name, _ in tried] == ["give_up"]
    assert "there is no tool 'lost'" in str(history[-1].event.payload["passed"])


@pytest.mark.sample_on_restate
async def test_the_plan_of_a_tool_leads_out_where_nothing_else_has_a_plan(place):
    tried, history = await attempt(place, seeker())
    assert tried == [("switch_tool_to_spare", CameTo.PROGRESS)]
    assert history[-1].event.payload["result"] == "spare"
    assert [turn.fired.reaction for turn in history if turn.fired] == [Reaction.ESCAPING]


async def test_what_is_said_of_a_tool_goes_before_what_is_said_of_any_and_its_own_plan_comes_after_theirs(place):
    any_tool = EscapePlan({"failing": GiveUp()})
    of_search = EscapePlan({}, tools={"search": {"*": Nudge()}}, last=GiveUp())
    for of_state, of_graph, names, end in (
        (None, any_tool, ["switch_tool_to_spare"], "DONE"),
        (any_tool, None, ["switch_tool_to_spare"], "DONE"),
        (None, of_search, ["nudge", "give_up"], "GAVE_UP"),
        (any_tool, of_search, ["nudge", "give_up"], "GAVE_UP"),
    ):
        tried, _ = await attempt(place, seeker(of_state, of_graph), until=end)
        assert [name for name, _ in tried] == names


async def test_the_plan_of_a_tool_ends_with_the_last_resort_of_the_graph(place):
    hopeless = EscapePlan({"failing": SwitchTool()})
    tried, _ = await attempt(place, seeker(of_graph=EscapePlan({}, last=GiveUp())), hopeless, until="GAVE_UP")
    assert [name for name, _ in tried] == ["give_up"]


async def test_an_alert_that_nothing_follows_goes_out_once_for_a_finding(place):
    sink, own = Sink(), EscapePlan({"failing": [Alert("ops", "it fails"), SwitchTool()]})
    async with Runtime.open(place, graphs=seeker(), services=Desk(own), alerts=Alerts({"ops": sink})) as runtime:
        agent = await runtime.start("seeker", at="LOOKING")
        told = await passed_over(agent, times=3)
        async with asyncio.timeout(30):
            await sink.got.get()
        assert [each for each in await runtime.mail() if each.status is MailStatus.REFUSED] == []
    assert sink.got.empty()
    assert {"strategy": "alert_ops", "why": "it was tried for this finding"} in told[-1]


async def passed_over(agent, times):
    """What was passed over each time that no way was open, once that has been so often."""
    async with asyncio.timeout(30):
        while True:
            turns = [turn.event for turn in await agent.history() if turn.event.name == "escape.none"]
            if len(turns) >= times:
                return [each.payload["passed"] for each in turns]
            await asyncio.sleep(0.01)
