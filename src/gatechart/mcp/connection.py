"""The connection to one MCP server, which is made again after it has broken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp import Client, MCPError
from mcp.types import CONNECTION_CLOSED, Implementation

from gatechart.errors import McpServerError
from gatechart.mcp.pins import digest_of
from gatechart.mcp.results import text_of
from gatechart.mcp.servers import McpServer
from gatechart.tasks import start_task
from gatechart.tools import ToolError

logger = logging.getLogger(__name__)

CONNECT_S: Final = 30.0
"""How long a server may take to start, and to list its tools."""

_PAGES: Final = 100  # of a list of tools; one that never ends is refused
_US: Final = Implementation(name="gatechart", version="1")


@dataclass(frozen=True)
class _Session:
    client: Client
    definitions: Mapping[str, dict[str, Any]]  # of the server's tools, in MCP's shape, by name


class Connection:
    """A session with an MCP server, held open by a task of its own.

    What servers ask of their clients (to sample a model, to list roots, to put a question to the user) is refused: this
    client offers none of it.
    """

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._opened: asyncio.Future[_Session] | None = None
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def definitions(self) -> Mapping[str, dict[str, Any]]:
        """Return the definitions of the server's tools in MCP's shape, by name. Raises McpServerError."""
        return (await self._session()).definitions

    async def call(self, tool: str, arguments: Mapping[str, Any], accepted: str) -> str:
        """Call a tool and return its result as text. accepted: the digest of the tool's definition.

        Raises ToolError if the server cannot be reached, describes the tool in another way by now, or tells of an
        error, and one that is in doubt if the connection broke before the answer.
        """
        try:
            session = await self._session()
        except McpServerError as error:
            raise ToolError(str(error)) from error
        if digest_of(session.definitions.get(tool, {})) != accepted:
            raise ToolError("the server describes the tool in another way than when it was accepted", retry=False)
        try:
            return text_of(await session.client.call_tool(tool, dict(arguments)))
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise ToolError(f"the server refused the call: {error.message}", retry=False) from error
            await self.close()
            message = f"the connection to the MCP server {self._server.name!r} broke in the call"
            raise ToolError(message, in_doubt=True) from error

    async def close(self) -> None:
        """End the session, if there is one. The next call begins another."""
        task, self._task, self._opened = self._task, None, None
        self._over.set()
        if task is not None:
            with suppress(Exception):
                await task

    async def _session(self) -> _Session:
        if self._opened is None or (self._task is not None and self._task.done()):
            self._over = asyncio.Event()
            self._opened = asyncio.get_running_loop().create_future()
            self._task = start_task(self._hold(self._opened, self._over))
        return await asyncio.shield(self._opened)

    async def _hold(self, opened: asyncio.Future[_Session], over: asyncio.Event) -> None:
        """Open a session and close it in one task, as its cancel scopes demand."""
        try:
            async with asyncio.timeout(CONNECT_S) as limit:
                async with Client(self._server.transport(), client_info=_US, cache=None) as client:
                    opened.set_result(_Session(client, await _listed(client)))
                    limit.reschedule(None)
                    await over.wait()
        except Exception as error:
            if not opened.done():
                opened.set_exception(self._unreachable(error))
                opened.exception()  # told to whoever waits, if anybody does
                return
            facts = {"server": self._server.name, "problem": _said(error)}
            logger.warning("the connection to the MCP server %(server)s broke: %(problem)s", facts, extra=facts)

    def _unreachable(self, error: Exception) -> McpServerError:
        if isinstance(error, McpServerError):
            return error
        late = f"it did not start and list its tools within {CONNECT_S:.0f} s"
        return McpServerError(self._server.name, late if isinstance(error, TimeoutError) else _said(error))


async def _listed(client: Client) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    cursor = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        found |= {each.name: each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise ValueError(f"its list of tools has more than {_PAGES} pages")


def _said(error: BaseException) -> str:
    """Return the words of an error, or of the first in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
