"""A model loop on every home: left in the midst, and carried on by the next process, nothing is done twice."""

import pytest
from pydantic import SecretStr

from gatechart import ModelLoop, Runtime, tool
from gatechart.errors import UnknownAgentError
from gatechart.testing.scripted_model import Calls, Hangs, Says, scripted_model
from gatechart.tools import ToolContext, ToolPolicies
from tests.models.support import Services, chat, said


@tool(policies=ToolPolicies(retry="off", breaker="off"))
async def pay(context: ToolContext, order: str) -> str:
    """Pay for an order."""
    context.services.calls["pay"] += 1
    return f"{order} is paid"


@tool(repeat="safe", policies=ToolPolicies(retry="off", breaker="off"))
async def log_in(context: ToolContext, user: str, pin: SecretStr) -> str:
    """Log a user in."""
    context.services.calls[pin.get_secret_value()] += 1
    return f"{user} is in"


def opened(place, server, used=pay):
    services = Services(server, used)
    return services, Runtime.open(place, graphs=chat(ModelLoop(tools=[used])), services=services)


async def test_what_was_recorded_is_not_done_again_after_leaving_the_state_and_after_a_restart(place):
    script = [Calls(("pay", {"order": "1"}, "p")), Hangs(), Says("Paid, and closed."), Says("Bye.")]
    async with scripted_model(script) as server:
        services, opening = opened(place, server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Pay 1"})
            await server.asked(2)
            await agent.send("INTERRUPTED")
            assert services.calls == {"pay": 1}
        services, opening = opened(place, server)
        async with opening as runtime:
            agent = await runtime.resume("a")
            await agent.send("ASKED", {"text": "And close it"})
            await agent.until("LISTENING")
            await agent.send("ASKED", {"text": "Thanks"})
            await agent.until("LISTENING")
            agent = await runtime.resume("a")
            assert services.calls == {}
    assert said(agent) == [
        ("user", "Pay 1"),
        ("user", "And close it"),
        ("agent", "", "1 is paid"),
        ("agent", "Paid, and closed."),
        ("user", "Thanks"),
        ("agent", "Bye."),
    ]
    assert [each["role"] for each in server.requests[2]["messages"]] == ["user", "assistant", "tool", "user"]


async def test_a_secret_that_a_model_gives_to_a_tool_is_masked_in_all_that_others_see(place):
    script = [Calls(("log_in", {"user": "ada", "pin": "pin-0815"}, "p")), Hangs(), Says("She is in."), Says("Bye.")]
    async with scripted_model(script) as server:
        services, opening = opened(place, server, log_in)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Let Ada in"})
            await server.asked(2)
            assert services.calls == {"pin-0815": 1}
        services, opening = opened(place, server, log_in)
        async with opening as runtime:
            agent = await runtime.resume("a")
            await agent.until("LISTENING")
            await agent.send("ASKED", {"text": "Thanks"})
            await agent.until("LISTENING")
            agent = await runtime.resume("a")
            assert services.calls == {}
            assert "pin-0815" not in str([agent.context, await agent.history()])
            entries = await recorded(runtime, "a")
            assert await runtime.journal("a", "another") == ()
            with pytest.raises(UnknownAgentError):
                await runtime.journal("nobody")
    [call] = agent.context.messages[1].tool_calls
    assert call.arguments == {"user": "ada", "pin": "**********"}
    assert [each[1] for each in said(agent)] == ["Let Ada in", "", "She is in.", "Thanks", "Bye."]
    assert all("pin-0815" in str(each) for each in server.requests[1:])  # the model, which gave it, is told no mask
    [written] = entries["turn.1"]["message"]["verbatim"]["message"]["tool_calls"]
    assert written["function"]["arguments"] == {"user": "ada", "pin": "**********"}
    assert entries["result.1.0"]["output"] == "ada is in"
    assert list(entries) == ["heard.1.0", "turn.1", "result.1.0", "turn.2", "heard.3.0", "turn.3"]
    assert "pin-0815" not in str(entries)


async def recorded(runtime, agent_id):
    """The transcript of an agent, read page by page."""
    found = []
    while page := await runtime.journal(agent_id, after=found[-1].name if found else None, limit=2):
        found += page
    return {each.name: each.content for each in found}
