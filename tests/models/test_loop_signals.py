"""A model loop of an agent with signals: it tells the trail of its turns and calls, and asks no more once one fires."""

import pytest

from gatechart import ModelLoop, Runtime, Transition, tool
from gatechart.signals import SameCall, ToolFailures
from gatechart.testing.scripted_model import Calls, Hangs, Says, scripted_model
from gatechart.tools import ToolPolicies
from gatechart.values.trail import Called, Reasoned, entries_in
from tests.models.support import Services, chat
from tests.runtime.support import eventually

pytestmark = pytest.mark.sqlite_is_enough


@tool(policies=ToolPolicies(retry="off", breaker="off"))
async def search(query: str) -> str:
    """Search for something."""
    return f"nothing about {query}"


def told(agent, kind):
    return [each for each in entries_in(agent.snapshot.trail.text) if isinstance(each, kind)]


async def test_a_model_that_asks_for_the_same_call_again_and_again_is_asked_no_more(place):
    graph = chat(ModelLoop(tools=[search]), Transition("THINKING", "signal.same_call", "FAILED"), signals=SameCall(3))
    async with (
        scripted_model([Calls(("search", {"query": "shoes"}))] * 9) as server,
        Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Find shoes"})
        await agent.until("FAILED")
        assert len(told(agent, Called)) == 3
        assert len(server.requests) == 3


@tool(policies=ToolPolicies(retry="off", breaker="off"))
async def lookup(order: int) -> str:
    """Look up an order."""
    raise LookupError(f"no order {order}")


async def test_a_model_whose_parallel_calls_fail_is_asked_again_once_the_agent_has_answered(place):
    def answer(context, event):
        context.failures.append([event.name, str(len(server.requests))])

    graph = chat(
        ModelLoop(tools=[lookup]),
        Transition("THINKING", "signal.tool_failures", actions=answer),
        signals=ToolFailures(3),
    )
    four = Calls(*(("lookup", {"order": number}) for number in range(4)))
    async with (
        scripted_model([four, Says("Nothing found.")]) as server,
        Runtime.open(place, graphs=graph, services=Services(server, lookup)) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Where are my orders?"})
        await agent.until("LISTENING")
        agent = await runtime.resume("a")
        assert agent.context.failures == [["signal.tool_failures", "1"]]
        assert agent.context.answers == ["Nothing found."]
        assert [each.ok for each in told(agent, Called)] == [False] * 4


async def test_each_turn_of_a_model_is_a_step_of_reasoning_once_whatever_is_repeated(place):
    graph = chat(ModelLoop(tools=[search]), signals=SameCall(9))
    script = [Calls(("search", {"query": "shoes"})), Calls(("search", {"query": "boots"})), Hangs(), Says("Sold out.")]
    async with scripted_model(script) as server:
        async with Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Find shoes"})
            await server.asked(3)
            await eventually(lambda: len(told(agent, Reasoned)) == 2)
        async with Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime:
            agent = await runtime.resume("a")
            await agent.until("LISTENING")
            steps = [(each.action, each.outcome) for each in told(await runtime.resume("a"), Reasoned)]
    assert steps[-3:] == [
        ('search {"query":"shoes"}', "nothing about shoes"),
        ('search {"query":"boots"}', "nothing about boots"),
        ("Sold out.", ""),
    ]
