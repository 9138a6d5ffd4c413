"""Runtimes as commands open them: one that comes and goes, or one that stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Annotated, Final, TypeAlias, TypeVar

from gatechart.api import AgentHome, UnderRequest
from gatechart.cli.apps import load_packet_migrations, opened_services
from gatechart.cli.options import Settings, seconds_option
from gatechart.cli.output import print_hint
from gatechart.clients.database import TIMEOUT_S, DatabaseClient, open_database_client
from gatechart.errors import OutsideError, OwnerGoneError, StoreMissingError, StoreOwnedError
from gatechart.graph import AnyGraph
from gatechart.hosting.system import SystemClock
from gatechart.runtime import Limits, Runtime
from gatechart.runtime.runtime import DEFAULTS
from gatechart.stores import open_store
from gatechart.stores.opening import MEMORY_URL, open_asking
from gatechart.values import MailStatus, Role, Side, Snapshot


@asynccontextmanager
async def visit(settings: Settings, graphs: Sequence[AnyGraph] = ()) -> AsyncIterator[Runtime]:
    """A runtime that does only what the command asks for: mail, timers and invokes of others wait for a host."""
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
async def host(
    settings: Settings,
    graphs: Sequence[AnyGraph],
    clock: SystemClock,
    limits: Limits = DEFAULTS,
    *,
    creates: bool = False,
    role: Role = Role.OWNER,
) -> AsyncIterator[Runtime]:
    """A runtime that hosts all agents of the graphs. creates: the database, where there is none."""
    if not creates:
        await check_there(settings)
    async with (
        opened_services(settings) as services,
        Runtime.open(
            settings.store,
            graphs=graphs,
            services=services,
            role=role,
            clock=clock,
            limits=limits,
            packet_migrations=load_packet_migrations(),
        ) as runtime,
    ):
        yield runtime


async def check_there(settings: Settings) -> None:
    """Raises as `open_store` where there is no sound database: what is not there must not be created."""
    async with open_store(settings.store, role=Role.READER):
        pass


async def hint_at_waiting(settings: Settings, runtime: Runtime, graph: AnyGraph, snapshot: Snapshot) -> None:
    """Says that something waits for a host, where it does."""
    if settings.store == MEMORY_URL:
        return
    if any(each.side is Side.ASKED and not each.is_accepted for each in snapshot.handoffs):
        agent = snapshot.agent_id
        print_hint(
            f"what {agent!r} hands on waits for a host: `gatechart handoffs --source {agent}` lists it, "
            "`gatechart run` takes it there"
        )
        return
    invokes = any(graph.nodes[state].invokes for state, _ in snapshot.entered)
    if invokes or await runtime.mail(snapshot.agent_id, status=MailStatus.WAITING, limit=1):
        agent = snapshot.agent_id
        print_hint(
            f"something of {agent!r} waits for a host: `gatechart show {agent}` lists it, `gatechart run` does it"
        )


T = TypeVar("T")
TIMEOUT_VARIABLE: Final = "GATECHART_TIMEOUT"
SHORTEST_S: Final = 0.1
_GIVEN_UP: Final = {  # by whether the request was withdrawn
    True: "the request was withdrawn: nothing was done",
    False: "the owner of the database has begun with it, and comes to an end with it",
    None: "the database cannot be reached, so nobody can tell whether it is done",
}
TimeoutOption = Annotated[
    float,
    seconds_option(
        "--timeout",
        SHORTEST_S,
        "How long to wait for an answer where another process owns the database, such as `gatechart run`.",
        envvar=TIMEOUT_VARIABLE,
    ),
]


@dataclass(frozen=True, slots=True)
class Way:
    """How a command gets at the agents."""

    verbs: AgentHome
    runtime: Runtime | None  # None where another process hosts the agents

    async def hint_at_waiting(self, settings: Settings, graph: AnyGraph, snapshot: Snapshot) -> None:
        """Says that something waits for a host, where there is none and something does."""
        if self.runtime is not None:
            await hint_at_waiting(settings, self.runtime, graph, snapshot)


Work: TypeAlias = Callable[[Way], Awaitable[T]]
Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[Runtime]]


async def carried_out(
    settings: Settings,
    graphs: Sequence[AnyGraph],
    work: Work[T],
    *,
    timeout_s: float = TIMEOUT_S,
    opening: Opening | None = None,
) -> T:
    """What the work returns, which asks for one thing that writes, and does so before it prints anything.

    Where the database has an owner, it is asked; where that goes before it has answered, the work begins anew, under
    the id of the request that it may have carried out. opening: of the command's own runtime, one that visits if left
    out. Raises RequestTimeoutError, KeyboardInterrupt where it is interrupted meanwhile, and what the work raises.
    """
    ends = monotonic() + timeout_s
    begun: OwnerGoneError | None = None
    while True:
        request = None if begun is None else begun.request
        try:
            async with visit(settings, graphs) if opening is None else opening() as runtime:
                return await _settled(
                    settings, begun, work(Way(runtime if request is None else UnderRequest(runtime, request), runtime))
                )
        except StoreOwnedError as error:
            owned = error
        left_s = max(ends - monotonic(), SHORTEST_S)
        opened = partial(open_database_client, settings.store, graphs=graphs, timeout_s=left_s, request=request)
        try:
            async with _interruptible(opened) as asker:
                return await work(Way(asker, None))
        except OwnerGoneError as gone:
            begun = None if gone.withdrawn else gone
        except StoreMissingError:  # its owner has just begun to create it
            raise owned from None


async def _settled(settings: Settings, begun: OwnerGoneError | None, work: Awaitable[T]) -> T:
    """What the work comes to; then nobody has to come back to what an owner had begun with."""
    if begun is None:
        return await work
    try:
        return await work
    finally:
        with suppress(OutsideError):  # it is forgotten after a while
            async with open_asking(settings.store) as asking:
                await asking.forget(begun.number)


@asynccontextmanager
async def _interruptible(
    opened: Callable[..., AbstractAsyncContextManager[DatabaseClient]],
) -> AsyncIterator[DatabaseClient]:
    """The asker. Where it is interrupted with a request under way, the KeyboardInterrupt says what became of that."""
    became: list[bool | None] = []
    try:
        async with opened(given_up=became.append) as asker:
            yield asker
    except asyncio.CancelledError:
        if not became:
            raise
        raise KeyboardInterrupt(_GIVEN_UP[became[0]]) from None
