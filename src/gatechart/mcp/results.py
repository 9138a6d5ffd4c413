"""The results of MCP servers' tools: text and media from outside, of bounded size."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from gatechart.graph.payload_schema import JsonSchema
from gatechart.handoff.media import MOST_MEDIA_BYTES
from gatechart.handoff.packet import MediaPart, TextPart
from gatechart.mcp.bounds import MOST_BYTES
from gatechart.tools.checkable import checkable

McpContent: TypeAlias = str | tuple[TextPart | MediaPart, ...]
"""The value of a call: text, or parts if it has images, audio or files."""

_UNKNOWN: Final = "application/octet-stream"


class ResultError(Exception):
    """The tool was called, and its result cannot be used."""


def content_of(result: CallToolResult, output_schema: Mapping[str, Any] | None) -> McpContent:
    """Return the content of a successful result.

    output_schema: the schema that the tool declares for its structured content. Raises ResultError for structured
    content that does not fit it, and for more text than MOST_BYTES.
    """
    _check_structured(result, output_schema)
    parts = tuple(_parts_of(result))
    size = sum(len(part.text.encode()) for part in parts if isinstance(part, TextPart))
    if size > MOST_BYTES:
        raise ResultError(f"its result has {size:,} bytes; the maximum is {MOST_BYTES:,}; ask for less")
    if any(isinstance(part, MediaPart) for part in parts):
        return parts
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def error_text(result: CallToolResult) -> str:
    """Return the text of a tool's failure, cut off at MOST_BYTES."""
    texts = (part.text for part in _parts_of(result) if isinstance(part, TextPart))
    return "\n".join(texts).encode()[:MOST_BYTES].decode(errors="ignore") or "it failed without a message"


def _check_structured(result: CallToolResult, schema: Mapping[str, Any] | None) -> None:
    """Raise ResultError if the structured content does not fit the parts of the schema that are safe to check."""
    if schema is None:
        return
    if result.structured_content is None:
        raise ResultError("its result lacks the structured content that the tool declares")
    problems = JsonSchema(json.dumps(checkable(schema))).problems(result.structured_content)
    if problems:
        raise ResultError(f"its result does not fit the schema that the tool declares: {'; '.join(problems)[:2000]}")


def _parts_of(result: CallToolResult) -> Iterator[TextPart | MediaPart]:
    left, texts = MOST_MEDIA_BYTES, []
    for content in result.content:
        part = _part(content, left)
        left -= part.size if isinstance(part, MediaPart) else 0
        texts += [part.text] if isinstance(part, TextPart) else []
        yield part
    if result.structured_content is not None and not _contain(texts, result.structured_content):
        yield TextPart(text=_storable(json.dumps(result.structured_content, ensure_ascii=False)))


def _part(content: Any, left: int) -> TextPart | MediaPart:
    """Return a part of a result. left: maximum size of its media, in bytes."""
    match content:
        case TextContent(text=text) | EmbeddedResource(resource=TextResourceContents(text=text)):
            return TextPart(text=_storable(text))
        case ImageContent() | AudioContent():
            return _media(content.data, content.mime_type, "", left)
        case ResourceLink():
            facts = ", ".join(filter(None, (content.mime_type, content.name)))
            return TextPart(text=_storable(f"{content.uri} ({facts})" if facts else str(content.uri)))
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return _media(resource.blob, resource.mime_type or _UNKNOWN, str(resource.uri), left)
        case _:
            return TextPart(text=f"[{type(content).__name__}]")


def _media(data: str, media_type: str, name: str, left: int) -> TextPart | MediaPart:
    media_type, name = _storable(media_type)[:200], _storable(name)[:500]
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        return TextPart(text=f"[{media_type}, which cannot be read: it is not base64]")
    if len(content) > left:
        return TextPart(text=f"[{media_type}, {len(content):,} bytes; at most {left:,} are kept]")
    return MediaPart(media_type=media_type, name=name, data=base64.b64encode(content).decode(), size=len(content))


def _contain(texts: Sequence[str], structured: Mapping[str, Any]) -> bool:
    """Return whether the texts of a result repeat its structured content, as servers do for older clients."""
    wrapped = [structured["result"]] if structured.keys() == {"result"} else []
    read = [_json_or_text(text) for text in texts]
    for value in (structured, *wrapped):
        if value in read or value in texts or (isinstance(value, list) and value in ([*read], [*texts])):
            return True
    return False


def _json_or_text(text: str) -> Any:
    """Return the JSON value of a text; the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _storable(text: str) -> str:
    """Replace characters that databases cannot keep: NUL and lone surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
