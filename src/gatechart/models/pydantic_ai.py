"""Models of pydantic-ai, which knows many providers.

Source: https://ai.pydantic.dev/api/direct/
"""

# The package is imported when a model is asked, by `_imported`: it is not needed to import this module.

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from gatechart.errors.extras import ExtraMissingError, needing
from gatechart.errors.models import ModelFailedError
from gatechart.handoff.packet import MediaPart, Message, ProviderMessage, TextPart, ToolCall
from gatechart.models.bounds import USUAL_BOUNDS, AnswerBounds
from gatechart.models.dialects import PYDANTIC_AI, calls_in
from gatechart.models.failures import raising_failures
from gatechart.models.finish import FAILURES
from gatechart.models.judging import WatchedText, judged
from gatechart.models.media import is_accepted, stand_in, text_in
from gatechart.models.model import ModelReply, ModelRequest, Prices, Usage, is_by_model, result_text
from gatechart.models.outgoing import ANY_ID, BEGINNING, parts_of, prepared, valid_name
from gatechart.tools.naming import model_name

RESPONSE: Final = "pydantic_ai"
"""Field of older stored messages with the whole response."""

_URLS: Final = {"image": "ImageUrl", "audio": "AudioUrl", "video": "VideoUrl"}


class PydanticAIModel:
    """A model of pydantic-ai: `PydanticAIModel("google:gemini-2.5-pro")`, or an object of its `Model`.

    settings: its ModelSettings. prices: for `cost` in the usage. accepts: media types of the files that the model is
    shown, "image/*" for all of a kind; a text takes the place of any other file. bounds: of an answer, once pydantic-ai
    has read it. strict: whether the model is held to the tools' schemas, where neither the tool nor the loop says so;
    None: as pydantic-ai decides. Needs `pydantic-ai-slim` with the provider's extra.

    Raises ExtraMissingError if it is not installed; it is imported with the first request.
    """

    def __init__(
        self,
        model: Any,
        *,
        settings: Mapping[str, Any] | None = None,
        prices: Prices | None = None,
        accepts: Iterable[str] = ("image/*", "application/pdf"),
        bounds: AnswerBounds = USUAL_BOUNDS,
        strict: bool | None = None,
    ) -> None:
        if find_spec("pydantic_ai") is None:
            raise ExtraMissingError("a model of pydantic-ai", "pydantic-ai", "pydantic_ai")
        self._model = model
        self._settings = settings
        self._prices = prices or Prices()
        self._accepts = tuple(accepts)
        self._bounds = bounds
        self._strict = strict

    async def reply(self, request: ModelRequest) -> ModelReply:
        """See Model. Raises ModelFailedError and ExtraMissingError."""
        direct = _imported("direct")
        with raising_failures():
            asked = self._model, list(_as_sent(request, self._accepts))
            options = {
                "model_settings": self._settings_of(request),
                "model_request_parameters": self._parameters(request),
            }
            if request.tell is None:
                response = await direct.model_request(*asked, **options)
            else:
                tell = WatchedText(request.tell)
                async with direct.model_request_stream(*asked, **options) as stream:
                    async for event in stream:
                        _tell(event, tell)
                    response = stream.get()
            return await self._reply(response, request)

    def _settings_of(self, request: ModelRequest) -> Mapping[str, Any] | None:
        if request.tool_choice == "auto" or not request.tools:
            return self._settings
        return {**(self._settings or {}), "tool_choice": request.tool_choice}

    def _parameters(self, request: ModelRequest) -> Any:
        strict = self._strict if request.strict is None else request.strict
        definition = _imported("tools").ToolDefinition
        tools = [
            definition(
                name=model_name(each.name),
                description=each.description,
                parameters_json_schema=each.takes.schema,
                strict=strict if each.strict is None else each.strict,
            )
            for each in request.tools
        ]
        return _imported("models").ModelRequestParameters(function_tools=tools)

    async def _reply(self, response: Any, request: ModelRequest) -> ModelReply:
        details = response.provider_details or {}
        reason = str(details.get("finish_reason") or response.finish_reason or "")
        if response.finish_reason in FAILURES or reason.lower() in FAILURES:
            raise ModelFailedError(f"the provider aborted the answer: {reason}", "error_in_answer")
        known = response.finish_reason or reason
        adapter = _imported("messages").ModelMessagesTypeAdapter
        ((message),) = adapter.dump_python([response], mode="json", exclude_none=True)
        message.pop("usage", None)
        form = ProviderMessage.model_construct(dialect=PYDANTIC_AI, model=response.model_name or "", message=message)
        reply = await judged(form, request, known, _usage(response.usage), self._bounds, is_refused=False)
        return replace(reply, usage=self._prices.priced(reply.usage), reason=reason)


def _usage(reported: Any) -> Usage:
    """Return the usage of a response; pydantic-ai has 0 for figures that the provider did not report."""
    read, written = reported.input_tokens or 0, reported.output_tokens or 0
    cached = min(reported.cache_read_tokens or 0, read)
    return Usage(input_tokens=read, output_tokens=written, cached_tokens=cached, unreported=0 if read else 1)


def _imported(module: str) -> Any:
    with needing("pydantic-ai", "a model of pydantic-ai"):
        return import_module(f"pydantic_ai.{module}")


def _as_sent(request: ModelRequest, accepts: Sequence[str]) -> Iterator[Any]:
    """Yield the messages in pydantic-ai's form: all but the model's own messages are requests, also results."""
    of, parts = _imported("messages"), []
    if request.instructions:
        parts.append(of.SystemPromptPart(request.instructions))
    messages = prepared(request.messages, PYDANTIC_AI, "", ANY_ID)
    if not messages or is_by_model(messages[0]):
        parts.append(of.UserPromptPart(BEGINNING))
    for message in messages:
        if not is_by_model(message):
            parts.append(of.UserPromptPart(_content(of, parts_of(message), accepts)))
            continue
        if parts:
            yield of.ModelRequest(parts=parts)
        yield _response(of, message)
        parts = list(_results(of, message.tool_calls, accepts))
    if parts:
        yield of.ModelRequest(parts=parts)


def _response(of: Any, message: Message) -> Any:
    """Return a model's message as the response that it was."""
    kept: Any = (message.__pydantic_extra__ or {}).get(RESPONSE)
    if message.verbatim is not None:
        form = message.verbatim.model_copy(deep=True)
        for sent_call, call in zip(calls_in(form), message.tool_calls, strict=True):
            sent_call.update({"tool_call_id": call.id, "tool_name": valid_name(str(sent_call.get("tool_name") or ""))})
            if call.error and not isinstance(sent_call.get("args"), dict):
                sent_call["args"] = call.arguments  # that it wrote cannot be read, and some providers refuse it
        kept = form.message
    if kept:
        (response,) = of.ModelMessagesTypeAdapter.validate_python([kept])
        return response
    text = [of.TextPart(content) for content in (_content(of, parts_of(message), ()),) if content]
    calls = [
        of.ToolCallPart(tool_name=valid_name(call.name), args=call.arguments, tool_call_id=call.id)
        for call in message.tool_calls
    ]
    return of.ModelResponse(parts=[*text, *calls])


def _results(of: Any, calls: Iterable[ToolCall], accepts: Sequence[str]) -> Iterator[Any]:
    """Yield the results of calls, and then the files of all, which not every provider takes within a result."""
    files: list[MediaPart] = []
    for call in calls:
        parts = () if call.error else call.parts
        shown = [each for each in parts if isinstance(each, MediaPart) and is_accepted(each, accepts)]
        texts = [_label_or_text(each) if each in shown else _text(each) for each in parts]
        files += shown
        content = "\n".join(texts) if parts else result_text(call)
        yield of.ToolReturnPart(tool_name=valid_name(call.name), content=content, tool_call_id=call.id)
    if files:
        yield of.UserPromptPart(_content(of, files, accepts))


def _label_or_text(part: TextPart | MediaPart) -> str:
    return f"[{part.media_type}, shown below]" if isinstance(part, MediaPart) else part.text


def _text(part: TextPart | MediaPart) -> str:
    if isinstance(part, TextPart):
        return part.text
    text = text_in(part)
    return stand_in(part) if text is None else f"[{part.name or part.media_type}]\n{text}"


def _content(of: Any, parts: Iterable[TextPart | MediaPart], accepts: Sequence[str]) -> Any:
    """Return the content of a prompt: a text, or a list if it has files that the model is shown."""
    content = [
        _file(of, each) if isinstance(each, MediaPart) and is_accepted(each, accepts) else _text(each) for each in parts
    ]
    return "\n".join(content) if all(isinstance(each, str) for each in content) else content


def _file(of: Any, part: MediaPart) -> Any:
    if part.url:
        return getattr(of, _URLS.get(part.media_type.partition("/")[0], "DocumentUrl"))(part.url)
    return of.BinaryContent(data=base64.b64decode(part.data), media_type=part.media_type)


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
