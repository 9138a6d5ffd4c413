"""A provider's message, judged: within bounds, storable, and read as a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_core import PydanticSerializationError, from_json, to_json

from gatechart.handoff.packet import Message, ProviderMessage
from gatechart.models.bounds import AnswerBounds
from gatechart.models.dialects import calls_in, message_of
from gatechart.models.failures import invalid_answer
from gatechart.models.finish import finish_of
from gatechart.models.model import ModelReply, ModelRequest, Usage, own_names

_LARGE: Final = 64 * 1024
"""From how many bytes on a message is read in a thread, so that others have their turn."""


async def judged(
    form: ProviderMessage, request: ModelRequest, reason: str, usage: Usage, bounds: AnswerBounds, *, is_refused: bool
) -> ModelReply:
    """Return the reply for a provider's message.

    reason: the provider's word for why it ended. is_refused: whether it says so elsewhere. Raises ModelFailedError for
    a message that exceeds a bound or cannot be read.
    """
    check(form, bounds)
    try:
        text = to_json(form.message, inf_nan_mode="null")
    except PydanticSerializationError:
        text = to_json(_paired_all(form.message), inf_nan_mode="null")
    names = own_names(request.tools)
    if len(text) < _LARGE:
        message = _read(form, text, names)
    else:
        message = await asyncio.to_thread(_read, form, text, names)
    finish = finish_of(reason, message, is_refused=is_refused)
    return ModelReply(message=message, finish=finish, usage=usage, reason=reason)


def check(form: ProviderMessage, bounds: AnswerBounds) -> None:
    """Raise ModelFailedError if a message exceeds a bound."""
    calls = calls_in(form)
    bounds.check_calls(len(calls))
    content = form.message.get("content", form.message.get("parts")) if isinstance(form.message, dict) else form.message
    if isinstance(content, list):
        bounds.check_parts(len(content))
    bounds.check_shape(form.message)
    for call in calls:
        function = call.get("function")
        given = function if isinstance(function, dict) else call
        for name in ("arguments", "input", "args"):
            bounds.check_arguments(given.get(name))


def _read(form: ProviderMessage, text: bytes, names: Mapping[str, str]) -> Message:
    try:
        return message_of(form.model_copy(update={"message": from_json(text)}), names)
    except ValueError as error:
        raise invalid_answer(str(error)) from error


def paired(text: str) -> str:
    r"""Join halves of characters that belong together in a text, and replace the others.

    Some servers cut a text between the two halves of a character. JSON can escape either half.

    >>> paired(chr(0xD83D) + chr(0xDE00) + chr(0xD83D)) == "😀\ufffd"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _paired_all(value: Any) -> Any:
    if isinstance(value, str):
        return paired(value)
    if isinstance(value, dict):
        return {paired(key): _paired_all(each) for key, each in value.items()}
    return [_paired_all(each) for each in value] if isinstance(value, list) else value


class WatchedText:
    """Gives pieces of text to a watcher, and keeps half a character at the end for the next piece."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._half = ""

    def __call__(self, piece: str) -> None:
        """Give a piece, or keep half a character of it for the next one."""
        text = self._half + piece
        self._half = text[-1] if text and 0xD800 <= ord(text[-1]) <= 0xDBFF else ""
        ready = paired(text[: len(text) - len(self._half)])
        if ready:
            self._tell(ready)
