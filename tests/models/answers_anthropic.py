"""Answers in Anthropic's dialect. They join the cases of `answers`."""

import json

from gatechart.models import AnthropicModel
from tests.models.answers import A, C, E, F, L, P, R, U, Wanted, case
from tests.models.raw_server import answer, events, unescaped

USED = {"input_tokens": 9, "output_tokens": 3}
COUNTED = (9, 3, 0, 0)


def note(blocks, reason="end_turn", usage=USED, **more):
    told = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": blocks}
    return {**told, "stop_reason": reason, "stop_sequence": None, "usage": usage, **more}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def use(name="look", given=None, call_id="t1", **more):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"a": 1} if given is None else given, **more}


def event(kind, **more):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"


def start(usage=None):
    return event(
        "message_start", message=note([], None, {"input_tokens": 9, "output_tokens": 1} if usage is None else usage)
    )


def end(reason="end_turn", usage=None):
    told = {"output_tokens": 3} if usage is None else usage
    return event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=told) + event(
        "message_stop"
    )


def streamed_blocks(blocks):
    for index, block in enumerate(blocks):
        begun, deltas = in_pieces(block)
        yield event("content_block_start", index=index, content_block=begun)
        for each in deltas:
            yield event("content_block_delta", index=index, delta=each)
        yield event("content_block_stop", index=index)


def in_pieces(block):
    match block:
        case {"type": "text", "text": str(words)}:
            return {**block, "text": ""}, [{"type": "text_delta", "text": each} for each in words]
        case {"type": "thinking", "thinking": words, "signature": sign}:
            said = [{"type": "thinking_delta", "thinking": each} for each in words]
            return {**block, "thinking": "", "signature": ""}, [*said, {"type": "signature_delta", "signature": sign}]
        case {"type": "tool_use" | "server_tool_use" | "mcp_tool_use", "input": given}:
            written = given if isinstance(given, str) else json.dumps(given)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": each} for each in written]
    return block, []


def both(of, name, blocks, reason, wanted, **more):
    case(of, name, AnthropicModel, answer(note(blocks, reason, **more)), wanted)
    data = start(more.get("usage")) + "".join(streamed_blocks(blocks)) + end(reason, more.get("usage"))
    case(of, name, AnthropicModel, events(data), wanted, is_streamed=True)


def at_once(of, name, body, wanted):
    case(of, name, AnthropicModel, answer(body), wanted)


def streamed(of, name, data, wanted, **more):
    case(of, name, AnthropicModel, events(data, **more), wanted, is_streamed=True)


ONE = [("look", {"a": 1})]
HI = Wanted(A, "Hi", usage=COUNTED)

both("message in words", "one block", [text("Hi")], "end_turn", HI)
both("message in words", "two blocks", [text("H"), text("i")], "end_turn", HI)
both("message in words", "a stop sequence", [text("Hi")], "stop_sequence", HI)
both("message with calls", "one", [use()], "tool_use", Wanted(C, "", [("look", {"a": 1}, "t1")]))
both(
    "message with calls",
    "two after words",
    [text("So."), use(), use("find", {}, "t2")],
    "tool_use",
    Wanted(C, "So.", [*ONE, ("find", {}, "t2")]),
)
both("message with calls", "that ends its turn", [use()], "end_turn", Wanted(C, "", ONE))
both("message with calls", "no arguments", [use(given={})], "tool_use", Wanted(C, "", [("look", {})]))
both("message cut off", "in words", [text("Hi")], "max_tokens", Wanted(L, "Hi"))
both("message cut off", "at the window", [text("Hi")], "model_context_window_exceeded", Wanted(L, "Hi"))
both("message cut off", "a call with empty input", [use(given={})], "max_tokens", Wanted(L, "", [("look", {})]))
streamed(
    "message cut off",
    "a call in its arguments",
    start() + "".join(streamed_blocks([use(given='{"a": 1, "b')])) + end("max_tokens"),
    Wanted(L, "", [("look", None)]),
)
streamed(
    "message cut off",
    "a call before its end",
    start() + event("content_block_start", index=0, content_block=use(given={})) + end("max_tokens"),
    Wanted(L, "", [("look", {})]),
)
both("message refused", "with words", [text("No.")], "refusal", Wanted(R, "No."))
both("message refused", "without", [], "refusal", Wanted(R, ""))
both("message filtered", "by a gateway", [text("Hi")], "content_filtered", Wanted(F, "Hi"))
both("message filtered", "a guardrail", [text("Hi")], "guardrail_intervened", Wanted(F, "Hi"))
both("empty message", "no blocks", [], "end_turn", Wanted(E, ""))
both("empty message", "an empty text", [text("")], "end_turn", Wanted(E, ""))
both("empty message", "blank text", [text("\n\n")], "end_turn", Wanted(E, "\n\n"))
both(
    "empty message",
    "thoughts alone",
    [{"type": "thinking", "thinking": "hm", "signature": "s"}],
    "end_turn",
    Wanted(E, ""),
)
at_once("empty message", "null", note(None), Wanted(E, ""))
both("unknown stop reason", "a new one", [text("Hi")], "quantum", Wanted(U, "Hi"))
both("unknown stop reason", "calls that are missing", [text("Hi")], "tool_use", Wanted(U, "Hi"))
at_once("no stop reason", "null", note([text("Hi")], None), HI)
streamed("no stop reason", "null in a stream", start() + "".join(streamed_blocks([text("Hi")])) + end(None), HI)
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "e"}],
}
both(
    "paused",
    "after a search",
    [text("I look."), SEARCH, FOUND],
    "pause_turn",
    Wanted(P, "I look.", kept=[text("I look."), SEARCH, FOUND]),
)
both("paused", "with nothing but a search", [SEARCH], "pause_turn", Wanted(P, "", kept=[SEARCH]))
both("paused", "after a compaction", [{"type": "compaction", "content": "short"}], "compaction", Wanted(P, ""))
MCP = {"type": "mcp_tool_use", "id": "m1", "name": "find", "server_name": "s", "input": {"q": 1}}
MCP_FOUND = {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [text("x")]}
both(
    "the provider's own tools",
    "a search",
    [SEARCH, FOUND, text("Hi")],
    "end_turn",
    Wanted(A, "Hi", kept=[SEARCH, FOUND, text("Hi")]),
)
both(
    "the provider's own tools",
    "MCP",
    [MCP, MCP_FOUND, text("Hi")],
    "end_turn",
    Wanted(A, "Hi", kept=[MCP, MCP_FOUND, text("Hi")]),
)
both(
    "the provider's own tools",
    "beside ours",
    [SEARCH, FOUND, use()],
    "tool_use",
    Wanted(C, "", ONE, kept=[SEARCH, FOUND, use()]),
)
both(
    "the provider's own tools",
    "an unknown block",
    [{"type": "hologram", "x": [1]}, text("Hi")],
    "end_turn",
    Wanted(A, "Hi", kept=[{"type": "hologram", "x": [1]}, text("Hi")]),
)
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s=="}
HIDDEN = {"type": "redacted_thinking", "data": "x=="}
both(
    "thinking",
    "before words",
    [THOUGHT, text("Hi")],
    "end_turn",
    Wanted(A, "Hi", kept=[THOUGHT, text("Hi")], told="Hi"),
)
both(
    "thinking",
    "redacted, between calls",
    [HIDDEN, use(), THOUGHT, use("find", {}, "t2")],
    "tool_use",
    Wanted(C, "", [*ONE, ("find", {})], kept=[HIDDEN, use(), THOUGHT, use("find", {}, "t2")]),
)
CITED = {"type": "char_location", "cited_text": "x", "document_index": 0}
streamed(
    "citations",
    "in pieces",
    start()
    + event("content_block_start", index=0, content_block=text("", citations=[]))
    + event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"})
    + event("content_block_delta", index=0, delta={"type": "citations_delta", "citation": CITED})
    + end(),
    Wanted(A, "Hi", kept=[text("Hi", citations=[CITED])]),
)
at_once(
    "citations", "at once", note([text("Hi", citations=[CITED])]), Wanted(A, "Hi", kept=[text("Hi", citations=[CITED])])
)
at_once("citations", "null", note([text("Hi", citations=None)]), HI)

for name, usage in {
    "all": {"input_tokens": None, "output_tokens": None},
    "none": {},
    "texts": {"input_tokens": "x"},
    "a list": [1],
}.items():
    at_once("usage of messages", name, note([text("Hi")], usage=usage), Wanted(A, "Hi", usage=(0, 0, 0, 1)))
at_once(
    "usage of messages",
    "null caches",
    note([text("Hi")], usage={**USED, "cache_read_input_tokens": None, "cache_creation_input_tokens": None}),
    HI,
)
at_once(
    "usage of messages",
    "caches",
    note([text("Hi")], usage={**USED, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 5}),
    Wanted(A, "Hi", usage=(34, 3, 20, 0)),
)
at_once(
    "usage of messages",
    "missing",
    {"content": [text("Hi")], "stop_reason": "end_turn"},
    Wanted(A, "Hi", usage=(0, 0, 0, 1)),
)
WORDS = "".join(streamed_blocks([text("Hi")]))
streamed(
    "usage in events",
    "null at the end overwrites nothing",
    start() + WORDS + end(usage={"input_tokens": None, "output_tokens": 3}),
    HI,
)
streamed(
    "usage in events",
    "null output at the end",
    start({"input_tokens": 9, "output_tokens": 3}) + WORDS + end(usage={"output_tokens": None}),
    HI,
)
streamed("usage in events", "only at the end", start({}) + WORDS + end(usage=USED), HI)
streamed(
    "usage in events",
    "null as usage",
    start() + WORDS + event("message_delta", delta={"stop_reason": "end_turn"}, usage=None) + event("message_stop"),
    Wanted(A, "Hi", usage=(9, 1, 0, 0)),
)

streamed(
    "blocks in pieces",
    "text in the first event",
    start()
    + event("content_block_start", index=0, content_block=text("H"))
    + event("content_block_delta", index=0, delta={"type": "text_delta", "text": "i"})
    + end(),
    Wanted(A, "Hi", told="Hi"),
)
streamed(
    "blocks in pieces",
    "input given at the start",
    start() + event("content_block_start", index=0, content_block=use()) + end("tool_use"),
    Wanted(C, "", ONE),
)
streamed(
    "blocks in pieces",
    "input given at the start, then an empty piece",
    start()
    + event("content_block_start", index=0, content_block=use())
    + event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": ""})
    + end("tool_use"),
    Wanted(C, "", ONE),
)
streamed(
    "blocks in pieces",
    "pieces that take turns",
    start()
    + event("content_block_start", index=0, content_block=use(given={}))
    + event("content_block_start", index=1, content_block=use("find", {}, "t2"))
    + event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"b": 2}'})
    + event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"a": 1}'})
    + end("tool_use"),
    Wanted(C, "", [*ONE, ("find", {"b": 2})]),
)
streamed(
    "blocks in pieces",
    "no beginning",
    start() + event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"}) + end(),
    Wanted(A, "Hi"),
)
streamed(
    "blocks in pieces",
    "unknown events and pieces",
    start()
    + event("hologram", x=1)
    + WORDS
    + event("content_block_delta", index=0, delta={"type": "hologram_delta"})
    + end(),
    HI,
)
streamed(
    "blocks in pieces",
    "the end of a block that never began",
    start() + WORDS + event("content_block_stop", index=7) + end(),
    HI,
)
streamed(
    "blocks in pieces",
    "input of a call that never began",
    start() + event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": "{}"}) + end(),
    Wanted(code="invalid_answer"),
)
streamed(
    "blocks in pieces", "a null delta", start() + WORDS + event("content_block_delta", index=0, delta=None) + end(), HI
)
streamed("blocks in pieces", "no message_start", WORDS + end(), Wanted(A, "Hi"))

BODY = start() + WORDS + end()
streamed("forms of named events", "CRLF", BODY.replace("\n", "\r\n"), HI)
streamed("forms of named events", "CR", BODY.replace("\n", "\r"), HI)
streamed(
    "forms of named events",
    "pings",
    BODY.replace("event: content_block_delta", 'event: ping\ndata: {"type": "ping"}\n\nevent: content_block_delta'),
    HI,
)
streamed("forms of named events", "pings without data", "event: ping\n\n" + BODY, HI)
streamed(
    "forms of named events",
    "no names",
    "".join(f"{line}\n" for line in BODY.split("\n") if not line.startswith("event:")),
    HI,
)
streamed("forms of named events", "comments and ids", ": hello\n\nid: 4\n\n\n" + BODY, HI)
streamed("forms of named events", "[DONE]", BODY + "data: [DONE]\n\n", HI)
streamed(
    "forms of named events",
    "no message_stop",
    start() + WORDS + event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3}),
    HI,
)
streamed("forms of named events", "no blank line at the end", BODY.rstrip("\n"), HI)
for size in (1, 7, 33):
    data = start() + "".join(streamed_blocks([text("Größe 😀\u2028"), use(given={"ä": "日"})])) + end("tool_use")
    streamed(
        "pieces of named events",
        f"{size} bytes",
        unescaped(data),
        Wanted(C, "Größe 😀\u2028", [("look", {"ä": "日"})]),
        size=size,
    )
for name, mark in {"U+2028": "\u2028", "U+0085": "\x85"}.items():
    data = BODY.replace('"text": "H"', f'"text": "{mark}"')
    streamed("marks in named events", name, data, Wanted(A, f"{mark}i", told=f"{mark}i"))
for name, given in {
    "an array": [1],
    "a number": 7,
    "a text": "x",
    "a text with a key twice": '{"a": 1, "a": 2}',
}.items():
    at_once("input that cannot be read", name, note([use(given=given)], "tool_use"), Wanted(C, "", [("look", None)]))
for name, written in {
    "no JSON": "{x",
    "a key twice": '{"a": 1, "a": 2}',
    "NaN": '{"a": NaN}',
    "an array": "[1]",
}.items():
    streamed(
        "input that cannot be read",
        name,
        start() + "".join(streamed_blocks([use(given=written)])) + end("tool_use"),
        Wanted(C, "", [("look", None)]),
    )
at_once("input that is missing", "null", note([{**use(), "input": None}], "tool_use"), Wanted(C, "", [("look", {})]))
at_once("input that is missing", "as JSON text", note([use(given='{"a": 1}')], "tool_use"), Wanted(C, "", ONE))
at_once("content as a text", "words", note("Hi"), HI)
for name, body in {
    "no JSON": b"nope",
    "empty": b"",
    "an array": b"[]",
    "no content": b"{}",
    "blocks without types": b'{"content": [{}]}',
    "content that is an object": b'{"content": {"a": 1}}',
    "blocks that are texts": b'{"content": ["x"]}',
}.items():
    at_once("no message", name, body, Wanted(code="invalid_answer"))
for name, error, wanted in (
    ("overloaded", {"type": "overloaded_error", "message": "Overloaded"}, Wanted(code="overloaded")),
    ("api error", {"type": "api_error", "message": "Internal server error"}, Wanted(code="server_error")),
    ("rate limit", {"type": "rate_limit_error", "message": "slow down"}, Wanted(code="rate_limit")),
    (
        "too long",
        {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"},
        Wanted(code="context_length", is_permanent=True),
    ),
    (
        "wrong request",
        {"type": "invalid_request_error", "message": "messages: required"},
        Wanted(code="invalid_request", is_permanent=True),
    ),
):
    at_once("an error inside a message", name, {"type": "error", "error": error}, wanted)
    streamed("an error inside a message", f"{name}, first", event("error", error=error), wanted)
    streamed("an error inside a message", f"{name}, after words", start() + WORDS + event("error", error=error), wanted)
streamed("events that are cut off", "none", "", Wanted(code="cut_off"))
streamed("events that are cut off", "after the start", start(), Wanted(code="cut_off"))
streamed(
    "events that are cut off",
    "within a call",
    start() + event("content_block_start", index=0, content_block=use(given={})),
    Wanted(code="cut_off"),
)
streamed("events that are cut off", "by the connection", start() + WORDS, Wanted(code="connection"), is_cut_off=True)
case(
    "a provider that does not stream",
    "JSON",
    AnthropicModel,
    answer(note([text("Hi")])),
    Wanted(A, "Hi", usage=COUNTED, told="Hi"),
    is_streamed=True,
)
for status, error, wanted in (
    (529, {"type": "overloaded_error", "message": "Overloaded"}, Wanted(code="overloaded", status=529)),
    (429, {"type": "rate_limit_error", "message": "slow down"}, Wanted(code="rate_limit", status=429)),
    (
        400,
        {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"},
        Wanted(code="context_length", is_permanent=True, status=400),
    ),
    (
        400,
        {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 1 + 2 > 3"},
        Wanted(code="context_length", is_permanent=True, status=400),
    ),
    (
        400,
        {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."},
        Wanted(code="quota", is_permanent=True, status=400),
    ),
    (
        400,
        {
            "type": "invalid_request_error",
            "message": "The compiled grammar is too large. Simplify your tool schemas or reduce the number of strict tools.",
        },
        Wanted(code="too_many_strict_tools", is_permanent=True, status=400),
    ),
    (
        400,
        {
            "type": "invalid_request_error",
            "message": "Too many strict tools (25). The maximum number of strict tools is 20.",
        },
        Wanted(code="too_many_strict_tools", is_permanent=True, status=400),
    ),
    (
        413,
        {"type": "request_too_large", "message": "Request exceeds the maximum size"},
        Wanted(code="context_length", is_permanent=True, status=413),
    ),
    (
        401,
        {"type": "authentication_error", "message": "invalid x-api-key"},
        Wanted(code="authentication", is_permanent=True, status=401),
    ),
    (404, {"type": "not_found_error", "message": "model: m"}, Wanted(code="not_found", is_permanent=True, status=404)),
    (500, {"type": "api_error", "message": "Internal server error"}, Wanted(code="server_error", status=500)),
):
    for is_streamed in (False, True):
        name = f"{status} {wanted.code} {error['message'][:20]}"
        case(
            "refused messages",
            name,
            AnthropicModel,
            answer({"type": "error", "error": error}, status=status),
            wanted,
            is_streamed=is_streamed,
        )
