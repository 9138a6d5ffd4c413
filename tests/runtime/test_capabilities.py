"""What a home declares of itself is true: what it has works, and what it lacks is missing as documented."""

import asyncio
import inspect
from contextlib import asynccontextmanager
from dataclasses import fields

import pytest

from gatechart import (
    ANY,
    AgentContext,
    HandoffPacket,
    Limits,
    Migration,
    Runtime,
    State,
    StateTransitionGraph,
    Status,
    Transition,
)
from gatechart.errors import BacklogFullError, ElsewhereError, InboxFullError, UnknownAgentError
from gatechart.escape import Rollback
from gatechart.runtime import Choosing
from gatechart.testing import VirtualClock
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.homes import Capabilities, Role
from gatechart.values.profiles import Profile
from gatechart.values.queries import Forgotten
from tests.runtime.handovers import ALL, worker
from tests.runtime.rings import CIRCLE, go_round, ring
from tests.runtime.support import Gate, at_rest, gated, parcel

pytestmark = pytest.mark.sample_on_restate

LAG_S = 0.4
HOMES = {"memory": "memory", "sqlite": "a database", "postgresql": "a database", "restate": "Restate"}


class Named(AgentContext):
    name: str = "a"


def named(version, **more):
    transitions = [Transition("A", "MOVED", "B"), Transition(ANY, "NOTED")]
    return StateTransitionGraph(
        "named", version=version, context=Named, transitions=transitions, entry_points=["A"], **more
    )


patient = StateTransitionGraph(
    "patient", context=Named, states=[State("WAITING", after={"1h": "LATE"})], transitions=[], entry_points=["WAITING"]
)


class Home:
    """A home, opened as its users do."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.is_engine = hasattr(place, "namespace")

    def open(self, *graphs, **more):
        """A runtime which hides nothing of what lags; where there is a projection, turns come into it after a while."""
        if self.is_engine:
            from gatechart.restate import RestateRuntime

            more = {"kind": RestateRuntime, "projection_s": LAG_S} | more
        return Runtime.open(self.place, graphs=graphs or (parcel,), **more)

    @asynccontextmanager
    async def another(self, runtime, *graphs):
        """A runtime of another process, where a home can have one beside the first."""
        if not self.is_engine:
            yield runtime
            return
        from gatechart.restate import RestateRuntime

        async with RestateRuntime.open(
            self.place.engine.ingress, graphs=graphs, namespace=self.place.namespace
        ) as other:
            yield other

    async def asked(self, call):
        """Returns when a call has come to where agents are hosted."""
        await asyncio.sleep(0)
        if self.is_engine:
            async with asyncio.timeout(60):
                while not await asyncio.to_thread(self.place.engine.waiting, self.place.namespace, "send"):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        assert not call.done()


@pytest.fixture
def home(place, request):
    return Home(place, request.node.callspec.params["place"])


def elsewhere(call, instead):
    """It is refused, with what to do instead."""
    with pytest.raises(ElsewhereError, match=instead):
        call()


async def begun(runtime):
    return await runtime.start("parcel", at="PACKING", agent_id="p-1")


# A check for each field: `has` is what is declared.


async def home_in_words(home, has):
    async with home.open() as runtime:
        assert has == runtime.capabilities.home == HOMES[home.name]


async def is_durable(home, has):
    async with home.open() as runtime:
        await begun(runtime)
    if has:
        async with home.open() as runtime:
            assert (await runtime.resume("p-1")).configuration == ("PACKING",)
        return
    async with Runtime.open("memory:", graphs=[parcel]) as runtime:
        await begun(runtime)
    async with Runtime.open("memory:", graphs=[parcel]) as runtime:
        with pytest.raises(UnknownAgentError):
            await runtime.resume("p-1")


async def finds_at_once(home, has):
    async with home.open() as runtime:
        agent = await begun(runtime)
        found = [each.agent_id for each in (await runtime.find()).agents]
        assert found == (["p-1"] if has else [])
        if not has:
            assert await runtime.lag("p-1") == 1
            await runtime.caught_up("p-1")
            assert (await runtime.find()).agents == (agent.snapshot,)


async def tells_at_once(home, has):
    async with home.open() as runtime:
        agent = await begun(runtime)
        assert [each.version for each in await agent.history()] == ([1] if has else [])
        if not has:
            await runtime.caught_up("p-1")
            assert [each.version for each in await agent.history()] == [1]


async def shows_at_once(home, has):
    async with home.open() as runtime:
        agent = await begun(runtime)
        async with home.another(runtime, parcel) as other:
            await other.stop("p-1")
        assert (agent.status is Status.STOPPED) is has
        assert (await runtime.resume("p-1")).status is agent.status is Status.STOPPED


async def reads_back_at_once(home, has):
    async with home.open() as runtime:
        agent = await begun(runtime)
        first = agent.snapshot
        await agent.send("SENT")
        since = asyncio.get_running_loop().time()
        assert await agent.snapshot_at(1) == first
        took_s = asyncio.get_running_loop().time() - since
        assert has or took_s > LAG_S / 4
        assert (await agent.rollback(1, reason="again")).configuration == ("PACKING",)


async def watches_changes(home, has):
    async with home.open() as runtime:
        agent = await begun(runtime)
        if not has:
            elsewhere(runtime.changes, "history")
            elsewhere(lambda: runtime.stream("p-1", "pack"), "progress")
            return
        async with runtime.changes() as changes:
            await agent.send("SENT")
            assert (await anext(aiter(changes))).event.name == "SENT"


async def migrates_ahead(home, has):
    old, new = named("1"), named("2", migrations=Migration("1", "2", lambda stored: stored))
    async with home.open(old) as runtime:
        await runtime.start("named", at="A", agent_id="n-1")
    async with home.open(new) as runtime:
        if has:
            assert [each.agent_id async for each in runtime.migrate()] == ["n-1"]
        else:
            elsewhere(runtime.migrate, "with its next event")
            await runtime.post("n-1", "NOTED")
        async with asyncio.timeout(60):
            while (await runtime.resume("n-1")).snapshot.graph_version != "2":  # noqa: ASYNC110  it tells nobody
                await asyncio.sleep(0.02)


async def bounds_inboxes(home, has):
    gate = Gate()
    async with home.open(gated, services=gate, limits=Limits(inbox=1)) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        passing = asyncio.ensure_future(agent.send("PASSED"))
        await gate.reached()
        await runtime.post("g-1", "STAMPED")
        if has:
            with pytest.raises(InboxFullError):
                await runtime.post("g-1", "STAMPED")
        else:
            await runtime.post("g-1", "STAMPED")
        gate.opened.set()
        await passing


async def bounds_backlogs(home, has):
    async with home.open(gated, services=Gate(), limits=Limits(unclaimed=1)) as runtime:
        await runtime.post("nobody", "STAMPED")
        if has:
            with pytest.raises(BacklogFullError):
                await runtime.post("nobody-else", "STAMPED")
        else:
            await runtime.post("nobody-else", "STAMPED")


async def withdraws(home, has):
    gate = Gate()
    async with home.open(gated, services=gate) as runtime, home.another(runtime, gated) as other:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        passing = asyncio.ensure_future(agent.send("PASSED"))
        await gate.reached()
        late = asyncio.ensure_future((await other.resume("g-1")).send("STAMPED", event_id="late"))
        await home.asked(late)
        late.cancel()
        gate.opened.set()
        await passing
        assert (await agent.send("STAMPED", event_id="late")).repeat is not has


async def tells_repeats(home, has):
    async with home.open() as runtime:
        agent = await begun(runtime)
        first, again = [await runtime.post("p-1", "STAMPED", {"at": "Porto"}, event_id="m") for _ in range(2)]
        assert (first.repeat, again.repeat, first.number > 0) == (False, has, has)
        await agent.send("SENT")
        assert agent.context.stops.count("Porto") == 1


async def lists_all_mail(home, has):
    async with home.open() as runtime:
        await runtime.post("nobody-yet", "STAMPED")
        if has:
            assert [each.recipient for each in await runtime.mail()] == ["nobody-yet"]
            return
        with pytest.raises(ElsewhereError, match="name the agent"):
            await runtime.mail()
        async with asyncio.timeout(60):
            while not await runtime.mail("nobody-yet"):  # noqa: ASYNC110  it tells nobody
                await asyncio.sleep(0.02)


async def takes_a_clock(home, has):
    if not has:
        from gatechart.restate import RestateRuntime, Terms, serving

        assert not any("clock" in inspect.signature(each).parameters for each in (RestateRuntime.open, serving, Terms))
        return
    clock = VirtualClock()
    async with home.open(patient, clock=clock) as runtime:
        agent = await runtime.start("patient", at="WAITING")
        await at_rest(runtime, clock)
        clock.advance(3600)
        assert (await agent.until("LATE")).version == 2


async def forgets_at_once(home, has):
    async with home.open() as runtime:
        await begun(runtime)
        await runtime.erase("p-1")
        with pytest.raises(UnknownAgentError):
            await runtime.resume("p-1")
        if has:
            with pytest.raises(UnknownAgentError):
                await runtime.history("p-1")
        else:
            assert home.place.engine.remembers(home.place.namespace, "p-1", "begin")


async def prunes(home, has):
    async with home.open() as runtime:
        await (await begun(runtime)).send("SENT")
        if has:
            assert await runtime.prune(keep_turns=1) == Forgotten(turns=1)
            return
        with pytest.raises(ElsewhereError, match="prune the projection"):
            await runtime.prune(keep_turns=1)


async def keeps_ids(home, most):
    few = {} if most is None else {"keep_ids": 3}
    async with home.open(**few) as runtime:
        agent = await begun(runtime)
        for n in range(4):
            await agent.send("STAMPED", {"at": str(n)}, event_id=str(n))
        assert (await agent.send("STAMPED", {"at": "3"}, event_id="3")).repeat
        assert (await agent.send("STAMPED", {"at": "0"}, event_id="0")).repeat is (most is None)
    if most is not None:
        from gatechart.restate import Terms

        assert Terms().keep_ids == most


async def looks_back(home, has):
    graph = ring(Rollback(), transitions=[Transition("S", "GO", "A"), *CIRCLE], doors=("S",))
    if has:
        async with home.open(graph) as runtime:
            assert await tried_by(runtime) == ["rollback", "give_up"]
        return
    from tests.restate import moving

    place = moving.home(home.place.engine, None, served=[graph], projects=False)
    async with place as (_, _, opened), opened() as runtime:
        assert await tried_by(runtime) == ["give_up"]


async def tried_by(runtime):
    """What an agent tried that went round in circles."""
    agent = await runtime.start("ring", at="S")
    await go_round(agent)
    return [each.strategy for each in agent.snapshot.trail.escapes.tried]


async def knows_hosts(home, has):
    async with home.open(**{"limits": Limits(beat_s=0.05)} if has else {}) as runtime:
        if has:
            async with asyncio.timeout(60):
                while not (hosts := await runtime.hosts()):  # noqa: ASYNC110
                    await asyncio.sleep(0)
            assert [each.role for each in hosts] == [Role.OWNER]
            return
        with pytest.raises(ElsewhereError, match="deployments list"):
            await runtime.hosts()


async def counts_work_at_once(home, has):
    if has:
        async with home.open(*ALL) as runtime:
            assert await work_of_second(runtime) == 1
        return
    from tests.restate import moving

    place = moving.home(home.place.engine, None, served=ALL, projects=False)
    async with place as (_, _, opened), opened() as runtime:
        assert await work_of_second(runtime) == 0


async def work_of_second(runtime):
    """What the directory counts for an entry once it has been handed one piece of work."""
    agent = await runtime.start("first", at="TALKING")
    await agent.send("ASK", {"to": "second"})
    await agent.until(ended=True)
    (entry,) = await runtime.directory("second.WORKING")
    return entry.candidate.held


async def chooses_alike(home, has):
    posts = [worker(name, profile=Profile(samples=(name,))) for name in ("letter", "parcel")]
    async with home.open(*posts, choosing=Choosing(says=lambda packet: "parcel")) as runtime:
        choice = await runtime.choose(HandoffPacket(current_problem="letter"))
        assert choice.candidate.graph == ("parcel" if has else "letter")


async def settles_at_once(home, has):
    """A rejection is no turn of its target: it is projected with that in which the one that asked hears of it."""
    async with home.open(*ALL) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await agent.send("ASK", {"to": "nowhere"})
        assert (await agent.until("REFUSED")).configuration == ("REFUSED",)
        stand = [each.status for each in await runtime.handoffs()]
        assert (stand == [HandoffStatus.REJECTED]) is has
        if not has:
            await runtime.caught_up(agent.id)
            assert [each.status for each in await runtime.handoffs()] == [HandoffStatus.REJECTED]


CHECKS = {
    check.__name__: check
    for check in (
        is_durable,
        finds_at_once,
        tells_at_once,
        shows_at_once,
        reads_back_at_once,
        watches_changes,
        migrates_ahead,
        bounds_inboxes,
        bounds_backlogs,
        withdraws,
        tells_repeats,
        lists_all_mail,
        takes_a_clock,
        forgets_at_once,
        prunes,
        keeps_ids,
        looks_back,
        knows_hosts,
        counts_work_at_once,
        chooses_alike,
        settles_at_once,
    )
} | {"home": home_in_words}


@pytest.mark.parametrize("field", [each.name for each in fields(Capabilities)])
async def test_what_a_home_declares_of_itself_is_true(home, field):
    async with home.open() as runtime:
        declared = getattr(runtime.capabilities, field)
    await CHECKS[field](home, declared)
