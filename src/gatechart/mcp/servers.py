"""The MCP servers that a program names: how each is reached, and which of its tools are wanted."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import httpx2
from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from gatechart.errors import McpServerError
from gatechart.tools import ToolOptions
from gatechart.values.frozen import fill

Wanted: TypeAlias = Mapping[str, ToolOptions] | Iterable[str]
"""The tools that are wanted of a server, by the names that it gives them; in a mapping, with the options of each."""

_PATIENCE: Final = httpx2.Timeout(30.0, read=300.0)  # a server may hold the stream of a response open for long


@dataclass(frozen=True, init=False)
class StdioServer:
    """An MCP server that is a program on this machine, spoken to over its standard input and output.

    Of this process's environment it gets the variables that are listed in `env`, and those that any program needs:
    HOME, LOGNAME, PATH, SHELL, TERM and USER.
    """

    name: str
    command: tuple[str, ...]
    tools: Mapping[str, ToolOptions]
    env: tuple[str, ...]  # names of variables
    cwd: str | None

    def __init__(
        self, name: str, command: Iterable[str], *, tools: Wanted, env: Iterable[str] = (), cwd: str | None = None
    ) -> None:
        fill(self, name=name, command=tuple(command), tools=_by_name(tools), env=tuple(env), cwd=cwd)

    def transport(self) -> Transport:
        """Return a way to a new process of the server. Raises McpServerError for a variable that is not set."""
        missing = ", ".join(each for each in self.env if each not in os.environ)
        if missing:
            raise McpServerError(self.name, f"the environment lacks {missing}")
        program, *arguments = self.command
        variables = {each: os.environ[each] for each in self.env}
        return stdio_client(StdioServerParameters(command=program, args=arguments, env=variables, cwd=self.cwd))


@dataclass(frozen=True, init=False)
class HttpServer:
    """An MCP server behind streamable HTTP.

    Redirects are followed within the same scheme, host and port only, so that none leads to an address in a private
    network that nobody has named.
    """

    name: str
    url: str
    tools: Mapping[str, ToolOptions]
    headers: Mapping[str, str] = field(repr=False)  # of each request, such as an authorization

    def __init__(self, name: str, url: str, *, tools: Wanted, headers: Mapping[str, str] | None = None) -> None:
        fill(self, name=name, url=url, tools=_by_name(tools), headers=dict(headers or {}))

    def transport(self) -> Transport:
        """Return a way to the server."""
        return _over_http(self.url, self.headers)


McpServer: TypeAlias = StdioServer | HttpServer
"""An MCP server, as a program names it. Charts and databases cannot name one."""


@asynccontextmanager
async def _over_http(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=_PATIENCE) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


def _by_name(tools: Wanted) -> Mapping[str, ToolOptions]:
    return dict(tools) if isinstance(tools, Mapping) else {name: ToolOptions() for name in tools}
