"""A tool that must not be repeated was called, and its result is lost: the model is told why nobody knows it."""

import asyncio
from typing import Any

from gatechart import ModelLoop, Retry, Runtime, Transition, tool
from gatechart.graph.definition import Invoke, State
from gatechart.graph.graph import StateTransitionGraph
from gatechart.testing import VirtualClock
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from gatechart.tools import ToolPolicies
from tests.models.support import Chat, Services, chat, hear, keep, said

ONCE = ToolPolicies(retry="off", breaker="off")
PAYS = Calls(("pay", {"order": "1"}, "p"))


class Till:
    """A tool that takes its first payment for ever, and counts them all."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.count = 0

        @tool(name="pay", repeat="never", policies=ONCE)
        async def pay(order: str) -> str:
            """Pay for an order."""
            self.count += 1
            self.began.set()
            await asyncio.Event().wait()
            return order

        self.tool = pay


async def test_the_process_that_made_the_call_ended(place: Any) -> None:
    till = Till()
    graph = chat(ModelLoop(tools=["pay"]))
    async with scripted_model([PAYS, Says("Let me check.")]) as server:
        async with Runtime.open(place, graphs=graph, services=Services(server, till.tool)) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Pay 1"})
            await till.began.wait()
        async with Runtime.open(place, graphs=graph, services=Services(server, till.tool)) as runtime:
            agent = await runtime.resume("a")
            await agent.until("LISTENING")
            agent = await runtime.resume("a")
    told = "outcome unknown: the process that called it ended before its result was recorded"
    assert (said(agent)[1], till.count) == (("agent", "", told), 1)


async def test_the_state_was_left_during_the_call(place: Any) -> None:
    till = Till()
    graph = chat(ModelLoop(tools=["pay"]))
    async with (
        scripted_model([PAYS, Says("Let me check.")]) as server,
        Runtime.open(place, graphs=graph, services=Services(server, till.tool)) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Pay 1"})
        await till.began.wait()
        await agent.send("INTERRUPTED")
        await agent.send("ASKED", {"text": "Is it paid?"})
        await agent.until("LISTENING")
        agent = await runtime.resume("a")
    told = "outcome unknown: the state was left before its result was recorded"
    assert ("agent", "", told) in said(agent)
    assert till.count == 1


async def test_the_attempt_of_the_loop_took_longer_than_its_limit() -> None:
    till, clock = Till(), VirtualClock()
    invoke = Invoke(ModelLoop(tools=["pay"]), id="think", timeout_s=60, retry=Retry(attempts=2, first_s=0))
    graph = StateTransitionGraph(
        "chat",
        context=Chat,
        states=[State("THINKING", invoke=invoke)],
        transitions=[
            Transition("LISTENING", "ASKED", "THINKING", actions=hear),
            Transition("THINKING", "done.invoke.think", "LISTENING", actions=keep),
        ],
        entry_points=["LISTENING"],
    )
    async with (
        scripted_model([PAYS, Says("Let me check.")]) as server,
        Runtime.open("memory:", graphs=graph, services=Services(server, till.tool), clock=clock) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Pay 1"})
        await till.began.wait()
        clock.advance(61)
        await agent.until("LISTENING")
    told = "the attempt that called it failed or took longer than its timeout_s, before its result was recorded"
    assert (said(agent)[1], till.count) == (("agent", "", f"outcome unknown: {told}"), 1)


async def test_the_result_cannot_be_stored(place: Any) -> None:
    made: list[str] = []

    @tool(name="pay", repeat="never", policies=ONCE)
    async def pay(order: str) -> float:
        """Pay for an order."""
        made.append(order)
        return float("nan")

    graph = chat(ModelLoop(tools=["pay"]))
    async with (
        scripted_model([PAYS, Says("Let me check.")]) as server,
        Runtime.open(place, graphs=graph, services=Services(server, pay)) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Pay 1"})
        await agent.until("LISTENING")
        agent = await runtime.resume("a")
    assert str(said(agent)[1][2]).startswith("outcome unknown: it returned a result that cannot be stored: ")
    assert made == ["1"]
