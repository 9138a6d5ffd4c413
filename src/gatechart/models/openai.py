"""OpenAI's chat completions, which many other providers and local servers speak, too.

Source: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json

from gatechart.errors import ModelFailedError
from gatechart.handoff import Message, ToolCall
from gatechart.models.arguments import read_arguments
from gatechart.models.http import Provider
from gatechart.models.model import (
    AGENT,
    Finish,
    ModelReply,
    ModelRequest,
    Prices,
    Usage,
    is_by_model,
    own_names,
    result_text,
    said,
    with_ids,
)
from gatechart.tools import model_name, openai_tool

if TYPE_CHECKING:
    import httpx

_FINISHED: Final = {
    "stop": Finish.ANSWERED,
    "tool_calls": Finish.CALLS,
    "length": Finish.LENGTH,
    "content_filter": Finish.REFUSED,
}


class OpenAIModel:
    """A model behind OpenAI's chat completions, over plain HTTP: `OpenAIModel("gpt-5", api_key=...)`.

    url: of the API, up to its version. settings: more of the request, such as `{"temperature": 0}`. prices: for `cost`
    in the usage. timeout_s: the longest silence. http: a client to use; its owner closes it. Needs `gatechart[models]`.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str = "",
        url: str = "https://api.openai.com/v1",
        settings: Mapping[str, Any] | None = None,
        prices: Prices | None = None,
        timeout_s: float = 120.0,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._provider = Provider(f"{url.rstrip('/')}/chat/completions", headers, timeout_s, http)
        self._asked = {"model": model, **(settings or {})}
        self._prices = prices or Prices()

    async def reply(self, request: ModelRequest) -> ModelReply:
        """See Model. Raises httpx.HTTPStatusError, httpx.TransportError and ModelFailedError."""
        body = self._asked | _body(request)
        if request.tell is None:
            answer = await self._provider.ask(body)
        else:
            told = body | {"stream_options": {"include_usage": True}}
            async with self._provider.stream(told) as chunks:
                answer = await _collected(chunks, request.tell)
        return _reply(answer, own_names(request.tools), self._prices)


def _body(request: ModelRequest) -> dict[str, Any]:
    messages = [each for message in with_ids(request.messages) for each in _as_sent(message)]
    system = [{"role": "system", "content": request.instructions}] if request.instructions else []
    tools = {"tools": [openai_tool(each) for each in request.tools]} if request.tools else {}
    return {"messages": [*system, *messages], **tools}


def _as_sent(message: Message) -> Iterator[dict[str, Any]]:
    """Yield a message as OpenAI takes it: the results of its calls are messages of their own."""
    if not is_by_model(message):
        yield {"role": "user", "content": said(message)}
        return
    calls = [_call(call) for call in message.tool_calls]
    yield {"role": "assistant", "content": message.content, **({"tool_calls": calls} if calls else {})}
    for call in message.tool_calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": result_text(call)}


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": model_name(call.name), "arguments": to_json(call.arguments).decode()}
    return {"id": call.id, "type": "function", "function": function}


def _reply(answer: Any, names: Mapping[str, str], prices: Prices) -> ModelReply:
    """Return the reply of an answer. Raises ModelFailedError if it has not the shape."""
    try:
        choice = answer["choices"][0]
        told = choice["message"]
        calls = tuple(_read_call(each, names) for each in told.get("tool_calls") or ())
        text = told.get("content") or told.get("refusal") or ""
        finish = Finish.CALLS if calls else _FINISHED.get(choice.get("finish_reason"), Finish.ANSWERED)
        if told.get("refusal"):
            finish = Finish.REFUSED
        usage = _usage(answer.get("usage") or {}, prices)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ModelFailedError(f"its answer is no chat completion: {type(error).__name__}: {error}") from error
    return ModelReply(message=Message(role=AGENT, content=text, tool_calls=calls), finish=finish, usage=usage)


def _read_call(told: Mapping[str, Any], names: Mapping[str, str]) -> ToolCall:
    function = told["function"]
    arguments, problem = read_arguments(function.get("arguments") or "")
    name = names.get(function["name"], function["name"])
    return ToolCall(name=name, arguments=arguments, error=problem, id=told["id"])


def _usage(told: Mapping[str, Any], prices: Prices) -> Usage:
    usage = Usage(
        input_tokens=told.get("prompt_tokens", 0),
        output_tokens=told.get("completion_tokens", 0),
        cached_tokens=(told.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
    )
    return prices.priced(usage)


@dataclass(slots=True)
class _Collected:
    """The chunks of a stream, put together as the answer that is not streamed."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    finish: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)

    def add(self, chunk: Mapping[str, Any], tell: Callable[[str], None]) -> None:
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            if delta.get("content"):
                self.text.append(delta["content"])
                tell(delta["content"])
            self.refusal += [delta["refusal"]] if delta.get("refusal") else []
            for part in delta.get("tool_calls") or ():
                self._add_call(part)
            self.finish = choice.get("finish_reason") or self.finish

    def _add_call(self, part: Mapping[str, Any]) -> None:
        call = self.calls.setdefault(part["index"], {"id": "", "function": {"name": "", "arguments": ""}})
        call["id"] = part.get("id") or call["id"]
        told = part.get("function") or {}
        call["function"]["name"] += told.get("name") or ""
        call["function"]["arguments"] += told.get("arguments") or ""

    def answer(self) -> Any:
        if self.finish is None:  # a stream that ends without it was cut off
            raise ModelFailedError("the stream ended before the answer did")
        told = {
            "content": "".join(self.text),
            "refusal": "".join(self.refusal),
            "tool_calls": [self.calls[place] for place in sorted(self.calls)],
        }
        return {"choices": [{"message": told, "finish_reason": self.finish}], "usage": self.usage}


async def _collected(chunks: AsyncIterator[Any], tell: Callable[[str], None]) -> Any:
    collected = _Collected()
    async for chunk in chunks:
        if "error" in chunk:
            raise ModelFailedError(str(chunk["error"]))
        collected.add(chunk, tell)
    return collected.answer()
