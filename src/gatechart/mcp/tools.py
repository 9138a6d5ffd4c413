"""Tools of MCP servers, for the tool box of a runtime."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatechart.errors import McpServerError, suggestion
from gatechart.mcp.connection import Connection
from gatechart.mcp.pins import ToolPins, digest_of
from gatechart.mcp.servers import McpServer
from gatechart.tools import AnyTool, Tool, ToolOptions

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class WithheldTool:
    """A tool that is described in another way than when it was accepted, and is therefore not among the tools."""

    server: str
    tool: str
    accepted: str  # digest
    found: str  # digest

    def __str__(self) -> str:
        return (
            f"{self.tool!r} of the MCP server {self.server!r} is described in another way than when it was accepted; "
            f"look at it, and put {self.found} in place of {self.accepted} to accept it"
        )


@dataclass(frozen=True)
class McpTools:
    """The tools of the MCP servers that a program named, while they are connected.

    A tool's name is that of its server, a dot, and the server's name for it, so that it shadows no other.
    """

    tools: tuple[AnyTool, ...]
    withheld: tuple[WithheldTool, ...]

    @classmethod
    @asynccontextmanager
    async def open(cls, *servers: McpServer, pins: str | Path) -> AsyncIterator[McpTools]:
        """Connect the servers and bring their wanted tools.

        pins: file with the digests of accepted tools, see ToolPins. Raises McpServerError for a server that cannot be
        reached or lacks a wanted tool, McpPinsError, and InvalidToolError for a tool that cannot be one here.
        """
        accepted = ToolPins(pins)
        async with AsyncExitStack() as stack:
            listed = await asyncio.gather(*(_connected(stack, server, accepted) for server in servers))
            yield cls(
                tuple(tool for tools, _ in listed for tool in tools), tuple(each for _, out in listed for each in out)
            )


async def _connected(
    stack: AsyncExitStack, server: McpServer, pins: ToolPins
) -> tuple[list[AnyTool], list[WithheldTool]]:
    connection = Connection(server)
    stack.push_async_callback(connection.close)
    definitions = _wanted(server, await connection.definitions())
    digests = {name: digest_of(each) for name, each in definitions.items()}
    changed = await asyncio.to_thread(pins.accept, server.name, digests)
    withheld = [WithheldTool(server.name, name, digest, digests[name]) for name, digest in changed.items()]
    for each in withheld:
        logger.warning("a tool is withheld: %s", each, extra={"server": each.server, "tool": each.tool})
    tools = [_tool(server, connection, each) for name, each in definitions.items() if name not in changed]
    return tools, withheld


def _wanted(server: McpServer, found: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    for name in server.tools:
        if name not in found:
            raise McpServerError(server.name, f"it has no tool {name!r}: {suggestion(name, tuple(found))}")
    return {name: found[name] for name in server.tools}


def _tool(server: McpServer, connection: Connection, definition: Mapping[str, Any]) -> AnyTool:
    name = str(definition["name"])
    options: ToolOptions = {"name": f"{server.name}.{name}", **server.tools[name]}
    return Tool.from_mcp(definition, _caller(connection, name, digest_of(definition)), **options)


def _caller(connection: Connection, tool: str, accepted: str) -> Callable[..., Awaitable[str]]:
    async def call(**arguments: Any) -> str:
        return await connection.call(tool, arguments, accepted)

    return call
