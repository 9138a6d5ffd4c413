"""OpenAI's chat completions, which many other providers and local servers speak, too.

Source: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from gatechart.errors.models import ModelFailedError
from gatechart.handoff.packet import ProviderMessage
from gatechart.models.bounds import USUAL_BOUNDS, AnswerBounds
from gatechart.models.dialects import OPENAI
from gatechart.models.failures import invalid_answer
from gatechart.models.finish import FAILURES
from gatechart.models.judging import WatchedText, judged
from gatechart.models.media import IMAGES
from gatechart.models.model import ModelReply, ModelRequest, Prices
from gatechart.models.openai_messages import sent_messages
from gatechart.models.openai_stream import ChatCollector, answer_of_choice
from gatechart.models.provider import OPENAI_SDK, Provider, checked_settings
from gatechart.models.usage import merged_usage, openai_usage
from gatechart.tools.schemas import openai_tools

if TYPE_CHECKING:
    from gatechart.models.provider import Http

_OURS: Final = ("messages", "stream")


class OpenAIModel:
    """A model behind OpenAI's chat completions: `OpenAIModel("gpt-5", api_key=...)`.

    url: of the API, up to its version. The environment changes neither the URL nor the key. settings: more of the
    request, such as `{"temperature": 0}`; tools among them are offered beside the loop's. prices: for `cost` in
    the usage. timeout_s: the longest silence. http: a client of httpx or httpx2 that makes the connections; its owner
    closes it. headers: more of the request's headers. accepts: media types of the files that the model is shown,
    "image/*" for all of a kind; a text takes the place of any other file. bounds: of an answer.
    strict: whether the model is held to the tools' schemas, where neither the tool nor the loop says so; None: wherever
    a schema allows. Needs `gatechart[openai]`.

    Raises ExtraMissingError if the SDK is not installed; it is imported with the first request.
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
        http: Http | None = None,
        headers: Mapping[str, str] | None = None,
        accepts: Iterable[str] = (*IMAGES, "application/pdf"),
        bounds: AnswerBounds = USUAL_BOUNDS,
        strict: bool | None = None,
    ) -> None:
        key = {"authorization": f"Bearer {api_key}"} if api_key else {}
        sent = key | {name.lower(): value for name, value in (headers or {}).items()}
        self._provider = Provider(OPENAI_SDK, url, sent, timeout_s, http, bounds)
        self._model = model
        self._settings = checked_settings(settings, _OURS)
        self._prices = prices or Prices()
        self._accepts = tuple(accepts)
        self._bounds = bounds
        self._strict = strict

    async def reply(self, request: ModelRequest) -> ModelReply:
        """See Model. Raises ModelFailedError."""
        body = self._body(request)
        if request.tell is None:
            answer = await self._provider.ask(body)
            return await self._reply(answer, request)
        collector = ChatCollector(WatchedText(request.tell), self._bounds)
        options = self._settings.get("stream_options") or {}
        answer = await self._provider.stream(body | {"stream_options": {"include_usage": True, **options}}, collector)
        reply = await self._reply(answer, request)
        if collector.is_empty and reply.message.content:
            request.tell(reply.message.content)  # the server does not stream
        return reply

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        messages = sent_messages(request, self._provider.host, self._accepts)
        body = {"model": self._model, **self._settings, "messages": messages}
        strict = self._strict if request.strict is None else request.strict
        tools = [*(self._settings.get("tools") or ()), *openai_tools(request.tools, strict=strict)]
        if tools:
            body["tools"] = tools
            if request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
        return body

    async def _reply(self, answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
        choice = answer_of_choice(answer)
        message, reason = choice.get("message"), choice.get("finish_reason")
        if not isinstance(message, dict):
            raise invalid_answer("its choice has no message")
        reason = reason if isinstance(reason, str) else ""
        if reason.lower() in FAILURES:
            raise ModelFailedError(f"the provider aborted the answer: {reason}", "error_in_answer")
        form = ProviderMessage.model_construct(
            dialect=OPENAI, model=self._model, host=self._provider.host, message=message
        )
        usage = openai_usage(merged_usage(merged_usage({}, choice.get("usage")), answer.get("usage")))
        reply = await judged(form, request, reason, usage, self._bounds, is_refused=_is_refused(message))
        return replace(reply, usage=self._prices.priced(usage))


def _is_refused(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    return bool(message.get("refusal")) or any(isinstance(each, dict) and each.get("refusal") for each in parts)
