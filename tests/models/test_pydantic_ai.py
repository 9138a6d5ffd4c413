"""Models of pydantic-ai are asked and answer as others do. Its FunctionModel plays the provider."""

import pytest

from gatechart.handoff import Message, ToolCall
from gatechart.models import Finish, ModelRequest, PydanticAIModel, Usage
from gatechart.tools import model_name, tool

pydantic_ai = pytest.importorskip("pydantic_ai", reason="NOT TESTED on pydantic-ai: it is not installed")
messages = pytest.importorskip("pydantic_ai.messages")
function = pytest.importorskip("pydantic_ai.models.function")


@tool(name="Bestellung suchen")
def lookup(order: str) -> str:
    """Look an order up."""
    return order


ASKED = Message(role="user", content="Where is 4711?")
DONE = ToolCall(name=lookup.name, arguments={"order": "4711"}, output={"status": "lost"}, id="a")


def asking(*said, tell=None):
    return ModelRequest(messages=said, instructions="Be brief.", tools=(lookup,), tell=tell)


async def test_a_conversation_is_told_with_its_calls_and_results_and_the_tools():
    heard = {}

    def answer(told, info):
        heard.update(told=told, tools=[(each.name, each.description) for each in info.function_tools])
        return messages.ModelResponse(
            parts=[messages.TextPart("Lost.")], usage=pydantic_ai.RequestUsage(input_tokens=7, output_tokens=2)
        )

    agent = Message(role="agent", content="I look.", tool_calls=(DONE,))
    reply = await PydanticAIModel(function.FunctionModel(answer)).reply(asking(ASKED, agent))
    assert (reply.message, reply.finish) == (Message(role="agent", content="Lost."), Finish.ANSWERED)
    assert reply.usage == Usage(input_tokens=7, output_tokens=2)
    assert heard["tools"] == [(model_name(lookup.name), "Look an order up.")]
    first, own, results = heard["told"]
    assert [each.part_kind for each in first.parts] == ["system-prompt", "user-prompt"]
    assert [(each.part_kind, getattr(each, "tool_call_id", "")) for each in own.parts] == [
        ("text", ""),
        ("tool-call", "a"),
    ]
    assert [(each.tool_call_id, each.content) for each in results.parts] == [("a", '{"status":"lost"}')]


async def test_calls_come_with_the_tools_own_names_and_thinking_goes_back():
    seen = []

    def answer(told, info):
        seen.append(told)
        thought = messages.ThinkingPart("hm", signature="s", provider_name="function")
        call = messages.ToolCallPart(tool_name=model_name(lookup.name), args='{"order": "1"}', tool_call_id="a")
        return messages.ModelResponse(parts=[thought, call])

    model = PydanticAIModel(function.FunctionModel(answer))
    reply = await model.reply(asking(ASKED))
    assert reply.finish is Finish.CALLS
    assert reply.message.tool_calls == (ToolCall(name="Bestellung suchen", arguments={"order": "1"}, id="a"),)
    again = Message.model_validate_json(reply.message.model_dump_json())
    await model.reply(asking(ASKED, again))
    assert [each.part_kind for each in seen[1][1].parts] == ["thinking", "tool-call"]


async def test_tokens_are_told_as_they_come():
    async def stream(told, info):
        yield "It was "
        yield "lost."

    heard = []
    reply = await PydanticAIModel(function.FunctionModel(stream_function=stream)).reply(
        asking(ASKED, tell=heard.append)
    )
    assert (heard, reply.message.content) == (["It was ", "lost."], "It was lost.")
