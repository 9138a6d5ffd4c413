"""Charts, stores and looks at a runtime, shared by its tests."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from itertools import count

from pydantic import BaseModel, Field

from gatechart import ANY, AgentContext, EntryPoint, State, StateTransitionGraph, Transition

ROUNDS = 50  # of the event loop, in which all that is in memory comes to its end
PAUSE_S = 0.0005  # for a database's thread or server, which a loop that never rests would keep from the processor


class Parcel(AgentContext):
    stops: list[str] = Field(default_factory=list)
    weight: int = 1


class Label(BaseModel):
    stops: list[str]
    weight: int = 1


def note(context, event):
    context.stops.append(event.payload.get("at", event.name))


def note_entry(context, event):
    context.stops.append("entered")


def weigh(context, event):
    context.weight = event.payload["weight"]


def burst(context, event):
    context.stops.append("burst")
    raise RuntimeError("the string broke")


def is_light(context, event):
    return context.weight < 10


parcel = StateTransitionGraph(
    "parcel",
    context=Parcel,
    states=[
        State("PACKING", on_entry=note_entry),
        State("TRANSIT", states=["ON_ROAD", "AT_SEA"], on_entry=note_entry),
        State("DELIVERED", final=True),
    ],
    transitions=[
        Transition("PACKING", "SENT", "TRANSIT"),
        Transition("ON_ROAD", "SHIPPED", "AT_SEA", guard=is_light),
        Transition("AT_SEA", "LANDED", "ON_ROAD"),
        Transition("TRANSIT", "ARRIVED", "DELIVERED"),
        Transition(ANY, "STAMPED", actions=note),
        Transition(ANY, "WEIGHED", actions=weigh),
        Transition(ANY, "DROPPED", "LOST", actions=burst),
    ],
    entry_points=[
        "PACKING",
        "DELIVERED",
        EntryPoint("AT_SEA", opens_on="FOUND_ADRIFT", takes=Label, guard=is_light),
    ],
)


class Gate:
    """Where turns wait until a test lets them pass. Services of a runtime that hosts `gated`."""

    def __init__(self):
        self.opened = asyncio.Event()
        self.inside = Counter()  # turns at the gate, by agent
        self.most_of_one = self.most_together = 0  # turns that were ever at the gate at once
        self.passed = []  # agents and notes, in the order of passing
        self._changed = asyncio.Condition()

    async def reached(self, turns=1):
        """Waits for so many turns to be at the gate."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.inside.total() >= turns)

    async def wait(self, agent_id, at):
        self.inside[agent_id] += 1
        self.most_of_one = max(self.most_of_one, self.inside[agent_id])
        self.most_together = max(self.most_together, self.inside.total())
        async with self._changed:
            self._changed.notify_all()
        await self.opened.wait()
        await asyncio.sleep(0)
        self.inside[agent_id] -= 1
        self.passed.append((agent_id, at))


async def pass_gate(context, event, turn):
    context.stops.append("waiting")
    await turn.services.wait(turn.agent_id, event.payload.get("at"))
    context.stops[-1] = event.payload.get("at", event.name)


gated = StateTransitionGraph(
    "gated",
    context=Parcel,
    states=["RESTING", State("ENTERING", on_entry=pass_gate)],
    transitions=[
        Transition(ANY, "PASSED", actions=pass_gate),
        Transition(ANY, "MOVED", "ELSEWHERE"),
        Transition(ANY, "BURST", actions=[pass_gate, burst]),
        Transition(ANY, "STAMPED", actions=note),
    ],
    entry_points=["RESTING", "ENTERING"],
)


class WrappedStore:
    """A real store, with what a test puts before and after its commits."""

    is_instant = False

    def __init__(self, store):
        self.store = store
        self.groups = []  # the turns of each commit that came in
        self.before = self.after = self.reading = nothing

    async def commit(self, turns):
        self.groups.append(tuple(turns))
        await self.before(turns)
        verdicts = await self.store.commit(turns)
        await self.after(turns)
        return verdicts

    async def history(self, agent_id, *, after=0, limit=None):
        await self.reading(agent_id)
        return await self.store.history(agent_id, after=after, limit=limit)

    def __getattr__(self, name):
        return getattr(self.store, name)


async def nothing(_):
    """What a wrapped store does besides where a test says nothing else."""


async def soon(awaitable):
    """The result, or a failure where it would never come."""
    async with asyncio.timeout(60):
        return await awaitable


async def everything(runtime):
    """All that the store of a runtime holds: snapshots and histories."""
    agents = (await runtime.find(limit=1000)).agents
    return [(snapshot, *(await runtime.history(snapshot.agent_id))) for snapshot in agents]


@asynccontextmanager
async def nothing_changes(runtime, *agents):
    """Within it neither the store nor the handles come to hold anything else."""
    before = await everything(runtime), [(agent.snapshot, agent.context) for agent in agents]
    yield
    assert (await everything(runtime), [(agent.snapshot, agent.context) for agent in agents]) == before
    assert {agent.snapshot for agent in agents} <= {stored for stored, *_ in before[0]}


async def eventually(holds):
    """Returns as soon as it holds; a failure where it never would."""
    async with asyncio.timeout(60):
        for looks in count():  # it may hold by what no event tells of
            if holds():
                return
            await asyncio.sleep(0 if looks < ROUNDS else PAUSE_S)


async def at_rest(runtime, clock):
    """Returns when all that is under way waits for a virtual clock."""
    for _ in range(3):
        await asyncio.sleep(0)
        await eventually(lambda: runtime.pending_work == clock.sleeping)


class UntoldError(Exception):
    """Nobody can say what it is about."""

    def __str__(self):
        raise ValueError("no words")


def waiting(version="1", *migrations, state="WAITING", **more):
    """Agents that wait in a state that tests give a timer or an invoke."""
    return StateTransitionGraph(
        "waiting",
        version=version,
        context=Parcel,
        states=[State(state, **more), "LATE", "MOVED"],
        transitions=[Transition(state, "MOVED", "MOVED"), Transition(state, "done.invoke.*", "MOVED")],
        entry_points=[state],
        migrations=migrations,
    )


def unchanged(stored):
    return stored
