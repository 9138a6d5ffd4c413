"""Plainer forms of messages, for a provider that refuses them: no content of a transcript stops an agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pydantic_core import to_json

from gatechart.errors.models import ModelFailedError
from gatechart.handoff.packet import MediaPart, Message
from gatechart.models.media import stand_in
from gatechart.models.model import result_text

CONVERTED: Final = 1
"""The form without the provider's own message, which is made anew from text, calls and files."""

TEXT_ALONE: Final = 2
"""The form in which calls and files are told in words."""

PLAINER: Final = (CONVERTED, TEXT_ALONE)
"""The forms of messages that are tried in turn."""

_CODES: Final = ("", "invalid_request")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def is_refusal(error: Exception) -> bool:
    """Return whether a request may be refused, or may not even be written, because of its messages."""
    if isinstance(error, ModelFailedError):
        return error.is_permanent and error.code in _CODES
    return isinstance(error, TypeError | ValueError | LookupError | AttributeError)


def in_form(message: Message, form: int) -> Iterator[Message]:
    """Yield a message in a form, as one message or two. 0: as it is."""
    if form >= TEXT_ALONE:
        yield from _as_text(message)
    elif form:
        yield message.model_copy(update={"verbatim": None})
    else:
        yield message


def _as_text(message: Message) -> Iterator[Message]:
    files = [stand_in(each) for each in message.parts if isinstance(each, MediaPart)]
    text = _CONTROL.sub(" ", "\n".join(filter(None, (message.content, *files))))
    yield message.model_copy(update={"content": text, "parts": (), "tool_calls": (), "verbatim": None})
    if message.tool_calls:
        lines = [f"{each.name} {to_json(each.arguments).decode()}: {result_text(each)}" for each in message.tool_calls]
        told = _CONTROL.sub(" ", "\n".join(("[Your calls and their results]", *lines)))
        yield Message(role="user", content=told, time=message.time)
