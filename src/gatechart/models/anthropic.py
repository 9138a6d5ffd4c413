"""Anthropic's messages.

Source: https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

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
from gatechart.tools import anthropic_tool, model_name

if TYPE_CHECKING:
    import httpx

_VERSION: Final = "2023-06-01"
_FINISHED: Final = {
    "end_turn": Finish.ANSWERED,
    "stop_sequence": Finish.ANSWERED,
    "tool_use": Finish.CALLS,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.REFUSED,
}
_THOUGHTS: Final = ("thinking", "redacted_thinking")
THINKING: Final = "thinking"
"""Field of a message with the blocks of its thinking, which the provider wants back with the results of its calls."""


class AnthropicModel:
    """A model behind Anthropic's messages, over plain HTTP: `AnthropicModel("claude-sonnet-4-5", api_key=...)`.

    most_tokens: that an answer may have. settings: more of the request, such as `{"temperature": 0}`. prices: for
    `cost` in the usage. timeout_s: the longest silence. http: a client to use; its owner closes it. Needs
    `gatechart[models]`.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str = "",
        url: str = "https://api.anthropic.com/v1",
        most_tokens: int = 4096,
        settings: Mapping[str, Any] | None = None,
        prices: Prices | None = None,
        timeout_s: float = 120.0,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        headers = {"anthropic-version": _VERSION, **({"x-api-key": api_key} if api_key else {})}
        self._provider = Provider(f"{url.rstrip('/')}/messages", headers, timeout_s, http)
        self._asked = {"model": model, "max_tokens": most_tokens, **(settings or {})}
        self._prices = prices or Prices()

    async def reply(self, request: ModelRequest) -> ModelReply:
        """See Model. Raises httpx.HTTPStatusError, httpx.TransportError and ModelFailedError."""
        body = self._asked | _body(request)
        if request.tell is None:
            answer = await self._provider.ask(body)
        else:
            async with self._provider.stream(body) as events:
                answer = await _collected(events, request.tell)
        return _reply(answer, own_names(request.tools), self._prices)


def _body(request: ModelRequest) -> dict[str, Any]:
    system = {"system": request.instructions} if request.instructions else {}
    return {**system, "messages": _joined(with_ids(request.messages)), **_tools(request)}


def _tools(request: ModelRequest) -> dict[str, Any]:
    """Return the tools; those that were called before, if there are none now, since the provider wants some then."""
    if request.tools:
        return {"tools": [anthropic_tool(each) for each in request.tools]}
    called = dict.fromkeys(model_name(call.name) for message in request.messages for call in message.tool_calls)
    if not called:
        return {}
    withheld = [{"name": name, "input_schema": {"type": "object"}} for name in called]
    return {"tools": withheld, "tool_choice": {"type": "none"}}


def _joined(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Return the messages as Anthropic takes them: roles take turns, so what follows in one role is one message."""
    joined: list[dict[str, Any]] = []
    for role, blocks in (each for message in messages for each in _as_sent(message)):
        if not blocks:
            continue
        if joined and joined[-1]["role"] == role:
            joined[-1]["content"] += blocks
        else:
            joined.append({"role": role, "content": blocks})
    return joined


def _as_sent(message: Message) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield a message as blocks of a role; the results of its calls are the user's."""
    text = said(message)
    written = [{"type": "text", "text": text}] if text.strip() else []
    if not is_by_model(message):
        yield "user", written
        return
    thoughts: Any = (message.__pydantic_extra__ or {}).get(THINKING) or ()
    calls = [
        {"type": "tool_use", "id": call.id, "name": model_name(call.name), "input": call.arguments}
        for call in message.tool_calls
    ]
    yield "assistant", [*thoughts, *written, *calls]
    yield "user", [_result(call) for call in message.tool_calls]


def _result(call: ToolCall) -> dict[str, Any]:
    told = {"type": "tool_result", "tool_use_id": call.id, "content": result_text(call)}
    return {**told, "is_error": True} if call.error else told


def _reply(answer: Any, names: Mapping[str, str], prices: Prices) -> ModelReply:
    """Return the reply of an answer. Raises ModelFailedError if it has not the shape."""
    try:
        blocks = answer["content"]
        calls = tuple(_read_call(each, names) for each in blocks if each["type"] == "tool_use")
        text = "".join(each["text"] for each in blocks if each["type"] == "text")
        thoughts = [each for each in blocks if each["type"] in _THOUGHTS]
        more = {THINKING: thoughts} if thoughts else {}
        finish = Finish.CALLS if calls else _FINISHED.get(answer.get("stop_reason"), Finish.ANSWERED)
        usage = _usage(answer.get("usage") or {}, prices)
        message = Message(role=AGENT, content=text, tool_calls=calls, **more)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelFailedError(f"its answer is no message: {type(error).__name__}: {error}") from error
    return ModelReply(message=message, finish=finish, usage=usage)


def _read_call(told: Mapping[str, Any], names: Mapping[str, str]) -> ToolCall:
    given, problem = told["input"], ""
    if isinstance(given, str):  # as it was streamed
        given, problem = read_arguments(given)
    return ToolCall(name=names.get(told["name"], told["name"]), arguments=given, error=problem, id=told["id"])


def _usage(told: Mapping[str, Any], prices: Prices) -> Usage:
    cached = told.get("cache_read_input_tokens") or 0
    written = told.get("cache_creation_input_tokens") or 0
    read = told.get("input_tokens", 0) + cached + written
    return prices.priced(Usage(input_tokens=read, output_tokens=told.get("output_tokens", 0), cached_tokens=cached))


async def _collected(events: AsyncIterator[Any], tell: Callable[[str], None]) -> Any:
    """Return the answer that the events of a stream add up to. Raises ModelFailedError if the stream is cut off."""
    answer: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    async for event in events:
        match event.get("type"):
            case "message_start":
                answer = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = _begun(event["content_block"])
            case "content_block_delta":
                _add(blocks[event["index"]], event["delta"], tell)
            case "message_delta":
                answer["stop_reason"] = event["delta"].get("stop_reason")
                answer["usage"] = (answer.get("usage") or {}) | (event.get("usage") or {})
            case "message_stop":
                return answer | {"content": [blocks[place] for place in sorted(blocks)]}
            case "error":
                raise ModelFailedError(str(event.get("error")))
    raise ModelFailedError("the stream ended before the answer did")


def _begun(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block whose contents come in pieces; the arguments of a call come as text."""
    return {**block, "input": ""} if block["type"] == "tool_use" else dict(block)


def _add(block: dict[str, Any], delta: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    match delta.get("type"):
        case "text_delta":
            block["text"] = block.get("text", "") + delta["text"]
            tell(delta["text"])
        case "input_json_delta":
            block["input"] += delta["partial_json"]
        case "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
