"""The service that the engine calls: its objects, and a server that can be stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import aiohttp
import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config
from restate.server import install_shutdown_hook

from gatechart.alerts.graph import alerts_graph, begin_sinks
from gatechart.alerts.sinks import NO_ALERTS, Alerts
from gatechart.assembly.own_graphs import register_own_graphs
from gatechart.errors.outside import EngineRefusedError, EngineUnreachableError, ServiceAddressError
from gatechart.errors.root import OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.reading import PacketMigration
from gatechart.hosting.choosing import USUAL, Choosing, check_choosing
from gatechart.hosting.misplaced import report_misplaced
from gatechart.hosting.own_agents import own_agents_of
from gatechart.hosting.registry import Registry, known_graph
from gatechart.hosting.search import declared_in
from gatechart.hosting.tool_policies import gates_of
from gatechart.ports import Store
from gatechart.restate.agent_object import agent_object
from gatechart.restate.auxiliary_objects import capacity_object, inbox_object, payload_object, room
from gatechart.restate.breaker_objects import breaker_list_object, breaker_object
from gatechart.restate.invokes import invokes_service
from gatechart.restate.journals import journal_object, read_journal, write_entry
from gatechart.restate.projection import projection_object
from gatechart.restate.runtime import RestateRuntime
from gatechart.restate.terms import TERMS, Names, ServiceConfig, Terms
from gatechart.schedules.graph import schedule_graph
from gatechart.stores.opening import open_store
from gatechart.tasks import start_task
from gatechart.values.framework import SCHEDULE_GRAPH
from gatechart.values.homes import Role
from gatechart.values.tool_policies import PoliciesByTool
from gatechart.watchdog.examining import Examiner
from gatechart.watchdog.home import Watchdog
from gatechart.watchdog.rounds import WatchRounds

logger = logging.getLogger(__name__)

LEAVES_S: Final = 0.5  # time for an idle server to exit
_LOOKS_AGAIN_S: Final = 0.5  # pause between checks whether the engine knows the service
FILLED: Final = 500  # agents whose searchable values are added in one commit
CANCELS: Final = 3


@asynccontextmanager
async def serving(
    bind: str,
    *,
    graphs: Sequence[AnyGraph] | AnyGraph,
    services: Any = None,
    projection: str | Store | None = None,
    is_projected_elsewhere: bool = False,
    only_projects: bool = False,
    shares_address: bool = False,
    namespace: str = "",
    ingress: str | Sequence[str] | None = None,
    terms: Terms = TERMS,
    packet_migrations: Sequence[PacketMigration] = (),
    choosing: Choosing = USUAL,
    alerts: Alerts = NO_ALERTS,
    watchdog: Watchdog | None = None,
    tool_policies: PoliciesByTool | None = None,
    grace_s: float = 5.0,
    stops_on_sigterm: bool = False,
) -> AsyncIterator[asyncio.Event]:
    """Serve at `bind` (`host:port`) inside the block. Yields an event that ends the service when set.

    projection: the store for projected turns; a URL, whose database this process then owns. Without it there is no
        history, unless `is_projected_elsewhere` says that another process of this service projects.
    only_projects: host no agents. The processes that host them can then share an address; this one has a separate one.
    shares_address: share `bind` with other processes that pass it, too; the system gives each new connection to one
        of them.
    namespace: keeps applications on one engine apart.
    ingress: the engine's address for callers, such as `http://127.0.0.1:8080`; schedules start agents there, and
        without it there are no schedules.
    choosing: how to choose the recipient of work that a selection leaves open. Without a projection= here, choices
        do not know how much work is open.
    alerts: as in `Runtime.open`; they need ingress=.
    watchdog: as in `Runtime.open`; it needs ingress=, and a projection= here to see agents. It sees no mail and no
        hosts, which belong to the engine.
    tool_policies: as in `Runtime.open`; bulkheads and rates hold for each process of the service.
    grace_s: see `answering`.
    stops_on_sigterm: set the event on SIGTERM and SIGINT. Raises ServiceAddressError, InvalidChoosingError, and as
        `open_store` does.
    """
    if only_projects and projection is None:
        raise ValueError("serving(only_projects=True) has nothing to do without a projection=")
    _check_ingress(ingress, alerts, watchdog)
    check_choosing(choosing)
    registry, stop = Registry(graphs), asyncio.Event()
    if watchdog is not None:
        watchdog.check_restarts(registry)
    register_own_graphs(registry, partial(alerts_graph, alerts), watchdog)
    async with AsyncExitStack() as stack:
        store = None
        if projection is not None:
            store = await stack.enter_async_context(open_store(projection, role=Role.OWNER))
        if ingress is not None:
            home = await stack.enter_async_context(RestateRuntime.open(ingress, graphs=graphs, namespace=namespace))
            registry.register_own(SCHEDULE_GRAPH, partial(schedule_graph, home))
            _look_after(stack, home, registry, store, alerts, watchdog)
        projects = is_projected_elsewhere or store is not None
        gates = gates_of(services, tool_policies, registry.versions)
        hosting = (registry, services, terms, packet_migrations, projects, Names(namespace), gates, choosing, store)
        config = ServiceConfig(*hosting)
        offered: list[Any] = [] if only_projects else _hosting(config)
        if store is not None:
            await report_misplaced(store)
            await store.remember([known_graph(graph) for graph in registry.versions])
            if await store.declare(declared_in(registry)):
                stack.callback(start_task(_fill(store)).cancel)
            offered.append(projection_object(config, store))
        if stops_on_sigterm:
            _stop_on_signals(stop)
        async with answering(bind, restate.app(offered), stop, grace_s=grace_s, shares_address=shares_address):
            yield stop


def _check_ingress(ingress: str | Sequence[str] | None, alerts: Alerts, watchdog: Watchdog | None) -> None:
    if ingress is None and (any(alerts) or watchdog is not None):
        option = "watchdog" if watchdog is not None else "alerts"
        raise ValueError(f"serving({option}=...) needs ingress=, to reach the agents that keep them")


def _look_after(
    stack: AsyncExitStack,
    home: RestateRuntime,
    registry: Registry,
    store: Store | None,
    alerts: Alerts,
    watchdog: Watchdog | None,
) -> None:
    """Start the agents of sinks, and the watchdog, until the stack is closed."""
    stack.callback(start_task(_begin_sinks(home, alerts)).cancel)
    if watchdog is not None:
        now = partial(datetime.now, UTC)
        examiner = Examiner(home, registry, store, now, watchdog.terms, sees_mail=False)
        rounds = WatchRounds(home, own_agents_of(home), registry, examiner, watchdog, lambda *_: None)
        stack.callback(start_task(rounds.go_on(asyncio.sleep)).cancel)


async def _begin_sinks(home: RestateRuntime, alerts: Alerts) -> None:
    """Start the agents of the sinks as soon as the engine knows the service."""
    while True:
        try:
            return await begin_sinks(own_agents_of(home), alerts)
        except OutsideError:
            logger.debug("the engine does not know the service yet", exc_info=True)
            await asyncio.sleep(_LOOKS_AGAIN_S)


async def _fill(store: Store) -> None:
    """Add the values of searchable fields that were declared after some agents had started."""
    try:
        while await store.fill(limit=FILLED):
            pass
    except OutsideError:
        logger.warning("searchable fields were not filled; the next start of the service fills them", exc_info=True)


def _hosting(config: ServiceConfig) -> list[Any]:
    """Build the objects and services that host agents."""
    agents = agent_object(config)
    agents.handler("room", kind="shared")(room)
    agents.handler("journal")(read_journal(config))
    agents.handler("enter")(write_entry(config))
    counts = inbox_object(config), capacity_object(config)
    storage = payload_object(config), journal_object(config)
    return [agents, *counts, *storage, breaker_object(config), breaker_list_object(config), invokes_service(config)]


@asynccontextmanager
async def answering(
    bind: str, app: Any, stop: asyncio.Event | None = None, *, grace_s: float = 5.0, shares_address: bool = False
) -> AsyncIterator[None]:
    """Serve the application at `bind` inside the block, until `stop` is set.

    grace_s: how long running invocations may take to end; the rest are cut off, and the engine retries them.
    shares_address: see `serving`. Raises ServiceAddressError if the address is not available.
    """
    stopped, handlers = stop or asyncio.Event(), set[asyncio.Task[Any]]()
    config = _config(bind, grace_s, shares_address)
    server = start_task(serve(_watched(app, handlers), config, shutdown_trigger=stopped.wait))
    server.add_done_callback(lambda _: stopped.set())
    try:
        yield
    finally:
        _check(server, bind)
        stopped.set()
        await _ended(server, grace_s + LEAVES_S)
        await _cut_off(handlers)


def _check(server: asyncio.Task[None], bind: str) -> None:
    """Raise the error that ended the server, if it ended by itself."""
    if not server.done():
        return
    try:
        server.result()
    except OSError as error:
        raise ServiceAddressError(bind, str(error)) from error


async def _ended(server: asyncio.Task[None], within_s: float) -> None:
    """Wait until the server has ended. Its errors about connections that it cut off are only logged."""
    await asyncio.wait((server,), timeout=within_s)
    if not server.done():
        logger.info("the server does not end; cutting it off")
        server.cancel()
        await asyncio.wait((server,), timeout=LEAVES_S)
    if server.done() and not server.cancelled() and server.exception() is not None:
        logger.debug("the server cut off running requests", exc_info=server.exception())


async def _cut_off(handlers: set[asyncio.Task[Any]]) -> None:
    """Cancel the handlers that the server left running; otherwise the engine would keep using their connections.

    On the first cancellation the SDK waits for the engine to hang up, so it needs another one.
    """
    for _ in range(CANCELS):
        if handlers:
            for each in handlers:
                each.cancel()
            await asyncio.wait(tuple(handlers), timeout=LEAVES_S)


def _listening(bind: str, shares_address: bool) -> int:
    """Return the descriptor of a listening socket, which the server then owns. Raises ServiceAddressError."""
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, int(port)), family=family, reuse_port=shares_address)
    except (OSError, ValueError, OverflowError) as error:
        raise ServiceAddressError(bind, str(error)) from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener.detach()


def _config(bind: str, grace_s: float, shares_address: bool) -> Config:
    config = Config()
    config.bind = [f"fd://{_listening(bind, shares_address)}"]
    config.graceful_timeout = grace_s
    # The engine keeps few connections, forever. Closing one ends its invocations, which are then retried.
    config.keep_alive_max_requests = 2**62
    config.keep_alive_timeout = 3600.0
    config.h2_max_concurrent_streams = 10_000
    config.errorlog = config.accesslog = None
    return config


def _stop_on_signals(stop: asyncio.Event) -> None:
    """Set the event on a signal. The SDK claims SIGTERM on its first request, which would keep the server running."""
    for signum in (signal.SIGTERM, signal.SIGINT):
        install_shutdown_hook(asyncio.get_running_loop(), stop.set, signum)


def _watched(app: Any, handlers: set[asyncio.Task[Any]]) -> Any:
    """Wrap the application: track its running handlers, and answer lifespan events for it."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            task = asyncio.current_task()
            assert task is not None  # the server starts a task per request
            handlers.add(task)
            try:
                await app(scope, receive, send)
            finally:
                handlers.discard(task)
            return
        for moment in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{moment}.complete"})

    return answer


async def register(admin_url: str, service_url: str, *, breaking: bool = False) -> tuple[str, ...]:
    """Register the service with the engine, and return the names that it offers. Its agents are then reachable.

    admin_url: the engine's, such as `http://127.0.0.1:9070`.
    service_url: the service's address for the engine.
    breaking: register even if a name that the engine knew no longer exists.
    Raises EngineUnreachableError, and EngineRefusedError if the engine gets no answer from the service.
    """
    request: dict[str, Any] = {"uri": service_url, "force": True, "breaking": breaking}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
            http.post(f"{admin_url.rstrip('/')}/deployments", json=request) as response,
        ):
            if response.status >= 400:
                raise EngineRefusedError(admin_url, "register", f"{response.status} {await response.text()}")
            answer = await response.json()
    except (aiohttp.ClientError, OSError) as error:
        raise EngineUnreachableError(admin_url, f"{type(error).__name__}: {error}") from error
    return tuple(service["name"] for service in answer.get("services", ()))
