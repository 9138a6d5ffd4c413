"""A listening server: opened before the runtime, so that it can tell that it starts, and closed before it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from math import ceil
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from gatechart.serving.access import is_loopback
from gatechart.serving.connections import ConnectionConfig
from gatechart.serving.errors import AddressError, OpenDoorError
from gatechart.serving.limits import DEFAULTS, ServerLimits

_BACKLOG: Final = 2048


class _Uvicorn(uvicorn.Server):
    """Leaves signals to whoever runs it, and tells when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serves = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serves.set()


class Server:
    """Answers with an application until it is closed."""

    def __init__(self, application: ASGIApp, listener: socket.socket, grace_s: float, limits: ServerLimits) -> None:
        self._listener = listener
        host, port = listener.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._uvicorn = _Uvicorn(_config(application, grace_s, limits))
        self._task = asyncio.create_task(self._uvicorn.serve([listener]))

    async def begin(self) -> None:
        """Returns when it serves."""
        serves = asyncio.create_task(self._uvicorn.serves.wait())
        await asyncio.wait((serves, self._task), return_when=asyncio.FIRST_COMPLETED)
        serves.cancel()
        if self._task.done():
            await self._task

    async def close(self) -> None:
        """Accepts nothing more, and returns when the requests under way are answered, or their time is over."""
        self._uvicorn.should_exit = True
        await self._task


@asynccontextmanager
async def listening(
    application: ASGIApp,
    *,
    host: str,
    port: int,
    has_token: bool,
    grace_s: float = 10.0,
    limits: ServerLimits = DEFAULTS,
) -> AsyncIterator[Server]:
    """A server of the application, which is closed behind the block where it has not been.

    port: 0 for any that is free. grace_s: how long requests under way get to end. limits: of connections
    and headers; those of bodies and answers are the application's.
    Raises OpenDoorError where others than this machine could come in without a token, and AddressError.
    """
    if not has_token and not is_loopback(host):
        raise OpenDoorError(host)
    listener = _listener(host, port)
    if not has_token and not is_loopback(listener.getsockname()[0]):  # the name stands for another address here
        listener.close()
        raise OpenDoorError(host)
    server = Server(application, listener, grace_s, limits)
    try:
        await server.begin()
        yield server
    finally:
        await server.close()


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens there. asyncio turns Nagle's algorithm off only where the socket says that it is TCP."""
    if not 0 <= port < 2**16:
        raise AddressError(host, port, "there is no such port")
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host.removeprefix("[").removesuffix("]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    except (OSError, OverflowError, UnicodeError) as error:
        raise AddressError(host, port, str(error)) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressError(host, port, str(error)) from error
    return listener


def _config(application: ASGIApp, grace_s: float, limits: ServerLimits) -> uvicorn.Config:
    return ConnectionConfig(
        application,
        limits,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=ceil(grace_s),
    )
