"""A server that plays models by a script, over HTTP as OpenAI and Anthropic do. For tests and examples."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, TypeAlias

from gatechart.tasks import start_task

TOKENS: Final = {"prompt_tokens": 100, "completion_tokens": 10}
"""The usage of each answer, in OpenAI's terms."""


@dataclass(frozen=True, slots=True)
class Says:
    """An answer of text."""

    text: str


class Calls:
    """A turn of the model with tool calls: `Calls(("lookup_order", {"order": "4711"}), ("stock", {"item": "a"}))`.

    A third item is the call's id; without it the server creates one. text: the text beside the calls.
    """

    def __init__(
        self, *calls: tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], str], text: str = ""
    ) -> None:
        self.calls = calls
        self.text = text


@dataclass(frozen=True, slots=True)
class Fails:
    """A refusal of the provider, such as 429 or 500."""

    status: int = 500
    retry_after: str = ""  # of the header


@dataclass(frozen=True, slots=True)
class CutsOff:
    """A connection that ends in the middle of an answer."""


@dataclass(frozen=True, slots=True)
class Hangs:
    """No answer, for as long as the server is open."""


Reply: TypeAlias = Says | Calls | Fails | CutsOff | Hangs
Script: TypeAlias = "Sequence[Reply] | Callable[[Mapping[str, Any]], Reply]"


@dataclass(slots=True)
class ScriptedModel:
    """The server, while it is open. `scripted_model` opens it."""

    url: str  # up to the version, for OpenAIModel and AnthropicModel
    script: Script
    requests: list[Mapping[str, Any]] = field(default_factory=list)  # bodies, in the order received
    delay_s: float = 0.0  # before each answer
    _arrivals: asyncio.Condition = field(default_factory=asyncio.Condition)
    _ids: Iterator[int] = field(default_factory=count)

    async def asked(self, times: int) -> None:
        """Wait until this many requests have arrived."""
        async with self._arrivals:
            await self._arrivals.wait_for(lambda: len(self.requests) >= times)

    async def reply_to(self, body: Mapping[str, Any]) -> Reply:
        """Return the reply to a request, the n-th of the script to the n-th request. Raises IndexError at its end."""
        async with self._arrivals:
            self.requests.append(body)
            self._arrivals.notify_all()
        return self.script(body) if callable(self.script) else self.script[len(self.requests) - 1]

    def call_id(self) -> str:
        """Return a new id for a call."""
        return f"call_{next(self._ids)}"


@asynccontextmanager
async def scripted_model(script: Script, *, delay_s: float = 0.0) -> AsyncIterator[ScriptedModel]:
    """Open a server on the loopback that answers by the script. It streams on request, word by word.

    script: a reply for each request in turn, or a function of the request's body.
    """
    model = ScriptedModel("", script, delay_s=delay_s)
    answering: set[asyncio.Task[None]] = set()
    server = await asyncio.start_server(_handler(model, answering), "127.0.0.1", 0)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)


def _handler(
    model: ScriptedModel, answering: set[asyncio.Task[None]]
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = start_task(_answer(model, reader, writer))
        answering.add(answer)
        try:
            await asyncio.wait([answer])
        finally:
            answering.discard(answer)
            writer.close()

    return handle


async def _answer(model: ScriptedModel, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):  # the client has disconnected
        path, body = await _request(reader)
        try:
            reply = await model.reply_to(body)
        except IndexError:
            reply = Fails(501)  # the script has ended
        await asyncio.sleep(model.delay_s)
        if isinstance(reply, Hangs):
            await asyncio.Event().wait()
            return
        _send(model, writer, reply, path, is_streamed=bool(body.get("stream")))
        await writer.drain()


def _send(
    model: ScriptedModel,
    writer: asyncio.StreamWriter,
    reply: Says | Calls | Fails | CutsOff,
    path: str,
    *,
    is_streamed: bool,
) -> None:
    if isinstance(reply, Fails):
        after = f"Retry-After: {reply.retry_after}\r\n" if reply.retry_after else ""
        _write(writer, reply.status, after, json.dumps({"error": {"message": "as the script says"}}))
        return
    shape = _anthropic if path.endswith("/messages") else _openai
    answer = shape(model, Says("never read") if isinstance(reply, CutsOff) else reply)
    events = (_anthropic_events if shape is _anthropic else _openai_events)(answer)
    text = "".join(events) if is_streamed else json.dumps(answer)
    if isinstance(reply, CutsOff):
        _write(writer, 200, "", text[: len(text) // 3], length=len(text.encode()))
    else:
        _write(writer, 200, "Content-Type: text/event-stream\r\n" if is_streamed else "", text)


async def _request(reader: asyncio.StreamReader) -> tuple[str, Mapping[str, Any]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    body = await reader.readexactly(int(headers["content-length"]))
    return lines[0].split()[1], json.loads(body)


def _write(writer: asyncio.StreamWriter, status: int, headers: str, text: str, length: int | None = None) -> None:
    body = text.encode()
    size = len(body) if length is None else length
    head = f"HTTP/1.1 {status} Scripted\r\n{headers}Content-Length: {size}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)


def _calls(model: ScriptedModel, reply: Says | Calls) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return the id, the name and the arguments of each call."""
    calls = () if isinstance(reply, Says) else reply.calls
    return [(call[2] if len(call) > 2 else model.call_id(), call[0], call[1]) for call in calls]


def _openai(model: ScriptedModel, reply: Says | Calls) -> dict[str, Any]:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call_id, name, arguments in _calls(model, reply)
    ]
    message = {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}
    finish = "tool_calls" if calls else "stop"
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": TOKENS}


def _anthropic(model: ScriptedModel, reply: Says | Calls) -> dict[str, Any]:
    text = [{"type": "text", "text": reply.text}] if reply.text else []
    calls = [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        for call_id, name, arguments in _calls(model, reply)
    ]
    usage = {"input_tokens": TOKENS["prompt_tokens"], "output_tokens": TOKENS["completion_tokens"]}
    finish = "tool_use" if calls else "end_turn"
    return {"role": "assistant", "content": [*text, *calls], "stop_reason": finish, "usage": usage}


def _openai_events(answer: Mapping[str, Any]) -> Iterator[str]:
    choice = answer["choices"][0]
    for word in _words(choice["message"]["content"]):
        yield _event({"choices": [{"index": 0, "delta": {"content": word}}]})
    for position, call in enumerate(choice["message"].get("tool_calls", ())):
        first, *pieces = _pieces(call["function"]["arguments"])
        started = {**call, "function": {**call["function"], "arguments": first}}
        yield _event({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": position, **started}]}}]})
        for piece in pieces:
            part = {"index": position, "function": {"arguments": piece}}
            yield _event({"choices": [{"index": 0, "delta": {"tool_calls": [part]}}]})
    yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    yield _event({"choices": [], "usage": answer["usage"]})
    yield "data: [DONE]\n\n"


def _anthropic_events(answer: Mapping[str, Any]) -> Iterator[str]:
    started = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
    yield _event({"type": "message_start", "message": started})
    for position, block in enumerate(answer["content"]):
        empty: dict[str, Any] = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield _event({"type": "content_block_start", "index": position, "content_block": block | empty})
        for delta in _deltas(block):
            yield _event({"type": "content_block_delta", "index": position, "delta": delta})
        yield _event({"type": "content_block_stop", "index": position})
    usage = {"output_tokens": answer["usage"]["output_tokens"]}
    yield _event({"type": "message_delta", "delta": {"stop_reason": answer["stop_reason"]}, "usage": usage})
    yield _event({"type": "message_stop"})


def _deltas(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        return [{"type": "text_delta", "text": word} for word in _words(block["text"])]
    return [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(json.dumps(block["input"]))]


def _words(text: str) -> list[str]:
    """Return the words of a text, each with the space after it."""
    return [f"{word} " for word in text.split(" ")[:-1]] + [text.rsplit(" ", maxsplit=1)[-1]] if text else []


def _pieces(text: str) -> list[str]:
    """Return a text in two pieces, cut anywhere."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _event(data: Mapping[str, Any]) -> str:
    kind = f"event: {data['type']}\n" if "type" in data else ""
    return f"{kind}data: {json.dumps(data)}\n\n"
