"""An agent that moves to the engine in the midst of a model loop: nothing is asked or called again, counts are kept."""

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import ModelLoop, Runtime, State, StateTransitionGraph, Transfers, Transition, tool
from gatechart.cli import main
from gatechart.graph.definition import Invoke
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from gatechart.tools import BreakerPolicy, ToolContext, ToolError, ToolPolicies
from gatechart.values.breakers import BreakerState
from gatechart.values.transfers import count_of
from tests.insides import store_of
from tests.models.support import Chat, Services, keep
from tests.restate.engines import eventually
from tests.restate.moving import home

ASKED_S = 3.0  # how long the carrier wants to be left alone


@pytest.fixture(autouse=True)
def _ends():
    """A move has many calls, and waits are really waited for."""


@tool(repeat="safe")
async def look(context: ToolContext, topic: str) -> str:
    """Look a topic up."""
    context.services.calls[f"look {topic}"] += 1
    return f"about {topic}"


@tool(repeat="safe", policies=ToolPolicies(retry="off", breaker=BreakerPolicy(failures_in_a_row=1, break_s=3600)))
async def ask_crm(context: ToolContext) -> str:
    """Ask the CRM."""
    context.services.calls["ask_crm"] += 1
    raise ConnectionError("the CRM is down")


@tool
async def order(context: ToolContext, topic: str) -> str:
    """Order a book."""
    context.services.calls[f"order {topic}"] += 1
    if not context.services.carries:
        raise ToolError("busy", after=ASKED_S)
    return f"{datetime.now(UTC).isoformat()}"


def research():
    loops = {
        name: Invoke(ModelLoop(tools=[look, ask_crm, order], instructions=name), id=name)
        for name in ("search", "check")
    }
    return StateTransitionGraph(
        "research",
        context=Chat,
        states=[
            State("SEARCHING", invoke=loops["search"]),
            State(
                "CHECKING",
                invoke=loops["check"],
                transfers=Transfers(["SEARCHING", "WRITING"], most=2, otherwise="WRITING"),
            ),
            State("WRITING", final=True),
        ],
        transitions=[Transition("SEARCHING", "done.invoke.search", "CHECKING", actions=keep)],
        entry_points=["SEARCHING"],
    )


def back(call_id):
    return Calls(("transfer_to_SEARCHING", {"reason": "too little"}, call_id))


HERE = [
    Calls(("look", {"topic": "a"}, "l1"), ("ask_crm", {}, "c1")),
    Says("Found a."),
    back("t1"),
    Calls(("look", {"topic": "b"}, "l2"), ("order", {"topic": "b"}, "o1")),  # which has to wait
]
THERE = [Calls(("ask_crm", {}, "c2")), Says("Found b."), back("t2"), Says("Nothing new."), Says("So be it.")]


def services(server, *, carries):
    made = Services(server, look, ask_crm, order)
    made.carries = carries
    return made


async def test_a_loop_goes_on_where_it_was_with_its_waits_breakers_and_transfers(engine, tmp_path, sqlite_url):
    async with scripted_model([*HERE, *THERE]) as server:
        old, new = services(server, carries=False), services(server, carries=True)
        async with Runtime.open(sqlite_url, graphs=[research()], services=old) as runtime:
            await runtime.start("research", at="SEARCHING", agent_id="r-1")
            await eventually(lambda: waits(runtime))
            waits_from = datetime.now(UTC)
        async with home(engine, tmp_path, served=[research()], services=new) as (namespace, _, opened):
            told = ["--store", sqlite_url, "--to", engine.ingress, "--namespace", namespace]
            assert await asyncio.to_thread(main, ["move", *told]) == 0
            async with opened() as runtime:
                agent = await runtime.resume("r-1")
                assert count_of(agent.snapshot.transfers, "CHECKING").taken == 1
                await agent.until("WRITING", timeout=30)
                [breaker] = await runtime.breakers()
                messages = (await runtime.resume("r-1")).context.messages
                assert count_of((await runtime.resume("r-1")).snapshot.transfers, "CHECKING").taken == 2
    assert len(server.requests) == len(HERE) + len(THERE)
    assert old.calls == Counter({"look a": 1, "ask_crm": 1, "look b": 1, "order b": 1})
    assert new.calls == Counter({"order b": 1})
    assert (breaker.name, breaker.state) == ("ask_crm", BreakerState.OPEN)
    results = {call.id: call for each in messages for call in each.tool_calls}
    assert results["c2"].error.startswith("breaker open: ")
    waited = datetime.fromisoformat(results["o1"].output) - waits_from
    assert timedelta(seconds=ASKED_S - 0.5) < waited
    assert "Transfers left: 1 of 2." in json.dumps(server.requests[6])


async def waits(runtime):
    """Whether the order was refused for now, which is recorded with the moment of the next attempt."""
    entries = await store_of(runtime).journal("r-1", "conversation")
    return any("call.tried" in name for name in entries)
