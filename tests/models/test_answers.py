"""Every answer of the table has its right outcome, and goes back to its provider as it came."""

from contextlib import suppress

import pytest

from gatechart.errors import ModelFailedError
from gatechart.handoff import MediaPart, Message
from gatechart.models import AnthropicModel, ModelRequest, OpenAIModel
from gatechart.models.dialects import message_of
from gatechart.models.entries import ModelTurn, text_of
from gatechart.models.transcript import Transcript
from tests.models import answers, answers_anthropic
from tests.models.answer_checks import check_chat, check_messages
from tests.models.raw_server import raw_server

assert answers_anthropic  # adds its cases

ASKED = Message(role="user", content="Where?")
REPLIES = [each for each in answers.CASES if not each.wanted.code]
FAILURES = [each for each in answers.CASES if each.wanted.code]


def test_the_table_has_many_answers_of_many_classes():
    assert len({(each.of, each.name) for each in answers.CASES}) >= 150
    assert len({each.of for each in answers.CASES}) >= 40


async def asked(case, server):
    told = []
    request = ModelRequest(messages=(ASKED,), tell=told.append if case.is_streamed else None)
    return await case.kind("m", url=server.url).reply(request), "".join(told)


@pytest.mark.parametrize("case", REPLIES, ids=str)
async def test_an_answer_has_its_right_outcome(case):
    wanted = case.wanted
    async with raw_server(case.raw) as server:
        reply, told = await asked(case, server)
        assert len(server.asked) == 1
    message = reply.message
    assert reply.finish is wanted.finish
    assert wanted.text in {answers.ANY, message.content}
    calls = [(each.name, None if each.error else each.arguments, each.id) for each in message.tool_calls]
    assert [got[: len(want)] for want, got in zip(wanted.calls, calls, strict=True)] == list(wanted.calls)
    assert [each.media_type for each in message.parts if isinstance(each, MediaPart)] == list(wanted.media)
    usage = (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens, reply.usage.unreported)
    assert wanted.usage in (answers.ANY, usage)
    if wanted.told is not answers.ANY and case.is_streamed:
        assert told == wanted.told
    if isinstance(wanted.kept, list):
        assert message.verbatim.message == wanted.kept
    else:
        assert {key: message.verbatim.message[key] for key in wanted.kept} == wanted.kept


@pytest.mark.parametrize("case", FAILURES, ids=str)
async def test_a_failure_says_its_kind_and_whether_to_ask_again(case):
    wanted = case.wanted
    async with raw_server(case.raw) as server:
        with pytest.raises(ModelFailedError) as failed:
            await asked(case, server)
        assert len(server.asked) == 1
    error = failed.value
    assert wanted.code in (answers.ANY, error.code)
    assert (error.is_permanent, error.status) == (wanted.is_permanent, wanted.status)


@pytest.mark.parametrize("case", REPLIES, ids=str)
async def test_a_turn_is_stored_once_read_back_whole_and_sent_back_valid(case):
    async with raw_server(case.raw) as server:
        reply, _ = await asked(case, server)
        turn = ModelTurn(number=1, by="1.a", state="A", message=reply.message, finish=reply.finish, usage=reply.usage)
        read = Transcript({"turn.1": text_of("turn.1", turn)})
        assert read.last == turn
        assert message_of(reply.message.verbatim, {}) == reply.message
        for kind in (OpenAIModel, AnthropicModel):
            request = ModelRequest(messages=(ASKED, *read.messages, ASKED), tell=print if case.is_streamed else None)
            with suppress(ModelFailedError):  # one of them does not speak the server's dialect
                await kind("m", url=server.url).reply(request)
    _, own, other = server.asked
    check_chat(own.body["messages"])
    check_messages(other.body["messages"])
