"""Anthropic's messages.

Source: https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from gatechart.errors.models import ModelFailedError
from gatechart.handoff.packet import ProviderMessage
from gatechart.models.anthropic_messages import sent_messages
from gatechart.models.anthropic_stream import MessageCollector
from gatechart.models.bounds import USUAL_BOUNDS, AnswerBounds
from gatechart.models.dialects import ANTHROPIC
from gatechart.models.failures import error_in_answer, invalid_answer
from gatechart.models.finish import FAILURES
from gatechart.models.judging import WatchedText, judged
from gatechart.models.media import IMAGES
from gatechart.models.model import ModelReply, ModelRequest, Prices
from gatechart.models.provider import ANTHROPIC_SDK, Provider, checked_settings
from gatechart.models.usage import anthropic_usage
from gatechart.tools.naming import model_name
from gatechart.tools.schemas import anthropic_tools

if TYPE_CHECKING:
    from gatechart.models.provider import Http

_VERSION: Final = "2023-06-01"
_OURS: Final = ("messages", "stream")


class AnthropicModel:
    """A model behind Anthropic's messages: `AnthropicModel("claude-sonnet-4-5", api_key=...)`.

    most_tokens: that an answer may have. The key is sent as `x-api-key`; the environment changes neither it nor the
    URL. settings: more of the request, such as `{"temperature": 0}`; tools among them, such as the provider's own, are
    offered beside the loop's. prices: for `cost` in the usage. timeout_s: the longest silence. http: a client of
    httpx or httpx2 that makes the connections; its owner closes it. headers: more of the request's headers, such as
    `anthropic-beta`. accepts: media types of the files that the model is shown, "image/*" for all of a kind; a text
    takes the place of any other file. bounds: of an answer. strict: whether the model is held to the tools' schemas,
    where neither the tool nor the loop says so; None: wherever a schema allows. Needs `gatechart[anthropic]`.

    Raises ExtraMissingError if the SDK is not installed; it is imported with the first request.
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
        http: Http | None = None,
        headers: Mapping[str, str] | None = None,
        accepts: Iterable[str] = (*IMAGES, "application/pdf"),
        bounds: AnswerBounds = USUAL_BOUNDS,
        strict: bool | None = None,
    ) -> None:
        key = {"x-api-key": api_key} if api_key else {}
        sent = {
            "anthropic-version": _VERSION,
            **key,
            **{name.lower(): value for name, value in (headers or {}).items()},
        }
        self._provider = Provider(ANTHROPIC_SDK, url, sent, timeout_s, http, bounds)
        self._model = model
        self._settings = {"max_tokens": most_tokens, **checked_settings(settings, _OURS)}
        self._prices = prices or Prices()
        self._accepts = tuple(accepts)
        self._bounds = bounds
        self._strict = strict

    async def reply(self, request: ModelRequest) -> ModelReply:
        """See Model. Raises ModelFailedError."""
        body = self._body(request)
        if request.tell is None:
            return await self._reply(await self._provider.ask(body), request)
        collector = MessageCollector(WatchedText(request.tell), self._bounds)
        reply = await self._reply(await self._provider.stream(body, collector), request)
        if collector.is_empty and reply.message.content:
            request.tell(reply.message.content)  # the server does not stream
        return reply

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        messages = sent_messages(request, self._provider.host, self._accepts)
        body = {"model": self._model, **self._settings, "messages": messages}
        return (
            body | self._system(request.instructions) | _tools(request, self._settings.get("tools") or (), self._strict)
        )

    def _system(self, instructions: str) -> dict[str, Any]:
        """Return the system prompt of the settings, then the instructions."""
        given = self._settings.get("system")
        if not instructions:
            return {}
        if not given:
            return {"system": instructions}
        first = [{"type": "text", "text": given}] if isinstance(given, str) else list(given)
        return {"system": [*first, {"type": "text", "text": instructions}]}

    async def _reply(self, answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
        blocks, reason = answer.get("content"), answer.get("stop_reason")
        if "content" not in answer:
            if answer.keys() & {"message", "detail"}:
                raise error_in_answer(answer)
            raise invalid_answer("it has no content")
        reason = reason if isinstance(reason, str) else ""
        if reason.lower() in FAILURES:
            raise ModelFailedError(f"the provider aborted the answer: {reason}", "error_in_answer")
        form = ProviderMessage.model_construct(
            dialect=ANTHROPIC, model=self._model, host=self._provider.host, message=[] if blocks is None else blocks
        )
        usage = anthropic_usage(answer.get("usage"))
        reply = await judged(form, request, reason, usage, self._bounds, is_refused=False)
        return replace(reply, usage=self._prices.priced(usage))


def _tools(request: ModelRequest, more: Iterable[Any], strict: bool | None) -> dict[str, Any]:
    """Return the tools; if there are none, the tools of earlier calls, since the provider then requires some."""
    tools = [*more, *anthropic_tools(request.tools, strict=strict if request.strict is None else request.strict)]
    if tools:
        kind = {"none": "none", "required": "any"}.get(request.tool_choice)
        return {"tools": tools, **({"tool_choice": {"type": kind}} if kind else {})}
    called = dict.fromkeys(model_name(call.name) for message in request.messages for call in message.tool_calls)
    if not called:
        return {}
    withheld = [{"name": name, "input_schema": {"type": "object"}} for name in called]
    return {"tools": withheld, "tool_choice": {"type": "none"}}
