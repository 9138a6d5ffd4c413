"""The MCP servers that a program names, with their addresses and wanted tools."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, TypeAlias

import httpx2
from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from gatechart.errors.mcp import McpServerError
from gatechart.mcp.bounds import MOST_MESSAGE_BYTES
from gatechart.mcp.lines import BOUNDED_UTF_8
from gatechart.mcp.wire import BoundedHttpClient, bounded
from gatechart.tools.definition import ToolOptions
from gatechart.values.frozen import fill

Wanted: TypeAlias = Mapping[str, ToolOptions] | Iterable[str]
"""The wanted tools of a server, by the server's names for them. A mapping also has their options."""

ANSWER_S: Final = 300.0
"""Default time limit for a server to answer a call, in seconds."""

_CONNECT_S: Final = 30.0


@dataclass(frozen=True, init=False)
class StdioServer:
    """An MCP server that runs as a program on this machine and communicates over standard input and output.

    From this process's environment, it gets the variables in `env`, and HOME, LOGNAME, PATH, SHELL, TERM and USER,
    which every program needs. answer_s: time limit for the answer to a call.
    """

    name: str
    command: tuple[str, ...]
    tools: Mapping[str, ToolOptions]
    env: tuple[str, ...]  # names of variables
    cwd: str | None
    answer_s: float

    def __init__(
        self,
        name: str,
        command: Iterable[str],
        *,
        tools: Wanted,
        env: Iterable[str] = (),
        cwd: str | None = None,
        answer_s: float = ANSWER_S,
    ) -> None:
        fill(
            self,
            name=name,
            command=tuple(command),
            tools=_by_name(tools),
            env=tuple(env),
            cwd=cwd,
            answer_s=_checked(answer_s),
        )

    def transport(self) -> Transport:
        """Return a transport that starts a process of the server. Raises McpServerError for an unset variable."""
        missing = ", ".join(name for name in self.env if name not in os.environ)
        if missing:
            raise McpServerError(self.name, f"the environment lacks {missing}")
        program, *arguments = self.command
        variables = {name: os.environ[name] for name in self.env}
        parameters = StdioServerParameters(
            command=program,
            args=arguments,
            env=variables,
            cwd=self.cwd,
            encoding=BOUNDED_UTF_8,
            encoding_error_handler="replace",
        )
        return bounded(stdio_client(parameters))


@dataclass(frozen=True, init=False)
class HttpServer:
    """An MCP server behind streamable HTTP.

    Redirects are followed only within the same scheme, host and port, so that a redirect cannot lead to an address in
    a private network that the program did not name. answer_s: time limit for the answer to a call.
    """

    name: str
    url: str
    tools: Mapping[str, ToolOptions]
    headers: Mapping[str, str] = field(repr=False)  # of each request, such as an authorization
    answer_s: float

    def __init__(
        self,
        name: str,
        url: str,
        *,
        tools: Wanted,
        headers: Mapping[str, str] | None = None,
        answer_s: float = ANSWER_S,
    ) -> None:
        fill(
            self,
            name=name,
            url=url,
            tools=_by_name(tools),
            headers=dict(headers or {}),
            answer_s=_checked(answer_s),
        )

    def transport(self) -> Transport:
        """Return a transport to the server."""
        return bounded(_over_http(self.url, self.headers, self.answer_s))


McpServer: TypeAlias = StdioServer | HttpServer
"""An MCP server that a program names. Charts and databases cannot name one."""


@asynccontextmanager
async def _over_http(url: str, headers: Mapping[str, str], answer_s: float) -> AsyncIterator[Any]:
    limits = httpx2.Timeout(_CONNECT_S, read=answer_s)  # a server may hold the stream of a response open for long
    async with (
        BoundedHttpClient(headers=dict(headers), timeout=limits) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MOST_MESSAGE_BYTES) as streams,
    ):
        yield streams


def _checked(answer_s: float) -> float:
    """Return the time unchanged. Raises ValueError if it is not above 0 and finite."""
    if not 0 < answer_s < inf:
        raise ValueError(f"answer_s={answer_s!r} is not a valid time limit; give seconds above 0")
    return answer_s


def _by_name(tools: Wanted) -> Mapping[str, ToolOptions]:
    return dict(tools) if isinstance(tools, Mapping) else {name: ToolOptions() for name in tools}
