"""A model loop asks a model and calls its tools until it has an answer; nothing of it is done twice."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from gatechart import ModelLoop, Retry, Runtime, State, StateTransitionGraph, Transition, tool
from gatechart.graph.definition import Invoke
from gatechart.models import AnthropicModel, Budget, OpenAIModel, Prices, Summarize
from gatechart.testing import VirtualClock
from gatechart.testing.scripted_model import Calls, Fails, Hangs, Says, scripted_model
from gatechart.tools import BreakerPolicy, ToolContext, ToolPolicies
from tests.insides import services_of, store_of
from tests.models.loop_tools import lookup
from tests.models.support import Chat, Services, chat, fail, said
from tests.runtime.support import eventually

LOOKS = Calls(("lookup", {"order": "4711"}, "a"))
QUICK = Retry(attempts=3, first_s=0)


@tool(policies=ToolPolicies(retry="off"))
async def refund(context: ToolContext, order: str, amount: int) -> dict[str, int]:
    """Refund an order."""
    context.services.calls["refund"] += 1
    return {"refunded": amount}


class Pin(BaseModel):
    pin: SecretStr


@tool(repeat="safe")
async def look_up_pin(order: str) -> Pin:
    """Look up a pin."""
    return Pin(pin=SecretStr("0815"))


LOOP = ModelLoop(tools=[lookup, refund, "look_up_pin"], instructions="Be brief.", retry=QUICK)


async def asked(runtime, text="Where is 4711?", state="LISTENING"):
    """The agent, once it has answered."""
    agent = await runtime.start("chat", at="LISTENING", agent_id="a")
    await agent.send("ASKED", {"text": text})
    await agent.until(state)
    return await runtime.resume("a")


def opened(server, loop=LOOP, store="memory:", model=OpenAIModel, clock=None):
    services = Services(server, lookup, refund, look_up_pin, model=model)
    return Runtime.open(store, graphs=chat(loop), services=services, clock=clock)


@pytest.mark.parametrize("model", [OpenAIModel, AnthropicModel])
async def test_the_model_calls_tools_until_it_has_an_answer(model):
    script = [LOOKS, Says("It was shipped."), Says("You are welcome.")]
    async with scripted_model(script) as server, opened(server, model=model) as runtime:
        agent = await asked(runtime)
        assert agent.context.answers == ["It was shipped."]
        assert said(agent) == [
            ("user", "Where is 4711?"),
            ("agent", "", "4711 was shipped"),
            ("agent", "It was shipped."),
        ]
        await agent.send("ASKED", {"text": "Thanks"})
        await agent.until("LISTENING")
        agent = await runtime.resume("a")
    assert said(agent)[3:] == [("user", "Thanks"), ("agent", "You are welcome.")]
    assert [len(each["messages"]) for each in server.requests][-1] > len(server.requests[0]["messages"])


async def test_the_usage_of_all_turns_comes_with_the_answer():
    async with scripted_model([LOOKS, Says("Yes.")]) as server, opened(server) as runtime:
        agent = await asked(runtime)
        done = [entry for entry in await agent.history() if entry.event.name == "done.invoke.think"]
    usage = done[0].event.payload["result"]["usage"]
    figures = {"input_tokens": 200, "output_tokens": 20, "cached_tokens": 0, "cost": 0.0}
    assert usage == figures | {"requests": 2, "unreported": 0}


@pytest.mark.parametrize("model", [OpenAIModel, AnthropicModel])
async def test_parallel_calls_are_all_answered_whatever_becomes_of_them(model):
    calls = Calls(
        ("lookup", {"order": "1"}, "a"),
        ("lookup", {"order": "none"}, "b"),
        ("nothing", {}, "c"),
        ("lookup", {"number": 1}, "d"),
        ("lookup", {"order": "2"}, "a"),  # an id that another call has already
        ("lookup", {"order": "1"}, "a"),  # the same call
    )
    async with scripted_model([calls, Says("Done.")]) as server, opened(server, model=model) as runtime:
        agent = await asked(runtime)
    _, _, *results = said(agent)[1]
    assert results[0] == results[5] == "1 was shipped"
    assert results[4] == "2 was shipped"
    assert results[1] == "raised: there is no such order"
    assert results[2] == "there is no tool 'nothing' now; the tools are lookup, refund, look_up_pin"
    assert results[3].startswith("invalid arguments: ")
    ids = [call.id for call in agent.context.messages[1].tool_calls]
    assert (ids[:4], ids[5], len(set(ids))) == (["a", "b", "c", "d"], "a", 5)


async def test_a_text_that_looks_like_a_call_is_the_answer():
    text = '<tool_call>{"name": "refund", "arguments": {"order": "1", "amount": 5}}</tool_call>'
    async with scripted_model([Says(text)]) as server, opened(server) as runtime:
        agent = await asked(runtime)
        assert (agent.context.answers, services_of(runtime).calls) == ([text], {})


async def test_secrets_in_a_result_are_masked_for_the_model_and_the_conversation():
    script = [Calls(("look_up_pin", {"order": "1"})), Says("No.")]
    async with scripted_model(script) as server, opened(server) as runtime:
        agent = await asked(runtime)
    assert agent.context.messages[1].tool_calls[0].output == {"pin": "**********"}
    assert "0815" not in str(server.requests)


async def test_a_secret_in_the_answer_is_kept_and_one_for_approval_is_masked():
    @tool(repeat="safe")
    async def log_in(pin: SecretStr) -> str:
        """Log in."""
        return "in"

    def may(context, call):
        return context.approved.get(call.arguments["pin"])

    loop = ModelLoop(tools=[log_in], retry=QUICK, output=Pin, approval=may)
    script = [Calls(("log_in", {"pin": "0815"}, "a")), Calls(("answer", {"pin": "0815"}, "b"))]
    async with scripted_model(script) as server:
        services = Services(server, log_in)
        async with Runtime.open("memory:", graphs=chat(loop), services=services) as runtime:
            agent = await asked(runtime, state="APPROVING")
            assert agent.context.waits_for[0]["arguments"] == {"pin": "**********"}
            await agent.send("DECIDED", {"approved": {"**********": True}})
            await agent.until("LISTENING")
            assert agent.context.answers == [{"pin": {"$secret": "0815"}}]  # for the agent, which wanted it
            assert "0815" not in str([agent.snapshot.context, await agent.history()])


@pytest.mark.parametrize(("result", "begins"), [("x" * 99, "x" * 40), ({"rows": ["ü" * 99]}, '{"rows":["üüü')])
async def test_a_result_that_is_too_large_is_cut_off_and_says_so(result, begins):
    @tool(repeat="safe")
    async def read() -> Any:
        """Read all."""
        return result

    loop = ModelLoop(tools=[read], retry=QUICK, most_bytes=40)
    async with scripted_model([Calls(("read", {}, "a")), Says("Much.")]) as server:
        services = Services(server, read)
        async with Runtime.open("memory:", graphs=chat(loop), services=services) as runtime:
            agent = await asked(runtime)
    shown = agent.context.messages[1].tool_calls[0].output
    size = len(result) if isinstance(result, str) else len('{"rows":[""]}') + 198
    assert shown.startswith(begins)
    assert shown.endswith(f"\n[Cut off here: the result has {size} bytes, and 40 at most are shown. Ask for less.]")
    assert shown in server.requests[1]["messages"][-1]["content"]


def test_a_limit_that_leaves_the_model_nothing_is_an_error():
    with pytest.raises(ValueError, match=r"ModelLoop\(most_bytes=0\) leaves the model nothing"):
        ModelLoop(most_bytes=0)


async def test_the_value_of_an_alternative_is_told_as_what_it_is():
    @tool(repeat="safe", policies=ToolPolicies(retry="off", alternatives=["look_up_pin"]))
    async def find(order: str) -> int:
        """Find an order."""
        raise LookupError(order)

    script = [Calls(("find", {"order": "1"})), Says("No.")]
    async with scripted_model(script) as server:
        services = Services(server, find, look_up_pin)
        async with Runtime.open("memory:", graphs=chat(ModelLoop(tools=[find])), services=services) as runtime:
            agent = await asked(runtime)
    assert said(agent)[1] == ("agent", "", {"pin": "**********"})


# The answer


class Answer(BaseModel):
    status: str
    days: int = 0


def is_known(answer):
    return None if answer.status in ("shipped", "lost") else "status: say shipped or lost"


async def test_an_answer_that_does_not_fit_goes_back_to_the_model():
    script = [
        Says("It was shipped."),
        Calls(("answer", {"status": 5})),
        Calls(("answer", {"status": "gone"})),
        Calls(("answer", {"status": "lost", "days": 3}), ("answer", {"status": "shipped"}), ("lookup", {"order": "1"})),
    ]
    loop = ModelLoop(tools=[lookup], output=Answer, checks=[is_known])
    async with scripted_model(script) as server, opened(server, loop) as runtime:
        agent = await asked(runtime)
    assert agent.context.answers == [{"status": "lost", "days": 3}]
    messages = said(agent)
    assert messages[1:3] == [
        ("agent", "It was shipped."),
        ("user", "[This answer does not fit] give the answer by calling the tool 'answer'"),
    ]
    assert messages[3][2].startswith("status: Input should be a valid string")
    assert messages[4][2] == "status: say shipped or lost"
    assert messages[5][2:] == ("accepted", "another answer of this turn was accepted", "1 was shipped")


@pytest.mark.parametrize(("kind", "given"), [(int, 7), (list[str], ["a", "b"]), (Answer | None, None)])
async def test_an_answer_can_be_of_any_type(kind, given):
    loop = ModelLoop(output=kind)
    async with scripted_model([Calls(("answer", {"answer": given}))]) as server, opened(server, loop) as runtime:
        assert (await asked(runtime)).context.answers == [given]


async def test_checks_of_a_text_send_it_back():
    loop = ModelLoop(checks=[lambda text: None if len(text) < 10 else "be brief"])
    async with scripted_model([Says("a long, long answer"), Says("short")]) as server, opened(server, loop) as runtime:
        agent = await asked(runtime)
    assert agent.context.answers == ["short"]
    assert said(agent)[2] == ("user", "[This answer does not fit] be brief")


# Limits and failures


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"most_turns": 3}, "used up its turns (3 of 3)"),
        ({"budget": Budget(tokens=300)}, "used up its tokens (330 of 300)"),
        ({"budget": Budget(cost=0.5)}, "used up its cost (0.66 of 0.5)"),
    ],
)
async def test_a_limit_that_is_used_up_is_an_event(more, problem):
    def endless(_body):
        return Calls(("lookup", {"order": "1"}))

    def priced(model, url):
        return OpenAIModel(model, url=url, prices=Prices(input=2000, output=2000))

    loop = ModelLoop(tools=[lookup], **more)
    async with scripted_model(endless) as server, opened(server, loop, model=priced) as runtime:
        agent = await asked(runtime, state="FAILED")
        [[kind, message]] = agent.context.failures
        assert (kind, len(server.requests)) == ("BudgetUsedUpError", 3)
        assert problem in message
        await agent.send("RETRIED")  # a new entry of the state has a budget of its own
        await agent.until("FAILED")
        assert len(server.requests) == 6


async def test_a_turn_is_tried_again_and_then_fails():
    script = [Fails(500), Fails(429), Says("Yes."), Fails(), Fails(), Fails()]
    async with scripted_model(script) as server, opened(server) as runtime:
        agent = await asked(runtime)
        assert agent.context.answers == ["Yes."]
        await agent.send("ASKED", {"text": "Sure?"})
        await agent.until("FAILED")
        [[kind, message]] = (await runtime.resume("a")).context.failures
    assert (kind, len(server.requests)) == ("ModelFailedError", 6)
    assert "as the script says" in message


async def test_a_provider_that_asks_for_a_wait_is_given_it_by_whichever_process(sqlite_url):
    script = [Fails(429, retry_after="30"), Says("Yes.")]
    clock = VirtualClock()
    noon = clock.now()
    async with scripted_model(script) as server:
        async with opened(server, store=sqlite_url, clock=clock) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Sure?"})
            await eventually(lambda: clock.next_due == noon + timedelta(seconds=30))
        clock.advance(20)
        async with opened(server, store=sqlite_url, clock=clock) as runtime:
            await eventually(lambda: clock.next_due == noon + timedelta(seconds=30))
            assert len(server.requests) == 1
            clock.advance(10)
            agent = await runtime.resume("a")
            await agent.until("LISTENING")
            assert agent.context.answers == ["Yes."]


@pytest.mark.parametrize("refusal", [Fails(400), Fails(401), Fails(429, retry_after="100000")])
async def test_a_request_that_is_wrong_and_a_wait_of_more_than_a_day_fail_the_turn_at_once(refusal):
    async with scripted_model([refusal, Says("never")]) as server, opened(server) as runtime:
        [[kind, _]] = (await asked(runtime, state="FAILED")).context.failures
    assert (kind, len(server.requests)) == ("ModelFailedError", 1)


async def test_an_open_breaker_of_the_model_is_waited_for_by_every_loop():
    script = [Fails(400), Fails(503), Fails(503), Says("Yes.")]
    clock, policy = VirtualClock(), BreakerPolicy(failures_in_a_row=2)
    noon, loop = clock.now(), ModelLoop(breaker=policy, retry=Retry(attempts=4))
    async with scripted_model(script) as server, opened(server, loop, clock=clock) as runtime:
        await asked(runtime, state="FAILED")  # by a wrong request, which says nothing of the provider
        agent = await runtime.start("chat", at="LISTENING", agent_id="b")
        await agent.send("ASKED", {"text": "Sure?"})
        for seconds in (1, 3, 61):
            await eventually(lambda seconds=seconds: clock.next_due == noon + timedelta(seconds=seconds))
            clock.at = noon + timedelta(seconds=seconds)
        await agent.until("LISTENING")
        assert (agent.context.answers, len(server.requests)) == (["Yes."], 4)


def test_a_breaker_needs_the_name_of_a_model():
    with pytest.raises(ValueError, match="needs the model's name in the services"):
        ModelLoop(OpenAIModel("m"), breaker=BreakerPolicy())


async def test_the_seconds_of_a_budget_begin_with_the_loop_and_go_on_without_a_process(sqlite_url):
    clock, loop = VirtualClock(), ModelLoop(tools=[lookup], budget=Budget(seconds=60))

    def slow(_body):
        clock.advance(59)
        return LOOKS if len(server.requests) == 1 else Hangs()

    async with scripted_model(slow) as server:
        async with opened(server, loop, store=sqlite_url, clock=clock) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Where is 4711?"})
            await server.asked(2)
        async with opened(server, loop, store=sqlite_url, clock=clock) as runtime:
            await (await runtime.resume("a")).until("FAILED")
            [[kind, message]] = (await runtime.resume("a")).context.failures
    assert (kind, len(server.requests)) == ("BudgetUsedUpError", 2)
    assert "used up its seconds (118 of 60)" in message


@pytest.mark.parametrize(
    ("loop", "problem"),
    [
        (ModelLoop("gpt"), "the services have no 'gpt'"),
        (ModelLoop(tools=["look_up"]), "the tool box has no 'look_up'"),
    ],
)
async def test_a_loop_without_what_it_needs_says_what_it_lacks(loop, problem):
    async with scripted_model([]) as server, opened(server, loop) as runtime:
        [[kind, message]] = (await asked(runtime, state="FAILED")).context.failures
    assert (kind, problem in message) == ("ModelFailedError", True), message


async def test_loops_that_write_one_journal_at_the_same_time_are_told_so():
    loop = ModelLoop()
    both = StateTransitionGraph(
        "both",
        context=Chat,
        states=[State("THINKING", invoke=[Invoke(loop, id="one"), Invoke(loop, id="two")]), "FAILED"],
        transitions=[
            Transition("THINKING", "error.invoke.one", "FAILED", actions=fail),
            Transition("THINKING", "error.invoke.two", "FAILED", actions=fail),
        ],
        entry_points=["THINKING"],
    )
    async with scripted_model([Says("a"), Says("b")], delay_s=0.05) as server:
        services = Services(server)
        async with Runtime.open("memory:", graphs=both, services=services) as runtime:
            agent = await runtime.start("both", at="THINKING")
            await agent.until("FAILED")
            [[kind, message]] = agent.context.failures
    assert (kind, "give each loop a separate journal" in message) == ("ModelFailedError", True)


# Leaving the state


async def test_what_was_heard_said_and_called_is_kept_when_the_state_is_left():
    async with scripted_model([LOOKS, Hangs(), Says("Both.")]) as server, opened(server) as runtime:
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Where is 4711?"})
        await server.asked(2)
        await agent.send("INTERRUPTED")
        assert said(await runtime.resume("a")) == [("user", "Where is 4711?")]
        await agent.send("ASKED", {"text": "And 4712?"})
        await agent.until("LISTENING")
        agent = await runtime.resume("a")
        assert services_of(runtime).calls == {"lookup": 1}
    assert said(agent) == [
        ("user", "Where is 4711?"),
        ("user", "And 4712?"),
        ("agent", "", "4711 was shipped"),
        ("agent", "Both."),
    ]
    roles = [each["role"] for each in server.requests[2]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


async def test_calls_wait_for_a_person_and_then_go_on_where_they_were():
    def approval(context, call):
        return context.approved.get(call.id) if call.name == "refund" else True

    calls = Calls(("refund", {"order": "1", "amount": 5}, "r"), ("lookup", {"order": "1"}, "l"), text="I refund it.")
    loop = ModelLoop(tools=[lookup, refund], approval=approval)
    async with scripted_model([calls, Says("Refunded.")]) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, state="APPROVING")
        assert agent.context.waits_for == [{"id": "r", "name": "refund", "arguments": {"order": "1", "amount": 5}}]
        assert services_of(runtime).calls == {}
        await agent.send("DECIDED", {"approved": {"r": True}})
        await agent.until("LISTENING")
        agent = await runtime.resume("a")
        assert services_of(runtime).calls == {"refund": 1, "lookup": 1}
    assert said(agent)[1:] == [("agent", "I refund it.", {"refunded": 5}, "1 was shipped"), ("agent", "Refunded.")]
    assert len(server.requests) == 2


async def test_a_call_that_a_person_refuses_is_told_to_the_model():
    loop = ModelLoop(tools=[refund], approval=lambda context, call: context.approved.get("all"))
    script = [Calls(("refund", {"order": "1", "amount": 5})), Says("Sorry.")]
    async with scripted_model(script) as server, opened(server, loop) as runtime:
        agent = await asked(runtime, state="APPROVING")
        await agent.send("DECIDED", {"approved": {"all": "too much"}})
        await agent.until("LISTENING")
        assert said(await runtime.resume("a"))[1] == ("agent", "", "too much")
        assert services_of(runtime).calls == {}


async def test_an_answer_stands_until_something_new_is_said():
    loop = ModelLoop(prompt=lambda context: f"Where is {context.current_problem or '4711'}?", tools=[lookup])
    async with scripted_model([Says("Here."), Says("There.")]) as server, opened(server, loop) as runtime:
        agent = await asked(runtime)
        await agent.send("ASKED", {"text": "the prompt does not have this"})
        await agent.until("LISTENING")
        assert (await runtime.resume("a")).context.answers == ["Here.", "Here."]
    assert len(server.requests) == 1


# Restarts and length


async def test_a_new_process_goes_on_where_the_transcript_ends(sqlite_url):
    async with scripted_model([LOOKS, Hangs(), Says("It was shipped.")]) as server:
        async with opened(server, store=sqlite_url) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Where is 4711?"})
            await server.asked(2)
            assert services_of(runtime).calls == {"lookup": 1}
        async with opened(server, store=sqlite_url) as runtime:
            await (await runtime.resume("a")).until("LISTENING")
            agent = await runtime.resume("a")
            assert services_of(runtime).calls == {}
    assert said(agent)[1:] == [("agent", "", "4711 was shipped"), ("agent", "It was shipped.")]


async def test_a_long_transcript_is_replaced_by_a_summary_with_its_record():
    def model(body):
        if "Summarize" in str(body["messages"][-1]["content"]):
            return Says(f"{len(body['messages'])} messages")
        return Says("Yes.")

    loop = ModelLoop(compaction=Summarize(at_tokens=110, keep=2), tools=[lookup])
    async with scripted_model(model) as server, opened(server, loop) as runtime:
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        for number in range(4):
            await agent.send("ASKED", {"text": f"question {number}"})
            await agent.until("LISTENING")
        agent = await runtime.resume("a")
        entries = await store_of(runtime).journal("a", "conversation")
    assert agent.context.answers == ["Yes."] * 4
    told = [each["content"] for each in server.requests[-1]["messages"]]
    assert told[0].startswith("[Summary of what was said before]\n")
    assert told[-1] == "question 3"
    assert len(told) == 3
    assert len([each for each in entries if not each.startswith("gatechart.")]) <= 4
    assert [text for role, text in said(agent) if role == "user"] == [f"question {number}" for number in range(4)]


async def test_tokens_and_calls_are_published_as_they_come():
    async with scripted_model([LOOKS, Says("It was shipped.")]) as server, opened(server) as runtime:
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        async with runtime.stream("a", "think") as items:
            await agent.send("ASKED", {"text": "Where is 4711?"})
            found = [await anext(items) for _ in range(4)]
    assert found == [
        {"turn": 1, "calls": ["lookup"]},
        {"turn": 2, "text": "It "},
        {"turn": 2, "text": "was "},
        {"turn": 2, "text": "shipped."},
    ]
