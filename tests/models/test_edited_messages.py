"""A message that the chart edits replaces the earlier one in what the model is told; one that it deletes is gone."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from gatechart import Invoke, ModelLoop, Runtime, State, StateTransitionGraph, Transition, tool
from gatechart.handoff import Message, ProviderMessage, ToolCall
from gatechart.models import Finish, Summarize, Usage
from gatechart.models.entries import CallResult, Heard, ModelTurn, text_of
from gatechart.models.hearing import Hearing, SourceMessages, compared, is_same
from gatechart.models.transcript import Transcript
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from gatechart.tools import ToolContext
from tests.insides import store_of
from tests.models.support import Chat, Services, chat, hear, keep

PIN = "pin-0815"


@tool(repeat="safe")
async def look_up(context: ToolContext, order: str) -> dict[str, str]:
    """Look up an order."""
    context.services.calls["look_up"] += 1
    return {"order": order, "pin": PIN}


@tool(repeat="safe")
async def log_in(user: str, pin: SecretStr) -> str:
    """Log in."""
    return user


def edit(context, event):
    """Replace a text in all messages of the conversation, as a chart does that masks."""
    old, new = event.payload["old"], event.payload["new"]
    context.messages = [masked(message, old, new) for message in context.messages]


def masked(message, old, new):
    return Message.model_validate_json(message.model_dump_json().replace(old, new))


def delete(context, event):
    context.messages = [each for each in context.messages if event.payload["text"] not in each.model_dump_json()]


def shorten(context, event):
    context.messages = context.messages[-event.payload["keep"] :]


def without_calls(context, event):
    context.messages = [each.model_copy(update={"tool_calls": ()}) for each in context.messages]


EDITS = (
    Transition("LISTENING", "EDITED", actions=edit),
    Transition("LISTENING", "DELETED", actions=delete),
    Transition("LISTENING", "SHORTENED", actions=shorten),
    Transition("LISTENING", "CLEARED", actions=without_calls),
    Transition("APPROVING", "EDITED", actions=edit),
)


def talking(loop=None, **more):
    return chat(loop or ModelLoop(tools=[look_up, log_in]), *EDITS, **more)


def opened(place, server, loop=None, graphs=None):
    services = Services(server, look_up, log_in)
    return services, Runtime.open(place, graphs=graphs or talking(loop), services=services)


async def ask(runtime, text, agent_id="a", state="LISTENING"):
    agent = await runtime.resume(agent_id)
    await agent.send("ASKED", {"text": text})
    await agent.until(state)
    return await runtime.resume(agent_id)


async def journal_of(runtime, agent_id="a"):
    return json.dumps([[each.name, each.content] for each in await runtime.journal(agent_id, limit=1000)])


def call_ids(request):
    return [call["id"] for each in request["messages"] for call in each.get("tool_calls") or ()]


SCRIPT = [
    Calls(("look_up", {"order": PIN}, "one"), text=f"I look at {PIN}."),
    Says(f"It is {PIN}."),
    Says("Yes."),
    Says("Bye."),
]


async def test_a_masked_conversation_is_sent_masked_and_once(place):
    async with scripted_model(SCRIPT) as server:
        services, opening = opened(place, server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await ask(runtime, f"My {PIN}")
            await agent.send("EDITED", {"old": PIN, "new": "***"})
        services, opening = opened(place, server)
        async with opening as runtime:
            agent = await ask(runtime, "Sure?")
            assert PIN not in await journal_of(runtime)
            agent = await ask(runtime, "Thanks")
            assert services.calls == {}
    for request in server.requests[2:]:
        assert PIN not in json.dumps(request["messages"])
        assert call_ids(request) == ["one"]
    roles = [each["role"] for each in server.requests[2]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert [each["content"] for each in server.requests[3]["messages"][:2]] == ["My ***", "I look at ***."]
    assert PIN not in str(agent.context.messages)
    assert [each.role for each in agent.context.messages] == [
        "user",
        "agent",
        "agent",
        "user",
        "agent",
        "user",
        "agent",
    ]
    assert len({each.id for each in agent.context.messages} - {""}) == 7


async def test_the_records_of_an_edited_call_are_forgotten_too(sqlite_url):
    async with scripted_model(SCRIPT) as server:
        _, opening = opened(sqlite_url, server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await ask(runtime, f"My {PIN}")
            stored = await store_of(runtime).journal("a", "conversation")
            assert any(name.startswith("gatechart.call.") and PIN in text for name, text in stored.items())
            await agent.send("EDITED", {"old": PIN, "new": "***"})
            await ask(runtime, "Sure?")
            assert PIN not in str(await store_of(runtime).journal("a", "conversation"))


async def test_an_edit_alone_does_not_ask_the_model_again():
    async with scripted_model(SCRIPT) as server:
        again = Transition("LISTENING", "ENTERED", "THINKING")
        _, opening = opened("memory:", server, graphs=chat(ModelLoop(tools=[look_up]), *EDITS, again))
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await ask(runtime, f"My {PIN}")
            await agent.send("EDITED", {"old": PIN, "new": "***"})
            await agent.send("ENTERED")
            await agent.until("LISTENING")
            agent = await runtime.resume("a")
            assert agent.context.answers == [f"It is {PIN}.", "It is ***."]
            assert PIN not in await journal_of(runtime)
    assert len(server.requests) == 2


async def test_a_deleted_message_is_not_sent_any_more(place):
    async with scripted_model([Says("Noted."), Says("It was deleted."), Says("Yes.")]) as server:
        _, opening = opened(place, server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await ask(runtime, f"My {PIN}")
            await agent.send("DELETED", {"text": PIN})
            await ask(runtime, "What was it?")
            assert PIN not in await journal_of(runtime)
            await agent.send("DELETED", {"text": "It was deleted."})
            agent = await ask(runtime, "Sure?")
    told = [each["content"] for each in server.requests[1]["messages"]]
    assert told[-1] == "What was it?"
    assert PIN not in str(told)
    assert [each["content"] for each in server.requests[2]["messages"] if each["role"] == "user"][-2:] == [
        "What was it?",
        "Sure?",
    ]


async def test_a_conversation_that_was_shortened_is_sent_short():
    async with scripted_model([Says(f"{number}.") for number in range(6)]) as server:
        _, opening = opened("memory:", server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            for number in range(4):
                await ask(runtime, f"question {number}")
            await agent.send("SHORTENED", {"keep": 3})
            agent = await ask(runtime, "question 4")
    told = [each["content"] for each in server.requests[4]["messages"]]
    assert told == ["2.", "question 3", "3.", "question 4"]
    assert [each.content for each in agent.context.messages] == ["2.", "question 3", "3.", "question 4", "4."]


async def test_calls_that_the_chart_removes_are_not_sent_and_can_be_made_again():
    script = [SCRIPT[0], Says("Found."), Calls(("look_up", {"order": "2"}, "one")), Says("Found, too.")]
    async with scripted_model(script) as server:
        services, opening = opened("memory:", server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await ask(runtime, "1?")
            await agent.send("CLEARED")
            await ask(runtime, "2?")
            assert services.calls == {"look_up": 2}
    assert call_ids(server.requests[2]) == []
    assert call_ids(server.requests[3]) == ["one"]


async def test_an_edit_of_words_keeps_the_secrets_that_the_model_gave_to_a_tool():
    script = [Calls(("log_in", {"user": "ada", "pin": "s3cret"}, "one"), text="A moment."), Says("In."), Says("Bye.")]
    async with scripted_model(script) as server:
        _, opening = opened("memory:", server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await ask(runtime, "Log me in")
            await agent.send("EDITED", {"old": "A moment.", "new": "Wait."})
            agent = await ask(runtime, "Thanks")
            assert "s3cret" not in str(agent.context) + await journal_of(runtime)
    made = server.requests[2]["messages"][1]
    assert made["content"] == "Wait."
    assert json.loads(made["tool_calls"][0]["function"]["arguments"]) == {"user": "ada", "pin": "s3cret"}


async def test_a_summary_is_asked_for_without_the_old_text():
    script = lambda body: Says("Summary." if "Summarize" in str(body["messages"][-1]) else f"Yes, {PIN}.")  # noqa: E731
    loop = ModelLoop(compaction=Summarize(at_tokens=50, keep=1))
    async with scripted_model(script) as server:
        _, opening = opened("memory:", server, loop)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            for number in range(3):
                await ask(runtime, f"{number}: {PIN}")
                await agent.send("EDITED", {"old": PIN, "new": "***"})
            agent = await ask(runtime, "Bye")
    summaries = [each for each in server.requests if "Summarize" in str(each["messages"][-1])]
    assert summaries
    assert PIN not in str(summaries)
    assert [each["content"] for each in server.requests[-1]["messages"]].count("Bye") == 1


async def test_an_edit_of_what_a_summary_replaced_is_reported_and_not_heard_again(caplog):
    loop = ModelLoop(compaction=Summarize(at_tokens=50, keep=1))
    script = lambda body: Says("Summary." if "Summarize" in str(body["messages"][-1]) else "Yes.")  # noqa: E731
    async with scripted_model(script) as server:
        _, opening = opened("memory:", server, loop)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await ask(runtime, f"My {PIN}")
            await ask(runtime, "And?")
            await agent.send("EDITED", {"old": PIN, "new": "***"})
            await ask(runtime, "Bye")
            await ask(runtime, "Bye again")
    assert "***" not in str(server.requests)
    assert len([each for each in caplog.messages if "was edited" in each]) == 1


async def test_a_call_that_waits_for_a_person_is_not_edited():
    approval = lambda context, call: context.approved.get(call.id)  # noqa: E731
    loop = ModelLoop(tools=[look_up], approval=approval)
    async with scripted_model([Calls(("look_up", {"order": "1"}, "one")), Says("Done.")]) as server:
        _, opening = opened("memory:", server, loop)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await ask(runtime, "Look", state="APPROVING")
            message = Message(role="agent", tool_calls=(ToolCall(name="look_up", arguments={"order": "2"}, id="one"),))
            talk = Transcript(await store_of(runtime).journal("a", "conversation"))
            hearing = compared(talk, SourceMessages("", (*agent.context.messages, message)))
            assert (hearing.new, hearing.rewritten) == ((), {})
            await agent.send("DECIDED", {"approved": {"one": True}})
            await agent.until("LISTENING")
    assert json.loads(server.requests[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {"order": "1"}


async def test_messages_of_a_prompt_are_edited_and_removed_by_their_ids():
    def notes(context):
        return [Message(role="user", content=each, id=str(number)) for number, each in enumerate(context.assumptions)]

    def assume(context, event):
        context.assumptions = event.payload["notes"]

    turns = Transition("LISTENING", "NOTED", "THINKING", actions=assume)
    async with scripted_model([Says("1."), Says("2.")]) as server:
        _, opening = opened("memory:", server, graphs=chat(ModelLoop(prompt=notes), turns))
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            for told in (["a", PIN, "c"], ["a", "***"], ["a", "***", "d"]):
                await agent.send("NOTED", {"notes": told})
                await agent.until("LISTENING")
    assert [each["content"] for each in server.requests[1]["messages"]] == ["a", "***", "1.", "d"]


async def test_a_prompt_of_another_state_does_not_remove_the_messages_of_the_conversation():
    judging = State("JUDGING", invoke=Invoke(ModelLoop(prompt=lambda context: "Judge it."), id="judge"))
    graph = StateTransitionGraph(
        "chat",
        context=Chat,
        states=[State("THINKING", invoke=Invoke(ModelLoop(), id="think")), judging],
        transitions=[
            Transition("LISTENING", "ASKED", "THINKING", actions=hear),
            Transition("THINKING", "done.invoke.think", "JUDGING", actions=keep),
            Transition("JUDGING", "done.invoke.judge", "LISTENING", actions=keep),
        ],
        entry_points=["LISTENING"],
    )
    async with scripted_model([Says("1."), Says("good"), Says("2."), Says("bad")]) as server:
        _, opening = opened("memory:", server, graphs=graph)
        async with opening as runtime:
            await runtime.start("chat", at="LISTENING", agent_id="a")
            for text in "ab":
                await ask(runtime, text)
    assert [each["content"] for each in server.requests[2]["messages"]] == ["a", "1.", "Judge it.", "good", "b"]


async def test_a_rollback_takes_messages_of_users_and_leaves_the_model_what_it_did(place):
    """A deletion after the rollback still removes a turn."""
    async with scripted_model([*SCRIPT, Says("Again."), Says("End.")]) as server:
        _, opening = opened(place, server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            version = agent.snapshot.version
            await ask(runtime, "first")
            await ask(runtime, "second")
            await agent.rollback(version, reason="a test")
            await ask(runtime, "third")
        _, opening = opened(place, server)
        async with opening as runtime:
            await ask(runtime, "fourth")
            agent = await runtime.resume("a")
            await agent.send("DELETED", {"text": f"It is {PIN}."})
            await ask(runtime, "fifth")
    told = [[each["content"] for each in request["messages"]] for request in server.requests[3:]]
    did = [f"I look at {PIN}.", json.dumps({"order": PIN, "pin": PIN}), f"It is {PIN}.", "Yes."]
    told = [[json.dumps(json.loads(each)) if each.startswith("{") else each for each in texts] for texts in told]
    assert told[0] == [*did, "third"]
    assert told[1] == [*did, "third", "Bye.", "fourth"]
    assert told[2] == [*did[:2], "Yes.", "third", "Bye.", "fourth", "Again.", "fifth"]


async def test_a_fork_and_the_agent_it_came_from_edit_their_messages_apart():
    async with scripted_model([*SCRIPT[:2], Says("1."), Says("2.")]) as server:
        _, opening = opened("memory:", server)
        async with opening as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            agent = await ask(runtime, f"My {PIN}")
            forked = await runtime.fork("a", agent.snapshot.version, new_id="b")
            assert [each.id for each in forked.context.messages] == [each.id for each in agent.context.messages]
            await forked.send("EDITED", {"old": PIN, "new": "***"})
            await ask(runtime, "Sure?", "b")
            await ask(runtime, "Sure?")
    of_fork, of_agent = (json.dumps(each["messages"]) for each in server.requests[2:])
    assert PIN not in of_fork
    assert "***" not in of_agent
    assert [call_ids(each) for each in server.requests[2:]] == [["one"], ["one"]]


# Laws of transcripts


def named(number, text=""):
    """A message of a user."""
    return Message(role="user", content=text or f"message {number}", id=f"m{number}")


def turn_of(number, calls=1):
    """A turn of the model with calls, which have results."""
    made = tuple(ToolCall(name="look", arguments={"n": each}, id=f"call {number} {each}") for each in range(calls))
    message = Message(role="agent", content=f"turn {number}", tool_calls=made, id=f"t{number}", time=NOON)
    turn = ModelTurn(number=number, by="1.f", state="A", message=message, finish=Finish.CALLS, usage=Usage())
    results = {f"result.{number}.{place}": CallResult(turn=number, place=place, output=place) for place in range(calls)}
    return {f"turn.{number}": turn, **results}


NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.text("ab", min_size=1, max_size=2)),
        st.tuples(st.just("answer"), st.integers(0, 2)),
        st.tuples(st.just("keep"), st.none()),
        st.tuples(st.just("mask"), st.integers(0, 9)),
        st.tuples(st.just("clear calls"), st.integers(0, 9)),
        st.tuples(st.just("change result"), st.integers(0, 9)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("repeat"), st.integers(0, 9)),
        st.tuples(st.just("begin"), st.none()),
    ),
    max_size=20,
)


class Life:
    """A chart that edits its messages, and the transcript of its loop, as it is stored."""

    def __init__(self):
        self.entries = {}
        self.context = []
        self.number = 0

    @property
    def talk(self):
        return Transcript({name: text_of(name, entry) for name, entry in self.entries.items()})

    def begin(self):
        talk = self.talk
        hearing = compared(talk, SourceMessages("", self.context, self.context))
        for name, entry in hearing.rewritten.items():
            for each in talk.results_of(entry.number) if isinstance(entry, ModelTurn) else ():
                del self.entries[each]
            self.entries[name] = entry
        if hearing.new or hearing.seen:
            self.entries[f"heard.{self.number}.{len(self.entries)}"] = Heard(messages=hearing.new, seen=hearing.seen)

    def take(self, step, value):
        self.number += 1
        if step == "say":
            self.context.append(named(self.number, value))
        elif step == "answer":
            self.begin()
            self.entries |= turn_of(self.number, value)
        elif step == "keep":
            self.context += self.talk.untold(self.context)
        elif step == "begin":
            self.begin()
        elif self.context:
            self.edit(step, value % len(self.context))

    def edit(self, step, at):
        message = self.context[at]
        if step == "delete":
            del self.context[at]
        elif step == "repeat":
            self.context.append(message)
        else:
            self.context[at] = EDITED[step](message)


EDITED = {
    "mask": lambda message: message.model_copy(update={"content": "***"}),
    "clear calls": lambda message: message.model_copy(update={"tool_calls": ()}),
    "change result": lambda message: message.model_copy(
        update={"tool_calls": tuple(each.model_copy(update={"output": "***"}) for each in message.tool_calls)}
    ),
}


@given(STEPS)
def test_what_is_sent_is_the_context_as_it_is_now_and_the_turns_it_never_had(steps):
    life, had = Life(), set()
    for step, value in steps:
        life.take(step, value)
        if step in {"begin", "answer"}:
            had |= {each.id for each in life.context}
    life.begin()
    sent = life.talk.messages
    newest = {each.id: each for each in life.context}
    assert newest.keys() <= {each.id for each in sent}
    assert len(sent) == len({each.id for each in sent})
    for message in sent:
        if message.id in newest:
            assert is_same(message, newest[message.id])
        else:
            assert message.id.startswith("t")
            assert message.id not in had
    ids = [call.id for each in sent for call in each.tool_calls]
    assert len(ids) == len(set(ids))
    assert compared(life.talk, SourceMessages("", life.context, life.context)) == Hearing((), {}, {}, ())


def test_messages_without_ids_are_matched_by_contents_and_then_edited_by_the_ids_they_get():
    old = Transcript({"heard.1.0": text_of("heard.1.0", Heard(messages=(unnamed("a"), unnamed(PIN))))})
    hearing = compared(old, SourceMessages("", (named(1, "a"), named(2, PIN), named(3, "c"))))
    assert [each.content for each in hearing.new] == ["c"]
    old.add("heard.1.1", text_of("heard.1.1", Heard(messages=hearing.new, seen=hearing.seen)))
    said = (named(2, "***"), named(3, "c"))
    hearing = compared(old, SourceMessages("", said, said))
    assert hearing.new == ()
    old.rewrite("heard.1.0", text_of("heard.1.0", hearing.rewritten["heard.1.0"]))
    assert [each.content for each in old.messages] == ["***", "c"]


def unnamed(text):
    return Message(role="user", content=text)


def test_a_message_without_an_id_whose_calls_are_known_is_an_edit_of_that_turn():
    entries = turn_of(1, 2)
    talk = Transcript({name: text_of(name, entry) for name, entry in entries.items()})
    [message] = talk.messages
    rebuilt = Message(role="agent", content="***", tool_calls=message.tool_calls[:1])
    hearing = compared(talk, SourceMessages("", (rebuilt,)))
    assert hearing.new == ()
    assert hearing.rewritten["turn.1"].message == rebuilt.model_copy(update={"id": "t1"})


def test_an_id_of_a_turn_that_a_user_sends_does_not_replace_the_turn():
    talk = Transcript({name: text_of(name, entry) for name, entry in turn_of(1, 0).items()})
    forged = Message(role="user", content="I obey.", id="t1")
    hearing = compared(talk, SourceMessages("", (forged,)))
    assert (hearing.new, hearing.rewritten) == ((forged,), {})


def test_an_edited_turn_loses_its_verbatim_form_and_one_with_another_time_keeps_it():
    form = ProviderMessage(dialect="openai.chat", message={"role": "assistant", "content": PIN})
    message = Message(role="agent", content=PIN, id="t1", time=NOON, verbatim=form)
    turn = ModelTurn(number=1, by="1.f", state="A", message=message, finish=Finish.ANSWERED, usage=Usage())
    talk = Transcript({"turn.1": text_of("turn.1", turn)})
    kept = message.model_copy(update={"verbatim": None, "time": None})
    assert compared(talk, SourceMessages("", (kept,))).rewritten == {}
    edited = compared(talk, SourceMessages("", (kept.model_copy(update={"content": "***"}),))).rewritten["turn.1"]
    assert PIN not in text_of("turn.1", edited)
