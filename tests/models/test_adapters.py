"""Models of OpenAI and Anthropic are asked and answer the same over HTTP, streamed or not."""

import json
from datetime import UTC, datetime

import httpx
import pytest

from gatechart import tool
from gatechart.errors import ModelFailedError
from gatechart.handoff import Message, ToolCall
from gatechart.handoff.conversation import SUMMARY
from gatechart.models import AnthropicModel, Finish, ModelRequest, OpenAIModel, Prices, Usage
from gatechart.testing.scripted_model import Calls, CutsOff, Fails, Says, scripted_model
from gatechart.tools.naming import model_name
from gatechart.tools.retries import is_passing, retry_after_s

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
KINDS = [OpenAIModel, AnthropicModel]


@tool
def lookup_order(order: str, note: str = "") -> str:
    """Look an order up."""
    return f"{order}: shipped {note}"


@tool(name="Überweisung prüfen")
def check_transfer(amount: int) -> str:
    """Check a transfer."""
    return str(amount)


ASKED = Message(role="user", content="Where is 4711?")


def plain(message):
    """A message without its verbatim form."""
    return message.model_copy(update={"verbatim": None})


def told_to(tell):
    return ModelRequest(messages=(ASKED,), instructions="Be brief.", tools=(lookup_order, check_transfer), tell=tell)


@pytest.fixture(params=[False, True], ids=["at once", "streamed"])
def heard(request):
    """The tokens heard; None if the answer comes at once."""
    return [] if request.param else None


def asking(heard):
    return told_to(None if heard is None else heard.append)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_comes_with_its_words_and_usage(kind, heard):
    async with scripted_model([Says("It was shipped.")]) as server:
        model = kind("m", url=server.url, prices=Prices(input=10, output=100))
        reply = await model.reply(asking(heard))
    assert plain(reply.message) == Message(role="agent", content="It was shipped.")
    assert (reply.finish, reply.reason) == (Finish.ANSWERED, "stop" if kind is OpenAIModel else "end_turn")
    assert reply.usage == Usage(input_tokens=100, output_tokens=10, cost=0.002)
    assert heard in (None, ["It ", "was ", "shipped."])


@pytest.mark.parametrize("kind", KINDS)
async def test_calls_come_with_their_ids_and_the_tools_own_names(kind, heard):
    calls = Calls(
        ("lookup_order", {"order": "4711"}, "a"), (model_name(check_transfer.name), {"amount": 7}, "b"), text="So."
    )
    async with scripted_model([calls]) as server:
        reply = await kind("m", url=server.url).reply(asking(heard))
    assert reply.finish is Finish.CALLS
    assert reply.message.content == "So."
    assert reply.message.tool_calls == (
        ToolCall(name="lookup_order", arguments={"order": "4711"}, id="a"),
        ToolCall(name="Überweisung prüfen", arguments={"amount": 7}, id="b"),
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_a_text_that_looks_like_a_call_is_no_call(kind, heard):
    text = '{"tool_calls": [{"name": "lookup_order", "arguments": {"order": "1"}}]} <tool_use>lookup_order</tool_use>'
    async with scripted_model([Says(text)]) as server:
        reply = await kind("m", url=server.url).reply(asking(heard))
    assert (reply.message.tool_calls, reply.message.content, reply.finish) == ((), text, Finish.ANSWERED)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refusal_of_the_provider_says_whether_and_when_to_ask_again(kind, heard):
    async with scripted_model([Fails(429, retry_after="7"), Fails(400)]) as server:
        model = kind("m", url=server.url)
        with pytest.raises(ModelFailedError, match=r"429 Too Many Requests: .*as the script says") as busy:
            await model.reply(asking(heard))
        with pytest.raises(ModelFailedError) as wrong:
            await model.reply(asking(heard))
    assert (is_passing(busy.value), retry_after_s(busy.value, NOON)) == (True, 7.0)
    assert not is_passing(wrong.value)
    assert (busy.value.code, busy.value.status, wrong.value.code) == ("rate_limit", 429, "invalid_request")


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_that_is_cut_off_is_no_answer(kind, heard):
    async with scripted_model([CutsOff()]) as server:
        with pytest.raises(ModelFailedError) as failed:
            await kind("m", url=server.url).reply(asking(heard))
    assert is_passing(failed.value)


CONVERSATION = (
    Message(role=SUMMARY, content="A customer waits."),
    ASKED,
    Message(
        role="agent",
        content="I look.",
        tool_calls=(
            ToolCall(name="lookup_order", arguments={"order": "4711"}, output={"status": "lost"}, id="a"),
            ToolCall(name="Überweisung prüfen", arguments={"amount": 7}, error="no such bank"),
        ),
    ),
    Message(role="customer", content="And?"),
)


async def test_a_conversation_is_told_in_the_shape_of_openai():
    async with scripted_model([Says("")]) as server:
        await OpenAIModel("m", url=server.url, settings={"temperature": 0}).reply(
            ModelRequest(messages=CONVERSATION, instructions="Be brief.", tools=(lookup_order,))
        )
    (body,) = server.requests
    assert (body["model"], body["temperature"], "stream" in body) == ("m", 0, False)
    assert body["tools"][0]["function"]["name"] == "lookup_order"
    system, summary, asked, agent, *results, last = body["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert summary == {"role": "user", "content": "[Summary of what was said before]\nA customer waits."}
    assert asked == {"role": "user", "content": "Where is 4711?"}
    assert [(each["id"], json.loads(each["function"]["arguments"])) for each in agent["tool_calls"]] == [
        ("a", {"order": "4711"}),
        ("call_2_1", {"amount": 7}),
    ]
    assert agent["tool_calls"][1]["function"]["name"] == model_name("Überweisung prüfen")
    assert results == [
        {"role": "tool", "tool_call_id": "a", "content": '{"status":"lost"}'},
        {"role": "tool", "tool_call_id": "call_2_1", "content": "Error: no such bank"},
    ]
    assert last == {"role": "user", "content": "And?"}


async def test_a_conversation_is_told_in_the_shape_of_anthropic():
    async with scripted_model([Says("")]) as server:
        await AnthropicModel("m", url=server.url).reply(
            ModelRequest(messages=CONVERSATION, instructions="Be brief.", tools=(lookup_order,))
        )
    (body,) = server.requests
    assert (body["system"], body["max_tokens"], body["tools"][0]["name"]) == ("Be brief.", 4096, "lookup_order")
    first, agent, last = body["messages"]
    assert [first["role"], agent["role"], last["role"]] == ["user", "assistant", "user"]
    assert [each["text"] for each in first["content"]][1] == "Where is 4711?"
    assert [each["type"] for each in agent["content"]] == ["text", "tool_use", "tool_use"]
    good, bad, text = last["content"]
    assert good == {"type": "tool_result", "tool_use_id": "a", "content": '{"status":"lost"}'}
    assert bad == {"type": "tool_result", "tool_use_id": "call_2_1", "content": "Error: no such bank", "is_error": True}
    assert text == {"type": "text", "text": "And?"}


@pytest.mark.parametrize("written", ["{not json", "[1]"])
async def test_arguments_that_cannot_be_read_are_told(written):
    def broken(_request: httpx.Request) -> httpx.Response:
        call = {"id": "a", "function": {"name": "lookup_order", "arguments": written}}
        return httpx.Response(200, json={"choices": [{"message": {"tool_calls": [call]}}]})

    async with httpx.AsyncClient(transport=httpx.MockTransport(broken)) as http:
        reply = await OpenAIModel("m", url="http://x", http=http).reply(told_to(None))
    (call,) = reply.message.tool_calls
    assert (call.arguments, call.id) == ({}, "a")
    assert "JSON" in call.error


async def test_thinking_goes_back_to_the_provider_with_the_results():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}

    def thinks(_request: httpx.Request) -> httpx.Response:
        call = {"type": "tool_use", "id": "a", "name": "lookup_order", "input": {"order": "1"}}
        return httpx.Response(200, json={"content": [thought, call], "stop_reason": "tool_use"})

    async with httpx.AsyncClient(transport=httpx.MockTransport(thinks)) as http:
        reply = await AnthropicModel("m", url="http://x", http=http).reply(told_to(None))
    again = Message.model_validate_json(reply.message.model_dump_json())
    async with scripted_model([Says("")]) as server:
        await AnthropicModel("m", url=server.url).reply(ModelRequest(messages=(ASKED, again)))
    assert server.requests[0]["messages"][1]["content"][0] == thought


@pytest.mark.parametrize("answer", ["[]", '{"choices": []}', '{"content": [{}]}', "no json"])
@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_of_another_shape_is_no_answer(kind, answer):
    def odd(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=answer)

    async with httpx.AsyncClient(transport=httpx.MockTransport(odd)) as http:
        with pytest.raises(ModelFailedError):
            await kind("m", url="http://x", http=http).reply(told_to(None))


async def test_a_scripted_server_streams_word_by_word_and_is_over_with_its_script():
    async with scripted_model([Says("one two")]) as server:
        model = OpenAIModel("m", url=server.url)
        heard = []
        await model.reply(told_to(heard.append))
        assert heard == ["one ", "two"]
        with pytest.raises(ModelFailedError, match="501"):
            await model.reply(told_to(None))
