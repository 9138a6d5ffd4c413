"""A conversation as Anthropic's messages take it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from gatechart.handoff.packet import MediaPart, Message, TextPart, ToolCall
from gatechart.models.arguments import read_arguments
from gatechart.models.dialects import ANTHROPIC
from gatechart.models.media import is_accepted, stand_in, text_in
from gatechart.models.model import ModelRequest, is_by_model, result_text
from gatechart.models.outgoing import BEGINNING, NAMED_ID, parts_of, prepared, valid_name

_Blocks = list[dict[str, Any]]

THINKING = "thinking"
"""Field of older stored messages with the blocks of their thinking, which go back with the results of their calls."""


def sent_messages(request: ModelRequest, host: str, accepts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the messages of a request: the user's come first, and what follows in one role is one message.

    accepts: media types of the files that the model is shown.
    """
    joined: list[dict[str, Any]] = []
    for message in prepared(request.messages, ANTHROPIC, host, NAMED_ID):
        for role, blocks in _as_sent(message, accepts):
            _join(joined, role, blocks)
    if not joined or joined[0]["role"] != "user":
        joined.insert(0, {"role": "user", "content": [{"type": "text", "text": BEGINNING}]})
    return _without_blank_end(joined)


def _join(joined: list[dict[str, Any]], role: str, blocks: _Blocks) -> None:
    """Append blocks. The results of calls come first in the message after these, as the provider wants them."""
    if not blocks:
        return
    if joined and joined[-1]["role"] == role:
        joined[-1]["content"] += blocks
    else:
        joined.append({"role": role, "content": blocks})


def _without_blank_end(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages without blanks at the end of an answer that is to be continued; the provider refuses them."""
    last = messages[-1]
    block = last["content"][-1]
    if last["role"] == "assistant" and block.get("type") == "text":
        last["content"][-1] = {**block, "text": block["text"].rstrip()}
    return messages


def _as_sent(message: Message, accepts: Sequence[str]) -> Iterator[tuple[str, _Blocks]]:
    """Yield a message as blocks of a role; the results of its calls are the user's."""
    if not is_by_model(message):
        yield "user", _content(parts_of(message), accepts)
        return
    own = _verbatim(message)
    yield "assistant", _converted(message) if own is None else own
    yield "user", [_result(call, accepts) for call in message.tool_calls]


def _converted(message: Message) -> _Blocks:
    """Return a model's message as the provider would have written it; files in it are named, not shown."""
    thoughts: Any = (message.__pydantic_extra__ or {}).get(THINKING) or ()
    calls = [
        {"type": "tool_use", "id": call.id, "name": valid_name(call.name), "input": call.arguments}
        for call in message.tool_calls
    ]
    return [*thoughts, *_content(parts_of(message), ()), *calls]


def _verbatim(message: Message) -> _Blocks | None:
    """Return a model's message as it came, repaired where the provider would refuse it; None if that was not kept."""
    form = message.verbatim
    if form is None or not isinstance(form.message, list):
        return None
    blocks: _Blocks = [each for each in deepcopy(form.message) if isinstance(each, dict)]
    calls = iter(message.tool_calls)
    for block in blocks:
        if block.get("type") == "tool_use":
            _repair(block, next(calls))
    return [each for each in blocks if not _is_blank(each)]


def _is_blank(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _repair(block: dict[str, Any], call: ToolCall) -> None:
    """Make a call valid: with its own id, a name of the right form, and arguments that are an object."""
    name = block.get("name")
    block["id"] = call.id
    block["name"] = valid_name(name if isinstance(name, str) else "")
    if not isinstance(block.get("input"), dict):
        block["input"] = read_arguments(block.get("input"))[0]


def _result(call: ToolCall, accepts: Sequence[str]) -> dict[str, Any]:
    content = result_text(call) if call.error or not call.parts else _content(call.parts, accepts)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": content}
    return {**result, "is_error": True} if call.error else result


def _content(parts: Iterable[TextPart | MediaPart], accepts: Sequence[str]) -> _Blocks:
    """Return parts as blocks, without blank ones."""
    return [block for each in parts if not _is_blank(block := _block(each, accepts))]


def _block(part: TextPart | MediaPart, accepts: Sequence[str]) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return _file(part, accepts) or {"type": "text", "text": stand_in(part)}


def _file(part: MediaPart, accepts: Sequence[str]) -> dict[str, Any] | None:
    """Return a file as the provider takes it; None if the model is not shown it."""
    text = text_in(part)
    if text is not None:
        return {"type": "text", "text": f"[{part.name or part.media_type}]\n{text}"}
    if not is_accepted(part, accepts):
        return None
    kind = part.media_type.lower()
    source = (
        {"type": "base64", "media_type": kind, "data": part.data} if part.data else {"type": "url", "url": part.url}
    )
    if kind.startswith("image/"):
        return {"type": "image", "source": source}
    titled = {"title": part.name} if part.name else {}
    return {"type": "document", "source": source, **titled} if kind == "application/pdf" else None
