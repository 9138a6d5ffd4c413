"""Tools of MCP servers, for the tool box of a runtime."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gatechart.errors.definition import Fault
from gatechart.errors.mcp import McpServerError
from gatechart.errors.root import suggestion
from gatechart.errors.tools import InvalidToolError
from gatechart.mcp.connection import Listing, McpConnection
from gatechart.mcp.pins import ToolPins, digest_of
from gatechart.mcp.results import McpContent
from gatechart.mcp.servers import McpServer
from gatechart.tools.definition import AnyTool, Tool, ToolOptions
from gatechart.turn.turn_context import one_line

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class WithheldTool:
    """A wanted tool that is not among the tools: its definition has changed since it was accepted, or is unusable."""

    server: str
    tool: str
    accepted: str = ""  # accepted digest, if the definition has changed
    found: str = ""  # current digest, if the definition has changed
    problem: str = ""  # the reason why the tool is unusable

    def __str__(self) -> str:
        subject = f"{self.tool!r} of the MCP server {self.server!r}"
        if self.problem:
            return f"{subject} cannot be used: {self.problem}"
        return (
            f"{subject} has changed its definition since it was accepted; "
            f"review it, and replace {self.accepted} by {self.found} to accept it"
        )


@dataclass(frozen=True)
class McpTools:
    """The tools of the MCP servers that a program named, while they are connected.

    A tool's name consists of the server's name, a dot, and the server's name for the tool, so that names are unique.
    """

    tools: tuple[AnyTool, ...]
    withheld: tuple[WithheldTool, ...]

    @classmethod
    @asynccontextmanager
    async def open(cls, *servers: McpServer, pins: str | Path) -> AsyncIterator[McpTools]:
        """Connect to the servers and read their wanted tools.

        pins: file with the digests of accepted tools, see ToolPins. A tool with an invalid or a duplicate definition is
        withheld, with a warning in the log. Raises McpServerError for a server that cannot be reached or lacks a wanted
        tool, McpPinsError, and InvalidToolError for options that an MCP tool cannot have.
        """
        _check_options(servers)
        accepted = ToolPins(pins)
        async with AsyncExitStack() as stack:
            listed = await asyncio.gather(*(_connected(stack, server, accepted) for server in servers))
            yield cls(
                tuple(tool for tools, _ in listed for tool in tools),
                tuple(tool for _, withheld in listed for tool in withheld),
            )


async def _connected(
    stack: AsyncExitStack, server: McpServer, pins: ToolPins
) -> tuple[list[AnyTool], list[WithheldTool]]:
    connection = McpConnection(server)
    stack.push_async_callback(connection.close)
    listing = await connection.listing()
    _check_wanted(server, listing)
    withheld = [WithheldTool(server.name, name, problem=problem) for name, problem in listing.unusable.items()]
    tools: dict[str, AnyTool] = {}
    for name in (wanted for wanted in server.tools if wanted in listing.definitions):
        try:
            tools[name] = _tool(server, connection, listing.definitions[name])
        except InvalidToolError as error:
            withheld.append(WithheldTool(server.name, name, problem=one_line(str(error))))
    digests = {name: digest_of(listing.definitions[name]) for name in tools}
    changed = await asyncio.to_thread(pins.accept, server.name, digests)
    withheld += [WithheldTool(server.name, name, digest, digests[name]) for name, digest in changed.items()]
    for tool in withheld:
        logger.warning("a tool is withheld: %s", tool, extra={"server": tool.server, "tool": tool.tool})
    return [tool for name, tool in tools.items() if name not in changed], withheld


def _check_wanted(server: McpServer, listing: Listing) -> None:
    for name in server.tools:
        if name not in listing.names:
            raise McpServerError(server.name, f"it has no tool {name!r}: {suggestion(name, listing.names)}")


def _check_options(servers: Iterable[McpServer]) -> None:
    """Raise InvalidToolError, with all faults, for options that an MCP tool cannot have."""
    faults: list[Fault] = []
    for server in servers:
        for name, given in server.tools.items():
            place = f"tool {name!r} of the MCP server {server.name!r}"
            if given.get("repeat") == "keyed":
                problem = "repeat='keyed' needs an idempotency key, and MCP cannot send one"
                faults.append(Fault(place, problem, 'write repeat="safe" if it may be called twice, or leave it out'))
                continue
            try:
                options: ToolOptions = {"name": "any", **given}
                Tool.from_mcp({}, _never_called, **options)
            except InvalidToolError as error:
                faults += [Fault(place, fault.problem, fault.remedy) for fault in error.faults]
    if faults:
        raise InvalidToolError(tuple(faults))


async def _never_called() -> None:
    """Replace the function of a tool while its options are checked."""


def _tool(server: McpServer, connection: McpConnection, definition: Mapping[str, Any]) -> AnyTool:
    name = str(definition["name"])
    options: ToolOptions = {"name": f"{server.name}.{name}", **server.tools[name]}
    is_safe = options.get("repeat") == "safe"
    call = _caller(connection, name, digest_of(definition), is_safe=is_safe)
    return replace(Tool.from_mcp(definition, call, **options), returns=McpContent)


def _caller(
    connection: McpConnection, tool: str, accepted: str, *, is_safe: bool
) -> Callable[..., Awaitable[McpContent]]:
    async def call(**arguments: Any) -> McpContent:
        return await connection.call(tool, arguments, accepted, is_safe=is_safe)

    return call
