"""Answers as models and servers give them, each with its right outcome, by class."""

import json
from dataclasses import dataclass, field
from typing import Any

from gatechart.models import Finish, OpenAIModel
from tests.models.raw_server import Raw, answer, events, unescaped

A, C, L, R, F, P, E, U = (
    Finish.ANSWERED,
    Finish.CALLS,
    Finish.LENGTH,
    Finish.REFUSED,
    Finish.FILTERED,
    Finish.PAUSED,
    Finish.EMPTY,
    Finish.UNKNOWN,
)
ANY = object()


@dataclass(frozen=True)
class Wanted:
    """The right outcome: a reply, or a failure with its code."""

    finish: Finish | None = None
    text: Any = ANY
    calls: Any = ()  # (name, arguments) or (name, arguments, id); arguments None if they cannot be read
    usage: Any = ANY  # (input, output, cached, unreported)
    kept: dict = field(default_factory=dict)  # fields of the verbatim form
    told: Any = ANY  # what watchers heard in all
    media: Any = ()  # media types among the parts
    code: str = ""
    is_permanent: bool = False
    status: int | None = None


@dataclass(frozen=True)
class Case:
    of: str  # its class
    name: str
    kind: type
    raw: Raw
    is_streamed: bool
    wanted: Wanted

    def __str__(self):
        return f"{self.of}-{self.name}-{'streamed' if self.is_streamed else 'at once'}"


CASES: list[Case] = []


def case(of, name, kind, raw, wanted, *, is_streamed=False):
    CASES.append(Case(of, name, kind, raw, is_streamed, wanted))


# OpenAI's chat completions

USED = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
COUNTED = (9, 3, 0, 0)


def chat(message, finish="stop", usage=USED, **more):
    told = {"role": "assistant", "content": None} | message
    return {"id": "c1", "object": "chat.completion", "model": "m", "usage": usage} | {
        "choices": [{"index": 0, "message": told, "finish_reason": finish}],
        **more,
    }


def delta(told, finish=None, **more):
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": told, "finish_reason": finish}],
        **more,
    }


def sse(*data, done="data: [DONE]\n\n", end="\n\n"):
    return "".join(f"data: {each if isinstance(each, str) else json.dumps(each)}{end}" for each in data) + done


def chunks(*deltas, finish="stop", usage=USED):
    last = [{"choices": [], "usage": usage}] if usage is not None else []
    return sse(*map(delta, deltas), delta({}, finish), *last)


def call(name="look", arguments='{"a": 1}', call_id="c1", **more):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def both(of, name, message, finish, wanted, **more):
    """The same message at once, and streamed: text by characters, calls in pieces."""
    case(of, name, OpenAIModel, answer(chat(message, finish, **more)), wanted)
    case(of, name, OpenAIModel, events(chunks(*pieces_of(message), finish=finish, **more)), wanted, is_streamed=True)


def pieces_of(message):
    yield {"role": "assistant", "content": ""}
    for key, value in message.items():
        if key == "tool_calls":
            for index, each in enumerate(value or ()):
                yield from call_pieces(index, each)
        elif isinstance(value, str) and key != "role":
            yield from ({key: letter} for letter in value)
        else:
            yield {key: value}


def call_pieces(index, told):
    function = told.get("function") or {}
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        yield {"tool_calls": [{"index": index, **told}]}
        return
    yield {"tool_calls": [{"index": index, **told, "function": {**function, "arguments": ""}}]}
    yield from ({"tool_calls": [{"index": index, "function": {"arguments": letter}}]} for letter in arguments)


def at_once(of, name, body, wanted):
    case(of, name, OpenAIModel, answer(body), wanted)


def streamed(of, name, data, wanted, **more):
    case(of, name, OpenAIModel, events(data, **more), wanted, is_streamed=True)


ONE = [("look", {"a": 1})]
HI = Wanted(A, "Hi", usage=COUNTED)

both("plain answer", "words", {"content": "Hi"}, "stop", HI)
both("plain answer", "accents and emoji", {"content": "Größe 😀 日本"}, "stop", Wanted(A, "Größe 😀 日本"))
both(
    "plain answer",
    "unknown fields stay",
    {"content": "Hi", "x_note": {"a": [1]}},
    "stop",
    Wanted(A, "Hi", kept={"x_note": {"a": [1]}}),
)
both("plain answer", "control characters in the text", {"content": "a\x00b\tc\x0b"}, "stop", Wanted(A, "a\x00b\tc\x0b"))
both("plain calls", "one", {"tool_calls": [call()]}, "tool_calls", Wanted(C, "", [("look", {"a": 1}, "c1")]))
both("plain calls", "with words", {"content": "So.", "tool_calls": [call()]}, "tool_calls", Wanted(C, "So.", ONE))
both(
    "plain calls",
    "two",
    {"tool_calls": [call(), call("find", "{}", "c2")]},
    "tool_calls",
    Wanted(C, "", [("look", {"a": 1}, "c1"), ("find", {}, "c2")]),
)
both("calls that end with stop", "Ollama, Gemini", {"tool_calls": [call()]}, "stop", Wanted(C, "", ONE))
both("calls that end with stop", "the older word", {"tool_calls": [call()]}, "function_call", Wanted(C, "", ONE))

for reason in ("length", "max_tokens", "model_length", "MAX_TOKENS", "max_output_tokens"):
    both("cut off at the limit", f"words, {reason}", {"content": "Hi"}, reason, Wanted(L, "Hi"))
both(
    "cut off at the limit",
    "a call without arguments",
    {"tool_calls": [call(arguments="")]},
    "length",
    Wanted(L, "", [("look", {})]),
)
both(
    "cut off at the limit",
    "a call in its arguments",
    {"tool_calls": [call(arguments='{"a": ')]},
    "length",
    Wanted(L, "", [("look", None)]),
)
both("cut off at the limit", "nothing but thoughts", {"reasoning_content": "hm"}, "length", Wanted(L, ""))
for reason in ("content_filter", "SAFETY", "sensitive", "PROHIBITED_CONTENT", "RECITATION"):
    both("filtered", reason, {"content": "Hi"}, reason, Wanted(F, "Hi"))
both("filtered", "with a call", {"tool_calls": [call()]}, "content_filter", Wanted(F, "", ONE))
both("refused", "by a field", {"content": None, "refusal": "No."}, "stop", Wanted(R, "No.", told="No."))
both("refused", "by the reason", {"content": "No."}, "refusal", Wanted(R, "No."))
both("refused", "a null is no refusal", {"content": "Hi", "refusal": None}, "stop", HI)
both("empty", "no text", {"content": ""}, "stop", Wanted(E, ""))
both("empty", "null", {"content": None}, "stop", Wanted(E, ""))
both("empty", "blank", {"content": " \n"}, "stop", Wanted(E, " \n"))
both("empty", "thoughts alone", {"reasoning_content": "hm"}, "stop", Wanted(E, ""))
both("empty", "an empty list of calls", {"content": "Hi", "tool_calls": []}, "stop", HI)
both("empty", "no call although it says so", {"content": "Hi"}, "tool_calls", Wanted(U, "Hi"))
both("unknown reason", "a new one", {"content": "Hi"}, "quantum", Wanted(U, "Hi"))
both("unknown reason", "with a call", {"tool_calls": [call()]}, "malformed_function_call", Wanted(U, "", ONE))
at_once("no reason", "null", chat({"content": "Hi"}, None), HI)
at_once("no reason", "missing", {"choices": [{"message": {"content": "Hi"}}], "usage": USED}, HI)
at_once("no reason", "no text", chat({"content": "Hi"}, ""), HI)
at_once("no reason", "a call", chat({"tool_calls": [call()]}, None), Wanted(C, "", ONE))
for reason in ("error", "network_error", "insufficient_system_resource", "abort"):
    both("broken off by the provider", reason, {"content": "Hi"}, reason, Wanted(code="error_in_answer"))

both(
    "usage with nulls",
    "all",
    {"content": "Hi"},
    "stop",
    Wanted(A, "Hi", usage=(0, 0, 0, 1)),
    usage={"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
)
both(
    "usage with nulls",
    "details",
    {"content": "Hi"},
    "stop",
    HI,
    usage={**USED, "prompt_tokens_details": None, "completion_tokens_details": None},
)
both(
    "usage with nulls",
    "cached",
    {"content": "Hi"},
    "stop",
    HI,
    usage={**USED, "prompt_tokens_details": {"cached_tokens": None}},
)
both(
    "usage with nulls",
    "output",
    {"content": "Hi"},
    "stop",
    Wanted(A, "Hi", usage=(9, 0, 0, 1)),
    usage={"prompt_tokens": 9, "completion_tokens": None},
)
both("usage that is odd", "missing", {"content": "Hi"}, "stop", Wanted(A, "Hi", usage=(0, 0, 0, 1)), usage=None)
both(
    "usage that is odd",
    "zeros",
    {"content": "Hi"},
    "stop",
    Wanted(A, "Hi", usage=(0, 0, 0, 1)),
    usage={"prompt_tokens": 0, "completion_tokens": 0},
)
both(
    "usage that is odd",
    "texts",
    {"content": "Hi"},
    "stop",
    Wanted(A, "Hi", usage=(0, 0, 0, 1)),
    usage={"prompt_tokens": "many", "completion_tokens": [1]},
)
both("usage that is odd", "a list", {"content": "Hi"}, "stop", Wanted(A, "Hi", usage=(0, 0, 0, 1)), usage=[1])
both(
    "usage that is odd",
    "negative",
    {"content": "Hi"},
    "stop",
    Wanted(A, "Hi", usage=(0, 3, 0, 1)),
    usage={"prompt_tokens": -1, "completion_tokens": 3},
)
both(
    "usage that is odd",
    "fractions",
    {"content": "Hi"},
    "stop",
    HI,
    usage={"prompt_tokens": 9.0, "completion_tokens": 3.0},
)
both(
    "usage that is odd",
    "the total alone tells",
    {"content": "Hi"},
    "stop",
    HI,
    usage={"prompt_tokens": 9, "total_tokens": 12},
)
both(
    "usage of caches",
    "OpenAI",
    {"content": "Hi"},
    "stop",
    Wanted(A, "Hi", usage=(9, 3, 4, 0)),
    usage={**USED, "prompt_tokens_details": {"cached_tokens": 4}},
)
both(
    "usage of caches",
    "DeepSeek",
    {"content": "Hi"},
    "stop",
    Wanted(A, "Hi", usage=(9, 3, 4, 0)),
    usage={**USED, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
)
both(
    "usage of caches",
    "more than was read",
    {"content": "Hi"},
    "stop",
    Wanted(A, "Hi", usage=(9, 3, 9, 0)),
    usage={**USED, "prompt_tokens_details": {"cached_tokens": 40}},
)
streamed(
    "usage in a stream",
    "in each chunk, then null",
    sse(delta({"content": "Hi"}, usage=USED), delta({}, "stop", usage=None)),
    HI,
)
streamed(
    "usage in a stream",
    "nulls after numbers",
    sse(delta({"content": "Hi"}, usage=USED), delta({}, "stop", usage=dict.fromkeys(USED))),
    HI,
)
streamed(
    "usage in a stream",
    "in the choice, as Moonshot",
    sse({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop", "usage": USED}]}),
    HI,
)
streamed("usage in a stream", "in x_groq", sse(delta({"content": "Hi"}, "stop", x_groq={"usage": USED})), HI)
streamed("usage in a stream", "none", chunks({"content": "Hi"}, usage=None), Wanted(A, "Hi", usage=(0, 0, 0, 1)))

for name, mark in {
    "U+2028": "\u2028",
    "U+2029": "\u2029",
    "U+0085": "\x85",
    "VT": "\x0b",
    "FF": "\x0c",
    "FS": "\x1c",
}.items():
    text = f"a{mark}b"
    data = 'data: {"choices": [{"index": 0, "delta": {"content": "%s"}, "finish_reason": "stop"}]}\n\n'
    raw = text if ord(mark) > 0x1F else json.dumps(text)[1:-1]
    streamed("marks that are no line ends", name, data % raw, Wanted(A, text, told=text))
    at_once(
        "marks that are no line ends",
        name,
        json.dumps(chat({"content": text}), ensure_ascii=False).encode(),
        Wanted(A, text),
    )

BODY = chunks({"content": "H"}, {"content": "i"})
streamed("forms of events", "CRLF", BODY.replace("\n", "\r\n"), HI)
streamed("forms of events", "CR", BODY.replace("\n", "\r"), HI)
streamed("forms of events", "no blank after the colon", BODY.replace("data: ", "data:"), HI)
streamed("forms of events", "comments", ": OPENROUTER PROCESSING\n\n" + BODY.replace("\n\n", "\n\n: ping\n\n"), HI)
streamed("forms of events", "ids and retries", "id: 1\nretry: 10\n\n" + BODY.replace("data: {", "id: 7\ndata: {"), HI)
streamed("forms of events", "empty data", "data:\n\ndata\n\n" + BODY, HI)
streamed("forms of events", "pings with a name", "event: ping\ndata:\n\nevent: ping\n\n" + BODY, HI)
streamed("forms of events", "names", BODY.replace("data: {", "event: message\ndata: {"), HI)
streamed(
    "forms of events",
    "a value in two lines of data",
    'data: {"choices": [{"index": 0, "delta": {"content": "Hi"},\ndata: "finish_reason": "stop"}]}\n\n',
    Wanted(A, "Hi"),
)
streamed("forms of events", "unknown fields", "foo: bar\nx\n" + BODY, HI)
streamed("forms of events", "a byte order mark", "\ufeff" + BODY, HI)
streamed(
    "forms of events",
    "no blank line at the end",
    sse(delta({"content": "Hi"}, "stop"), done="").rstrip("\n"),
    Wanted(A, "Hi"),
)
streamed("forms of events", "no [DONE]", sse(delta({"content": "Hi"}, "stop"), done=""), Wanted(A, "Hi"))
streamed("forms of events", "more after [DONE]", BODY + "data: nonsense\n\n", HI)
streamed("forms of events", "null as data", "data: null\n\n" + BODY, HI)
streamed("forms of events", "another type of content", BODY, HI, headers={"content-type": "text/plain"})
for size in (1, 2, 3, 5, 17, 64):
    whole = chunks(
        {"content": "Größe "}, {"content": "😀"}, {"tool_calls": [{"index": 0, **call(arguments='{"ä": "😀"}')}]}
    )
    streamed(
        "pieces of the network",
        f"{size} bytes",
        unescaped(whole),
        size=size,
        wanted=Wanted(C, "Größe 😀", [("look", {"ä": "😀"})]),
    )
streamed(
    "halves of characters",
    "escaped halves in two chunks",
    'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\n'
    'data: {"choices": [{"delta": {"content": "\\ude00"}, "finish_reason": "stop"}]}\n\n',
    Wanted(A, "😀", told="😀"),
)
streamed(
    "halves of characters",
    "half a character for ever",
    'data: {"choices": [{"delta": {"content": "a\\ud83d"}, "finish_reason": "stop"}]}\n\n',
    Wanted(A, "a\ufffd"),
)
streamed(
    "halves of characters",
    "bytes that are no UTF-8",
    b'data: {"choices": [{"delta": {"content": "a\xff"}, "finish_reason": "stop"}]}\n\n',
    Wanted(A, "a\ufffd"),
)
at_once(
    "halves of characters",
    "half a character",
    b'{"choices": [{"message": {"content": "a\\ud83d"}, "finish_reason": "stop"}]}',
    Wanted(A, "a\ufffd"),
)
at_once(
    "halves of characters",
    "bytes that are no UTF-8",
    b'{"choices": [{"message": {"content": "a\xff"}, "finish_reason": "stop"}]}',
    Wanted(A, "a\ufffd"),
)
streamed(
    "halves of characters",
    "escaped halves in arguments",
    'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look", "arguments": "{\\"a\\": \\"\\ud83d"}}]}}]}\n\n'
    'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "\\ude00\\"}"}}]}, "finish_reason": "tool_calls"}]}\n\n',
    Wanted(C, "", [("look", {"a": "😀"})]),
)

streamed(
    "nulls in chunks",
    "error",
    sse(delta({"content": "Hi"}, error=None), delta({}, "stop", error=None)),
    Wanted(A, "Hi"),
)
streamed("nulls in chunks", "delta", sse(delta({"content": "Hi"}), delta(None, "stop")), Wanted(A, "Hi"))
streamed(
    "nulls in chunks",
    "choices",
    sse({"choices": None, "usage": None}, delta({"content": "Hi"}, "stop")),
    Wanted(A, "Hi"),
)
streamed("nulls in chunks", "calls", sse(delta({"content": "Hi", "tool_calls": None}, "stop")), Wanted(A, "Hi"))
streamed(
    "nulls in chunks",
    "role and content",
    sse(delta({"role": None, "content": None}), delta({"content": "Hi"}, "stop")),
    Wanted(A, "Hi"),
)
streamed(
    "nulls in chunks",
    "Azure's filter before the rest",
    sse({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, delta({"content": "Hi"}, "stop")),
    Wanted(A, "Hi"),
)
at_once("nulls in answers", "error", chat({"content": "Hi"}, error=None), HI)
at_once(
    "nulls in answers",
    "calls, audio, annotations",
    chat({"content": "Hi", "tool_calls": None, "audio": None, "annotations": None}),
    HI,
)
at_once(
    "nulls in answers",
    "arguments",
    chat({"tool_calls": [call(arguments=None)]}, "tool_calls"),
    Wanted(C, "", [("look", {})]),
)


def piece(*told, finish=None):
    return delta({"tool_calls": list(told)}, finish)


def part(arguments, **more):
    return {**more, "function": {"arguments": arguments}}


streamed(
    "calls in pieces",
    "without an index",
    sse(piece(call(arguments='{"a"')), piece(part(": 1}")), delta({}, "tool_calls")),
    Wanted(C, "", ONE),
)
streamed(
    "calls in pieces",
    "two without an index",
    sse(piece(call()), piece(call("find", "{}", "c2"), finish="tool_calls")),
    Wanted(C, "", [*ONE, ("find", {})]),
)
streamed(
    "calls in pieces",
    "id: null later",
    sse(piece({"index": 0, **call(arguments='{"a"')}), piece(part(": 1}", index=0, id=None)), delta({}, "tool_calls")),
    Wanted(C, "", [("look", {"a": 1}, "c1")]),
)
streamed(
    "calls in pieces",
    'id: "" later',
    sse(piece({"index": 0, **call(arguments='{"a"')}), piece(part(": 1}", index=0, id="")), delta({}, "tool_calls")),
    Wanted(C, "", [("look", {"a": 1}, "c1")]),
)
streamed(
    "calls in pieces",
    "id: null for ever",
    sse(piece({"index": 0, **call(call_id=None)}, finish="tool_calls")),
    Wanted(C, "", [("look", {"a": 1}, "")]),
)
streamed(
    "calls in pieces",
    "the id comes late",
    sse(
        piece({"index": 0, **call(arguments='{"a"', call_id=None)}),
        piece(part(": 1}", index=0, id="c9")),
        delta({}, "tool_calls"),
    ),
    Wanted(C, "", [("look", {"a": 1}, "c9")]),
)
streamed(
    "calls in pieces",
    "the id in each piece",
    sse(piece({"index": 0, **call(arguments='{"a"')}), piece(part(": 1}", index=0, id="c1")), delta({}, "tool_calls")),
    Wanted(C, "", ONE),
)
streamed(
    "calls in pieces",
    "the name in each piece",
    sse(
        piece({"index": 0, **call(arguments='{"a"')}),
        piece({"index": 0, **call(arguments=": 1}")}),
        delta({}, "tool_calls"),
    ),
    Wanted(C, "", ONE),
)
streamed(
    "calls in pieces",
    "the name in each piece, without an id",
    sse(
        piece({"index": 0, **call(arguments='{"a"', call_id=None)}),
        piece({"index": 0, **call(arguments=": 1}", call_id=None)}),
        delta({}, "tool_calls"),
    ),
    Wanted(C, "", ONE),
)
streamed(
    "calls in pieces",
    "the name cut in two",
    sse(
        piece({"index": 0, **call("lo", "")}),
        piece({"index": 0, "function": {"name": "ok", "arguments": '{"a": 1}'}}),
        delta({}, "tool_calls"),
    ),
    Wanted(C, "", ONE),
)
streamed(
    "calls in pieces",
    "two of index 0",
    sse(piece({"index": 0, **call()}), piece({"index": 0, **call("find", "{}", "c2")}, finish="tool_calls")),
    Wanted(C, "", [*ONE, ("find", {})]),
)
streamed(
    "calls in pieces",
    "two of index 0 in one chunk",
    sse(piece({"index": 0, **call()}, {"index": 0, **call("find", "{}", "c2")}, finish="tool_calls")),
    Wanted(C, "", [*ONE, ("find", {})]),
)
streamed(
    "calls in pieces",
    "two of index 0 without ids",
    sse(piece({"index": 0, **call(call_id="")}), piece({"index": 0, **call("find", "{}", "")}, finish="tool_calls")),
    Wanted(C, "", [*ONE, ("find", {})]),
)
streamed(
    "calls in pieces",
    "two equal ones of index 0 without ids",
    sse(piece({"index": 0, **call(call_id="")}), piece({"index": 0, **call(call_id="")}, finish="tool_calls")),
    Wanted(C, "", [*ONE, *ONE]),
)
streamed(
    "calls in pieces",
    "pieces that take turns",
    sse(
        piece({"index": 0, **call(arguments="")}, {"index": 1, **call("find", "", "c2")}),
        piece(part('{"a"', index=0), part('{"b"', index=1)),
        piece(part(": 1}", index=0), part(": 2}", index=1)),
        delta({}, "tool_calls"),
    ),
    Wanted(C, "", [*ONE, ("find", {"b": 2})]),
)
streamed(
    "calls in pieces",
    "the index begins at 1",
    sse(piece({"index": 1, **call()}, finish="tool_calls")),
    Wanted(C, "", ONE),
)
streamed(
    "calls in pieces",
    "an object instead of a list",
    sse(delta({"tool_calls": {"index": 0, **call()}}, "tool_calls")),
    Wanted(C, "", ONE),
)
streamed(
    "calls in pieces",
    "the older function_call",
    sse(
        delta({"function_call": {"name": "look", "arguments": '{"a"'}}),
        delta({"function_call": {"arguments": ": 1}"}}),
        delta({}, "function_call"),
    ),
    Wanted(C, "", ONE),
)
streamed(
    "calls in pieces",
    "the message at the end",
    sse({"choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]}),
    Wanted(A, "Hi"),
)

both("arguments", "an object", {"tool_calls": [call(arguments={"a": 1})]}, "tool_calls", Wanted(C, "", ONE))
both("arguments", "none", {"tool_calls": [call(arguments="")]}, "tool_calls", Wanted(C, "", [("look", {})]))
both("arguments", "blank", {"tool_calls": [call(arguments=" \n")]}, "tool_calls", Wanted(C, "", [("look", {})]))
both(
    "arguments", "the word null", {"tool_calls": [call(arguments="null")]}, "tool_calls", Wanted(C, "", [("look", {})])
)
for name, text in {
    "no JSON": "{not json",
    "an array": "[1]",
    "a text": '"a"',
    "a number": "7",
    "two objects": '{"a": 1}{"a": 2}',
    "a key twice": '{"a": 1, "a": 2}',
    "a key twice within": '{"o": {"a": 1, "a": 1}}',
    "NaN": '{"a": NaN}',
    "infinity": '{"a": 1e999}',
    "half a character": '{"a": "\\ud83d"}',
    "a code fence": '```json\n{"a": 1}\n```',
    "single quotes": "{'a': 1}",
    "a trailing comma": '{"a": 1,}',
    "too deep": '{"a": ' + "[" * 80 + "]" * 80 + "}",
}.items():
    both(
        "arguments that cannot be read",
        name,
        {"tool_calls": [call(arguments=text)]},
        "tool_calls",
        Wanted(C, "", [("look", None)]),
    )
both(
    "calls of odd shape",
    "no name",
    {"tool_calls": [{"id": "c1", "function": {"arguments": "{}"}}]},
    "tool_calls",
    Wanted(C, "", [("", None)]),
)
both(
    "calls of odd shape",
    "no function",
    {"tool_calls": [{"id": "c1", "type": "function"}]},
    "tool_calls",
    Wanted(C, "", [("", None)]),
)
both(
    "calls of odd shape",
    "no type",
    {"tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"a": 1}'}}]},
    "tool_calls",
    Wanted(C, "", ONE),
)
both(
    "calls of odd shape",
    "a custom tool",
    {"tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "look", "input": "x"}}]},
    "tool_calls",
    Wanted(C, "", [("look", None)]),
)
at_once(
    "calls of odd shape",
    "no id",
    chat({"tool_calls": [{"function": {"name": "look", "arguments": '{"a": 1}'}}]}, "tool_calls"),
    Wanted(C, "", [("look", {"a": 1}, "")]),
)
at_once("calls of odd shape", "an index", chat({"tool_calls": [call(index=0)]}, "tool_calls"), Wanted(C, "", ONE))
at_once(
    "calls of odd shape", "an object instead of a list", chat({"tool_calls": call()}, "tool_calls"), Wanted(C, "", ONE)
)
at_once(
    "calls of odd shape",
    "the older function_call",
    chat({"function_call": {"name": "look", "arguments": '{"a": 1}'}}, "function_call"),
    Wanted(C, "", ONE),
)

both(
    "thoughts and signatures",
    "reasoning_content, DeepSeek",
    {"reasoning_content": "hm", "content": "Hi"},
    "stop",
    Wanted(A, "Hi", kept={"reasoning_content": "hm"}, told="Hi"),
)
both(
    "thoughts and signatures",
    "reasoning, OpenRouter",
    {"reasoning": "hm", "content": "Hi"},
    "stop",
    Wanted(A, "Hi", kept={"reasoning": "hm"}),
)
both(
    "thoughts and signatures",
    "reasoning_details",
    {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}], "content": "Hi"},
    "stop",
    Wanted(A, "Hi", kept={"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}]}),
)
SIGNED = call(extra_content={"google": {"thought_signature": "s=="}})
both(
    "thoughts and signatures",
    "extra_content, Gemini",
    {"tool_calls": [SIGNED]},
    "tool_calls",
    Wanted(C, "", ONE, kept={"tool_calls": [SIGNED]}),
)
streamed(
    "thoughts and signatures",
    "details in pieces",
    sse(
        *(delta({"reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}]}) for text in "hm"),
        delta({"content": "Hi"}, "stop"),
    ),
    Wanted(A, "Hi", kept={"reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}]}),
)
streamed(
    "thoughts and signatures",
    "the signature in a later piece",
    sse(
        piece({"index": 0, **call()}),
        piece({"index": 0, "extra_content": SIGNED["extra_content"]}, finish="tool_calls"),
    ),
    Wanted(C, "", ONE, kept={"tool_calls": [SIGNED]}),
)
both("content as parts", "text", {"content": [{"type": "text", "text": "Hi"}]}, "stop", Wanted(A, "Hi", told="Hi"))
both(
    "content as parts",
    "thinking, Mistral",
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]},
    "stop",
    Wanted(A, "Hi", told="Hi"),
)
both("content as parts", "one part", {"content": {"type": "text", "text": "Hi"}}, "stop", Wanted(A, "Hi"))
both("content as parts", "a refusal", {"content": [{"type": "refusal", "refusal": "No."}]}, "stop", Wanted(R, "No."))
both(
    "content as parts",
    "unknown parts",
    {"content": [{"type": "hologram"}, {"type": "text", "text": "Hi"}]},
    "stop",
    Wanted(A, "Hi"),
)
both("content as parts", "an empty list", {"content": []}, "stop", Wanted(E, ""))
streamed(
    "content as parts",
    "mixed with text",
    sse(delta({"content": [{"type": "text", "text": "H"}]}), delta({"content": "i"}, "stop")),
    Wanted(A, "Hi", told="Hi"),
)
PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
both(
    "files of models",
    "an image beside the content",
    {"content": "Hi", "images": [PNG]},
    "stop",
    Wanted(A, "Hi", media=["image/png"]),
)
both("files of models", "an image alone", {"content": "", "images": [PNG]}, "stop", Wanted(A, "", media=["image/png"]))
both("files of models", "an image in the content", {"content": [PNG]}, "stop", Wanted(A, "", media=["image/png"]))
at_once(
    "files of models",
    "audio with its words",
    chat({"audio": {"id": "a1", "data": "AAAA", "transcript": "Hi", "expires_at": 1}}),
    Wanted(A, "Hi", media=["audio/wav"]),
)

# Failures of chat completions

QUOTA = {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}
for name, error, wanted in (
    ("rate limit, OpenRouter", {"code": 429, "message": "Rate limit exceeded"}, Wanted(code="rate_limit", status=429)),
    ("overloaded", {"type": "overloaded_error", "message": "Overloaded"}, Wanted(code="overloaded")),
    ("quota", QUOTA, Wanted(code="quota", is_permanent=True)),
    ("a text", "model 'm' not found, try pulling it", Wanted(code="error_in_answer")),
    (
        "too long",
        {"code": 400, "message": "This endpoint's maximum context length is 8192 tokens"},
        Wanted(code="context_length", is_permanent=True, status=400),
    ),
    ("bad gateway", {"code": 502, "message": "Upstream error"}, Wanted(code="error_in_answer", status=502)),
    (
        "wrong key",
        {"code": 401, "message": "No auth credentials found"},
        Wanted(code="authentication", is_permanent=True, status=401),
    ),
):
    at_once("an error inside an answer", name, {"error": error}, wanted)
    streamed("an error inside an answer", f"{name}, first", sse({"error": error}), wanted)
    streamed(
        "an error inside an answer",
        f"{name}, after words",
        sse(delta({"content": "H"}), {"error": error, "choices": []}),
        wanted,
    )
at_once(
    "an error inside an answer",
    "in the choice",
    {"choices": [{"error": {"code": 502, "message": "x"}, "finish_reason": "error"}]},
    Wanted(code="error_in_answer", status=502),
)
streamed(
    "an error inside an answer",
    "in the choice",
    sse({"choices": [{"error": {"code": 502, "message": "x"}, "finish_reason": "error"}]}),
    Wanted(code="error_in_answer", status=502),
)
at_once(
    "an error inside an answer",
    "as vLLM",
    {"object": "error", "message": "maximum context length is 10", "code": 400},
    Wanted(code="context_length", is_permanent=True, status=400),
)
at_once(
    "an error inside an answer",
    "a list, Gemini",
    [{"error": {"code": 503, "message": "The model is overloaded", "status": "UNAVAILABLE"}}],
    Wanted(code="overloaded", status=503),
)
at_once(
    "an error inside an answer",
    "base_resp, MiniMax",
    {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None},
    Wanted(code="quota", is_permanent=True),
)
streamed(
    "an error inside an answer",
    "an event of that name",
    'event: error\ndata: {"message": "Overloaded"}\n\n',
    Wanted(code="overloaded"),
)
for name, body in {
    "no JSON": b"<html>welcome</html>",
    "empty": b"",
    "an array": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "no choices": b"{}",
    "empty choices": b'{"choices": []}',
    "null choices": b'{"choices": null}',
    "no message": b'{"choices": [{}]}',
    "a message that is no object": b'{"choices": [{"message": "x"}]}',
    "cut off": b'{"choices": [{"mess',
}.items():
    at_once("no chat completion", name, body, Wanted(code="invalid_answer"))
DEEP = b'{"choices": [{"message": {"content": "a", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}}]}"
at_once("an answer that is too large", "nested deep", DEEP, Wanted(code="answer_too_large", is_permanent=True))
streamed("a stream that is cut off", "at once", "", Wanted(code="cut_off"))
streamed("a stream that is cut off", "only [DONE]", sse(), Wanted(code="cut_off"))
streamed("a stream that is cut off", "within the text", sse(delta({"content": "Hi"}), done=""), Wanted(code="cut_off"))
streamed(
    "a stream that is cut off",
    "within the arguments",
    sse(piece({"index": 0, **call(arguments='{"a')}), done=""),
    Wanted(code="cut_off"),
)
streamed(
    "a stream that is cut off",
    "within an event",
    sse(delta({"content": "Hi"}), done='data: {"cho'),
    Wanted(code="invalid_answer"),
)
streamed(
    "a stream that is cut off",
    "by the connection",
    sse(delta({"content": "Hi"}), done=""),
    Wanted(code="connection"),
    is_cut_off=True,
)
streamed("a stream that is cut off", "no JSON", "data: nonsense\n\n", Wanted(code="invalid_answer"))
case(
    "a server that does not stream",
    "JSON",
    OpenAIModel,
    answer(chat({"content": "Hi"})),
    Wanted(A, "Hi", usage=COUNTED, told="Hi"),
    is_streamed=True,
)
case(
    "a server that does not stream",
    "a call",
    OpenAIModel,
    answer(chat({"tool_calls": [call()]}, "tool_calls")),
    Wanted(C, "", ONE),
    is_streamed=True,
)
case(
    "a server that does not stream",
    "an error",
    OpenAIModel,
    answer({"error": QUOTA}),
    Wanted(code="quota", is_permanent=True),
    is_streamed=True,
)

for status, body, wanted in (
    (
        429,
        {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}},
        Wanted(code="rate_limit", status=429),
    ),
    (429, {"error": QUOTA}, Wanted(code="quota", is_permanent=True, status=429)),
    (
        429,
        [{"error": {"code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED"}}],
        Wanted(code="rate_limit", status=429),
    ),
    (
        400,
        {"error": {"message": "too long", "code": "context_length_exceeded"}},
        Wanted(code="context_length", is_permanent=True, status=400),
    ),
    (
        400,
        {
            "error": {
                "message": "request (9000 tokens) exceeds the available context size (8192 tokens)",
                "type": "exceed_context_size_error",
            }
        },
        Wanted(code="context_length", is_permanent=True, status=400),
    ),
    (
        400,
        {"object": "error", "message": "This model's maximum context length is 10 tokens", "code": 400},
        Wanted(code="context_length", is_permanent=True, status=400),
    ),
    (
        400,
        {"error": {"message": "The response was filtered", "code": "content_filter"}},
        Wanted(code="content_filter", is_permanent=True, status=400),
    ),
    (
        400,
        {"error": {"message": "bad", "type": "invalid_request_error"}},
        Wanted(code="invalid_request", is_permanent=True, status=400),
    ),
    (402, {"error": {"message": "Insufficient Balance"}}, Wanted(code="quota", is_permanent=True, status=402)),
    (
        401,
        {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}},
        Wanted(code="authentication", is_permanent=True, status=401),
    ),
    (403, {"error": {"message": "no"}}, Wanted(code="permission", is_permanent=True, status=403)),
    (404, {"detail": "Not Found"}, Wanted(code="not_found", is_permanent=True, status=404)),
    (408, b"", Wanted(code="timeout", status=408)),
    (413, b"too large", Wanted(code="context_length", is_permanent=True, status=413)),
    (422, {"detail": [{"msg": "field required"}]}, Wanted(code="invalid_request", is_permanent=True, status=422)),
    (
        500,
        {"error": {"message": "The server had an error", "type": "server_error"}},
        Wanted(code="server_error", status=500),
    ),
    (502, b"<html>Bad gateway</html>", Wanted(code="server_error", status=502)),
    (503, b"", Wanted(code="overloaded", status=503)),
):
    for is_streamed in (False, True):
        name = f"{status} {wanted.code} {len(str(body))}"
        case("refused requests", name, OpenAIModel, answer(body, status=status), wanted, is_streamed=is_streamed)
for status in (301, 302, 303, 307, 308):
    headers = {"location": "http://127.0.0.1:9/elsewhere"}
    case(
        "redirects",
        str(status),
        OpenAIModel,
        answer(b"", status=status, headers=headers),
        Wanted(code=ANY, is_permanent=True, status=status),
    )
