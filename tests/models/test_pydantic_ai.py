"""Models of pydantic-ai are asked and answer as others do. Its FunctionModel plays the provider."""

from dataclasses import replace

import pytest

from gatechart import tool
from gatechart.errors import ModelFailedError
from gatechart.handoff import MediaPart, Message, TextPart, ToolCall
from gatechart.models import Finish, ModelRequest, PydanticAIModel, Usage
from gatechart.tools.naming import model_name
from gatechart.tools.retries import is_passing

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
    assert reply.message.model_copy(update={"verbatim": None}) == Message(role="agent", content="Lost.")
    assert reply.finish is Finish.ANSWERED
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


@pytest.mark.parametrize(
    ("reason", "raw", "finish"),
    [
        ("stop", "STOP", Finish.ANSWERED),
        ("length", "MAX_TOKENS", Finish.LENGTH),
        ("content_filter", "SAFETY", Finish.FILTERED),
        (None, "QUANTUM", Finish.UNKNOWN),
        (None, None, Finish.ANSWERED),
    ],
)
async def test_why_an_answer_ended_is_told_in_the_words_of_all_models(reason, raw, finish):
    def answer(told, info):
        details = {"finish_reason": raw} if raw else None
        return messages.ModelResponse([messages.TextPart("Hi")], finish_reason=reason, provider_details=details)

    reply = await PydanticAIModel(function.FunctionModel(answer)).reply(asking(ASKED))
    assert (reply.finish, reply.reason) == (finish, raw or "")


async def test_an_answer_that_broke_off_or_was_refused_is_a_failure_that_says_why():
    def broken(told, info):
        return messages.ModelResponse([messages.TextPart("H")], finish_reason="error")

    def refused(told, info):
        body = {"error": {"message": "too long", "code": "context_length_exceeded"}}
        raise pydantic_ai.ModelHTTPError(400, "m", body)

    with pytest.raises(ModelFailedError) as failed:
        await PydanticAIModel(function.FunctionModel(broken)).reply(asking(ASKED))
    assert (failed.value.code, is_passing(failed.value)) == ("error_in_answer", True)
    with pytest.raises(ModelFailedError) as failed:
        await PydanticAIModel(function.FunctionModel(refused)).reply(asking(ASKED))
    assert (failed.value.code, failed.value.status, is_passing(failed.value)) == ("context_length", 400, False)


async def test_calls_that_cannot_be_read_say_so_and_empty_answers_are_empty():
    answers = [
        [messages.ToolCallPart(model_name(lookup.name), '{"order": "1", "order": "2"}', tool_call_id="a")],
        [messages.ThinkingPart("hm")],
    ]
    seen = []

    def answer(told, info):
        seen.append(told)
        return messages.ModelResponse(answers[len(seen) - 1])

    model = PydanticAIModel(function.FunctionModel(answer))
    first = await model.reply(asking(ASKED))
    [call] = first.message.tool_calls
    assert (first.finish, call.arguments) == (Finish.CALLS, {})
    assert "more than once" in call.error
    assert (await model.reply(asking(ASKED, first.message))).finish is Finish.EMPTY
    assert seen[1][1].parts[0].args == {}


async def test_files_are_shown_if_the_model_takes_them_and_named_otherwise():
    seen = []

    def answer(told, info):
        seen.append(told)
        return messages.ModelResponse([messages.TextPart("Hi")])

    photo = MediaPart(media_type="image/png", data="AAAA")
    sound = MediaPart(media_type="audio/wav", name="call.wav", data="AAAA")
    said = Message(role="user", content="See", parts=(TextPart(text="See"), photo, sound))
    result = ToolCall(name=lookup.name, id="a", parts=(TextPart(text="found"), photo))
    model = PydanticAIModel(function.FunctionModel(answer))
    await model.reply(asking(said, Message(role="agent", tool_calls=(result,))))
    first, _, results = seen[0]
    text, shown, named = first.parts[1].content
    assert (text, shown.media_type, shown.data) == ("See", "image/png", bytes(3))
    assert named == "[A file that you cannot be shown: audio/wav, call.wav, 3 bytes]"
    assert results.parts[0].content == "found\n[image/png, shown below]"
    assert results.parts[1].content[0].media_type == "image/png"


async def test_a_model_can_be_told_not_to_call_the_tools_that_it_is_offered():
    asked = {}

    def answer(told, info):
        asked.update(settings=info.model_settings, tools=[each.name for each in info.function_tools])
        return messages.ModelResponse(parts=[messages.TextPart("a summary")])

    summary = Message(role="summary", content="so far")
    request = replace(asking(summary, ASKED), tool_choice="none")
    reply = await PydanticAIModel(function.FunctionModel(answer)).reply(request)
    assert reply.finish is Finish.ANSWERED
    assert asked["settings"]["tool_choice"] == "none"
