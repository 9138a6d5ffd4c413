"""The connection to one MCP server. It reconnects after the connection breaks."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Final

from mcp import Client, MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
)
from pydantic import TypeAdapter

from gatechart.errors.mcp import McpServerError
from gatechart.mcp.bounds import MOST_PAGES, MOST_TOOLS
from gatechart.mcp.listed import PROBLEM
from gatechart.mcp.pins import digest_of
from gatechart.mcp.results import McpContent, ResultError, content_of, error_text
from gatechart.mcp.servers import McpServer
from gatechart.mcp.wire import SENDING, Sending
from gatechart.tasks import start_task
from gatechart.tools.retries import ToolError

logger = logging.getLogger(__name__)

CONNECT_S: Final = 30.0
"""Maximum time for a server to start and list its tools, in seconds."""

_REFUSED: Final = (METHOD_NOT_FOUND, INVALID_PARAMS)  # the server reports that it did not call the tool
_ANSWER: Final[TypeAdapter[CallToolResult | InputRequiredResult]] = TypeAdapter(CallToolResult | InputRequiredResult)
_US: Final = Implementation(name="gatechart", version="1")


@dataclass(frozen=True)
class Listing:
    """The tools of a server, with the definitions of the wanted ones."""

    definitions: Mapping[str, dict[str, Any]]  # of the wanted tools, in MCP's shape, by name
    unusable: Mapping[str, str]  # problems of the wanted tools that cannot be used, by name
    names: tuple[str, ...]  # of all tools of the server


@dataclass(frozen=True)
class _Session:
    client: Client
    listing: Listing


class McpConnection:
    """A session with an MCP server, held open by a dedicated task.

    Requests of the server to its client (to sample a model, list roots, or elicit input from the user) are refused:
    this client does not offer these capabilities.
    """

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._opened: asyncio.Future[_Session] | None = None
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def listing(self) -> Listing:
        """Return the tools of the server. Raises McpServerError."""
        return (await self._session()).listing

    async def call(self, tool: str, arguments: Mapping[str, Any], accepted: str, *, is_safe: bool) -> McpContent:
        """Call a tool and return its result.

        accepted: the digest of the tool's definition. is_safe: whether the tool may be called again.

        Raises ToolError. An error before the request is sent can be retried. After that, the tool may have acted,
        regardless of the answer: the error is in doubt, and only a safe tool is called again.
        """
        try:
            session = await self._session()
        except McpServerError as error:
            raise ToolError(str(error)) from error
        definition = session.listing.definitions.get(tool, {})
        if digest_of(definition) != accepted:
            raise ToolError("the server has changed the tool's definition since it was accepted", retry=False)
        answer = await self._answer(session, tool, arguments, is_safe=is_safe)
        if answer.is_error:
            raise ToolError(error_text(answer), retry=False)
        try:
            return await asyncio.to_thread(content_of, answer, definition.get("outputSchema"))
        except ResultError as error:
            raise ToolError(str(error), retry=is_safe, in_doubt=True) from error

    async def _answer(
        self, session: _Session, tool: str, arguments: Mapping[str, Any], *, is_safe: bool
    ) -> CallToolResult:
        """Send one request, and return the server's result. Raises ToolError."""
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        sending, limit_s = Sending(), self._server.answer_s
        token = SENDING.set(sending)
        try:
            async with asyncio.timeout(limit_s):
                answer = await session.client.session.send_request(request, _ANSWER)
        except Exception as error:
            if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
                await self._end(session)
            raise self._failure(error, sending, is_safe=is_safe) from error
        finally:
            SENDING.reset(token)
        if isinstance(answer, InputRequiredResult):
            message = "the server asks for more input during the call, and agents do not provide any"
            raise ToolError(message, retry=False, in_doubt=True)
        return answer

    def _failure(self, error: Exception, sending: Sending, *, is_safe: bool) -> ToolError:
        """Return the error of a call without a result."""
        name = self._server.name
        if not sending.is_out:
            return ToolError(f"the call was not sent to the MCP server {name!r}: {_description(error)}")
        if isinstance(error, TimeoutError):
            message = f"the MCP server {name!r} did not answer within {self._server.answer_s:g} s"
            return ToolError(message, retry=is_safe, in_doubt=True)
        if not isinstance(error, MCPError):
            message = f"the answer of the MCP server {name!r} cannot be read: {_description(error)}"
            return ToolError(message, retry=is_safe, in_doubt=True)
        if error.code in _REFUSED:
            return ToolError(f"the server refused the call: {error.message}", retry=False)
        if error.code == CONNECTION_CLOSED:
            message = f"the connection to the MCP server {name!r} broke during the call ({error.message})"
            return ToolError(message, retry=is_safe, in_doubt=True)
        message = f"the MCP server {name!r} answered with an error: {error.message}"
        return ToolError(message, retry=is_safe, in_doubt=True)

    async def close(self) -> None:
        """End the session, if there is one. The next call opens another."""
        task, self._task, self._opened = self._task, None, None
        self._over.set()
        if task is not None:
            with suppress(Exception):
                await task

    async def _end(self, session: _Session) -> None:
        """End a broken session, unless another call has opened a new one since."""
        opened = self._opened
        if opened is not None and opened.done() and not opened.exception() and opened.result() is session:
            await self.close()

    async def _session(self) -> _Session:
        if self._opened is None or (self._task is not None and self._task.done()):
            self._over = asyncio.Event()
            self._opened = asyncio.get_running_loop().create_future()
            self._task = start_task(self._hold(self._opened, self._over), context=Context())
        return await asyncio.shield(self._opened)

    async def _hold(self, opened: asyncio.Future[_Session], over: asyncio.Event) -> None:
        """Open and close a session in one task, because its cancel scopes require that."""
        try:
            async with asyncio.timeout(CONNECT_S) as limit:
                async with Client(self._server.transport(), client_info=_US, cache=None) as client:
                    opened.set_result(await _listed(client, frozenset(self._server.tools)))
                    limit.reschedule(None)
                    await over.wait()
        except Exception as error:
            if not opened.done():
                opened.set_exception(self._unreachable(error))
                opened.exception()  # marks it as retrieved: there may be no waiting caller
                return
            facts = {"server": self._server.name, "problem": _description(error)}
            logger.warning("the connection to the MCP server %(server)s broke: %(problem)s", facts, extra=facts)

    def _unreachable(self, error: Exception) -> McpServerError:
        if isinstance(error, McpServerError):
            return error
        late = f"it did not start and list its tools within {CONNECT_S:.0f} s"
        return McpServerError(self._server.name, late if isinstance(error, TimeoutError) else _description(error))


async def _listed(client: Client, wanted: frozenset[str]) -> _Session:
    """List the tools of a server. Raises ValueError above the bounds."""
    names: Counter[str] = Counter()
    definitions: dict[str, dict[str, Any]] = {}
    problems: dict[str, str] = {}
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            names[tool.name] += 1
            if tool.meta and PROBLEM in tool.meta:
                problems[tool.name] = f"the server's definition is invalid: {tool.meta[PROBLEM]}"
            elif tool.name in wanted:
                definitions[tool.name] = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        if names.total() > MOST_TOOLS:
            raise ValueError(f"it has more than {MOST_TOOLS:,} tools")
        cursor = page.next_cursor
        if cursor is None:
            twice = [name for name in wanted if names[name] > 1]
            problems |= {name: f"the server has {names[name]} tools of this name" for name in twice}
            usable = {name: definition for name, definition in definitions.items() if name not in problems}
            unusable = {name: problem for name, problem in problems.items() if name in wanted}
            return _Session(client, Listing(usable, unusable, tuple(names)))
    raise ValueError(f"its list of tools has more than {MOST_PAGES} pages")


def _description(error: BaseException) -> str:
    """Return type and message of an error, or of the first error in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
