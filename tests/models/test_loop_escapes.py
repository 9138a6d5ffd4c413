"""A model loop of an agent that goes round in circles and gets out, on every home."""

from gatechart import Runtime, ToolPolicies, tool
from gatechart.escape import EscapePlan, Nudge
from gatechart.models import ModelLoop, Summarize
from gatechart.signals import SameCall
from gatechart.testing.scripted_model import Calls, Hangs, Says, scripted_model
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
