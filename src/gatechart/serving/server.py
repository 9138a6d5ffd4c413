"""The listening server: opened before the runtime, to report that it is starting, and closed before the runtime."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from gatechart.errors.root import OutsideError
from gatechart.serving.access import OpenDoorError, is_loopback
from gatechart.serving.connections import DEFAULTS, ConnectionConfig, ServerLimits
from gatechart.tasks import start_task

_BACKLOG: Final = 2048


@dataclass(eq=False)
class AddressError(OutsideError):
    """The server cannot listen at its address."""

    host: str
    port: int
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot listen on host {self.host!r}, port {self.port}: {self.problem}; "
            "choose another with --host and --port (0 for any free port)"
        )


class _Uvicorn(uvicorn.Server):
    """uvicorn's server without its signal handlers; `serves` is set once it serves."""

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
    """A server that runs an application until it is closed."""

    def __init__(self, application: ASGIApp, listener: socket.socket, grace_s: float, limits: ServerLimits) -> None:
        self._listener = listener
        host, port = listener.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._uvicorn = _Uvicorn(_config(application, grace_s, limits))
        self._task = start_task(self._uvicorn.serve([listener]))

    async def begin(self) -> None:
        """Wait until the server answers."""
        serves = start_task(self._uvicorn.serves.wait())
        await asyncio.wait((serves, self._task), return_when=asyncio.FIRST_COMPLETED)
        serves.cancel()
        if self._task.done():
            await self._task

    async def close(self) -> None:
        """Stop listening, and wait until running requests are answered or `grace_s` has passed."""
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
    """Serve the application inside the block.

    port: 0 for any free port. grace_s: time for running requests to end, in seconds. limits: the limits of connections
    and headers apply here; the application applies the limits of bodies and answers.
    Raises AddressError, and OpenDoorError if other machines could connect without a token.
    """
    if not has_token and not is_loopback(host):
        raise OpenDoorError(host)
    listener = _listener(host, port)
    if not has_token and not is_loopback(listener.getsockname()[0]):  # the name is not a loopback address
        listener.close()
        raise OpenDoorError(host)
    server = Server(application, listener, grace_s, limits)
    try:
        await server.begin()
        yield server
    finally:
        await server.close()


def _listener(host: str, port: int) -> socket.socket:
    """Open the listening socket, explicitly as TCP: otherwise asyncio leaves Nagle's algorithm on."""
    if not 0 <= port < 2**16:
        raise AddressError(host, port, "ports are numbers from 0 to 65535")
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
