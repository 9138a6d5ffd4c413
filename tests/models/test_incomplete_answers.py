"""An answer that ended before it was complete is no answer, and a call that was cut off is not made."""

from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel

from gatechart import ModelLoop, Runtime, ToolBox, tool
from gatechart.errors import ModelFailedError
from gatechart.handoff import Message, ToolCall
from gatechart.models import Finish, ModelReply
from tests.models.support import chat, said


@dataclass
class Script:
    """A model that answers by a script of replies, or of errors."""

    replies: list
    requests: list = field(default_factory=list)

    async def reply(self, request):
        self.requests.append(request)
        reply = self.replies[len(self.requests) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply


def reply(text="", *calls, finish=None, reason="", **more):
    made = tuple(ToolCall(name=name, arguments=arguments, id=call_id) for name, arguments, call_id in calls)
    usual = Finish.CALLS if made else Finish.ANSWERED
    return ModelReply(
        message=Message(role="agent", content=text, tool_calls=made, **more), finish=finish or usual, reason=reason
    )


class Services:
    def __init__(self, script, *tools):
        self.model, self.tools, self.ran = script, ToolBox(tools), []


async def asked(loop, replies, *tools, state="LISTENING"):
    """The agent after its first question, the model, and the runtime's services."""
    script = Script(replies)
    services = Services(script, *tools)
    async with Runtime.open("memory:", graphs=chat(loop), services=services) as runtime:
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Purge."})
        await agent.until(state)
        payloads = [each.event.payload for each in await agent.history() if ".invoke." in each.event.name]
        return await runtime.resume("a"), script, payloads[-1]


PURGED = []


@pytest.fixture(autouse=True)
def _nothing_is_purged_yet():
    PURGED.clear()


@tool
async def purge(older_than_days: int = 0) -> str:
    """Delete old records."""
    PURGED.append(older_than_days)
    return "purged"


async def test_the_last_call_of_an_answer_that_reached_the_limit_is_not_made_and_the_model_is_told():
    cut = reply("", ("purge", {"older_than_days": 30}, "a"), ("purge", {}, "b"), finish=Finish.LENGTH)
    agent, _, _ = await asked(ModelLoop(tools=[purge]), [cut, reply("Done.")], purge)
    assert PURGED == [30]
    assert said(agent)[1][2] == "purged"
    assert "this call was not made: your message reached the limit of tokens" in said(agent)[1][3]


@pytest.mark.parametrize("finish", [Finish.REFUSED, Finish.FILTERED])
async def test_no_call_of_an_answer_that_was_refused_or_filtered_is_made(finish):
    _, _, failure = await asked(
        ModelLoop(tools=[purge]), [reply("", ("purge", {}, "a"), finish=finish)], purge, state="FAILED"
    )
    assert (PURGED, failure["type"], failure["finish"]) == ([], "IncompleteAnswerError", finish)


async def test_the_last_call_of_an_answer_that_ended_for_an_unknown_reason_is_made_only_if_that_is_accepted():
    replies = [reply("", ("purge", {}, "a"), finish=Finish.UNKNOWN), reply("Done.")]
    await asked(ModelLoop(tools=[purge]), replies, purge)
    assert PURGED == []
    await asked(ModelLoop(tools=[purge], accept=["unknown"]), replies, purge)
    assert PURGED == [0]


@pytest.mark.parametrize("finish", ["length", "refused", "filtered", "empty", "unknown"])
async def test_an_incomplete_answer_is_an_error_with_its_finish_reason_unless_it_is_accepted(finish):
    cut = reply("" if finish == "empty" else "It was", finish=Finish(finish), reason="a word")
    agent, script, failure = await asked(ModelLoop(), [cut], state="FAILED")
    assert (failure["type"], failure["finish"], failure["reason"]) == ("IncompleteAnswerError", finish, "a word")
    assert len(script.requests) == 1
    agent, _, done = await asked(ModelLoop(accept=[finish]), [cut])
    assert (agent.context.answers, done["result"]["finish"]) == ([cut.message.content], finish)


async def test_the_model_is_asked_again_when_the_state_is_entered_again():
    script = Script([reply("It was", finish=Finish.LENGTH), reply("shipped.")])
    async with Runtime.open("memory:", graphs=chat(ModelLoop()), services=Services(script)) as runtime:
        agent = await runtime.start("chat", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is it?"})
        await agent.until("FAILED")
        await agent.send("RETRIED")
        await agent.until("LISTENING")
        assert agent.context.answers == ["shipped."]


async def test_the_result_has_the_finish_reason():
    _, _, done = await asked(ModelLoop(), [reply("Yes.")])
    assert done["result"]["finish"] == "answered"


class Answer(BaseModel):
    days: int = 0


@pytest.mark.parametrize("finish", ["length", "refused", "filtered", "empty"])
async def test_a_refusal_in_place_of_an_answer_in_a_shape_is_paid_once(finish):
    cut = reply("I cannot", finish=Finish(finish))
    _, script, failure = await asked(ModelLoop(output=Answer), [cut] * 20, state="FAILED")
    assert (len(script.requests), failure["finish"]) == (1, finish)


async def test_an_answer_in_a_shape_that_is_cut_off_is_asked_for_once_more():
    cut = reply("", ("answer", {}, "a"), finish=Finish.LENGTH)
    agent, _, done = await asked(ModelLoop(output=Answer), [cut, reply("", ("answer", {"days": 3}, "b"))])
    assert (agent.context.answers, done["result"]["finish"]) == ([{"days": 3}], "answered")
    _, script, failure = await asked(ModelLoop(output=Answer), [cut] * 20, state="FAILED")
    assert (len(script.requests), failure["finish"]) == (2, "length")


async def test_a_paused_answer_is_sent_back_as_it_is_and_goes_on_within_the_turns():
    paused = reply("Searching.", finish=Finish.PAUSED)
    agent, script, _ = await asked(ModelLoop(), [paused, reply("Found.")])
    assert agent.context.answers == ["Found."]
    assert [each.content for each in script.requests[1].messages] == ["Purge.", "Searching."]
    _, script, failure = await asked(ModelLoop(most_turns=3), [paused] * 9, state="FAILED")
    assert (failure["type"], len(script.requests)) == ("BudgetUsedUpError", 3)


def test_only_reasons_of_incomplete_answers_can_be_accepted():
    with pytest.raises(ValueError, match=r"accept='calls'.*length, refused"):
        ModelLoop(accept=["calls"])


# What a provider refuses


def refuses(code="invalid_request", **more):
    return ModelFailedError("it is wrong", code, is_permanent=True, **more)


async def test_a_conversation_that_a_provider_refuses_is_told_in_plainer_forms_from_then_on():
    def form(request):
        calls = any(each.tool_calls for each in request.messages)
        return "verbatim" if any(each.verbatim for each in request.messages) else "calls" if calls else "text"

    verbatim = {"dialect": "x", "message": {}}
    replies = [
        reply("", ("purge", {}, "a"), verbatim=verbatim),
        refuses(),
        refuses(),
        reply("", ("purge", {"older_than_days": 2}, "b")),
        reply("Done."),
    ]
    agent, script, _ = await asked(ModelLoop(tools=[purge]), replies, purge)
    assert [form(each) for each in script.requests] == ["text", "verbatim", "calls", "text", "calls"]
    assert agent.context.answers == ["Done."]
    *_, told, newest = script.requests[-1].messages
    assert "[Your calls and their results]\npurge {}: purged" in told.content
    assert [each.id for each in newest.tool_calls] == ["b"]


async def test_a_request_that_no_plainer_form_mends_fails_with_its_first_refusal():
    replies = [reply("", ("purge", {}, "a")), refuses(status=400), refuses(status=422)]
    _, script, failure = await asked(ModelLoop(tools=[purge]), replies, purge, state="FAILED")
    assert (failure["type"], failure["code"], len(script.requests)) == ("ModelFailedError", "invalid_request", 3)


async def test_too_many_strict_tools_make_the_loop_less_strict_for_the_rest_of_its_run():
    replies = [refuses("too_many_strict_tools"), reply("", ("purge", {}, "a")), reply("Done.")]
    _, script, _ = await asked(ModelLoop(tools=[purge]), replies, purge)
    assert [each.strict for each in script.requests] == [None, False, False]
