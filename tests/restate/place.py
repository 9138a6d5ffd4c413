"""A place that tests of any runtime can open, and that keeps agents on Restate."""

import asyncio
import gc
from contextlib import asynccontextmanager, suppress
from itertools import count

from gatechart.hosting.limits import Limits
from gatechart.restate import RestateRuntime, Terms, register, serving
from gatechart.restate.agent_calls import LOOK_S
from gatechart.restate.state import SNAPSHOT
from gatechart.restate.terms import RESTATE
from gatechart.stores import MemoryStore
from gatechart.values.delays import Retry
from tests.ports import give_back, quiet_port

NUMBERS = count(1)
QUICK = Retry(attempts=3, first_s=0.05, factor=1.0)
PATIENCE_S = 10
REST_S = 60  # until all is quiet, on a machine with much else to do
BRIEFLY_S = 1.0
QUIET_LOOKS = 3


class Patient(RestateRuntime):
    """A runtime whose readers wait until they are told everything: so tests of the other homes can ask it."""

    place = None

    def __init__(self, *arguments):
        super().__init__(*arguments)
        start, erase = self._own.start, self._own.erase

        async def started(*given, agent_id, **more):
            snapshot = await start(*given, agent_id=agent_id, **more)
            self.place.known[agent_id] = None
            return snapshot

        async def erased(agent_id):
            await erase(agent_id)
            await self._gone(agent_id)

        self._own.start, self._own.erase = started, erased

    async def _handle(self, command):
        agent = await super()._handle(command)
        self.place.known[agent.id] = None
        return agent

    async def find(self, **query):
        await self._told_of_all()
        return await super().find(**query)

    async def history(self, agent_id, *, after=0, limit=None):
        await self._told(agent_id)
        return await super().history(agent_id, after=after, limit=limit)

    async def handoffs(self, **query):
        await self._told_of_all()
        return await super().handoffs(**query)

    async def directory(self, *arguments, **query):
        """With what every agent of an entry has committed, as it is projected when all is at rest."""
        await self.at_rest()
        self._directory._read_at = None
        return await super().directory(*arguments, **query)

    async def post(self, to, event, payload=None, **more):
        receipt = await super().post(to, event, payload, **more)
        self.place.written_to[to] = None
        return receipt

    async def mail(self, to=None, **query):
        """All that was accepted, if not too much is in its way; of those held or written to, where nobody is named."""
        with suppress(TimeoutError):
            await self._quiet(BRIEFLY_S)
        if to is not None:
            return await super().mail(to, **query)
        asked = self.place.known | self.place.written_to
        return [mail for each in asked for mail in await RestateRuntime.mail(self, each, **query)]

    async def erase(self, agent_id):
        await super().erase(agent_id)
        await self._gone(agent_id)

    async def _gone(self, agent_id):
        """Returns when the projection has no such agent any more."""
        self.place.known.pop(agent_id, None)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = await RestateRuntime.find(self, limit=1000, framework=True)
                if agent_id not in [each.agent_id for each in found.agents]:
                    return
                await asyncio.sleep(LOOK_S)

    async def at_rest(self):
        """Returns when the engine has nothing to do, and those who hold an agent know what became of it."""
        await self._quiet(REST_S)
        await self._shown()

    async def follow(self):
        """Has those who hold an agent know what becomes of it, without asking, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            await self._shown()

    async def _shown(self):
        for agent_id in list(self._agents):
            told = await self._looked(agent_id)
            agent = self._agents.get(agent_id)
            if None not in (told, agent) and told["life"] == agent.life:
                agent.see(SNAPSHOT.validate_python(told["snapshot"]))

    async def _quiet(self, within_s):
        """Returns when the engine has nothing to do: not for a moment, in which a message is between two agents."""
        looks = 0
        async with asyncio.timeout(within_s):
            while looks < QUIET_LOOKS:
                is_busy = await asyncio.to_thread(self.place.engine.busy, self.place.namespace)
                looks = 0 if is_busy else looks + 1
                await asyncio.sleep(LOOK_S)

    async def _told_of_all(self):
        for agent_id in list(self.place.known):
            await self._told(agent_id)

    async def _told(self, agent_id):
        if await self._looked(agent_id) is not None:
            await self.caught_up(agent_id)

    async def _looked(self, agent_id):
        return await self._calls.read("told", "look", agent_id)


@asynccontextmanager
async def following(runtime):
    """Within it handles show what is committed, as they do where agents are hosted in the process."""
    if not isinstance(runtime, Patient):
        yield
        return
    task = asyncio.create_task(runtime.follow())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))


class RestatePlace:
    """Where the agents of one test are: objects of the session's engine under a namespace of their own.

    It has one address, whoever serves there: what was under way when a service ends waits for the next one there.
    """

    capabilities = RESTATE

    def __init__(self, engine):
        self.engine = engine
        self.namespace = f"t{next(NUMBERS)}"
        self.projection = MemoryStore()
        self.known = {}  # the agents that were held
        self.written_to = {}  # those to whom mail was posted
        self._port = quiet_port()
        self._bind = f"127.0.0.1:{self._port}"

    def end(self):
        """Drop what is left undone, and give the address back."""
        self.engine.drop(self.namespace)
        give_back(self._port)

    @asynccontextmanager
    async def open(
        self, *, graphs, services=None, limits=None, packet_migrations=(), ids=None, clock=None, kind=Patient, **terms
    ):
        """As `Runtime.open`: a service for these graphs, and a runtime that calls the engine.

        clock: is not taken; the time is the machine's, which matters to no test that does not set the clock.
        """
        terms = {"projection_s": 0.001, "mail_retry": QUICK, "look_again_s": 0.2} | terms
        if limits is not None:
            terms |= {"turn_s": limits.turn_s, "inbox": limits.inbox}
            terms |= {} if limits.mail_retry == Limits().mail_retry else {"mail_retry": limits.mail_retry}
        given = {name: terms.pop(name) for name in ("choosing", "alerts", "watchdog") if name in terms}
        shared = {"graphs": graphs, "projection": self.projection, "namespace": self.namespace}
        service = {
            "services": services,
            "terms": Terms(**terms),
            "packet_migrations": packet_migrations,
            **given,
        }
        made = {"ids": ids} if ids is not None else {}
        made |= {"close_s": limits.close_s} if limits is not None else {}
        try:
            async with serving(self._bind, **shared, **service, ingress=self.engine.ingress, grace_s=0.1):
                await register(self.engine.admin, f"http://{self._bind}")
                async with kind.open(self.engine.ingress, **shared, **made, patience_s=PATIENCE_S) as runtime:
                    runtime.place = self
                    async with following(runtime):
                        yield runtime
        finally:
            gc.collect()  # while the warnings of what the server has left behind are ignored
