"""Client of a runtime in another process, through the database that this runtime owns."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any, Final

from gatechart.api.arguments import check_writable
from gatechart.api.command import Command
from gatechart.api.errors import read_reply
from gatechart.api.home import AgentHome
from gatechart.errors.outside import (
    OwnerGoneError,
    RequestTimeoutError,
    StoreBusyError,
    StoreFailedError,
    StoreUnreachableError,
)
from gatechart.errors.root import OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.system import random_id
from gatechart.ports import Asking, Store
from gatechart.runtime.runtime import Runtime
from gatechart.stores.opening import open_asking
from gatechart.tasks import start_task
from gatechart.turn.arguments import checked_id
from gatechart.values.agents import Snapshot
from gatechart.values.homes import Capabilities, Role
from gatechart.values.names import DEFAULT_URL, AgentId
from gatechart.values.queries import Request

logger = logging.getLogger(__name__)

ASKED: Final = Capabilities(home="another process", shows_at_once=False, watches_changes=False, migrates_ahead=False)
TIMEOUT_S: Final = 30.0
FIRST_NAP_S: Final = 0.005
LONGEST_NAP_S: Final = 0.1
CHECKS_EVERY_S: Final = 0.5  # interval of checks that the database still has an owner
PASSING: Final = (StoreBusyError, StoreFailedError, StoreUnreachableError)  # such as a server that is restarting


class DatabaseClient(AgentHome):
    """Executes reads itself, and lets the owner of the database execute writes. See `open_database_client`.

    A command that writes raises the owner's error, RequestTimeoutError if the owner or the database does not answer in
    time, and OwnerGoneError if the owner goes away first. In the last two cases, a request that the owner has not taken
    yet is withdrawn. The request of a cancelled caller is withdrawn, too: `given_up` is then called with whether that
    succeeded, or with None if unknown.
    """

    def __init__(
        self,
        path: str,
        asking: Asking,
        reading: AgentHome,
        *,
        timeout_s: float,
        given_up: Callable[[bool | None], None],
        request: str | None = None,
    ) -> None:
        self._path = path
        self._asking = asking
        self._reading = reading
        self._timeout_s = timeout_s
        self._given_up = given_up
        self._request = request
        self._name = f"{socket.gethostname()}:{os.getpid()}:{token_hex(4)}"

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of a database, but a handle shows its last call's state, and changes cannot be watched."""
        return ASKED

    def graph_of(self, snapshot: Snapshot) -> AnyGraph:
        """Return the graph that drives an agent. Raises UnknownGraphError."""
        return self._reading.graph_of(snapshot)

    def stream(self, agent_id: AgentId, invoke: str) -> AbstractAsyncContextManager[AsyncIterator[Any]]:  # noqa: ARG002
        """Raise ElsewhereError: published items do not pass through a database."""
        self._elsewhere(
            "stream", "watch where the owner runs, or over HTTP, or have the function report with work.progress"
        )

    async def execute(self, call: Command) -> Any:
        """Execute a command here if it only reads; else let the owner execute it."""
        check_writable(call)
        if not call.writes:
            return await self._reading.execute(call)
        until = datetime.now(UTC) + timedelta(seconds=self._timeout_s)
        request = Request(self._request or random_id(), self._name, call.model_dump_json(), until)
        self._request = None
        expired = asyncio.Event()
        timer = asyncio.get_running_loop().call_later(self._timeout_s, expired.set)
        storing = start_task(self._store_request(request, call, expired))
        try:
            number = await asyncio.shield(storing)
            text = await self._answered(number, request, call, expired)
        except asyncio.CancelledError:
            expired.set()
            await self._give_up(storing)
            raise
        finally:
            timer.cancel()
        with suppress(OutsideError):  # the answer is known, and the request is deleted after a while anyway
            await self._asking.forget(number)
        return read_reply(text).value(call.answer)

    async def _store_request(self, request: Request, call: Command, expired: asyncio.Event) -> int:
        """Store the request and return its number. Retries use its id, so that it is stored only once."""
        while True:
            try:
                return await self._asking.ask(request)
            except PASSING as error:
                logger.debug("the database cannot be asked for now", exc_info=error)
                if expired.is_set():
                    raise await self._timed_out(None, request, call, error) from error
            await asyncio.sleep(LONGEST_NAP_S)

    async def _give_up(self, storing: asyncio.Future[int]) -> None:
        """Withdraw the request of a cancelled caller, and report whether that succeeded, if known."""
        try:
            withdrawn = await self._asking.withdraw(await storing)
        except OutsideError as error:
            logger.warning("nobody can tell what became of a request", exc_info=error)
            withdrawn = None
        self._given_up(withdrawn)

    async def _answered(self, number: int, request: Request, call: Command, expired: asyncio.Event) -> str:
        loop = asyncio.get_running_loop()
        nap_s, checks = FIRST_NAP_S, loop.time() + CHECKS_EVERY_S
        while True:
            try:
                if (text := await self._asking.answer_to(number)) is not None:
                    return text
                if loop.time() >= checks:
                    checks = loop.time() + CHECKS_EVERY_S
                    await self._check_owned(number, request)
            except PASSING as error:
                logger.debug("the database cannot be read for now", exc_info=error)
            if expired.is_set():
                timed_out = await self._timed_out(number, request, call)
                if timed_out.withdrawn is False and (text := await self._last_look(number)) is not None:
                    return text
                raise timed_out
            await asyncio.sleep(nap_s)
            nap_s = min(nap_s * 1.3, LONGEST_NAP_S)

    async def _last_look(self, number: int) -> str | None:
        """Return the answer if it arrived while the request was being withdrawn."""
        with suppress(*PASSING):
            return await self._asking.answer_to(number)
        return None

    async def _check_owned(self, number: int, request: Request) -> None:
        """Raise OwnerGoneError if the database has no owner and the request has no answer."""
        if not await self._asking.is_owned() and await self._asking.answer_to(number) is None:
            raise OwnerGoneError(self._path, request.id, number, await self._asking.withdraw(number))

    async def _timed_out(
        self, number: int | None, request: Request, call: Command, problem: OutsideError | None = None
    ) -> RequestTimeoutError:
        """Withdraw the request if possible, and return the error. number: None if the request may not be stored."""
        withdrawn, owner = None, "a process that cannot be named"
        try:
            withdrawn = None if number is None else await self._asking.withdraw(number)
            owner = await self._asking.owner()
        except OutsideError as error:
            problem = problem or error
        reason = "" if problem is None else str(problem)
        return RequestTimeoutError(self._path, owner, call.verb, self._timeout_s, withdrawn, request.id, reason)


@asynccontextmanager
async def open_database_client(
    store: str | Store = DEFAULT_URL,
    *,
    graphs: Sequence[AnyGraph] | AnyGraph = (),
    timeout_s: float = TIMEOUT_S,
    given_up: Callable[[bool | None], None] = lambda _withdrawn: None,
    request: str | None = None,
) -> AsyncIterator[DatabaseClient]:
    """Open a client of the runtime that owns a database, for a process that is not the owner.

    graphs: graphs of the agents to read.
    timeout_s: how long to wait for an answer; a request that the owner has not taken by then is never executed.
    given_up: called when a caller is cancelled, with whether its request was withdrawn; None if unknown.
    request: the id of an earlier request that may have been executed. The first command that writes uses it, and is not
    executed again if the owner knows it.

    Raises the errors of `Runtime.open` for a reader.
    """
    checked_id(request, "request")
    async with (
        open_asking(store) as asking,
        Runtime.open(store, graphs=graphs, role=Role.READER) as reading,
    ):
        yield DatabaseClient(
            str(store),
            asking,
            reading,
            timeout_s=timeout_s,
            given_up=given_up,
            request=request,
        )
