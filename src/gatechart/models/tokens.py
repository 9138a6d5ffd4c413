"""Estimates of the tokens of a request, before a provider counts them.

A token is estimated for every four letters or spaces of ASCII, every two digits or other signs of ASCII, and every
three bytes of other characters in UTF-8, which is one Chinese, Japanese or Korean character. Tokenizers differ by a
third from each other. So an estimate decides when to act, and only a provider decides that a request is too long.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_letters
from typing import Final

from pydantic_core import to_json

from gatechart.handoff.media import AnyPart, size_of
from gatechart.handoff.packet import MediaPart, Message, TextPart, ToolCall
from gatechart.models.media import text_in
from gatechart.models.model import result_text, said
from gatechart.tools.definition import AnyTool

_WORDS: Final = f"{ascii_letters} ".encode()
_BEYOND_ASCII: Final = bytes(range(128, 256))
_PER_MESSAGE: Final = 4  # role and separators
_PER_TOOL: Final = 8

_LEAST_OF_MEDIA: Final = 1_600
"""Tokens of an image: Anthropic's maximum is about 1,600, OpenAI's about 1,100 for most models."""

_AUDIO_BYTES: Final = 500
"""Bytes of audio for each token: a second has 16 to 32 kB, and 10 to 32 tokens."""

_FILE_BYTES: Final = 40
"""Bytes of any other file for each token: a page of PDF has about 100 kB, and 2,500 tokens."""


def tokens_in(text: str | bytes) -> int:
    """Return an estimate of the tokens of a text; bytes are UTF-8.

    >>> tokens_in("Where is my order 4711?"), tokens_in("我的订单在哪里"), tokens_in('{"id": 7}')
    (7, 7, 3)
    """
    data = text.encode(errors="replace") if isinstance(text, str) else text
    rest = data.translate(None, _WORDS)
    signs = len(rest.translate(None, _BEYOND_ASCII))
    return (len(data) - len(rest)) // 4 + (signs + 1) // 2 + (len(rest) - signs) // 3


def tokens_of_part(part: AnyPart) -> int:
    """Return an estimate of the tokens of a text, or of an image, audio or file."""
    if isinstance(part, TextPart):
        return tokens_in(part.text)
    text = text_in(part)
    if text is not None:
        return tokens_in(text)
    kind = part.media_type.partition("/")[0].lower()
    if kind == "image":
        return _LEAST_OF_MEDIA
    if kind == "text":  # whose bytes are stored apart
        return size_of(part) // 4
    return max(_LEAST_OF_MEDIA, size_of(part) // (_AUDIO_BYTES if kind == "audio" else _FILE_BYTES))


def tokens_of_result(call: ToolCall) -> int:
    """Return an estimate of the tokens of a call's result."""
    if call.parts and not call.error:
        return sum(map(tokens_of_part, call.parts))
    return tokens_in(result_text(call))


def tokens_of_message(message: Message) -> int:
    """Return an estimate of the tokens of a message, with its calls and their results."""
    if message.verbatim is not None:
        own = tokens_in(to_json(message.verbatim.message, fallback=str))
    else:
        calls = sum(tokens_in(each.name) + tokens_in(to_json(each.arguments)) for each in message.tool_calls)
        has_media = any(isinstance(each, MediaPart) for each in message.parts)
        own = calls + (sum(map(tokens_of_part, message.parts)) if has_media else tokens_in(said(message)))
    return own + sum(map(tokens_of_result, message.tool_calls)) + _PER_MESSAGE


def tokens_of(messages: Iterable[Message]) -> int:
    """Return an estimate of the tokens of messages."""
    return sum(map(tokens_of_message, messages))


def tokens_of_frame(instructions: str, tools: Iterable[AnyTool]) -> int:
    """Return an estimate of the tokens of a request without its messages."""
    schemas = (
        tokens_in(f"{each.name}{each.description}") + tokens_in(to_json(each.takes.schema)) + _PER_TOOL
        for each in tools
    )
    return tokens_in(instructions) + sum(schemas)
