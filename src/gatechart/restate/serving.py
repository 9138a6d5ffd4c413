"""The service that the engine calls: what it offers, and how it is run so that it can be stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config
from restate.server import install_shutdown_hook

from gatechart.graph import StateTransitionGraph
from gatechart.handoff import PacketMigration
from gatechart.ports import Store
from gatechart.restate.invoking import invokes_service
from gatechart.restate.objects import agent_object, capacity_object
from gatechart.restate.projecting import projection_object
from gatechart.restate.terms import TERMS, Bench, Names, Terms
from gatechart.runtime.registry import Registry
from gatechart.stores import open_store


@asynccontextmanager
async def serving(
    bind: str,
    *,
    graphs: Sequence[StateTransitionGraph] | StateTransitionGraph,
    services: Any = None,
    projection: str | Store | None = None,
    namespace: str = "",
    terms: Terms = TERMS,
    packet_migrations: Sequence[PacketMigration] = (),
    stops_on_sigterm: bool = False,
) -> AsyncIterator[asyncio.Event]:
    """Within it the service answers at `bind` (`host:port`); the event that it gives ends it, once it is set.

    projection: where turns are projected to; a store's URL, which this process then owns. None: nowhere, and there is
    no history. namespace: keeps applications on one engine apart. stops_on_sigterm: set the event on SIGTERM, SIGINT.
    """
    registry, stop = Registry(graphs), asyncio.Event()
    async with AsyncExitStack() as stack:
        store = None
        if projection is not None:
            store = await stack.enter_async_context(open_store(projection, read_only=False))
        bench = Bench(registry, services, terms, packet_migrations, store is not None, Names(namespace))
        offered: list[Any] = [agent_object(bench), capacity_object(bench), invokes_service(bench)]
        if store is not None:
            offered.append(projection_object(bench, store))
        if stops_on_sigterm:
            _stop_on_signals(stop)
        async with answering(bind, restate.app(offered), stop):
            yield stop


@asynccontextmanager
async def answering(bind: str, app: Any, stop: asyncio.Event | None = None) -> AsyncIterator[None]:
    """Within it the application answers at `bind`, until `stop` is set."""
    stopped = stop or asyncio.Event()
    server = asyncio.create_task(serve(_with_lifespan(app), _config(bind), shutdown_trigger=stopped.wait))
    try:
        yield
    finally:
        stopped.set()
        await server


def _config(bind: str) -> Config:
    config = Config()
    config.bind = [bind]
    config.graceful_timeout = 5.0
    # The engine keeps few connections, for ever. One that is closed ends the invocations on it, to be tried again.
    config.keep_alive_max_requests = 2**62
    config.keep_alive_timeout = 3600.0
    config.h2_max_concurrent_streams = 10_000
    config.errorlog = config.accesslog = None
    return config


def _stop_on_signals(stop: asyncio.Event) -> None:
    """The SDK takes SIGTERM for itself with its first request, which is why a server beside it would not stop."""
    for signum in (signal.SIGTERM, signal.SIGINT):
        install_shutdown_hook(asyncio.get_running_loop(), stop.set, signum)


def _with_lifespan(app: Any) -> Any:
    """The application, which the server need not ask in vain whether it has a beginning and an end."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for moment in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{moment}.complete"})

    return answer
