"""A provider's message goes back to it as it came, and to another provider in a form that this one takes."""

import json

import pytest

from gatechart import ModelLoop, Runtime, tool
from gatechart.errors import ModelFailedError
from gatechart.handoff import MediaPart, Message, ProviderMessage, TextPart, ToolCall
from gatechart.models import AnthropicModel, Finish, ModelRequest, OpenAIModel, Usage
from gatechart.models.contents import with_arguments
from gatechart.models.dialects import message_of
from gatechart.models.entries import ModelTurn, text_of
from gatechart.models.transcript import Transcript
from gatechart.tools.naming import model_name
from gatechart.values.secrets import hidden
from tests.models.answer_checks import check_chat, check_messages
from tests.models.answers import call, chat, chunks, pieces_of
from tests.models.answers_anthropic import end, note, start, streamed_blocks, text, use
from tests.models.raw_server import answer, events, raw_server
from tests.models.support import Services
from tests.models.support import chat as chat_graph

ASKED = Message(role="user", content="Where?")


@tool(name="Bestellung suchen")
def look(order: str) -> str:
    """Look an order up."""
    return order


KNOWN_AS = model_name(look.name)
THOUGHTFUL = {
    "role": "assistant",
    "content": None,
    "reasoning_content": "hm",
    "annotations": [],
    "tool_calls": [
        call(KNOWN_AS, '{"order":  "1"}', "function-call-1", extra_content={"google": {"thought_signature": "s"}})
    ],
}
BLOCKS = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    text("I look."),
    {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srv",
        "content": [{"type": "web_search_result", "encrypted_content": "e"}],
    },
    use(KNOWN_AS, {"order": "1"}, "toolu_1"),
]
ANSWERS = {
    "chat": (OpenAIModel, answer(chat(THOUGHTFUL, "tool_calls")), THOUGHTFUL),
    "chat, streamed": (OpenAIModel, events(chunks(*pieces_of(THOUGHTFUL), finish="tool_calls")), THOUGHTFUL),
    "messages": (AnthropicModel, answer(note(BLOCKS, "tool_use")), BLOCKS),
    "messages, streamed": (
        AnthropicModel,
        events(start() + "".join(streamed_blocks(BLOCKS)) + end("tool_use")),
        BLOCKS,
    ),
}


def request(*said, tell=None, **more):
    return ModelRequest(messages=said, tools=(look,), tell=tell, **more)


def stored(message):
    """A message as it comes out of a journal."""
    turn = ModelTurn(number=1, by="1.a", state="A", message=message, finish=Finish.CALLS, usage=Usage())
    return Transcript({"turn.1": text_of("turn.1", turn)}).last.message


def answered(message, output="lost"):
    calls = tuple(each.model_copy(update={"output": output}) for each in message.tool_calls)
    return message.model_copy(update={"tool_calls": calls})


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_message_goes_back_as_it_came(name):
    kind, raw, verbatim = ANSWERS[name]
    tell = print if "streamed" in name else None
    async with raw_server(raw) as server:
        model = kind("m", url=server.url)
        reply = await model.reply(request(ASKED, tell=tell))
        assert reply.message.tool_calls[0].name == look.name
        await model.reply(request(ASKED, answered(stored(reply.message)), tell=tell))
    sent = server.asked[1].body["messages"][1]
    assert (sent if kind is OpenAIModel else sent["content"]) == verbatim


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_message_is_converted_for_another_provider(name):
    kind, raw, _ = ANSWERS[name]
    other = AnthropicModel if kind is OpenAIModel else OpenAIModel
    async with raw_server(raw) as server:
        tell = print if "streamed" in name else None
        reply = await kind("m", url=server.url).reply(request(ASKED, tell=tell))
        with pytest.raises(ModelFailedError):  # the server answers in the first dialect
            await other("m", url=server.url).reply(request(ASKED, answered(stored(reply.message))))
    sent = server.asked[1].body["messages"]
    (check_messages if other is AnthropicModel else check_chat)(sent)
    assert KNOWN_AS in json.dumps(sent)
    for word in ("thinking", "signature", "reasoning_content", "web_search"):
        assert word not in json.dumps(sent)


async def test_providers_of_one_dialect_are_told_apart_by_their_hosts():
    deepseek = ProviderMessage(dialect="openai.chat", host="api.deepseek.com", message=THOUGHTFUL)
    message = answered(message_of(deepseek, {}))
    for url, goes_back in (("https://api.deepseek.com", True), ("https://api.groq.com/v1", False)):
        sent = await sent_by(OpenAIModel("m", url=url), message)
        assert ("reasoning_content" in sent[1]) is goes_back


async def sent_by(model, *said):
    """The messages of a request after what was asked."""
    return messages_for(model, ASKED, *said)


def messages_for(model, *said):
    """The messages of a request, which is not sent."""
    return model._body(request(*said))["messages"]


async def test_a_call_whose_id_the_loop_changed_has_its_result_under_the_new_one():
    message = message_of(ProviderMessage(dialect="openai.chat", message=THOUGHTFUL), {})
    [made] = message.tool_calls
    renamed = message.model_copy(update={"tool_calls": (made.model_copy(update={"id": "call_new"}),)})
    assert stored(renamed) == renamed
    _, own, result = await sent_by(OpenAIModel("m"), renamed)
    assert (own["tool_calls"][0]["id"], result["tool_call_id"]) == ("call_new", "call_new")
    assert own["reasoning_content"] == "hm"


@pytest.mark.parametrize(
    ("model", "has_short_ids"),
    [
        (OpenAIModel("m"), False),
        (AnthropicModel("m"), False),
        (OpenAIModel("m", url="https://api.mistral.ai/v1"), True),
    ],
)
async def test_ids_names_roles_and_orders_of_any_conversation_are_made_valid(model, has_short_ids):
    odd = [
        Message(role="agent", content="Welcome."),
        Message(role="user", content=" "),
        Message(role="agent", content=""),
        Message(
            role="agent", tool_calls=(ToolCall(name="functions.look up:0", id="functions.look:0 ü" * 9, output=1),)
        ),
        Message(role="agent", tool_calls=(ToolCall(name="a", id="same"), ToolCall(name="b", id="same"))),
        Message(role="agent", tool_calls=(ToolCall(name="c", id="same"), ToolCall(name="d"), ToolCall(name="d"))),
        Message(role="agent", content="Done. "),
    ]
    for said in (odd, odd[1:], odd[:1], odd[1:3], []):
        sent = messages_for(model, *said)
        (check_messages if isinstance(model, AnthropicModel) else check_chat)(sent)
        ids = (
            [each["tool_call_id"] for each in sent if each["role"] == "tool"] if isinstance(model, OpenAIModel) else []
        )
        assert len(set(ids)) == len(ids)
        if has_short_ids:
            assert all(len(each) == 9 and each.isalnum() for each in ids)


def test_secrets_are_marked_in_the_verbatim_form_and_go_back_unmasked():
    for form in (
        ProviderMessage(dialect="openai.chat", message=THOUGHTFUL),
        ProviderMessage(dialect="anthropic.messages", message=BLOCKS),
    ):
        message = message_of(form, {})
        marked = with_arguments(message, lambda name, given: {"order": {"$secret": given["order"]}})
        assert stored(marked) == marked
        assert '"1"' not in str(hidden(marked.verbatim.message)).replace("'", '"')
        assert form.message in (THOUGHTFUL, BLOCKS)  # the first form is unchanged


def test_a_message_that_was_edited_is_stored_as_it_is_now():
    message = message_of(ProviderMessage(dialect="openai.chat", message=THOUGHTFUL), {})
    edited = message.model_copy(update={"content": "Changed."})
    assert stored(edited) == edited.model_copy(update={"verbatim": None})


def test_the_form_of_an_applications_own_model_is_kept():
    message = Message(role="agent", content="Hi", verbatim=ProviderMessage(dialect="mine", message=[1]))
    assert stored(message) == message
    with_call = message.model_copy(update={"tool_calls": (ToolCall(name="a", arguments={"b": 1}),)})
    assert with_arguments(with_call, lambda name, given: {}).verbatim is None


async def test_a_loop_sends_back_what_its_model_thought_also_after_a_restart(tmp_path):
    looks = answer(chat({**THOUGHTFUL, "tool_calls": [{**THOUGHTFUL["tool_calls"][0], "id": None}]}, "tool_calls"))
    good = answer(chat({"content": "Lost.", "reasoning_content": "hm 2"}))
    store = f"sqlite+aiosqlite:///{tmp_path}/agents.db"
    async with raw_server(looks, good, good) as server:
        for number, words in enumerate(("Where?", "Sure?"), 1):
            services = Services(server, look)
            graph = chat_graph(ModelLoop(tools=[look], stream=False))
            async with Runtime.open(store, graphs=graph, services=services) as runtime:
                if number == 1:
                    agent = await runtime.start("chat", at="LISTENING", agent_id="a")
                else:
                    agent = await runtime.resume("a")
                await agent.send("ASKED", {"text": words})
                await agent.until("LISTENING")
                agent = await runtime.resume("a")
    assert agent.context.answers == ["Lost.", "Lost."]
    assert "reasoning_content" not in str(agent.context)  # the transcript alone keeps the form
    last = server.asked[-1].body["messages"]
    check_chat(last)
    assert [each["role"] for each in last] == ["user", "assistant", "tool", "assistant", "user"]
    assert (last[1]["reasoning_content"], last[3]["reasoning_content"]) == ("hm", "hm 2")
    assert last[1]["tool_calls"][0]["extra_content"] == THOUGHTFUL["tool_calls"][0]["extra_content"]


def test_turns_of_earlier_versions_are_read():
    old = (
        '{"number":1,"by":"1.a","state":"A","message":{"role":"agent","content":"Hi","time":null,"tool_calls":[]},'
        '"finish":"answered","usage":{"input_tokens":1,"output_tokens":2,"cached_tokens":0,"cost":0.0,"requests":1},'
        '"transfers":[]}'
    )
    last = Transcript({"turn.1": old}).last
    assert (last.message, last.usage.is_reported, last.reason) == (Message(role="agent", content="Hi"), True, "")


@pytest.mark.parametrize("name", ["chat", "messages"])
async def test_a_turn_takes_little_more_room_than_without_the_verbatim_form(name):
    words = "It was shipped on Monday, and the carrier has it. " * 4
    given = {"order": "4711", "note": words}
    if name == "chat":
        told = {"content": words, "refusal": None, "annotations": [], "tool_calls": [call("look", json.dumps(given))]}
        kind, raw = OpenAIModel, answer(chat(told, "tool_calls"))
    else:
        kind, raw = AnthropicModel, answer(note([text(words), use("look", given)], "tool_use"))
    async with raw_server(raw) as server:
        reply = await kind("m", url=server.url).reply(request(ASKED))
    sizes = [
        len(
            text_of(
                "turn.1", ModelTurn(number=1, by="1.a", state="A", message=each, finish=reply.finish, usage=reply.usage)
            )
        )
        for each in (reply.message, reply.message.model_copy(update={"verbatim": None}))
    ]
    assert sizes[0] <= 1.3 * sizes[1]


# Files

PHOTO = MediaPart(media_type="image/png", name="photo.png", data="AAAA")
LINKED = MediaPart(media_type="image/jpeg", url="https://example.com/a.jpg")
PAPER = MediaPart(media_type="application/pdf", name="paper.pdf", data="AAAA")
SOUND = MediaPart(media_type="audio/mpeg", name="call.mp3", data="AAAA")
NOTE = MediaPart(media_type="text/plain", name="note.txt", data="SGk=")
ELSEWHERE = MediaPart(media_type="image/png", digest="ab" * 32)
SEE = Message(role="user", content="See", parts=(TextPart(text="See"), PHOTO, LINKED, PAPER, SOUND, NOTE, ELSEWHERE))


async def test_files_are_shown_to_openai():
    model = OpenAIModel("m", accepts=["image/*", "application/pdf", "audio/*"])
    parts = (await sent_by(model, SEE))[1]["content"]
    assert [each["type"] for each in parts] == ["text", "image_url", "image_url", "file", "input_audio", "text", "text"]
    assert parts[1]["image_url"] == {"url": "data:image/png;base64,AAAA"}
    assert parts[2]["image_url"] == {"url": LINKED.url}
    assert parts[3]["file"] == {"filename": "paper.pdf", "file_data": "data:application/pdf;base64,AAAA"}
    assert parts[4]["input_audio"] == {"data": "AAAA", "format": "mp3"}
    assert parts[5]["text"] == "[note.txt]\nHi"
    assert parts[6]["text"] == "[A file that you cannot be shown: image/png]"


async def test_files_are_shown_to_anthropic():
    [sent] = await sent_by(AnthropicModel("m"), SEE)
    _, see, photo, linked, paper, sound, note_, elsewhere = sent["content"]
    assert see == {"type": "text", "text": "See"}
    assert photo["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert linked["source"] == {"type": "url", "url": LINKED.url}
    assert (paper["type"], paper["title"]) == ("document", "paper.pdf")
    assert sound["text"] == "[A file that you cannot be shown: audio/mpeg, call.mp3, 3 bytes]"
    assert note_["text"] == "[note.txt]\nHi"
    assert elsewhere["text"] == "[A file that you cannot be shown: image/png]"


async def test_a_model_that_takes_no_files_is_told_their_names():
    for kind in (OpenAIModel, AnthropicModel):
        sent = await sent_by(kind("m", accepts=[]), SEE)
        assert "photo.png" in json.dumps(sent)
        assert "AAAA" not in json.dumps(sent)


async def test_files_among_the_results_of_calls_are_shown():
    calls = (
        ToolCall(name="a", id="a", output="found", parts=(TextPart(text="found"), PHOTO)),
        ToolCall(name="b", id="b", output="plain"),
        ToolCall(name="c", id="c", error="broken", parts=(PHOTO,)),
    )
    said = Message(role="agent", tool_calls=calls)
    chat_ = await sent_by(OpenAIModel("m"), said)
    check_chat(chat_)
    assert [each["content"] for each in chat_[2:5]] == ["found\n[image/png, shown below]", "plain", "Error: broken"]
    assert [each["type"] for each in chat_[5]["content"]] == ["text", "image_url"]
    _, _, results = await sent_by(AnthropicModel("m"), said)
    first, second, third = results["content"]
    assert [each["type"] for each in first["content"]] == ["text", "image"]
    assert (second["content"], third["content"], third["is_error"]) == ("plain", "Error: broken", True)
