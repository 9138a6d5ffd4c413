"""A model loop on every home: left in the midst, and carried on by the next process, nothing is done twice."""

from gatechart import Runtime, ToolContext, ToolPolicies, tool
from gatechart.models import ModelLoop
from gatechart.testing.scripted_model import Calls, Hangs, Says, scripted_model
from tests.models.support import Services, chat, said


@tool(policies=ToolPolicies(retry="off", breaker="off"))
async def pay(context: ToolContext, order: str) -> str:
    """Pay for an order."""
    context.services.calls["pay"] += 1
    return f"{order} is paid"


def opened(place, server):
    services = Services(server, pay)
    return services, Runtime.open(place, graphs=chat(ModelLoop(tools=[pay])), services=services)


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
