"""No transcript of any size stops an agent: it is summarized, and shortened where a provider takes no more."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from gatechart import ModelLoop, Retry, Runtime, tool
from gatechart.handoff import MediaPart, Message, ToolCall
from gatechart.handoff.conversation import SUMMARY
from gatechart.hosting.agent_journal import AgentJournal
from gatechart.models import AnthropicModel, Budget, ModelRequest, OpenAIModel, Summarize
from gatechart.models.fitting import fitted
from gatechart.models.known_ids import KnownIds
from gatechart.models.tokens import tokens_in, tokens_of, tokens_of_frame
from gatechart.models.transcript import Transcript
from gatechart.testing.scripted_model import Calls, Fails, Says, scripted_model
from gatechart.tools import ToolContext, ToolPolicies
from gatechart.values.commits import JournalRecord
from tests.insides import core_of, services_of, store_of
from tests.models.loop_tools import lookup
from tests.models.raw_server import answer, raw_server
from tests.models.support import Services, chat

QUICK = Retry(attempts=2, first_s=0)
BOTH = pytest.mark.parametrize("model", [OpenAIModel, AnthropicModel])
FETCH = Calls(("fetch", {"size": 400_000}, "a"))


@tool(repeat="safe", policies=ToolPolicies(retry="off"))
async def fetch(context: ToolContext, size: int) -> str:
    """Fetch so many characters."""
    context.services.calls["fetch"] += 1
    return f"begin {'word ' * (size // 5)} end"


@tool(repeat="keyed", policies=ToolPolicies(retry="off"))
async def book(context: ToolContext, room: str) -> str:
    """Book a room."""
    context.services.keys.append(context.idempotency_key)
    return f"{room} is booked"


class Login(BaseModel):
    password: SecretStr


@tool(repeat="safe")
async def log_in(login: Login) -> str:
    """Log in."""
    return "logged in"


def opened(server, loop, store="memory:", model=OpenAIModel):
    services = Services(server, fetch, book, log_in, lookup, model=model)
    services.keys = []
    return Runtime.open(store, graphs=chat(loop), services=services)


async def asked(runtime, *texts, state="LISTENING"):
    agent = await runtime.start("chat", at="LISTENING", agent_id="a")
    for text in texts:
        await agent.send("ASKED", {"text": text})
        await agent.until(state, "FAILED")
        agent = await runtime.resume("a")
    return agent


def size(body):
    """The size of a request in tokens, four characters each."""
    return len(json.dumps([body.get("system", ""), body["messages"]], ensure_ascii=False)) // 4


def is_summary(body):
    return "Summarize" in json.dumps(body["messages"][-1])


def windowed(window, script):
    """A model with a context window. Summaries are answered with a text, and other requests by the script."""
    replies = iter(script)

    def model(body):
        if size(body) > window:
            return Fails(413)
        return Says("a short summary") if is_summary(body) else next(replies)

    return model


def accepted(server, window):
    return [each for each in server.requests if size(each) <= window]


# Length


@BOTH
@pytest.mark.parametrize("compaction", [None, Summarize(at_tokens=1_000_000)])
async def test_one_large_result_does_not_stop_a_conversation(model, compaction):
    loop = ModelLoop(tools=[fetch], compaction=compaction, most_bytes=10**6, retry=QUICK)
    async with (
        scripted_model(windowed(8_000, [FETCH, Says("Done."), Says("Bye.")])) as server,
        opened(server, loop, model=model) as runtime,
    ):
        agent = await asked(runtime, "Fetch it", "Thanks")
        entries = await store_of(runtime).journal("a", "conversation")
    assert agent.context.answers == ["Done.", "Bye."]
    told = json.dumps(server.requests[-1]["messages"], ensure_ascii=False)
    if compaction is None:
        assert "characters are left out here …]" in told
        assert "begin word" in told
        assert len(json.loads(entries["result.1.0"])["output"]) > 400_000
        assert json.loads(entries["turn.3"])["limit"] > 0


async def test_what_a_model_was_sent_follows_from_the_journal():
    loop = ModelLoop(tools=[fetch], compaction=None, most_bytes=10**6)
    async with scripted_model(windowed(8_000, [FETCH, Says("Done.")])) as server, opened(server, loop) as runtime:
        await asked(runtime, "Fetch it")
        entries = await store_of(runtime).journal("a", "conversation")
    limit = Transcript(entries).last.limit
    before = Transcript({name: text for name, text in entries.items() if name != "turn.2"})
    [_, turn] = fitted(before.messages, limit)
    assert server.requests[-1]["messages"][-1]["content"] == turn.tool_calls[0].output


async def test_a_limit_that_a_provider_accepted_holds_for_later_turns():
    """So its refusals are not asked for again."""
    loop = ModelLoop(tools=[fetch], compaction=None, most_bytes=10**6)
    script = [FETCH, Says("Done."), Says("Bye."), Says("Bye.")]
    async with scripted_model(windowed(8_000, script)) as server, opened(server, loop) as runtime:
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        sizes = []
        for text in ("Fetch it", "Thanks", "Bye"):
            await agent.send("ASKED", {"text": text})
            await agent.until("LISTENING")
            agent = await runtime.resume("a")
            sizes.append(len(server.requests))
    assert [each - sizes[0] for each in sizes] == [0, 1, 2]


async def test_a_request_is_estimated_with_the_results_that_its_provider_has_not_counted():
    """The provider reported 110 tokens for the turn before the result."""
    loop = ModelLoop(tools=[fetch], compaction=Summarize(at_tokens=3_000, keep=2), most_bytes=10**6)
    script = [Says("Hello."), Says("Hm."), Calls(("fetch", {"size": 16_000}, "a")), Says("Done.")]
    async with scripted_model(windowed(10**6, script)) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, "Hello " * 200, "What is this? " * 200, "Fetch it")
    assert agent.context.answers == ["Hello.", "Hm.", "Done."]
    assert [is_summary(each) for each in server.requests] == [False, False, False, True, False]


@BOTH
async def test_a_request_whose_tokens_nobody_reported_is_estimated_as_a_whole(model):
    def reply(text):
        if model is OpenAIModel:
            message = {"role": "assistant", "content": text}
            return answer({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        return answer({"role": "assistant", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})

    loop = ModelLoop(compaction=Summarize(at_tokens=2_000, keep=2), stream=False, retry=QUICK)
    async with (
        raw_server(reply("Yes."), reply("No."), reply("a short summary"), reply("Bye.")) as server,
        opened(server, loop, model=model) as runtime,
    ):
        agent = await asked(runtime, "你好" * 450, "再见" * 450, "谢谢" * 150)
    assert agent.context.answers == ["Yes.", "No.", "Bye."]
    assert [is_summary(each.body) for each in server.asked] == [False, False, True, False]


@BOTH
async def test_a_refusal_for_length_is_followed_by_one_summary_even_if_the_policy_allows_more(model):
    loop = ModelLoop(compaction=Summarize(at_tokens=10**6), retry=QUICK)
    script = [Says("Yes. " * 100)] * 12
    async with scripted_model(windowed(1_500, script)) as server, opened(server, loop, model=model) as runtime:
        agent = await asked(runtime, *["Tell me more. " * 20] * 12)
    assert len(agent.context.answers) == 12
    summaries = [is_summary(each) for each in accepted(server, 1_500)]
    assert 1 <= sum(summaries) <= 4
    refused = [size(each) > 1_500 for each in server.requests]
    assert sum(refused) <= 4


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(Calls(*[("fetch", {"size": 50_000 + at}, f"c{at}") for at in range(20)]), id="parallel results"),
        pytest.param(Calls(("fetch", {"size": 400_000}, "a")), id="one result"),
        pytest.param(Calls(("lookup", {"order": "x" * 300_000}, "a")), id="an argument"),
        pytest.param(Calls(("lookup", {"order": "1"}, "a"), text="word " * 60_000), id="its own words"),
    ],
)
@BOTH
@pytest.mark.parametrize("keep", [1, 10])
async def test_whatever_is_large_in_the_newest_turn_is_shortened(model, first, keep):
    loop = ModelLoop(tools=[fetch, lookup], compaction=Summarize(keep=keep), most_bytes=10**6, retry=QUICK)
    async with (
        scripted_model(windowed(8_000, [first, Says("Done."), Says("Bye.")])) as server,
        opened(server, loop, model=model) as runtime,
    ):
        agent = await asked(runtime, "Go on", "Thanks")
    assert agent.context.answers == ["Done.", "Bye."]


@BOTH
@pytest.mark.parametrize("compaction", [None, Summarize(), Summarize(at_tokens=4_000, keep=1)])
async def test_a_message_that_is_larger_than_the_window_is_shortened(model, compaction):
    loop = ModelLoop(compaction=compaction, retry=QUICK)
    async with (
        scripted_model(windowed(8_000, [Says("Done."), Says("Bye.")])) as server,
        opened(server, loop, model=model) as runtime,
    ):
        agent = await asked(runtime, "word " * 50_000, "Thanks")
    assert agent.context.answers == ["Done.", "Bye."]


async def test_a_prompt_that_is_larger_than_the_window_is_shortened():
    loop = ModelLoop(prompt=lambda context: "文字" * 30_000, compaction=Summarize(), retry=QUICK)
    async with scripted_model(windowed(8_000, [Says("Done.")])) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, "Go on")
    assert agent.context.answers == ["Done."]


@BOTH
@pytest.mark.parametrize("compaction", [None, Summarize(at_tokens=10**6), Summarize(at_tokens=6_000)])
async def test_a_conversation_of_many_messages_continues_with_a_smaller_window(model, compaction):
    """As after a change of the model."""

    def prompt(context):
        return [Message(role="user", content=f"message {number} " * 30) for number in range(300)] + context.messages

    loop = ModelLoop(prompt=prompt, compaction=compaction, retry=QUICK)
    async with (
        scripted_model(windowed(6_000, [Says("Yes. " * 20)] * 2)) as server,
        opened(server, loop, model=model) as runtime,
    ):
        agent = await asked(runtime, "Go on", "And on")
    assert len(agent.context.answers) == 2
    assert not agent.context.failures


async def test_an_old_part_that_is_larger_than_the_window_is_summarized_in_pieces():
    window = 5_000
    loop = ModelLoop(compaction=Summarize(at_tokens=4_000, keep=2), tools=[fetch], most_bytes=10**6, retry=QUICK)

    def prompt_of(number):
        return f"{number} " + "word " * 2_000

    async with scripted_model(windowed(window, [Says("Yes.")] * 20)) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, *map(prompt_of, range(8)))
    assert agent.context.answers == ["Yes."] * 8
    assert sum(map(is_summary, server.requests)) > 1
    assert not agent.context.failures


async def test_a_conversation_that_fills_the_window_is_summarized_before_the_next_request():
    """The provider accepts the request, and cuts the answer off."""

    def reply(text, reason="end_turn"):
        usage = {"input_tokens": 100, "output_tokens": 10}
        content = [{"type": "text", "text": text}]
        return answer({"role": "assistant", "content": content, "stop_reason": reason, "usage": usage})

    answers = [reply("Yes."), reply("No"), reply("The", "model_context_window_exceeded"), reply("short"), reply("Bye.")]
    loop = ModelLoop(compaction=Summarize(), stream=False, retry=QUICK)
    async with raw_server(*answers) as server, opened(server, loop, model=AnthropicModel) as runtime:
        agent = await asked(runtime, "one " * 100, "two " * 100, "three", "four")
    assert agent.context.answers == ["Yes.", "No", "Bye."]
    assert [is_summary(each.body) for each in server.asked] == [False, False, False, True, False]


async def test_what_cannot_be_shortened_is_an_error_that_says_so():
    loop = ModelLoop(instructions="word " * 50_000, compaction=Summarize(), retry=QUICK)
    async with scripted_model(windowed(8_000, [])) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, "Hi")
    [[kind, problem]] = agent.context.failures
    assert kind == "ModelFailedError"
    assert "413" in problem
    assert len(server.requests) < 12


# What is accepted as a summary


def chunk(content, reason, **more):
    message = {"role": "assistant", "content": content, **more}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return answer({"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage})


CALL = {"id": "z", "type": "function", "function": {"name": "lookup", "arguments": '{"order": "1"}'}}
WANTED = Summarize(at_tokens=110, keep=1)


def offered(body):
    return [each["function"]["name"] for each in body.get("tools", ())], body.get("tool_choice")


UNACCEPTED = {
    "calls": chunk(None, "tool_calls", tool_calls=[CALL]),
    "calls with words before them": chunk("Let me look that up.", "tool_calls", tool_calls=[CALL]),
    "cut off": chunk("The user asked", "length"),
    "blank": chunk("  ", "stop"),
    "refused": chunk(None, "stop", refusal="I cannot do that."),
    "filtered": chunk("The", "content_filter"),
    "an unknown end": chunk("The", "whatever"),
    "no choice": answer({"choices": []}),
    "a filter's refusal": answer({"error": {"message": "filtered", "code": "content_filter"}}, status=400),
    "a server's failure": answer({"error": {"message": "failed"}}, status=500),
    "a request that is invalid": answer({"error": {"message": "tool_choice none is not supported"}}, status=400),
}


@pytest.mark.parametrize("bad", UNACCEPTED.values(), ids=UNACCEPTED)
@pytest.mark.parametrize("times", [1, 2])
async def test_an_answer_that_is_no_summary_is_asked_for_again_once_and_then_extracts_take_its_place(bad, times):
    loop = ModelLoop(tools=[lookup], compaction=WANTED, stream=False, retry=None)
    later = [chunk("a short summary", "stop")] if times == 1 else []
    looks = chunk(None, "tool_calls", tool_calls=[CALL])
    first = [looks, chunk("It was shipped.", "stop")]
    async with (
        raw_server(*first, *[bad] * times, *later, chunk("Bye.", "stop")) as server,
        opened(server, loop) as runtime,
    ):
        agent = await asked(runtime, "Where is 4711?", "Thanks")
        entries = await store_of(runtime).journal("a", "conversation")
    assert agent.context.answers == ["It was shipped.", "Bye."]
    assert not agent.context.failures
    bodies = [each.body for each in server.asked]
    assert [is_summary(each) for each in bodies] == [False, False, True, True, False]
    assert offered(bodies[2]) == (["lookup"], "none")
    assert offered(bodies[3]) == ([], None)
    assert "lookup" in json.dumps(bodies[3]["messages"])
    assert not any(each["role"] == "tool" for each in bodies[3]["messages"])
    told = bodies[4]["messages"][0]["content"]
    assert told.startswith("[Summary of what was said before]\n")
    assert ("a short summary" in told) is (times == 1)
    assert ("1 was shipped" in told) is (times == 2)
    assert not any(name.startswith("summary") for name in entries)


async def test_words_beside_ignored_calls_count_if_the_provider_says_that_the_answer_ended():
    loop = ModelLoop(tools=[lookup], compaction=WANTED, stream=False)
    first = [chunk("Hello.", "stop"), chunk("a short summary", "stop", tool_calls=[CALL]), chunk("Bye.", "stop")]
    async with raw_server(*first) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, "Hi", "Thanks")
    assert agent.context.answers == ["Hello.", "Bye."]
    assert "a short summary" in server.asked[2].body["messages"][0]["content"]


async def test_anthropic_is_told_not_to_call_the_tools_that_it_is_offered():
    loop = ModelLoop(tools=[lookup], compaction=WANTED)
    script = [Calls(("lookup", {"order": "1"}, "a")), Says("It was shipped."), Says("short"), Says("Bye.")]
    async with scripted_model(script) as server, opened(server, loop, model=AnthropicModel) as runtime:
        await asked(runtime, "Where is 1?", "Thanks")
    assert is_summary(server.requests[2])
    assert server.requests[2]["tool_choice"] == {"type": "none"}
    assert [each["name"] for each in server.requests[2]["tools"]] == ["lookup"]
    assert "tool_choice" not in server.requests[3]
    assert server.requests[3]["messages"][0]["content"][0]["text"].startswith("[Summary of what was said before]")


async def test_an_outage_while_a_summary_is_written_costs_no_part_of_the_conversation():
    loop = ModelLoop(compaction=WANTED, retry=None)
    script = [Says("Hello."), Fails(401), Says("a short summary"), Says("Bye.")]
    async with scripted_model(script) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, "Hi", "Thanks")
        assert agent.context.failures
        await agent.send("RETRIED")
        await agent.until("LISTENING")
        agent = await runtime.resume("a")
    assert agent.context.answers == ["Hello.", "Bye."]
    assert "a short summary" in server.requests[-1]["messages"][0]["content"]


# Budgets and durability


async def test_answers_that_are_no_summary_count_and_the_budget_holds_before_each_request():
    async def failures(budget):
        loop = ModelLoop(tools=[lookup], compaction=WANTED, stream=False, budget=Budget(tokens=budget))
        bad = chunk("The", "length")
        async with (
            raw_server(chunk("Hello.", "stop"), bad, bad, chunk("Bye.", "stop")) as server,
            opened(server, loop) as runtime,
        ):
            agent = await asked(runtime, "Hi", "Thanks")
            return [kind for kind, _ in agent.context.failures], len(server.asked)

    assert await failures(111) == (["BudgetUsedUpError"], 3)  # not before the turn, for which no summary can be had
    assert await failures(110) == (["BudgetUsedUpError"], 2)
    assert await failures(220) == (["BudgetUsedUpError"], 3)
    assert await failures(221) == ([], 4)


async def test_a_summary_is_not_paid_again_if_the_process_dies_before_it_is_used(sqlite_url, monkeypatch):
    loop = ModelLoop(tools=[lookup], compaction=WANTED)
    replace, reached = AgentJournal.replace, asyncio.Event()

    async def never(self, *args: Any) -> str:
        reached.set()
        await asyncio.Event().wait()
        return ""

    async with scripted_model(windowed(10**6, [Says("Hello."), Says("Bye.")])) as server:
        monkeypatch.setattr(AgentJournal, "replace", never)
        async with opened(server, loop, sqlite_url) as runtime:
            agent = await asked(runtime, "Hi")
            await agent.send("ASKED", {"text": "Thanks"})
            await reached.wait()
        monkeypatch.setattr(AgentJournal, "replace", replace)
        async with opened(server, loop, sqlite_url) as runtime:
            await (await runtime.resume("a")).until("LISTENING")
            agent = await runtime.resume("a")
            entries = await store_of(runtime).journal("a", "conversation")
    assert agent.context.answers == ["Hello.", "Bye."]
    assert [is_summary(each) for each in server.requests] == [False, True, False]
    assert not any(name.startswith("summary") for name in entries)
    assert "a short summary" in server.requests[-1]["messages"][0]["content"]


async def test_messages_that_arrive_between_a_summary_and_its_use_are_not_lost(sqlite_url, monkeypatch):
    """The summary replaces what it was made of, and nothing else."""
    loop = ModelLoop(compaction=Summarize(at_tokens=110, keep=1))
    replace, reached = AgentJournal.replace, asyncio.Event()

    async def never(self, *args: Any) -> str:
        reached.set()
        await asyncio.Event().wait()
        return ""

    async with scripted_model(windowed(10**6, [Says("Hello."), Says("Bye.")])) as server:
        monkeypatch.setattr(AgentJournal, "replace", never)
        async with opened(server, loop, sqlite_url) as runtime:
            agent = await asked(runtime, "Hi")
            await agent.send("ASKED", {"text": "the second question"})
            await reached.wait()
            await agent.send("INTERRUPTED", {})
            await agent.until("LISTENING")
        monkeypatch.setattr(AgentJournal, "replace", replace)
        async with opened(server, loop, sqlite_url) as runtime:
            agent = await runtime.resume("a")
            await agent.send("ASKED", {"text": "the third question"})
            await agent.until("LISTENING")
    last = [each["content"] for each in server.requests[-1]["messages"]]
    assert last[1:] == ["the second question", "the third question"]
    assert sum(map(is_summary, server.requests)) == 1


async def test_a_summary_that_an_older_version_recorded_is_used():
    loop = ModelLoop(compaction=Summarize(at_tokens=110, keep=1))
    old = {
        "message": {"role": "agent", "content": "an old summary"},
        "finish": "answered",
        "usage": {"input_tokens": 5, "output_tokens": 1, "requests": 1},
    }
    async with scripted_model([Says("Hello."), Says("Bye.")]) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, "Hi")
        await core_of(runtime).persist(JournalRecord.by_operator("a", "conversation", "summary.1", json.dumps(old)))
        await agent.send("ASKED", {"text": "Thanks"})
        await agent.until("LISTENING")
    assert "an old summary" in server.requests[-1]["messages"][0]["content"]


async def test_an_id_of_a_call_that_a_summary_replaced_is_not_given_to_another_call():
    """Else the other call would have the idempotency key of the first, and not be made."""
    loop = ModelLoop(tools=[book], compaction=Summarize(at_tokens=110, keep=1))
    first, second = (Calls(("book", {"room": room}, "call_1")) for room in "ab")
    script = [first, Says("Booked."), Says("Hm."), second, Says("Booked.")]
    async with scripted_model(windowed(10**6, script)) as server, opened(server, loop) as runtime:
        await asked(runtime, "Book a", "Thanks", "Book b")
        keys = services_of(runtime).keys
        entries = await store_of(runtime).journal("a", "conversation")
    assert len(keys) == len(set(keys)) == 2
    assert any(map(is_summary, server.requests))
    assert not any("call_1" in text for name, text in entries.items() if name.startswith("compaction"))


async def test_secrets_are_masked_in_the_request_for_a_summary_and_in_extracts():
    login = Calls(("log_in", {"login": {"password": "hunter2"}}, "a"))
    loop = ModelLoop(tools=[log_in], compaction=WANTED, stream=True, retry=None)

    def model(body):
        if is_summary(body):
            return Says(" ")
        return next(replies)

    replies = iter([login, Says("Done."), Says("Bye.")])
    async with scripted_model(model) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, "Log in", "Thanks")
    assert agent.context.answers == ["Done.", "Bye."]
    summaries = [json.dumps(each) for each in server.requests if is_summary(each)]
    assert len(summaries) == 2
    assert not any("hunter2" in each for each in summaries)
    assert "log_in" in json.dumps(server.requests[-1]["messages"])
    assert "hunter2" not in json.dumps(server.requests[-1]["messages"])


async def test_calls_that_wait_for_approval_stay_in_a_transcript_that_is_too_long():
    def approve(context, call):
        return context.approved.get(call.id)

    loop = ModelLoop(tools=[book], approval=approve, compaction=Summarize(at_tokens=110, keep=1))
    script = iter([Says("Hello."), Calls(("book", {"room": "a"}, "b1")), Says("Booked.")])

    def model(body):
        return Says("a short summary") if is_summary(body) else next(script)

    async with scripted_model(model) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, "Hi")
        await agent.send("ASKED", {"text": "Book a"})
        await agent.until("APPROVING")
        await agent.send("DECIDED", {"approved": {"b1": True}})
        await agent.until("LISTENING")
        agent = await runtime.resume("a")
        assert len(services_of(runtime).keys) == 1
    assert agent.context.answers == ["Hello.", "Booked."]
    assert any(map(is_summary, server.requests))


def test_a_limit_leaves_the_newest_messages_and_the_summary():
    messages = [Message(role=SUMMARY, content="so far")]
    messages += [Message(role="user", content=f"{number} " + "word " * 100) for number in range(500)]
    shown = fitted(messages, 2_000)
    assert tokens_of(shown) <= 2_100
    assert shown[0] == messages[0]
    assert "earlier messages are left out" in shown[1].content
    assert shown[-1] == messages[-1]


@BOTH
async def test_a_summary_is_told_as_what_it_is_to_each_provider(model):
    """It is a message of the user, so that the provider takes it."""
    messages = (Message(role=SUMMARY, content="so far"), Message(role="user", content="Go on"))
    async with scripted_model([Says("Yes.")]) as server:
        await model("m", url=server.url).reply(ModelRequest(messages=messages))
    told = server.requests[0]["messages"]
    assert {each["role"] for each in told} == {"user"}
    assert "[Summary of what was said before]\\nso far" in json.dumps(told)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 10, 90, 140),  # 100 in o200k_base
        ("人工智能正在改变世界" * 10, 60, 110),  # 70 in o200k_base, 130 in cl100k_base
        ("東京は日本の首都です" * 10, 60, 110),
        ('{"order": "4711", "status": "lost"}' * 10, 110, 170),  # 140 in o200k_base
        ("", 0, 0),
    ],
)
def test_an_estimate_is_right_for_text_in_ascii_and_in_chinese_and_japanese(text, least, most):
    assert least <= tokens_in(text) <= most


def test_files_schemas_and_instructions_are_estimated_too():
    image = MediaPart(media_type="image/png", digest="a", size=500_000)
    document = MediaPart(media_type="application/pdf", digest="a", size=1_000_000)
    [one, other] = (tokens_of([Message(role="user", content="", parts=(each,))]) for each in (image, document))
    assert 1_000 < one < 2_000
    assert 10_000 < other < 50_000
    assert tokens_of_frame("Be brief. " * 100, [lookup, fetch]) > 300
    result = ToolCall(name="draw", id="a", parts=(image,), output="[image/png]")
    assert tokens_of([Message(role="agent", content="", tool_calls=(result,))]) > 1_000


def test_many_ids_of_calls_are_kept_in_few_bytes():
    known = KnownIds.of(f"call_{number}" for number in range(10_000))
    assert len(known.text) < 60_000
    again = KnownIds.of((), known.text, known.text)
    assert all(f"call_{number}" in again for number in range(10_000))
    assert "call_10000" not in again


@pytest.mark.parametrize(
    ("compaction", "most"), [(None, 100_000), (Summarize(), 100_000), (Summarize(at_tokens=20_000), 20_000)]
)
async def test_a_result_has_about_a_quarter_of_the_tokens_at_which_a_summary_is_due(compaction, most):
    loop = ModelLoop(tools=[fetch], compaction=compaction)
    async with scripted_model(windowed(10**6, [FETCH, Says("Done.")])) as server, opened(server, loop) as runtime:
        await asked(runtime, "Fetch it")
        entries = await store_of(runtime).journal("a", "conversation")
    told = json.loads(entries["result.1.0"])["output"]
    assert most <= len(told) < most + 200
    assert f"{most:,} at most are shown" in told


async def test_a_summary_is_not_a_turn_of_the_model():
    loop = ModelLoop(compaction=WANTED, most_turns=1)
    async with (
        scripted_model(windowed(10**6, [Says("Hello."), Says("Bye.")])) as server,
        opened(server, loop) as runtime,
    ):
        agent = await asked(runtime, "Hi", "Thanks")
    assert agent.context.answers == ["Hello.", "Bye."]
    assert any(map(is_summary, server.requests))
