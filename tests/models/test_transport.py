"""What is sent to a provider, where, and how an answer is bounded before anything reads it."""

import gzip
import json
import subprocess
import sys
from datetime import UTC, datetime

import httpx
import httpx2
import pytest

from gatechart import tool
from gatechart.errors import ModelFailedError
from gatechart.errors.extras import ExtraMissingError
from gatechart.handoff import Message
from gatechart.models import AnswerBounds, AnthropicModel, Finish, ModelRequest, OpenAIModel, PydanticAIModel
from gatechart.tools.retries import is_passing, retry_after_s
from tests.models.answers import call, chat, chunks, delta, sse
from tests.models.answers_anthropic import event, note, start, streamed_blocks, use
from tests.models.raw_server import Raw, answer, raw_server

KINDS = [OpenAIModel, AnthropicModel]
ASKED = Message(role="user", content="Where?")
GOOD = {OpenAIModel: chat({"content": "Hi"}), AnthropicModel: note([{"type": "text", "text": "Hi"}])}
PATHS = {OpenAIModel: "/v1/chat/completions", AnthropicModel: "/v1/messages"}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["at once", "streamed"])
def request_(request):
    return ModelRequest(messages=(ASKED,), tell=print if request.param else None)


async def test_a_request_carries_the_key_and_no_headers_but_ours(kind):
    async with raw_server(answer(GOOD[kind])) as server:
        await kind("m", url=server.url, api_key="k", headers={"X-Team": "a"}).reply(ModelRequest(messages=(ASKED,)))
    [asked] = server.asked
    assert (asked.method, asked.path) == ("POST", PATHS[kind])
    sdk = ("host", "accept", "accept-encoding", "content-length", "content-type", "user-agent")
    own = {name: value for name, value in asked.headers.items() if name not in sdk}
    key = (
        {"authorization": "Bearer k"} if kind is OpenAIModel else {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    )
    assert own == key | {"x-team": "a"}
    assert asked.headers["host"] in server.url


async def test_no_key_is_no_header(kind):
    async with raw_server(answer(GOOD[kind])) as server:
        await kind("m", url=server.url).reply(ModelRequest(messages=(ASKED,)))
    assert not {"authorization", "x-api-key"} & server.asked[0].headers.keys()


async def test_the_environment_changes_neither_address_nor_key_nor_headers(kind, monkeypatch):
    async with raw_server(answer(GOOD[kind])) as server, raw_server(answer(GOOD[kind])) as other:
        for name in ("OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{name}_BASE_URL", other.url)
            monkeypatch.setenv(f"{name}_API_KEY", "wrong")
            monkeypatch.setenv(f"{name}_CUSTOM_HEADERS", "X-Api-Key: wrong\nAuthorization: wrong\nHost: wrong")
        for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "ANTHROPIC_AUTH_TOKEN"):
            monkeypatch.setenv(name, "wrong")
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, other.url)
        reply = await kind("m", url=server.url, api_key="k").reply(ModelRequest(messages=(ASKED,)))
    assert reply.message.content == "Hi"
    assert (len(server.asked), len(other.asked)) == (1, 0)
    assert "wrong" not in str(server.asked[0].headers)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nothing_is_sent_to_the_target_of_a_redirect(kind, status, request_):
    async with raw_server(answer(GOOD[kind])) as target:
        moved = Raw((b"",), status=status, headers={"location": f"{target.url}/x"})
        async with raw_server(moved) as server:
            with pytest.raises(ModelFailedError, match=str(status)) as failed:
                await kind("m", url=server.url, api_key="k").reply(request_)
    assert (len(server.asked), len(target.asked), is_passing(failed.value)) == (1, 0, False)


@pytest.mark.parametrize("library", [httpx, httpx2])
async def test_a_client_of_the_application_makes_the_connections_and_stays_open(kind, library, request_):
    async with raw_server(answer(GOOD[kind])) as server, library.AsyncClient(follow_redirects=True) as http:
        model = kind("m", url=server.url, api_key="k", http=http)
        assert (await model.reply(request_)).message.content == "Hi"
        assert (await model.reply(request_)).message.content == "Hi"
        assert not http.is_closed


async def test_a_provider_that_cannot_be_reached_is_worth_another_try(kind, request_):
    with pytest.raises(ModelFailedError) as failed:
        await kind("m", url="http://127.0.0.1:9/v1").reply(request_)
    assert (failed.value.code, is_passing(failed.value)) == ("connection", True)


@pytest.mark.parametrize(
    ("headers", "seconds", "is_worth_it"),
    [
        ({"retry-after": "7"}, 7.0, True),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5, True),
        ({"retry-after": "Tue, 01 Jan 2030 12:00:30 GMT"}, 30.0, True),
        ({"retry-after": "soon", "retry-after-ms": "x"}, 0.0, True),
        ({"x-should-retry": "false"}, 0.0, False),
    ],
)
async def test_the_wait_that_a_provider_asks_for_is_read(kind, headers, seconds, is_worth_it, request_):
    refusal = answer({"error": {"message": "slow down"}}, status=429, headers=headers)
    async with raw_server(refusal) as server:
        with pytest.raises(ModelFailedError) as failed:
            await kind("m", url=server.url).reply(request_)
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert (retry_after_s(failed.value, noon), is_passing(failed.value)) == (seconds, is_worth_it)


async def test_more_tokens_than_the_sdk_would_wait_for_are_asked_for_at_once():
    async with raw_server(answer(GOOD[AnthropicModel])) as server:
        model = AnthropicModel("m", url=server.url, most_tokens=60_000)
        assert (await model.reply(ModelRequest(messages=(ASKED,)))).finish is Finish.ANSWERED
    assert server.asked[0].body["max_tokens"] == 60_000


# What an answer may have


def pieces(content, headers):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return Raw(tuple(data[at : at + 65536] for at in range(0, len(data), 65536)), headers=headers)


JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}
MANY = [call(call_id=f"c{number}") for number in range(20_000)]
LONG = "x" * 60_000_000
NUMBERS = json.dumps({"a": [1] * 1_400_000})
LARGE = {
    "20,000 calls": (OpenAIModel, lambda: pieces(chat({"tool_calls": MANY}, "tool_calls"), JSON)),
    "20,000 calls in one chunk": (
        OpenAIModel,
        lambda: pieces(
            sse(delta({"tool_calls": [{"index": n, **each} for n, each in enumerate(MANY)]})).encode(), STREAM
        ),
    ),
    "20,000 calls in chunks": (
        OpenAIModel,
        lambda: pieces(
            chunks(*({"tool_calls": [{"index": n, **each}]} for n, each in enumerate(MANY))).encode(), STREAM
        ),
    ),
    "20,000 blocks": (
        AnthropicModel,
        lambda: pieces(note([use(call_id=f"t{n}") for n in range(20_000)], "tool_use"), JSON),
    ),
    "20,000 blocks in events": (
        AnthropicModel,
        lambda: pieces((start() + "".join(streamed_blocks([use(given={})] * 20_000))).encode(), STREAM),
    ),
    "60 MB of text": (OpenAIModel, lambda: pieces(chat({"content": LONG}), JSON)),
    "60 MB of text in a block": (AnthropicModel, lambda: pieces(note([{"type": "text", "text": LONG}]), JSON)),
    "60 MB of text in an event": (OpenAIModel, lambda: pieces(chunks({"content": LONG}).encode(), STREAM)),
    "60 MB without a line end": (AnthropicModel, lambda: pieces(b"data: " + LONG.encode() * 2, STREAM)),
    "60 MB of refusal": (OpenAIModel, lambda: Raw((LONG.encode(),), status=500)),
    "4 MB of arguments": (OpenAIModel, lambda: pieces(chat({"tool_calls": [call(arguments=NUMBERS)]}), JSON)),
    "4 MB of input": (AnthropicModel, lambda: pieces(note([use(given=json.loads(NUMBERS))]), JSON)),
    "4 MB of input in an event": (
        AnthropicModel,
        lambda: pieces(
            (
                start()
                + event("content_block_start", index=0, content_block=use(given={}))
                + event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": NUMBERS})
                + event("message_delta", delta={"stop_reason": "tool_use"})
            ).encode(),
            STREAM,
        ),
    ),
    "a million lists": (OpenAIModel, lambda: pieces(chat({"content": "Hi", "x": [[0]] * 1_000_000}), JSON)),
    "300,000 parts": (OpenAIModel, lambda: pieces(chat({"content": [{"type": "text"}] * 300_000}), JSON)),
    "a compressed text": (
        OpenAIModel,
        lambda: Raw(
            (gzip.compress(json.dumps(chat({"content": LONG})).encode()),), headers=JSON | {"content-encoding": "gzip"}
        ),
    ),
    "deep content": (OpenAIModel, lambda: answer(chat({"content": "Hi", "x": json.loads("[" * 90 + "]" * 90)}))),
}


@pytest.mark.parametrize("name", LARGE)
async def test_an_answer_that_exceeds_a_bound_is_refused_and_not_asked_for_again(name):
    kind, raw = LARGE[name]
    given = raw()
    is_streamed = given.headers.get("content-type") == "text/event-stream"
    async with raw_server(given) as server:
        with pytest.raises(ModelFailedError) as failed:
            await kind("m", url=server.url).reply(
                ModelRequest(messages=(ASKED,), tell=(lambda _: None) if is_streamed else None)
            )
    assert (failed.value.code, is_passing(failed.value)) == ("answer_too_large", False)


async def test_bounds_are_settings_of_the_model(kind):
    async with raw_server(answer(GOOD[kind])) as server:
        with pytest.raises(ModelFailedError, match="more than 20 bytes"):
            await kind("m", url=server.url, bounds=AnswerBounds(bytes=20)).reply(ModelRequest(messages=(ASKED,)))
    with pytest.raises(ValueError, match="AnswerBounds\\(calls=0\\): give 1 or more"):
        AnswerBounds(calls=0)


async def test_an_answer_that_is_compressed_although_it_should_not_be_is_read(kind):
    body = gzip.compress(json.dumps(GOOD[kind]).encode())
    async with raw_server(Raw((body[:10], body[10:]), headers=JSON | {"content-encoding": "gzip"})) as server:
        assert (await kind("m", url=server.url).reply(ModelRequest(messages=(ASKED,)))).message.content == "Hi"
    assert server.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip"])
async def test_compression_that_cannot_be_read_says_so(encoding):
    raw = Raw((b"not compressed",), headers=JSON | {"content-encoding": encoding})
    async with raw_server(raw) as server:
        with pytest.raises(ModelFailedError, match="compress") as failed:
            await OpenAIModel("m", url=server.url).reply(ModelRequest(messages=(ASKED,)))
    assert failed.value.code == "invalid_answer"


# Settings, and what has to be installed


@tool
def look(a: int) -> str:
    """Look."""
    return str(a)


async def test_tools_of_the_settings_are_offered_beside_those_of_the_loop(kind):
    search = {"type": "web_search_20250305", "name": "web_search"}
    async with raw_server(answer(GOOD[kind])) as server:
        await kind("m", url=server.url, settings={"tools": [search]}).reply(
            ModelRequest(messages=(ASKED,), tools=(look,))
        )
    tools = server.asked[0].body["tools"]
    assert tools[0] == search
    assert [each.get("name") or each["function"]["name"] for each in tools] == ["web_search", "look"]


@pytest.mark.parametrize(("choice", "words"), [("none", "none"), ("required", "any")])
async def test_a_request_says_whether_tools_may_be_called(kind, choice, words):
    async with raw_server(answer(GOOD[kind])) as server:
        await kind("m", url=server.url).reply(ModelRequest(messages=(ASKED,), tools=(look,), tool_choice=choice))
    body = server.asked[0].body
    assert body["tool_choice"] == (choice if kind is OpenAIModel else {"type": words})
    assert len(body["tools"]) == 1


async def test_a_system_prompt_of_the_settings_comes_before_the_instructions():
    async with raw_server(answer(GOOD[AnthropicModel])) as server:
        model = AnthropicModel("m", url=server.url, settings={"system": "First."})
        await model.reply(ModelRequest(messages=(ASKED,), instructions="Then."))
    assert [each["text"] for each in server.asked[0].body["system"]] == ["First.", "Then."]


@pytest.mark.parametrize("name", ["messages", "stream"])
def test_settings_that_the_loop_makes_itself_are_refused(kind, name):
    with pytest.raises(ValueError, match=name):
        kind("m", settings={name: []})


@pytest.mark.parametrize(
    ("made", "package", "extra"),
    [
        (OpenAIModel, "openai", "openai"),
        (AnthropicModel, "anthropic", "anthropic"),
        (PydanticAIModel, "pydantic_ai", "pydantic-ai"),
    ],
)
def test_a_package_that_is_missing_is_named_when_the_model_is_made(made, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ExtraMissingError, match=rf"pip install 'gatechart\[{extra}\]'"):
        made("m")


def test_no_sdk_is_imported_before_the_first_request():
    program = """
import sys
from gatechart.models import AnthropicModel, OpenAIModel
from gatechart import ModelLoop
ModelLoop(OpenAIModel("m")), AnthropicModel("m")
print([each for each in ("openai", "anthropic", "httpx2", "httpx") if each in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
