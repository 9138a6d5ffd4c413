"""Random steps of agents that hand work to each other."""

import asyncio
from contextlib import suppress

from hypothesis import strategies as st

from gatechart.errors import EventError, OutsideError
from gatechart.testing import VirtualClock
from gatechart.values.agents import Status
from gatechart.values.handoffs import HandoffStatus, Side
from tests.insides import core_of
from tests.runtime.handovers import BESTS, FALLBACKS, house, pass_time, rest

GRAPHS = ("first", "second", "second", "desk", "desk", "crowded", "crowded", "picky", *BESTS, "the best", "the best")


places = st.integers(0, 5)


asks = st.fixed_dictionaries(
    {
        "to": st.sampled_from(GRAPHS),
        "at": st.sampled_from(["WORKING"] * 9 + ["GUARDED", "BROKEN"]),
        "mode": st.sampled_from(["transfer", "delegate"]),
        "stays": st.booleans(),
        "achieved": st.sampled_from(["", "something", "something"]),
    },
    optional={"fallbacks": st.sampled_from(sorted(FALLBACKS)), "deadline": st.sampled_from([0, 5, 15, 40, 40])},
)


steps = st.one_of(
    *[st.tuples(st.just("ask"), places, asks, st.booleans(), places)] * 8,
    *[st.tuples(st.sampled_from(["LEAVE", "DONE", "SOLVED", "GAVE_UP"]), places)] * 4,
    st.tuples(st.just("ask and leave"), places, asks),
    st.tuples(st.just("WILL"), places, st.booleans()),
    st.tuples(st.sampled_from(["stop", "erase"]), places),
    st.tuples(st.just("cancel"), places),
    st.tuples(st.just("roll back"), places, st.integers(1, 4)),
    st.tuples(st.just("pass"), st.sampled_from([1, 10, 30])),
    st.tuples(st.just("choose badly"), st.integers(1, 9)),
    *[st.tuples(st.just("give way"), st.integers(0, 12))] * 2,
    *[st.tuples(st.just("rest"))] * 2,
    st.tuples(st.just("restart")),
)


class Unsure:
    """Fails to choose a few times."""

    def __init__(self, chooser, failures):
        self._chooser, self._failures = chooser, failures

    async def choose(self, packet, now):
        if self._failures:
            self._failures -= 1
            await asyncio.sleep(0)
            raise RuntimeError("undecided")
        return await self._chooser.choose(packet, now)


async def live(place, schedule):
    """Carries the schedule out, and returns nothing: what is wrong is found at each commit."""
    clock, rest_of, asking = VirtualClock(), list(schedule), set()
    while True:
        async with house(place, clock=clock) as runtime:
            for graph, at in (("first", "TALKING"), ("second", "RESTING"), ("desk", "TALKING"), ("crowded", "RESTING")):
                if not (await runtime.find(graph=graph)).agents:
                    await runtime.start(graph, at=at)
            while rest_of:
                step = rest_of.pop(0)
                if step[0] == "restart":
                    break
                task = asyncio.create_task(_tried(runtime, *step))
                asking.add(task)
                await asyncio.wait((task,), timeout=0.2)  # it may come behind a turn that is tried again a while later
            else:
                await rest(runtime)
                for _ in range(30):  # tries of tries
                    await pass_time(runtime, 60)
                await asyncio.gather(*asking)
                await rest(runtime)
                await _settled(runtime)
                return


async def _tried(runtime, *step):
    with suppress(EventError, OutsideError):
        await _do(runtime, *step)


async def _do(runtime, what, *more):  # noqa: C901, PLR0912  a case for each step
    agents = [each.agent_id for each in (await runtime.find(limit=1000)).agents]
    if not agents and what not in ("pass", "rest", "give way", "choose badly"):
        return
    match what:
        case "ask":
            place, wanted, to_living, other = more
            agent = await runtime.resume(agents[place % len(agents)])
            if to_living:
                target = await runtime.resume(agents[other % len(agents)])
                wanted = wanted | {"agent": target.id, "to": target.snapshot.graph}  # never one to be chosen
            await agent.send("ASK", wanted)
        case "ask and leave":
            agent = await runtime.resume(agents[more[0] % len(agents)])
            await asyncio.gather(agent.send("ASK", more[1]), agent.send("LEAVE"))
        case "stop" | "erase":
            await getattr(runtime, what)(agents[more[0] % len(agents)])
        case "cancel":
            rows = await runtime.handoffs()
            if rows:
                await runtime.cancel_handoff(rows[more[0] % len(rows)].id, reason="enough")
        case "roll back":
            await (await runtime.resume(agents[more[0] % len(agents)])).rollback(more[1], reason="again")
        case "pass":
            await pass_time(runtime, *more)
        case "choose badly":
            core_of(runtime).chooser = Unsure(core_of(runtime).chooser, *more)
        case "rest":
            await rest(runtime)
        case "give way":
            for _ in range(*more):
                await asyncio.sleep(0)
        case "WILL":
            await (await runtime.resume(agents[more[0] % len(agents)])).send("WILL", {"willing": more[1]})
        case _:
            await (await runtime.resume(agents[more[0] % len(agents)])).send(what)


async def _settled(runtime):
    """Once nothing goes on, every handoff is over or being worked on, and nobody waits for one that is over."""
    rows = {each.id: each for each in await runtime.handoffs(limit=1000)}
    assert all(row.status not in (HandoffStatus.CHOOSING, HandoffStatus.PENDING) for row in rows.values())
    assert all(row.choice is not None for row in rows.values() if row.packet["recipient"])
    for agent in (await runtime.find(limit=1000)).agents:
        for each in agent.handoffs:
            assert agent.status is Status.ACTIVE
            assert each.side is Side.TOOK or rows[each.id].status is HandoffStatus.ACCEPTED
    held = {place for place, row in rows.items() if row.status is HandoffStatus.ACCEPTED}
    took = {each.id for agent in (await runtime.find(limit=1000)).agents for each in agent.handoffs}
    assert held <= took
    assert [mail for mail in await runtime.mail() if mail.event.startswith("handoff.")] == []
