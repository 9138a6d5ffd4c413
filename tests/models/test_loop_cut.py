"""An operator cuts the newest turns of a model out of its transcript, on every home."""

import pytest

from gatechart import ModelLoop, Runtime, tool
from gatechart.errors import FrameworkAgentError, UnknownAgentError
from tests.models.support import chat
from tests.models.test_incomplete_answers import Script, Services, refuses, reply


@tool(repeat="safe")
async def look(topic: str) -> str:
    """Look a topic up."""
    return f"about {topic}"


async def test_turns_that_an_operator_cut_are_left_out_when_the_loop_begins_next(place):
    poison = reply("", ("look", {"topic": "poison"}, "a"))
    script = Script([reply("First."), poison, refuses("content_filter"), reply("Second.")])
    async with Runtime.open(place, graphs=chat(ModelLoop(tools=[look])), services=Services(script, look)) as runtime:
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "one"})
        await agent.until("LISTENING")
        await agent.send("ASKED", {"text": "two"})
        await agent.until("FAILED")
        out = await runtime.cut("a", 1, reason="the provider refuses it", idempotency_key="k")
        assert list(out.left_out) == ["turn.2", "result.2.0"]
        assert (await runtime.cut("a", 1, reason="again", idempotency_key="k")).left_out == ()
        await agent.send("RETRIED")
        await agent.until("LISTENING")
        assert [each.content for each in script.requests[-1].messages] == ["one", "First.", "two"]
        assert (await runtime.resume("a")).context.answers == ["First.", "Second."]
        names = [each.name for each in await runtime.journal("a")]
    assert "turn.2" not in names
    assert not any(name.startswith("cutting.") for name in names)
    assert "turn.3" in names


async def test_a_cut_of_an_agent_without_turns_changes_nothing(place):
    async with Runtime.open(place, graphs=chat(ModelLoop()), services=Services(Script([]))) as runtime:
        await runtime.start("chat", at="LISTENING", agent_id="a")
        assert (await runtime.cut("a", reason="none")).left_out == ()
        assert await runtime.journal("a") == ()
        with pytest.raises(UnknownAgentError):
            await runtime.cut("b", reason="none")


async def test_agents_of_the_framework_cannot_be_cut(place):
    async with Runtime.open(place, graphs=chat(ModelLoop()), services=Services(Script([]))) as runtime:
        await runtime.register_entry("anna", "chat", at="LISTENING")
        with pytest.raises(FrameworkAgentError):
            await runtime.cut("directory:anna", reason="none")
        assert await runtime.journal("directory:anna") == ()
