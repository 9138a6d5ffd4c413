"""Runtimes as commands open them: one that comes and goes, or one that stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from gatechart.cli.loading import load_packet_migrations
from gatechart.cli.options import Settings
from gatechart.cli.printing import print_hint
from gatechart.cli.services import opened_services
from gatechart.graph import StateTransitionGraph
from gatechart.hosting.system import SystemClock
from gatechart.runtime import Limits, Runtime
from gatechart.runtime.runtime import DEFAULTS
from gatechart.stores import open_store
from gatechart.stores.opening import MEMORY_URL
from gatechart.values import MailStatus, Side, Snapshot


@asynccontextmanager
async def visit(settings: Settings, graphs: Sequence[StateTransitionGraph] = ()) -> AsyncIterator[Runtime]:
    """A runtime that does only what the command asks for: mail, timers and invokes of others wait for a host."""
    async with (
        opened_services(settings) as services,
        Runtime.open(
            settings.store,
            graphs=graphs,
            services=services,
            attend=False,
            packet_migrations=load_packet_migrations(),
        ) as runtime,
    ):
        yield runtime


@asynccontextmanager
async def host(
    settings: Settings,
    graphs: Sequence[StateTransitionGraph],
    clock: SystemClock,
    limits: Limits = DEFAULTS,
    *,
    creates: bool = False,
    standby: bool = False,
    take_over: bool = False,
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
            standby=standby,
            take_over=take_over,
            clock=clock,
            limits=limits,
            packet_migrations=load_packet_migrations(),
        ) as runtime,
    ):
        yield runtime


async def check_there(settings: Settings) -> None:
    """Raises as `open_store` where there is no sound database: what is not there must not be created."""
    async with open_store(settings.store, read_only=True):
        pass


async def hint_at_waiting(
    settings: Settings, runtime: Runtime, graph: StateTransitionGraph, snapshot: Snapshot
) -> None:
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
