"""Shorter forms of messages, for a provider that refuses a conversation for its length.

The shorter form follows from the messages and a limit of tokens alone. A turn records the limit, so the journal holds
all that is needed to derive the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from gatechart.handoff.conversation import SUMMARY
from gatechart.handoff.media import AnyPart
from gatechart.handoff.packet import MediaPart, Message, TextPart, ToolCall
from gatechart.models.media import stand_in
from gatechart.models.model import result_text
from gatechart.models.tokens import tokens_in, tokens_of, tokens_of_message, tokens_of_part, tokens_of_result

_LEAST_OF_TEXT: Final = 256
"""Tokens to which every text is shortened before messages are left out."""

_LEAST: Final = 16
"""Tokens to which the texts of the newest messages are shortened, if nothing else is left."""


def shortened_text(text: str, most_tokens: int) -> str:
    """Return a text, or its beginning and its end with a note between them about the omitted amount.

    >>> shortened_text("word " * 100, 10)
    'word word word word word w[… 460 of 500 characters are left out here …]ord word word '
    """
    tokens = tokens_in(text)
    if tokens <= most_tokens:
        return text
    kept = len(text) * most_tokens // tokens
    first = kept * 2 // 3
    note = f"[… {len(text) - kept:,} of {len(text):,} characters are left out here …]"
    shorter = f"{text[:first]}{note}{text[len(text) - kept + first :]}"
    return shorter if len(shorter) < len(text) else text


def shortened(message: Message, most_tokens: int) -> Message:
    """Return a message whose texts, arguments and results have at most `most_tokens` tokens each.

    A longer message of a model loses its provider's own form. A note takes the place of files that need more.
    """
    calls = tuple(_shortened_call(call, most_tokens) for call in message.tool_calls)
    changes: dict[str, object] = {"tool_calls": calls}
    if tokens_of_message(message) - sum(map(tokens_of_result, message.tool_calls)) > most_tokens:
        changes["content"] = shortened_text(message.content, most_tokens)
        changes["parts"] = _shortened_parts(message.parts, most_tokens)
        changes["verbatim"] = None
        changes["tool_calls"] = tuple(
            call.model_copy(update={"arguments": _shortened_arguments(call.arguments, most_tokens)}) for call in calls
        )
    return message.model_copy(update=changes)


def fitted(messages: Sequence[Message], most_tokens: int) -> tuple[Message, ...]:
    """Return messages with at most `most_tokens` tokens together, or the shortest form if that is still longer.

    The largest texts and results are shortened first, to the same number of tokens each. If this number falls below
    256, the oldest messages are left out instead, and a note takes their place; a summary at the beginning stays. If
    the newest message alone is too large, its texts are shortened further.
    """
    if tokens_of(messages) <= most_tokens:
        return tuple(messages)
    shorter = tuple(messages)
    for bound in _bounds(most_tokens, _LEAST_OF_TEXT):
        shorter = tuple(shortened(each, bound) for each in messages)
        if tokens_of(shorter) <= most_tokens:
            return shorter
    shorter = _newest(shorter, most_tokens)
    for bound in _bounds(_LEAST_OF_TEXT, _LEAST):
        if tokens_of(shorter) <= most_tokens:
            break
        shorter = tuple(shortened(each, bound) for each in shorter)
    return shorter


def _bounds(first: int, least: int) -> list[int]:
    """Return `first`, its half, and so on, down to the least."""
    return [*takewhile(lambda bound: bound > least, (first >> step for step in range(first.bit_length()))), least]


def _newest(messages: Sequence[Message], most_tokens: int) -> tuple[Message, ...]:
    """Return the newest messages that fit, one at least, after a note with the number of omitted messages."""
    first = [each for each in messages[:1] if each.role == SUMMARY and len(messages) > 1]
    left, kept = most_tokens - tokens_of(first), len(messages)
    while kept > len(first) and (kept == len(messages) or tokens_of_message(messages[kept - 1]) <= left):
        kept -= 1
        left -= tokens_of_message(messages[kept])
    number = kept - len(first)
    note = [Message(role="user", content=f"[{number:,} earlier messages are left out here.]")] if number else []
    return (*first, *note, *messages[kept:])


def _shortened_call(call: ToolCall, most_tokens: int) -> ToolCall:
    if tokens_of_result(call) <= most_tokens:
        return call
    if call.error:
        return call.model_copy(update={"error": shortened_text(call.error, most_tokens)})
    if call.parts:
        return call.model_copy(update={"parts": _shortened_parts(call.parts, most_tokens)})
    return call.model_copy(update={"output": shortened_text(result_text(call), most_tokens)})


def _shortened_parts(parts: Iterable[AnyPart], most_tokens: int) -> tuple[AnyPart, ...]:
    return tuple(_shortened_part(each, most_tokens) for each in parts)


def _shortened_part(part: AnyPart, most_tokens: int) -> AnyPart:
    if tokens_of_part(part) <= most_tokens:
        return part
    if isinstance(part, MediaPart):
        return TextPart(text=stand_in(part))
    return part.model_copy(update={"text": shortened_text(part.text, most_tokens)})


def _shortened_arguments(arguments: dict[str, JsonValue], most_tokens: int) -> dict[str, JsonValue]:
    """Return arguments whose values are shortened as texts; of too many, one text of all."""
    text = to_json(arguments).decode()
    if tokens_in(text) <= most_tokens:
        return arguments
    shorter: dict[str, JsonValue] = {name: _shortened_value(each, most_tokens) for name, each in arguments.items()}
    if tokens_in(to_json(shorter)) <= 2 * most_tokens:
        return shorter
    return {"shortened": shortened_text(text, most_tokens)}


def _shortened_value(value: JsonValue, most_tokens: int) -> JsonValue:
    text = value if isinstance(value, str) else to_json(value).decode()
    return value if tokens_in(text) <= most_tokens else shortened_text(text, most_tokens)
