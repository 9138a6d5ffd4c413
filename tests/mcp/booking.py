"""An MCP server whose tools act, and then answer badly; over stdio as `python booking.py FOLDER`.

It notes each call in FOLDER/calls before it answers.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

ANY: dict[str, Any] = {"type": "object"}
SEAT: dict[str, Any] = {"type": "object", "properties": {"seat": {"type": "integer"}}, "required": ["seat"]}


def text(words: str, **more: Any) -> CallToolResult:
    """Return a result with a text."""
    return CallToolResult(content=[TextContent(type="text", text=words)], **more)


async def misfit() -> CallToolResult:
    """Answer with structured content that does not fit."""
    return text("booked", structured_content={"seat": "twelve"})


async def lacking() -> CallToolResult:
    """Answer without the structured content that is declared."""
    return text("booked")


async def failing() -> CallToolResult:
    """Answer with an error of JSON-RPC."""
    raise MCPError(code=-32603, message="the disk is full")


async def asking() -> InputRequiredResult:
    """Ask to be called again."""
    return InputRequiredResult(request_state="again")


async def silent() -> CallToolResult:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def large() -> CallToolResult:
    """Answer with more bytes than are read."""
    return text("x" * (9 * 1024 * 1024))


async def many() -> CallToolResult:
    """Answer with more parts than are read."""
    return CallToolResult(content=[TextContent(type="text", text="x")] * 300_000)


async def several() -> CallToolResult:
    """Answer with a few more parts than are read."""
    return CallToolResult(content=[TextContent(type="text", text="x")] * 1_001)


async def deep() -> CallToolResult:
    """Answer with deeply nested structured content."""
    value: dict[str, Any] = {}
    for _ in range(100):
        value = {"a": value}
    return text("booked", structured_content=value)


async def crash() -> CallToolResult:
    """End the process."""
    os._exit(3)


async def fine() -> CallToolResult:
    """Answer well."""
    return text("seat 12", structured_content={"seat": 12})


async def photo() -> CallToolResult:
    """Answer with text and an image."""
    image = ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png")
    return CallToolResult(content=[TextContent(type="text", text="your seat:"), image])


BAD: dict[str, Callable[[], Awaitable[CallToolResult | InputRequiredResult]]] = {
    each.__name__: each for each in (misfit, lacking, failing, asking, silent, large, many, several, deep, crash)
}
TOOLS = {**BAD, "fine": fine, "photo": photo}


def booking(folder: Path, *more: Tool) -> Server[Any]:
    """Build the server. more: tools that it lists besides."""

    async def listed(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        tools = [
            Tool(name=name, input_schema=ANY, output_schema=SEAT if name in {"misfit", "lacking", "fine"} else None)
            for name in TOOLS
        ]
        return ListToolsResult(tools=[*tools, *more])

    async def call(_context: Any, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        with (folder / "calls").open("a") as file:
            file.write(f"{params.name}\n")
        return await TOOLS[params.name]()

    return Server("booking", on_list_tools=listed, on_call_tool=call)


async def _main() -> None:
    server = booking(Path(sys.argv[1]))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_main)
