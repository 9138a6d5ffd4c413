"""Connections of commands to agents: through their own runtime, or through the owner of the database."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar

from gatechart.api.home import AgentHome
from gatechart.api.requests import UnderRequest
from gatechart.cli.deployment import load_packet_migrations, load_tool_policies, opened_choosing, opened_services
from gatechart.cli.errors import UsageError
from gatechart.cli.options import SHORTEST_S, TIMEOUT_S, TOKEN_VARIABLE, Settings
from gatechart.cli.output import print_hint
from gatechart.cli.watching import Watching
from gatechart.clients.database import DatabaseClient, open_database_client
from gatechart.errors.extras import needing
from gatechart.errors.outside import OwnerGoneError, StoreMissingError, StoreOwnedError
from gatechart.errors.root import OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.limits import Limits
from gatechart.hosting.retention import Retention
from gatechart.hosting.system import SystemClock
from gatechart.runtime.runtime import DEFAULTS, Runtime
from gatechart.stores.memory import MEMORY_URL
from gatechart.stores.opening import open_asking, open_store
from gatechart.values.agents import Snapshot
from gatechart.values.handoffs import Side
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus


@asynccontextmanager
async def visit(settings: Settings, graphs: Sequence[AnyGraph] = ()) -> AsyncIterator[Runtime]:
    """Open a runtime that executes only the command; all other mail, timers and invokes wait for a host."""
    async with (
        opened_services(settings) as services,
        Runtime.open(
            settings.store,
            graphs=graphs,
            services=services,
            role=Role.VISITOR,
            packet_migrations=load_packet_migrations(),
        ) as runtime,
    ):
        yield runtime


@asynccontextmanager
async def elsewhere(server: str | None, engine: str | None, namespace: str) -> AsyncIterator[AgentHome]:
    """Open the home that replaces the database for a command: a server, else Restate.

    Raises UsageError, ServerUnreachableError, ClientTokenError, ExtraMissingError.
    """
    if server is not None and engine is not None:
        raise UsageError("--server and --engine contradict each other; give one of them")
    if server is not None:
        token = os.environ.get(TOKEN_VARIABLE)
        with needing("client", "--server"):
            clients = import_module("gatechart.clients.http")
        async with clients.HttpClient(server, token=token) as client:
            yield client
    else:
        async with import_module("gatechart.restate").RestateRuntime.open(
            engine, graphs=(), namespace=namespace, patience_s=TIMEOUT_S
        ) as runtime:
            yield runtime


@asynccontextmanager
async def looked_at(
    settings: Settings, server: str | None, engine: str | None, namespace: str
) -> AsyncIterator[AgentHome]:
    """Open the home that a command names, else the database, for reading only."""
    is_named = server is not None or engine is not None
    async with elsewhere(server, engine, namespace) if is_named else inspect(settings) as home:
        yield home


def inspect(settings: Settings, graphs: Sequence[AnyGraph] = ()) -> AbstractAsyncContextManager[Runtime]:
    """Open a runtime for reading only."""
    return Runtime.open(settings.store, graphs=graphs, role=Role.READER)


@asynccontextmanager
async def inspect_directory(settings: Settings, graphs: Sequence[AnyGraph]) -> AsyncIterator[Runtime]:
    """Open a runtime for reading only that chooses targets like a host with the same settings."""
    async with (
        opened_choosing(settings) as choosing,
        Runtime.open(settings.store, graphs=graphs, role=Role.READER, choosing=choosing) as runtime,
    ):
        yield runtime


@asynccontextmanager
async def open_host(
    settings: Settings,
    graphs: Sequence[AnyGraph],
    clock: SystemClock,
    limits: Limits = DEFAULTS,
    *,
    creates: bool = False,
    role: Role = Role.OWNER,
    retention: Retention | None = None,
    watching: Watching | None = None,
) -> AsyncIterator[Runtime]:
    """Open a runtime that hosts all agents of the graphs. creates: create the database if it does not exist.

    watching: alert sinks and watchdog; none by default.
    """
    if not creates:
        await check_there(settings)
    options: dict[str, Any] = {**(watching or {})}
    async with (
        opened_choosing(settings) as choosing,
        opened_services(settings) as services,
        Runtime.open(
            settings.store,
            graphs=graphs,
            services=services,
            role=role,
            clock=clock,
            limits=limits,
            packet_migrations=load_packet_migrations(),
            tool_policies=load_tool_policies(),
            retention=retention,
            choosing=choosing,
            **options,
        ) as runtime,
    ):
        yield runtime


async def check_there(settings: Settings) -> None:
    """Raise the error of `open_store` if there is no intact database, so that none is created."""
    async with open_store(settings.store, role=Role.READER):
        pass


async def hint_at_waiting(settings: Settings, runtime: Runtime, graph: AnyGraph, snapshot: Snapshot) -> None:
    """Print a hint if work of the agent waits for a host."""
    if settings.store == MEMORY_URL:
        return
    if any(handoff.side is Side.ASKED and not handoff.is_accepted for handoff in snapshot.handoffs):
        agent = snapshot.agent_id
        print_hint(
            f"a handoff from {agent!r} waits for a host: `gatechart handoffs --source {agent}` lists it, "
            "`gatechart run` delivers it"
        )
        return
    invokes = any(graph.nodes[state].invokes for state, _ in snapshot.entered)
    if invokes or await runtime.mail(snapshot.agent_id, status=MailStatus.WAITING, limit=1):
        agent = snapshot.agent_id
        print_hint(f"work of {agent!r} waits for a host: `gatechart show {agent}` lists it, `gatechart run` does it")


T = TypeVar("T")
_GIVEN_UP: Final = {  # by whether the request was withdrawn
    True: "the request was withdrawn; nothing was done",
    False: "the owner of the database has started on the request, and will finish it",
    None: "the database cannot be reached, so the outcome of the request is unknown",
}


@dataclass(frozen=True, slots=True)
class HomeConnection:
    """A command's connection to the agents."""

    home: AgentHome
    runtime: Runtime | None  # None if another process hosts the agents

    async def hint_at_waiting(self, settings: Settings, graph: AnyGraph, snapshot: Snapshot) -> None:
        """Print a hint if work of the agent waits for a host and there is none."""
        if self.runtime is not None:
            await hint_at_waiting(settings, self.runtime, graph, snapshot)


Work: TypeAlias = Callable[[HomeConnection], Awaitable[T]]
Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[Runtime]]


async def execute(
    settings: Settings,
    graphs: Sequence[AnyGraph],
    work: Work[T],
    *,
    timeout_s: float = TIMEOUT_S,
    opening: Opening | None = None,
) -> T:
    """Do work that makes one change, here or through the owner of the database, and return its result.

    The work makes its change before it prints. If the owner ends before it answers, the work starts again under the id
    of the request, which the owner may have carried out, so that nothing is done twice.
    opening: opens the command's own runtime; by default, a visitor.
    Raises RequestTimeoutError, KeyboardInterrupt if interrupted, and the errors of the work.
    """
    ends = monotonic() + timeout_s
    started: OwnerGoneError | None = None
    while True:
        request = None if started is None else started.request
        try:
            async with visit(settings, graphs) if opening is None else opening() as runtime:
                return await _settled(
                    settings,
                    started,
                    work(HomeConnection(runtime if request is None else UnderRequest(runtime, request), runtime)),
                )
        except StoreOwnedError as error:
            owned = error
        left_s = max(ends - monotonic(), SHORTEST_S)
        opened = partial(open_database_client, settings.store, graphs=graphs, timeout_s=left_s, request=request)
        try:
            async with _interruptible(opened) as asker:
                return await work(HomeConnection(asker, None))
        except OwnerGoneError as gone:
            started = None if gone.withdrawn else gone
        except StoreMissingError:  # its owner has only just started to create it
            raise owned from None


async def _settled(settings: Settings, started: OwnerGoneError | None, work: Awaitable[T]) -> T:
    """Finish the work, then delete the request that an owner had started."""
    if started is None:
        return await work
    try:
        return await work
    finally:
        with suppress(OutsideError):  # it expires anyway
            async with open_asking(settings.store) as asking:
                await asking.forget(started.number)


@asynccontextmanager
async def _interruptible(
    opened: Callable[..., AbstractAsyncContextManager[DatabaseClient]],
) -> AsyncIterator[DatabaseClient]:
    """Open a database client. If a request is interrupted, the KeyboardInterrupt contains its outcome."""
    outcomes: list[bool | None] = []
    try:
        async with opened(given_up=outcomes.append) as asker:
            yield asker
    except asyncio.CancelledError:
        if not outcomes:
            raise
        raise KeyboardInterrupt(_GIVEN_UP[outcomes[0]]) from None
