"""Images, audio and files in messages and results: their descriptions, and digests in place of their bytes."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, TypeAlias

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from gatechart.handoff.packet import MediaPart, Message, TextPart

MOST_MEDIA_BYTES: Final = 4 * 1024 * 1024
"""Limit of the images, audio and files of one message or result together, in decoded bytes."""

_FIELDS: Final = MediaPart.model_fields.keys()

AnyPart: TypeAlias = TextPart | MediaPart


def parts_in(value: Any) -> tuple[AnyPart, ...]:
    """Return the media in the value of a tool, a MediaPart or a sequence of parts; () for any other value."""
    listed = (value,) if isinstance(value, MediaPart) else value
    if not isinstance(listed, list | tuple) or not any(isinstance(each, MediaPart) for each in listed):
        return ()
    return tuple(listed) if all(isinstance(each, TextPart | MediaPart) for each in listed) else ()


def described(part: MediaPart) -> str:
    """Return the description of a part, for views without its bytes.

    >>> described(MediaPart(media_type="image/png", name="a.png", data="AAAA"))
    '[image/png, a.png, 3 bytes]'
    """
    size = size_of(part)
    facts = (part.media_type, part.name, part.url[:200], f"{size:,} bytes" if size else "")
    return f"[{', '.join(filter(None, facts))}]"


def size_of(part: MediaPart) -> int:
    """Return the size of a part in bytes; 0 if unknown."""
    return part.size or (len(part.data) * 3 // 4 - part.data[-2:].count("=") if part.data else 0)


def text_of_parts(parts: Iterable[AnyPart]) -> str:
    """Return parts as text, with a description for each of the media."""
    return "\n".join(each.text if isinstance(each, TextPart) else described(each) for each in parts)


def apart(part: AnyPart) -> AnyPart:
    """Return a part with a digest in place of its bytes. A part without bytes is returned unchanged."""
    if not isinstance(part, MediaPart) or not part.data:
        return part
    try:
        content = base64.b64decode(part.data, validate=True)
    except ValueError:  # not base64: no model receives such a part
        return part
    return part.model_copy(update={"data": "", "digest": sha256(content).hexdigest(), "size": len(content)})


def without_bytes(message: Message) -> Message:
    """Return a message with digests in place of the bytes of its media, as it is shown to people."""
    if not message.parts and not any(call.parts for call in message.tool_calls):
        return message
    calls = tuple(call.model_copy(update={"parts": tuple(map(apart, call.parts))}) for call in message.tool_calls)
    return message.model_copy(update={"parts": tuple(map(apart, message.parts)), "tool_calls": calls})


def masked(value: Any) -> Any:
    """Return a JSON value with digests and sizes in place of the bytes of media in it.

    >>> masked({"parts": [{"media_type": "image/png", "data": "AAAA"}]})["parts"][0]["size"]
    3
    """
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("media_type"), str) and value.get("data") and value.keys() <= _FIELDS:
        try:
            return apart(MediaPart.model_validate(value)).model_dump(mode="json")
        except ValidationError:
            return value
    return {name: masked(each) for name, each in value.items()}


def masked_text(text: str) -> str:
    """Return JSON text with digests and sizes in place of the bytes of media in it."""
    return to_json(masked(from_json(text))).decode() if '"media_type"' in text and '"data"' in text else text


def problems_in(parts: Iterable[AnyPart]) -> tuple[str, ...]:
    """Return the problems of the parts of a message: the location of the bytes, their encoding, and their size."""
    problems: list[str] = []
    total = 0
    for number, part in enumerate(parts):
        if isinstance(part, TextPart):
            continue
        if len([each for each in (part.url, part.data, part.digest) if each]) != 1:
            problems.append(f"parts.{number}: give exactly one of url, data and digest")
        try:
            total += len(base64.b64decode(part.data, validate=True))
        except ValueError:
            problems.append(f"parts.{number}: its data is not base64")
    if total > MOST_MEDIA_BYTES:
        problems.append(f"parts: they have {total:,} bytes, and the limit is {MOST_MEDIA_BYTES:,}; give a url")
    return tuple(problems)
