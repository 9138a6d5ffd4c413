"""Requests to models and their replies, independent of providers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final, Literal, Protocol, TypeAlias

from pydantic import Field
from pydantic_core import to_json

from gatechart.handoff.conversation import SUMMARY
from gatechart.handoff.packet import Message, ToolCall
from gatechart.tools.definition import AnyTool
from gatechart.tools.naming import model_name

AGENT: Final = "agent"
"""Role of the messages that a model wrote."""

_OF_MODELS: Final = frozenset({AGENT, "assistant", "model"})


class Finish(StrEnum):
    """Why a model ended its answer."""

    ANSWERED = "answered"
    CALLS = "calls"  # it waits for the results of its calls
    LENGTH = "length"  # the answer was cut off at a limit of tokens
    REFUSED = "refused"  # the model or its provider refused
    FILTERED = "filtered"  # a content filter cut the answer off
    PAUSED = "paused"  # the provider paused a long turn; it continues if it is sent back unchanged
    EMPTY = "empty"  # neither text nor calls
    UNKNOWN = "unknown"  # a reason that this version does not know


_Figure: TypeAlias = Annotated[int, Field(exclude_if=operator.not_)]  # left out of stored JSON if it is 0
_Cost: TypeAlias = Annotated[float, Field(exclude_if=operator.not_)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, cost and requests of models' answers. A figure that no provider reported is 0.

    >>> Usage(input_tokens=10, output_tokens=2) + Usage(unreported=1)
    Usage(input_tokens=10, output_tokens=2, cached_tokens=0, cost=0.0, requests=2, unreported=1)
    """

    input_tokens: int = 0  # including tokens read from a cache
    output_tokens: int = 0
    cached_tokens: _Figure = 0  # of the input, read from a cache
    cost: _Cost = 0.0  # in the currency of the model's prices; 0 if it was given none
    requests: int = 1
    unreported: _Figure = 0  # number of requests whose provider did not report the tokens read or written

    @property
    def is_reported(self) -> bool:
        """Whether providers reported the tokens of all requests; limits do not rest on figures that are missing."""
        return self.unreported == 0

    @property
    def tokens(self) -> int:
        """Tokens in all."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost=self.cost + other.cost,
            requests=self.requests + other.requests,
            unreported=self.unreported + other.unreported,
        )


NO_USAGE: Final = Usage(requests=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of a model, for one million tokens each."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None  # of input that is read from a cache; the input's if None

    def cost(self, usage: Usage) -> float:
        """Return the cost of the usage.

        >>> Prices(input=3, output=15).cost(Usage(input_tokens=1_000_000, output_tokens=100_000))
        4.5
        """
        cached = self.input if self.cached is None else self.cached
        fresh = usage.input_tokens - usage.cached_tokens
        return (fresh * self.input + usage.cached_tokens * cached + usage.output_tokens * self.output) / 1_000_000

    def priced(self, usage: Usage) -> Usage:
        """Return the usage with its cost."""
        return replace(usage, cost=self.cost(usage))


ToolChoice: TypeAlias = Literal["auto", "none", "required"]
"""Whether the model may, must not or must call a tool. With "none" it still knows the tools of earlier calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request to a model to continue a conversation."""

    messages: tuple[Message, ...]  # oldest first; the calls of a message have their results
    instructions: str = ""
    tools: tuple[AnyTool, ...] = ()  # that it may call
    tool_choice: ToolChoice = "auto"
    strict: bool | None = None  # default for tools that do not set it; None: the model's default
    tell: Callable[[str], None] | None = None  # given each piece of text as it comes; None to get the answer at once


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's answer: a message, with the calls that it made and that have no results yet.

    The message has the provider's own form in `verbatim`, if the adapter keeps one.
    """

    message: Message
    finish: Finish
    usage: Usage = field(default_factory=Usage)
    reason: str = ""  # the provider's own word for why the answer ended


class Model(Protocol):
    """A language model that calls tools."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer.

        Its calls are marked as calls by the provider, never text that looks like one. Each has an id and the tool's own
        name. A call whose arguments cannot be read has the reason in `error`. Raises ModelFailedError, or any other
        exception of a provider's client.
        """
        ...


def is_by_model(message: Message) -> bool:
    """Return whether a model wrote the message."""
    return message.role in _OF_MODELS


def said(message: Message) -> str:
    """Return the text of a message for a model. The text of a summary starts with a note that it is one."""
    return f"[Summary of what was said before]\n{message.content}" if message.role == SUMMARY else message.content


def own_names(tools: tuple[AnyTool, ...]) -> Mapping[str, str]:
    """Return the tools' names by their names in requests to models."""
    return {model_name(each.name): each.name for each in tools}


def result_text(call: ToolCall) -> str:
    """Return the result of a call for a model: text unchanged, anything else as JSON."""
    if call.error:
        return f"Error: {call.error}"
    return call.output if isinstance(call.output, str) else to_json(call.output).decode()
