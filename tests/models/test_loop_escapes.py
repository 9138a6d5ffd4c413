"""A model loop of an agent that goes round in circles and gets out, on every home."""

from functools import partial

import pytest

from gatechart import EscapePlan, ModelLoop, Runtime, tool
from gatechart.escape import CutOut, Nudge
from gatechart.models import Summarize
from gatechart.signals import SameCall
from gatechart.testing.scripted_model import Calls, Hangs, Says, scripted_model
from gatechart.tools import ToolPolicies
from tests.models.support import Services, chat

NO_RETRY = ToolPolicies(retry="off", breaker="off")
SEARCH = Calls(("search", {"query": "shoes"}))


@tool(policies=NO_RETRY)
async def search(query: str) -> str:
    """Search for something."""
    return f"nothing about {query}"


def circling(loop, *strategies, **plan):
    return chat(loop, signals=SameCall(3), escape=EscapePlan({"same_call": strategies}, **plan))


def words(request):
    return [(each["role"], each["content"]) for each in request["messages"]]


async def test_a_model_that_goes_round_in_circles_is_told_so_once_even_if_its_process_dies(place):
    graph = circling(ModelLoop(tools=[search]), Nudge("You repeat yourself."))
    told = ("user", "[You repeat yourself.]")
    async with scripted_model([*[SEARCH] * 3, Hangs(), Calls(("search", {"query": "boots"})), Says("None.")]) as server:
        async with Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Find shoes"})
            await server.asked(4)
            assert words(server.requests[3])[-1] == told
        async with Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime:
            agent = await runtime.resume("a")
            await agent.until("LISTENING")
    assert [words(each).count(told) for each in server.requests] == [0, 0, 0, 1, 1, 1]


async def test_a_nudge_that_a_summary_replaced_is_not_told_again(place):
    summary = Summarize(at_tokens=110, keep=1)
    graph = circling(ModelLoop(tools=[search], compaction=summary), Nudge("You repeat yourself."))

    def script(request):
        if request["messages"][-1]["role"] == "tool" and len(asked) > 12:
            return Says("None.")
        asked.append(request)
        return Says("Searched.") if "ummar" in str(request["messages"][-1]["content"]) else SEARCH

    asked = []
    async with (
        scripted_model(script) as server,
        Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Find shoes"})
        await agent.until("LISTENING", "GAVE_UP")
    told = [("user", "[You repeat yourself.]") in words(each) for each in server.requests]
    assert True in told
    assert "".join("1" if each else "0" for each in told).strip("0").count("01") == 0


def shown(request):
    """What a model was told: roles, and the ids of calls and of results."""
    calls = [call["id"] for each in request["messages"] for call in each.get("tool_calls") or ()]
    results = [each["tool_call_id"] for each in request["messages"] if each["role"] == "tool"]
    return [each["role"] for each in request["messages"]], calls, results


@pytest.mark.sample_on_restate
async def test_a_repeated_block_is_cut_out_of_the_transcript_and_what_was_before_it_stays(place):
    other = Calls(("search", {"query": "boots"}))
    graph = circling(ModelLoop(tools=[search]), CutOut(summary="Shoes: nothing.", allow="search"))
    async with (
        scripted_model([other, *[SEARCH] * 3, Says("None.")]) as server,
        Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Find shoes"})
        await agent.until("LISTENING")
        assert [len(shown(each)[1]) for each in server.requests] == [0, 1, 2, 3, 1]
        for each in server.requests:
            _, calls, results = shown(each)
            assert calls == results
        assert str(server.requests[-1]["messages"]).count("Shoes: nothing.") == 1
        [turn] = [turn for turn in await agent.history() if turn.event.name == "escape.cut_out"]
        assert turn.taken == ("escape.cut_out: leaves what models said out of their conversations",)
        calls = [turn for turn in await agent.history() if turn.event.name == "trail.call"]
        assert len(calls) == 4
        assert "shoes" not in str([each.tool_calls for each in agent.context.messages])


async def test_a_block_is_cut_out_of_the_transcript_of_a_loop_within_a_partial():
    graph = circling(partial(ModelLoop(tools=[search])), CutOut(allow="search"))
    async with (
        scripted_model([*[SEARCH] * 3, Says("None.")]) as server,
        Runtime.open("memory:", graphs=graph, services=Services(server, search)) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Find shoes"})
        await agent.until("LISTENING")
        assert [len(shown(each)[1]) for each in server.requests] == [0, 1, 2, 0]


async def test_a_block_in_a_transcript_stays_over_a_call_that_must_not_be_repeated(place):
    graph = circling(ModelLoop(tools=[search]), CutOut())
    async with (
        scripted_model([SEARCH] * 3) as server,
        Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime,
    ):
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Find shoes"})
        await agent.until("GAVE_UP", ended=True)
        [turn] = [turn for turn in await agent.history() if turn.event.name == "escape.give_up"]
        [passed] = turn.event.payload["passed"]
        assert passed == {"strategy": "cut_out", "why": "search was called, and must not be called again"}


async def test_a_cut_is_made_once_even_if_the_process_dies_and_turns_after_it_stay(place):
    graph = circling(ModelLoop(tools=[search]), CutOut(allow="search"))
    boots = Calls(("search", {"query": "boots"}))
    async with scripted_model([*[SEARCH] * 3, Hangs(), boots, Hangs(), Says("None.")]) as server:
        for number in (4, 6):
            async with Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime:
                agent = await runtime.start_or_resume("chat", at="LISTENING", agent_id="a")
                if number == 4:
                    await agent.send("ASKED", {"text": "Find shoes"})
                await server.asked(number)
        async with Runtime.open(place, graphs=graph, services=Services(server, search)) as runtime:
            agent = await runtime.resume("a")
            await agent.until("LISTENING")
        assert [len(shown(each)[1]) for each in server.requests] == [0, 1, 2, 0, 0, 1, 1]
