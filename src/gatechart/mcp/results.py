"""The results of tools of MCP servers: text from outside, of bounded length."""

from __future__ import annotations

import json
from typing import Any, Final

from mcp.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from gatechart.tools import ToolError

MOST_BYTES: Final = 1024 * 1024
"""The largest result, in UTF-8. A larger one is a failure of the call, and is not shown to anybody."""


def text_of(result: CallToolResult) -> str:
    """Return a result as text. What is no text is named by its type and size.

    Raises ToolError for the error that a tool tells of, and for a result above MOST_BYTES.
    """
    parts = [_text(each) for each in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = _storable("\n".join(parts))
    size = len(text.encode())
    if size > MOST_BYTES:
        raise ToolError(f"its result has {size:,} bytes, {MOST_BYTES:,} at most; ask for less", retry=False)
    if result.is_error:
        raise ToolError(text or "it failed without saying why", retry=False)
    return text


def _text(content: Any) -> str:
    match content:
        case TextContent():
            return content.text
        case ImageContent() | AudioContent():
            return f"[{content.mime_type}, {len(content.data):,} characters of base64]"
        case ResourceLink():
            return str(content.uri)
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource(resource=resource):
            return f"[{resource.uri}, {resource.mime_type}]"
        case _:
            return f"[{type(content).__name__}]"


def _storable(text: str) -> str:
    """Replace what no database keeps: NUL, and halves of characters."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
