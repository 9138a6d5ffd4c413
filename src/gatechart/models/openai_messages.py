"""A conversation as OpenAI's chat completions take it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from pydantic_core import to_json

from gatechart.handoff.packet import MediaPart, Message, TextPart, ToolCall
from gatechart.models.arguments import read_arguments
from gatechart.models.dialects import OPENAI, calls_in
from gatechart.models.media import data_url, is_accepted, stand_in, text_in
from gatechart.models.model import ModelRequest, is_by_model, result_text
from gatechart.models.outgoing import ANY_ID, BEGINNING, SHORT_ID, parts_of, prepared, valid_name

_OF_FILES: Final = "[Files of the results above:]"


def sent_messages(request: ModelRequest, host: str, accepts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the messages of a request. accepts: media types of the files that the model is shown."""
    ids = SHORT_ID if host.endswith("mistral.ai") else ANY_ID
    conversation = [
        each for message in prepared(request.messages, OPENAI, host, ids) for each in _as_sent(message, accepts)
    ] or [{"role": "user", "content": BEGINNING}]
    system = [{"role": "system", "content": request.instructions}] if request.instructions else []
    return [*system, *conversation]


def _as_sent(message: Message, accepts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a message, then one message for each result of a call, then one with the files of all results."""
    if not is_by_model(message):
        yield {"role": "user", "content": _content(parts_of(message), accepts)}
        return
    yield _verbatim(message) or _converted(message)
    files: list[MediaPart] = []
    for call in message.tool_calls:
        content, shown = _result(call, accepts)
        files += shown
        yield {"role": "tool", "tool_call_id": call.id, "content": content}
    if files:
        yield {"role": "user", "content": _content([TextPart(text=_OF_FILES), *files], accepts)}


def _converted(message: Message) -> dict[str, Any]:
    """Return a model's message as the provider would have written it; files in it are named, not shown."""
    content = _content(parts_of(message), ())
    if not message.tool_calls:
        return {"role": "assistant", "content": content}
    return {"role": "assistant", "content": content, "tool_calls": [_call(call) for call in message.tool_calls]}


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": valid_name(call.name), "arguments": to_json(call.arguments).decode()}
    return {"id": call.id, "type": "function", "function": function}


def _verbatim(message: Message) -> dict[str, Any] | None:
    """Return a model's message as it came, with what no server takes back repaired; None if it has to be converted."""
    form = message.verbatim
    if form is None or not isinstance(form.message, dict):
        return None
    came: dict[str, Any] = deepcopy(form.message)
    listed = isinstance(came.get("tool_calls"), list) or not message.tool_calls
    if not listed or came.get("audio"):
        return None  # these have another form in requests
    calls = calls_in(form.model_copy(update={"message": came}))
    for sent_call, call in zip(calls, message.tool_calls, strict=True):
        _repair(sent_call, call)
    if calls:
        came["tool_calls"] = calls
    content = came.get("content") or (None if calls else _content(parts_of(message), ()))
    return {**came, "role": "assistant", "content": content}


def _repair(sent_call: dict[str, Any], call: ToolCall) -> None:
    """Make a call valid: with its own id, a name of the right form, and arguments that are the text of an object."""
    sent_call["id"] = call.id
    sent_call.setdefault("type", "function")
    function = sent_call.get("function")
    if not isinstance(function, dict):
        if "custom" in sent_call:
            return
        function = sent_call["function"] = {
            "name": sent_call.pop("name", ""),
            "arguments": sent_call.pop("arguments", ""),
        }
    name = function.get("name")
    function["name"] = valid_name(name if isinstance(name, str) else "")
    given = function.get("arguments")
    arguments, problem = read_arguments(given)
    if problem or not isinstance(given, str) or not arguments:
        function["arguments"] = to_json(arguments).decode()


def _result(call: ToolCall, accepts: Iterable[str]) -> tuple[str, list[MediaPart]]:
    """Return the text of a result, and the files that the model is shown beside it."""
    if call.error or not call.parts:
        return result_text(call), []
    shown = [each for each in call.parts if isinstance(each, MediaPart) and _file(each, accepts) is not None]
    texts = [
        each.text
        if isinstance(each, TextPart)
        else f"[{each.media_type}, shown below]"
        if each in shown
        else _as_text(each)
        for each in call.parts
    ]
    return "\n".join(texts), shown


def _content(parts: Sequence[TextPart | MediaPart], accepts: Iterable[str]) -> Any:
    """Return the content of a message: a text, or parts if it has files that the model is shown."""
    sent = [_part(each, accepts) for each in parts]
    if all(each["type"] == "text" for each in sent):
        return "\n".join(each["text"] for each in sent) if len(sent) != 1 else sent[0]["text"]
    return sent


def _part(part: TextPart | MediaPart, accepts: Iterable[str]) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return _file(part, accepts) or {"type": "text", "text": _as_text(part)}


def _as_text(part: MediaPart) -> str:
    text = text_in(part)
    return stand_in(part) if text is None else f"[{part.name or part.media_type}]\n{text}"


def _file(part: MediaPart, accepts: Iterable[str]) -> dict[str, Any] | None:
    """Return a file as the provider takes it; None if the model is not shown it."""
    if not is_accepted(part, accepts):
        return None
    kind = part.media_type.lower()
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    if not part.data or text_in(part) is not None:
        return None  # the provider takes only images by their URL
    if kind.startswith("audio/"):
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": _audio_format(kind)}}
    return {"type": "file", "file": {"filename": part.name or "file", "file_data": data_url(part)}}


def _audio_format(kind: str) -> str:
    subtype = kind.partition("/")[2].partition(";")[0].removeprefix("x-")
    return {"mpeg": "mp3", "wave": "wav"}.get(subtype, subtype)
