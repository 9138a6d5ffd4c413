"""Models of pydantic-ai, which knows many providers.

Source: https://ai.pydantic.dev/api/direct/
"""

# The package is imported when a model is asked, by `_imported`: it is not needed to import this module.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from gatechart.errors import ModelFailedError
from gatechart.errors.extras import ExtraMissingError, needing
from gatechart.handoff import Message, ToolCall
from gatechart.models.arguments import read_arguments
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
from gatechart.tools import model_name

_FINISHED: Final = {"length": Finish.LENGTH, "content_filter": Finish.REFUSED, "error": Finish.REFUSED}
_PLAIN: Final = {"text", "tool-call"}
RESPONSE: Final = "pydantic_ai"
"""Field of a message with the whole response, if it has parts that the provider wants back, such as thinking."""


class PydanticAIModel:
    """A model of pydantic-ai: `PydanticAIModel("google:gemini-2.5-pro")`, or an object of its `Model`.

    settings: its ModelSettings. prices: for `cost` in the usage. Needs `pydantic-ai-slim` with the provider's extra.
    """

    def __init__(self, model: Any, *, settings: Mapping[str, Any] | None = None, prices: Prices | None = None) -> None:
        if find_spec("pydantic_ai") is None:
            raise ExtraMissingError("a model of pydantic-ai", "pydantic-ai", "pydantic_ai")
        self._model = model
        self._settings = settings
        self._prices = prices or Prices()

    async def reply(self, request: ModelRequest) -> ModelReply:
        """See Model. Raises what pydantic-ai raises, ModelFailedError and ExtraMissingError."""
        direct = _imported("direct")
        asked = self._model, list(_as_sent(request))
        options = {"model_settings": self._settings, "model_request_parameters": _parameters(request)}
        if request.tell is None:
            response = await direct.model_request(*asked, **options)
        else:
            async with direct.model_request_stream(*asked, **options) as stream:
                async for event in stream:
                    _tell(event, request.tell)
                response = stream.get()
        return _reply(response, own_names(request.tools), self._prices)


def _imported(module: str) -> Any:
    with needing("pydantic-ai", "a model of pydantic-ai"):
        return import_module(f"pydantic_ai.{module}")


def _parameters(request: ModelRequest) -> Any:
    definition = _imported("tools").ToolDefinition
    tools = [
        definition(name=model_name(each.name), description=each.description, parameters_json_schema=each.takes.schema)
        for each in request.tools
    ]
    return _imported("models").ModelRequestParameters(function_tools=tools)


def _as_sent(request: ModelRequest) -> Iterator[Any]:
    """Yield the messages as pydantic-ai takes them: what is not the model's own is a request, also the results."""
    of, parts = _imported("messages"), []
    if request.instructions:
        parts.append(of.SystemPromptPart(request.instructions))
    for message in with_ids(request.messages):
        if not is_by_model(message):
            parts.append(of.UserPromptPart(said(message)))
            continue
        if parts:
            yield of.ModelRequest(parts=parts)
        yield _response(of, message)
        parts = [
            of.ToolReturnPart(tool_name=model_name(call.name), content=result_text(call), tool_call_id=call.id)
            for call in message.tool_calls
        ]
    if parts:
        yield of.ModelRequest(parts=parts)


def _response(of: Any, message: Message) -> Any:
    """Return a model's message as the response that it was."""
    kept: Any = (message.__pydantic_extra__ or {}).get(RESPONSE)
    if kept:
        (response,) = of.ModelMessagesTypeAdapter.validate_python([kept])
        return response
    text = [of.TextPart(message.content)] if message.content else []
    calls = [
        of.ToolCallPart(tool_name=model_name(call.name), args=call.arguments, tool_call_id=call.id)
        for call in message.tool_calls
    ]
    return of.ModelResponse(parts=[*text, *calls])


def _reply(response: Any, names: Mapping[str, str], prices: Prices) -> ModelReply:
    parts = response.parts
    calls = tuple(_read_call(each, names) for each in parts if each.part_kind == "tool-call")
    text = "".join(each.content for each in parts if each.part_kind == "text")
    if not calls and not text and not parts:
        raise ModelFailedError("its answer is empty")
    more: dict[str, Any] = {}
    if any(each.part_kind not in _PLAIN for each in parts):
        adapter = _imported("messages").ModelMessagesTypeAdapter
        (more[RESPONSE],) = adapter.dump_python([response], mode="json")
    finish = Finish.CALLS if calls else _FINISHED.get(response.finish_reason, Finish.ANSWERED)
    told = response.usage
    usage = Usage(
        input_tokens=told.input_tokens, output_tokens=told.output_tokens, cached_tokens=told.cache_read_tokens or 0
    )
    message = Message(role=AGENT, content=text, tool_calls=calls, **more)
    return ModelReply(message=message, finish=finish, usage=prices.priced(usage))


def _read_call(part: Any, names: Mapping[str, str]) -> ToolCall:
    arguments, problem = read_arguments(part.args_as_json_str())
    name = names.get(part.tool_name, part.tool_name)
    return ToolCall(name=name, arguments=arguments, error=problem, id=part.tool_call_id)


def _tell(event: Any, tell: Callable[[str], None]) -> None:
    """Tell the text of an event of the stream, if it has any."""
    if event.event_kind == "part_start" and event.part.part_kind == "text":
        text = event.part.content
    elif event.event_kind == "part_delta" and event.delta.part_delta_kind == "text":
        text = event.delta.content_delta
    else:
        return
    if text:
        tell(text)
