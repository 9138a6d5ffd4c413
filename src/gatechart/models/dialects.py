"""The dialects of providers: text, parts and calls are read from a provider's own form of a message.

A message of a model keeps that form in `verbatim`. Its text, parts and calls follow from it, so a transcript stores the
form once, and it goes back to its provider as it came: order of blocks, unknown fields, ids and signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, JsonValue, PlainSerializer

from gatechart.handoff.packet import MediaPart, Message, ProviderMessage, TextPart, ToolCall
from gatechart.models.arguments import read_arguments
from gatechart.models.media import media_from_url
from gatechart.models.model import AGENT

OPENAI: Final = "openai.chat"
"""An assistant message of chat completions: an object."""

ANTHROPIC: Final = "anthropic.messages"
"""The content of an assistant message: a list of blocks."""

PYDANTIC_AI: Final = "pydantic-ai"
"""A ModelResponse as JSON."""

AnyPart: TypeAlias = TextPart | MediaPart
_Names: TypeAlias = Mapping[str, str]


def message_of(verbatim: ProviderMessage, names: Mapping[str, str]) -> Message:
    """Return the message of a provider's own form, with that form.

    names: of tools by the names that models know them by; any other name stays as the model wrote it. Calls whose name
    or arguments cannot be read say so in `error`. Raises ValueError for a dialect that is not known, and for a form
    that has not the shape of its dialect.
    """
    reader = _READERS.get(verbatim.dialect)
    if reader is None:
        known = ", ".join(_READERS)
        raise ValueError(f"messages of the dialect {verbatim.dialect!r} cannot be read; known are {known}")
    parts, calls = reader(verbatim.message, names)
    text = "".join(each.text for each in parts if isinstance(each, TextPart))
    has_media = any(isinstance(each, MediaPart) for each in parts)
    return Message(
        role=AGENT,
        content=text,
        tool_calls=tuple(calls),
        parts=tuple(parts) if has_media else (),
        verbatim=verbatim,
    )


def calls_in(verbatim: ProviderMessage) -> list[dict[str, JsonValue]]:
    """Return the objects of the calls in a provider's form, in the order of `Message.tool_calls`.

    They are parts of the form: to change one changes it.
    """
    return _CALLS[verbatim.dialect](verbatim.message)


def with_call_arguments(
    verbatim: ProviderMessage, changes: Mapping[int, dict[str, JsonValue]]
) -> ProviderMessage | None:
    """Return a provider's form with other arguments of some calls, as objects; None for an unknown dialect.

    changes: by the place of the call.
    """
    if verbatim.dialect not in _READERS:
        return None
    changed = verbatim.model_copy(update={"message": deepcopy(verbatim.message)})
    calls = calls_in(changed)
    for place, arguments in changes.items():
        holder, key = _arguments_of(calls[place])
        holder[key] = arguments
    return changed


def _arguments_of(call: dict[str, JsonValue]) -> tuple[dict[str, JsonValue], str]:
    """Return the object that holds the arguments of a call, and their key there."""
    function = call.get("function")
    if isinstance(function, dict):
        return function, "arguments"
    return call, next((key for key in ("input", "args") if key in call), "arguments")


def stored(message: Message) -> dict[str, Any]:
    """Return a message as JSON value, without the contents that follow from its verbatim form.

    Of its calls only the names and ids are kept that differ from those in the form. A message whose other contents
    differ is stored without the form.
    """
    if message.verbatim is None or message.verbatim.dialect not in _READERS:  # of an application's own model
        return message.model_dump(mode="json")
    derived = message_of(message.verbatim, {})
    calls = [_difference(call, own) for call, own in zip(derived.tool_calls, message.tool_calls, strict=False)]
    kept: dict[str, Any] = {"role": derived.role, "content": derived.content, "parts": derived.parts}
    is_derived = message.model_copy(update=kept) == message and len(derived.tool_calls) == len(message.tool_calls)
    if not is_derived or None in calls:
        return message.model_copy(update={"verbatim": None}).model_dump(mode="json")
    rest = message.model_dump(mode="json", exclude={*kept, "tool_calls"}, exclude_defaults=True)
    return {**rest, **({"calls": calls} if any(calls) else {})}


def _difference(derived: ToolCall, call: ToolCall) -> dict[str, str] | None:
    """Return the name and the id that a call has and the form has not; None if more differs."""
    changes = {key: getattr(call, key) for key in ("name", "id") if getattr(call, key) != getattr(derived, key)}
    return changes if derived.model_copy(update=changes) == call else None


def restored(value: Any) -> Any:
    """Return the message of a stored JSON value. Values without a verbatim form are returned as they are."""
    if not isinstance(value, dict) or not value.get("verbatim") or "content" in value:
        return value
    derived = message_of(ProviderMessage.model_validate(value["verbatim"]), {})
    differences = value.get("calls") or [{}] * len(derived.tool_calls)
    calls = [call.model_copy(update=changes) for call, changes in zip(derived.tool_calls, differences, strict=True)]
    rest = {key: each for key, each in value.items() if key not in {"verbatim", "calls"}}
    own = Message.model_validate({"role": derived.role, **rest})
    changes = {name: getattr(own, name) for name in own.model_fields_set}
    return derived.model_copy(update={**changes, "tool_calls": tuple(calls)})


StoredMessage: TypeAlias = Annotated[Message, BeforeValidator(restored), PlainSerializer(stored)]
"""A message that stores its verbatim form once, without the contents that follow from it."""


def _call(name: object, arguments: object, call_id: object, names: _Names) -> ToolCall:
    """Return a call as the loop knows it; `error` names its problem."""
    read, problem = read_arguments(arguments)
    if not isinstance(name, str) or not name:
        read, problem, name = {}, "the call names no tool", ""
    return ToolCall(
        name=names.get(name, name), arguments=read, error=problem, id=call_id if isinstance(call_id, str) else ""
    )


# OpenAI's chat completions


def _read_openai(message: JsonValue, names: _Names) -> tuple[list[AnyPart], list[ToolCall]]:
    if not isinstance(message, dict):
        raise _misfit("a message of chat completions is an object", message)
    calls = [_openai_call(each, names) for each in _openai_calls(message)]
    return _openai_parts(message), calls


def _openai_parts(message: dict[str, JsonValue]) -> list[AnyPart]:
    parts = _openai_content(message.get("content"))
    refusal = message.get("refusal")
    if not parts and isinstance(refusal, str) and refusal:
        parts.append(TextPart(text=refusal))
    for image in _objects(message.get("images")):
        parts += _openai_part(image)
    audio = message.get("audio")
    if isinstance(audio, dict):
        transcript, data = audio.get("transcript"), audio.get("data")
        parts += [TextPart(text=transcript)] if isinstance(transcript, str) and not parts else []
        parts += [MediaPart(media_type=_AUDIO, data=data)] if isinstance(data, str) and data else []
    return parts


_AUDIO: Final = "audio/wav"  # unless the request asks for another format, which the answer does not say


def _openai_content(content: JsonValue) -> list[AnyPart]:
    """Return the parts of the content: a text, or a list of parts, as Mistral and others send it."""
    if isinstance(content, str):
        return [TextPart(text=content)] if content else []
    if isinstance(content, dict):
        return _openai_part(content)
    if not isinstance(content, list):
        return []
    return [
        part for each in content for part in ([TextPart(text=each)] if isinstance(each, str) else _openai_part(each))
    ]


def _openai_part(part: JsonValue) -> list[AnyPart]:
    """Return the text or file of a part; thinking, references and unknown kinds have none."""
    match part:
        case {"type": "text" | "output_text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return [TextPart(text=text)] if text else []
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return [media_from_url(url, "image/*")]
        case _:
            return []


def _openai_call(call: dict[str, JsonValue], names: _Names) -> ToolCall:
    function = call.get("function")
    if isinstance(function, dict):
        return _call(function.get("name"), function.get("arguments"), call.get("id"), names)
    if "arguments" in call:  # the older `function_call`, and servers that leave `function` out
        return _call(call.get("name"), call.get("arguments"), call.get("id"), names)
    custom = call.get("custom")
    name = custom.get("name") if isinstance(custom, dict) else call.get("name")
    given = _call(name, None, call.get("id"), names)
    return given.model_copy(update={"error": given.error or "the call has no arguments in JSON"})


def _openai_calls(message: JsonValue) -> list[dict[str, JsonValue]]:
    """Return the calls of a message; the older `function_call` counts if there are no others."""
    if not isinstance(message, dict):
        return []
    given = message.get("tool_calls")
    calls = _objects([given] if isinstance(given, dict) else given)
    older = message.get("function_call")
    return calls or ([older] if isinstance(older, dict) else [])


# Anthropic's messages


def _read_anthropic(blocks: JsonValue, names: _Names) -> tuple[list[AnyPart], list[ToolCall]]:
    if isinstance(blocks, str):
        return _openai_content(blocks), []
    if not isinstance(blocks, list):
        raise _misfit("the content of a message is a list of blocks", blocks)
    for each in blocks:
        if not isinstance(each, dict) or not isinstance(each.get("type"), str):
            raise _misfit("a block of a message is an object with a type", each)
    parts = [part for each in blocks for part in _anthropic_part(each)]
    calls = [_call(each.get("name"), each.get("input"), each.get("id"), names) for each in _anthropic_calls(blocks)]
    return parts, calls


def _anthropic_part(block: JsonValue) -> list[AnyPart]:
    """Return the text or file of a block; thinking and blocks of the provider's own tools have none."""
    match block:
        case {"type": "text", "text": str(text)} if text:
            return [TextPart(text=text)]
        case {"type": "image" | "document", "source": {"type": "base64", "data": str(data), "media_type": str(kind)}}:
            return [MediaPart(media_type=kind, data=data)]
        case {"type": "image" as kind, "source": {"type": "url", "url": str(url)}}:
            return [media_from_url(url, f"{kind}/*")]
        case _:
            return []


def _anthropic_calls(blocks: JsonValue) -> list[dict[str, JsonValue]]:
    return [each for each in _objects(blocks) if each.get("type") == "tool_use"]


# pydantic-ai


def _read_pydantic_ai(response: JsonValue, names: _Names) -> tuple[list[AnyPart], list[ToolCall]]:
    if not isinstance(response, dict) or not isinstance(response.get("parts"), list):
        raise _misfit("a response of pydantic-ai is an object with parts", response)
    parts = [part for each in _objects(response["parts"]) for part in _pydantic_ai_part(each)]
    calls = [
        _call(each.get("tool_name"), each.get("args"), each.get("tool_call_id"), names)
        for each in _pydantic_ai_calls(response)
    ]
    return parts, calls


def _pydantic_ai_part(part: JsonValue) -> list[AnyPart]:
    match part:
        case {"part_kind": "text", "content": str(text)} if text:
            return [TextPart(text=text)]
        case {"part_kind": "file", "content": {"data": str(data), "media_type": str(kind)}}:
            # URL-safe base64 has two other characters
            return [MediaPart(media_type=kind, data=data.replace("-", "+").replace("_", "/"))]
        case _:
            return []


def _pydantic_ai_calls(response: JsonValue) -> list[dict[str, JsonValue]]:
    parts = response.get("parts") if isinstance(response, dict) else None
    return [each for each in _objects(parts) if each.get("part_kind") == "tool-call"]


def _misfit(expected: str, value: JsonValue) -> ValueError:
    return ValueError(f"{expected}, which this {type(value).__name__} is not")


def _objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


_READERS: Final[Mapping[str, Callable[[JsonValue, _Names], tuple[list[AnyPart], list[ToolCall]]]]] = {
    OPENAI: _read_openai,
    ANTHROPIC: _read_anthropic,
    PYDANTIC_AI: _read_pydantic_ai,
}
_CALLS: Final[Mapping[str, Callable[[JsonValue], list[dict[str, JsonValue]]]]] = {
    OPENAI: _openai_calls,
    ANTHROPIC: _anthropic_calls,
    PYDANTIC_AI: _pydantic_ai_calls,
}
