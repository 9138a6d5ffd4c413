"""Requests of a loop to its model, and other forms of a request that a provider refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, cast

from gatechart.errors.models import ModelFailedError
from gatechart.hosting.invoke_context import Work
from gatechart.models.fitting import fitted
from gatechart.models.loop_terms import LoopTerms
from gatechart.models.model import ModelReply, ModelRequest
from gatechart.models.repair import PLAINER, in_form, is_refusal
from gatechart.models.tokens import tokens_of, tokens_of_frame
from gatechart.tools.definition import AnyTool
from gatechart.tools.retries import is_passing

TOO_LONG: Final = "context_length"
"""Code of a refusal for the length of a request."""


def is_too_long(error: Exception) -> bool:
    """Return whether a provider refused a request for its length."""
    return isinstance(error, ModelFailedError) and error.code == TOO_LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The parts of a request beside its messages."""

    instructions: str
    tools: tuple[AnyTool, ...]
    transfers: tuple[str, ...]  # names of those tools that choose a transfer

    @property
    def tokens(self) -> int:
        """An estimate of its tokens."""
        return tokens_of_frame(self.instructions, self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswer:
    """A model's answer, and the form of the request that its provider accepted."""

    reply: ModelReply
    form: int  # of the messages, see `in_form`
    limit: int  # of the tokens of the messages, see `fitted`; 0 for none


class Requester:
    """Asks the model of a loop."""

    def __init__(self, terms: LoopTerms, work: Work[Any]) -> None:
        self._terms = terms
        self._work = work
        self.strict = terms.strict

    async def fitted_reply(self, request: ModelRequest, limit: int, *, may_shorten: bool) -> RequestAnswer:
        """Return the model's answer. Messages are shortened until its provider accepts them.

        limit: of the tokens of the first request's messages; 0 for none. may_shorten: whether a refusal for length
        halves the tokens. If it is false, or if nothing is left to shorten, the last refusal is raised.
        """
        sent = request.messages if not limit else fitted(request.messages, limit)
        while True:
            try:
                reply, form = await self.repaired_reply(replace(request, messages=sent))
                return RequestAnswer(reply=reply, form=form, limit=limit)
            except ModelFailedError as error:
                if not may_shorten or not is_too_long(error):
                    raise
                tokens = tokens_of(sent)
                limit = tokens // 2
                sent = fitted(request.messages, limit)
                if tokens_of(sent) >= tokens:
                    raise

    async def repaired_reply(self, request: ModelRequest) -> tuple[ModelReply, int]:
        """Return the model's answer, and the form of the messages that its provider accepted.

        After a refusal, plainer forms follow. Raises the first refusal if the provider accepts none of them.
        """
        try:
            return await self.reply(request), 0
        except Exception as error:
            if not is_refusal(error):
                raise
            refusal = error
        for form in PLAINER:
            messages = tuple(each for message in request.messages for each in in_form(message, form))
            if messages == request.messages:
                continue
            try:
                return await self.reply(replace(request, messages=messages)), form
            except Exception as error:
                if not is_refusal(error):
                    raise
        raise refusal

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer. Tools are less strict from here on if the provider takes no more strict ones."""
        try:
            return await self._reply_once(request)
        except ModelFailedError as error:
            if error.code != "too_many_strict_tools" or request.strict is False:
                raise
        self.strict = False
        return await self._reply_once(replace(request, strict=False))

    async def _reply_once(self, request: ModelRequest) -> ModelReply:
        model, policy = self._terms.model_of(self._work.services), self._terms.breaker
        if policy is None:
            return await model.reply(request)
        async with self._work.breaker(cast("str", self._terms.model), policy):
            try:
                return await model.reply(request)
            except Exception as error:
                if is_passing(error):
                    raise
                wrong = error  # a request that the provider calls wrong says that the provider is there
        raise wrong
