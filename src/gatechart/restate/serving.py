"""The service that the engine calls: what it offers, and how it is run so that it can be stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import restate
from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config
from restate.server import install_shutdown_hook

from gatechart.graph import StateTransitionGraph
from gatechart.handoff import PacketMigration
from gatechart.ports import Store
from gatechart.restate.invoking import invokes_service
from gatechart.restate.objects import agent_object, capacity_object
from gatechart.restate.projecting import projection_object
from gatechart.restate.terms import TERMS, Bench, Terms
from gatechart.runtime.registry import Registry
from gatechart.stores import open_store

logger = logging.getLogger(__name__)


@asynccontextmanager
async def serving(
    bind: str,
    *,
    graphs: Sequence[StateTransitionGraph] | StateTransitionGraph,
    services: Any = None,
    projection: str | Store | None = None,
    terms: Terms = TERMS,
    packet_migrations: Sequence[PacketMigration] = (),
    stops_on_sigterm: bool = False,
) -> AsyncIterator[asyncio.Event]:
    """Within it the service answers at `bind` (`host:port`); the event that it gives ends it, once it is set.

    projection: where turns are projected to; a store's URL, which this process then owns. None: nowhere, and there is
    no history. stops_on_sigterm: set the event on SIGTERM and SIGINT.
    """
    stop = asyncio.Event()
    if projection is None:
        async with _answering(bind, _app(graphs, services, None, terms, packet_migrations), stop, stops_on_sigterm):
            yield stop
        return
    async with open_store(projection, read_only=False) as store:
        async with _answering(bind, _app(graphs, services, store, terms, packet_migrations), stop, stops_on_sigterm):
            yield stop


def _app(
    graphs: Sequence[StateTransitionGraph] | StateTransitionGraph,
    services: Any,
    store: Store | None,
    terms: Terms,
    packet_migrations: Sequence[PacketMigration],
) -> Any:
    bench = Bench(Registry(graphs), services, terms, packet_migrations, store is not None)
    offered: list[Any] = [agent_object(bench), capacity_object(bench), invokes_service(bench)]
    if store is not None:
        offered.append(projection_object(bench, store))
    return restate.app(offered)


@asynccontextmanager
async def _answering(bind: str, app: Any, stop: asyncio.Event, stops_on_sigterm: bool) -> AsyncIterator[None]:  # noqa: FBT001
    config = Config()
    config.bind = [bind]
    config.errorlog = logger
    config.graceful_timeout = 5.0
    config.h2_max_concurrent_streams = 10_000
    if stops_on_sigterm:
        # The SDK takes the signal for itself with its first request, which is why a server beside it would not stop.
        for signum in (signal.SIGTERM, signal.SIGINT):
            install_shutdown_hook(asyncio.get_running_loop(), stop.set, signum)
    server = asyncio.create_task(hypercorn_serve(app, config, shutdown_trigger=stop.wait))
    try:
        yield
    finally:
        stop.set()
        await server
