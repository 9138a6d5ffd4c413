"""A place that tests of any runtime can open, and that keeps agents on Restate."""

import asyncio
from contextlib import asynccontextmanager
from itertools import count

from gatechart.restate import RestateRuntime, Terms, register, serving
from gatechart.restate.runtime import LOOK_S
from gatechart.stores import MemoryStore
from gatechart.values import Retry
from tests.on_restate.engines import free_ports

NUMBERS = count(1)
QUICK = Retry(attempts=3, first_s=0.05, factor=1.0)


class Patient(RestateRuntime):
    """A runtime whose readers wait until they are told everything: so tests of the other homes can ask it."""

    known = None  # the agents of its place

    async def _handle(self, told):
        self.known[told["snapshot"]["agent_id"]] = None
        return await super()._handle(told)

    async def find(self, **query):
        for agent_id in self.known:
            await self._told(agent_id)
        return await super().find(**query)

    async def history(self, id, *, after=0, limit=None):  # noqa: A002
        await self._told(id)
        return await super().history(id, after=after, limit=limit)

    async def erase(self, id):  # noqa: A002
        await super().erase(id)
        self.known.pop(id, None)
        async with asyncio.timeout(10):
            while id in [each.agent_id for each in (await RestateRuntime.find(self, limit=1000)).agents]:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_S)

    async def _told(self, agent_id):
        looked = await self._ingress.ask("told", self._names.agent, "look", agent_id, reads=True)
        if looked is not None:
            await self.caught_up(agent_id)


class RestatePlace:
    """Where the agents of one test are: objects of the session's engine under a namespace of their own."""

    def __init__(self, engine):
        self.engine = engine
        self.namespace = f"t{next(NUMBERS)}"
        self.projection = MemoryStore()
        self.known = {}

    @asynccontextmanager
    async def open(self, *, graphs, services=None, limits=None, packet_migrations=(), ids=None, **terms):
        """As `Runtime.open`: a service for these graphs, and a runtime that calls the engine."""
        (port,) = free_ports(1)
        bind = f"127.0.0.1:{port}"
        terms = {"projection_s": 0.001, "mail_retry": QUICK, "look_again_s": 0.2} | terms
        if limits is not None:
            terms |= {"turn_s": limits.turn_s}
        shared = {"graphs": graphs, "projection": self.projection, "namespace": self.namespace}
        service = {"services": services, "terms": Terms(**terms), "packet_migrations": packet_migrations}
        async with serving(bind, **shared, **service, grace_s=0.1):
            await register(self.engine.admin, f"http://{bind}")
            made = {} if ids is None else {"ids": ids}
            async with Patient.open(self.engine.ingress, **shared, **made, patience_s=10) as runtime:
                runtime.known = self.known
                yield runtime
