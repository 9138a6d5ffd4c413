"""Agents that hand work to each other, and who of them has it, judged from what is stored; shared by several tests."""

from collections import Counter
from contextlib import asynccontextmanager

from pydantic import BaseModel, Field

from gatechart import ConversationContext, EntryPoint, Runtime, State, StateTransitionGraph, Transition
from gatechart.graph.handoff import Accepts, Fallbacks, Human, OtherGraph, SameTarget
from gatechart.graph.selection import Best
from gatechart.stores import open_store
from gatechart.stores.sql.store import SqlStore
from gatechart.stores.sql.work_rows import held_work
from gatechart.testing import VirtualClock
from gatechart.values.agents import Status
from gatechart.values.handoffs import HandoffQuery, HandoffStatus, Mode, Side
from gatechart.values.mail import MailStatus
from gatechart.values.names import WITHDRAWN
from gatechart.values.profiles import Needs, Profile
from gatechart.values.queries import MailQuery, Query
from tests.insides import clock_of, store_of
from tests.runtime.support import WrappedStore, at_rest

CHOOSING, PENDING, ACCEPTED = HandoffStatus.CHOOSING, HandoffStatus.PENDING, HandoffStatus.ACCEPTED
REJECTED = HandoffStatus.REJECTED
COMPLETED, FAILED = HandoffStatus.COMPLETED, HandoffStatus.FAILED
CANCELLED, EXPIRED = HandoffStatus.CANCELLED, HandoffStatus.EXPIRED
OPEN = (CHOOSING, PENDING, ACCEPTED)
ANSWERS = ("handoff.accepted", "handoff.rejected", "handoff.completed", "handoff.failed", "handoff.expired")

ANY_NUMBER = Accepts()
FALLBACKS = {
    "again": Fallbacks(SameTarget(attempts=3, first_s=10, factor=2)),
    "other": Fallbacks(OtherGraph("second", at="WORKING")),
    "person": Fallbacks(Human("desk", at="WORKING")),
    "all": Fallbacks(
        SameTarget(attempts=2, first_s=10), OtherGraph("second", at="WORKING"), Human("desk", at="WORKING")
    ),
    "back": Fallbacks(OtherGraph("first", at="WORKING"), Human("desk", at="WORKING")),
    "nobody": Fallbacks(OtherGraph("nowhere", at="WORKING"), OtherGraph("neither", at="WORKING")),
    "best": Fallbacks(Best(Needs(domains=("work",))), Human("desk", at="WORKING")),
}
BESTS = {
    "the best": Best(Needs(domains=("work",)), order=("tier", "load")),
    "somebody": Best(Needs(domains=("work",))),
    "nobody": Best(Needs(domains=("moon",))),
}


class Talk(ConversationContext):
    order: str = ""
    told: list[dict] = Field(default_factory=list)  # the answers to what was handed on, with their names
    entered: int = 0  # how often work was begun
    stays: bool = False  # whether it goes on once its work is handed over
    willing: bool = True  # whether it takes what it is offered


class Slip(BaseModel):
    order: int


def ask(context, event, turn):
    wanted = dict(event.payload)
    context.stays = wanted.pop("stays", context.stays)
    fallbacks = FALLBACKS.get(wanted.pop("fallbacks", ""))
    context.say("user", wanted.pop("say", "help me"), turn.now)
    to, at = wanted.pop("to"), wanted.pop("at", "WORKING")
    best = BESTS.get(to)
    turn.handoff(best or to, at="" if best else at, packet=context.packet(), fallbacks=fallbacks, **wanted)


def note(context, event):
    context.told.append({"name": event.name, **event.payload})


def begin(context, event):
    context.entered += 1


def taken(turn):
    return next(each.id for each in turn.handoffs if each.side is Side.TOOK)


def solve(context, event, turn):
    turn.complete(taken(turn), {"answer": event.payload.get("answer", "42")})


def give_up(context, event, turn):
    turn.fail(taken(turn), "no idea")


def set_will(context, event):
    context.willing = event.payload["willing"]


def stumble(context, event):
    raise RuntimeError("it never works")


def is_delegated(context, event):
    return event.payload["mode"] == "delegate"


def is_staying(context, event):
    return context.stays


def is_willing(context, event):
    return context.willing


def is_known(context, event):
    return bool(context.order)


def worker(name, *, accepts=ANY_NUMBER, version="1", states=(), transitions=(), migrations=(), profile=None):
    """A graph whose agents hand on what they do, and do what they are handed."""
    offered = "handoff.offered.WORKING"
    return StateTransitionGraph(
        name,
        version=version,
        context=Talk,
        accepts=accepts,
        migrations=migrations,
        states=[
            "TALKING",
            "WAITING",
            State("WORKING", on_entry=begin),
            State("BROKEN", on_entry=stumble),
            State("FINISHED", final=True, data=lambda context, event: {"order": context.order}),
            *states,
        ],
        transitions=[
            *[Transition(state, "ASK", "WAITING", actions=ask) for state in ("TALKING", "WORKING", "RESTING")],
            Transition("WAITING", "handoff.accepted", guard=is_delegated, actions=note),
            Transition("WAITING", "handoff.accepted", "RESTING", guard=is_staying, actions=note),
            Transition("TALKING", "handoff.accepted", "RESTING", guard=is_staying, actions=note),
            Transition("WAITING", "handoff.completed", "TALKING", actions=note),
            Transition("WAITING", "handoff.rejected", "REFUSED", actions=note),
            Transition("WAITING", "handoff.failed", "FAILED", actions=note),
            Transition("WAITING", "handoff.expired", "LATE", actions=note),
            Transition("WAITING", "LEAVE", "TALKING"),
            Transition("RESTING", offered, "WORKING", guard=is_willing),
            Transition("RESTING", "handoff.offered.BROKEN", "BROKEN"),
            Transition("RESTING", "WILL", actions=set_will),
            Transition("WORKING", "SOLVED", "RESTING", actions=solve),
            Transition("WORKING", "GAVE_UP", "RESTING", actions=give_up),
            Transition("WORKING", "handoff.cancelled", "RESTING", actions=note),
            Transition("WORKING", "DONE", "FINISHED"),
            *transitions,
        ],
        entry_points=[
            "TALKING",
            EntryPoint("WORKING", profile=profile),
            "RESTING",
            "BROKEN",
            EntryPoint("WORKING", "GUARDED", guard=is_known),
            EntryPoint("WORKING", "STRICT", takes=Slip, maps=lambda slip: {"order": str(slip.order)}),
        ],
    )


first, desk = worker("first"), worker("desk")
second = worker("second", profile=Profile(domains=("work",)))
crowded = worker("crowded", accepts=Accepts(capacity=1), profile=Profile(domains=("work",), tier=2))
picky = worker(
    "picky", accepts=Accepts(policy=lambda packet: "fridges only"), profile=Profile(domains=("work",), tier=3)
)
ALL = (first, second, desk, crowded, picky)


@asynccontextmanager
async def house(place, *graphs, clock=None, **options):
    """A runtime whose store is checked after each commit; without graphs all of the above.

    On a home that opens its runtimes itself there is no store to check but the one that follows behind.
    """
    if hasattr(place, "namespace"):
        async with Runtime.open(place, graphs=graphs or ALL, **options) as runtime:
            yield runtime
        return
    async with open_store(place) as store:
        watched = WrappedStore(store)
        watched.after = lambda _: check(store)
        async with Runtime.open(watched, graphs=graphs or ALL, clock=clock or VirtualClock(), **options) as runtime:
            yield runtime


async def rest(runtime):
    """Returns when nothing is under way but what waits for the clock; then all is in order."""
    if hasattr(runtime, "at_rest"):
        await runtime.at_rest()
        return
    await at_rest(runtime, clock_of(runtime))
    await check(store_of(runtime))


async def pass_time(runtime, seconds):
    """Lets time go by, and whoever waits for it go on."""
    clock_of(runtime).advance(seconds)
    await rest(runtime)


async def check(store):
    """Each handoff has one owner, who knows of it, and nobody waits for what does not come. Raises AssertionError."""
    agents = {each.agent_id: each for each in (await store.find(Query(limit=10_000))).agents}
    rows = {each.id: each for each in await store.handoffs(HandoffQuery(limit=10_000))}
    mail = await store.mail(MailQuery(status=MailStatus.WAITING, limit=10_000))
    offered = {(each.recipient, each.id) for each in mail if each.id}
    answered = {(each.recipient, each.payload["handoff"]) for each in mail if each.event in ANSWERS}
    open_of = [(agent, each) for agent in agents.values() for each in agent.handoffs]
    withdrawn = {(each.recipient, each.payload["handoff"]) for each in mail if each.event == WITHDRAWN}
    waited = {each.id for _, each in open_of if each.side is Side.ASKED}
    took = Counter(each.id for _, each in open_of if each.side is Side.TOOK)
    for row in rows.values():
        assert took[row.id] == (row.status is ACCEPTED), row  # the target has it just as long as it is accepted
        if row.status in (CHOOSING, PENDING):
            assert row.status is PENDING or row.target == row.source, row  # nobody else was told
            is_withdrawn = (row.target, row.id) in withdrawn
            is_over = row.status is CHOOSING and is_withdrawn  # only its withdrawal has yet to say so
            assert is_over or (row.target, row.id) in offered, row  # no packet is lost
            assert is_withdrawn or row.id in waited, row
        elif row.mode is Mode.TRANSFER and row.status is ACCEPTED and row.id not in waited:
            assert await has_let_go(store, agents.get(row.source), row.id), row
    for agent, each in open_of:
        assert agent.status is Status.ACTIVE, agent
        row = rows.get(each.id)  # none where it was erased with the other agent
        if each.side is Side.TOOK:
            assert row is None or row.target == agent.agent_id
        elif not _is_at_its_target(row, each):
            assert (agent.agent_id, each.id) in answered, each  # it is told before it acts as the owner again
    await check_counts(store, rows.values())
    tried = Counter(row.request for row in rows.values() if row.status in OPEN)
    assert all(count == 1 for count in tried.values()), tried


async def check_counts(store, rows):
    """The open work that was counted from commit to commit is that which a count of all finds."""
    held = await store.held()
    if isinstance(store, SqlStore):
        assert held == (await store.read(held_work)).counts()
    doors = Counter(f"{row.target_graph}.{row.entry_point}" for row in rows if row.status is ACCEPTED)
    assert {door: held.get(door) for door in doors} == doors


def _is_at_its_target(row, each):
    """Whether a handoff waits for its target, or is worked on there and the agent that asked knows of it."""
    if row is None:
        return False
    if row.status is CHOOSING:
        return each.is_choosing
    return row.status is PENDING or (row.status is ACCEPTED and each.mode is Mode.DELEGATE and each.is_accepted)


async def has_let_go(store, agent, handoff):
    """Whether an agent knows that another has the work, and has not gone back behind that."""
    if agent is None or agent.status is not Status.ACTIVE:
        return True
    known = {}
    for entry in await store.history(agent.agent_id):
        if entry.event.name == "agent.rolled_back":
            known = {each: version for each, version in known.items() if version <= entry.event.payload["version"]}
        if entry.event.name == "handoff.accepted" and entry.event.sender:
            known[entry.event.payload["handoff"]] = entry.version
    return handoff in known


async def owner(runtime, began):
    """The id of the agent that has the work which an agent began with: the one that no transfer took it from."""
    has, seen = began, set()
    while True:
        given = [row for row in await runtime.handoffs(source=has, limit=1000) if was_taken(row) and row.id not in seen]
        if not given:
            return has
        seen.add(given[0].id)
        has = given[0].target


def was_taken(row):
    return row.mode is Mode.TRANSFER and any(change.status is ACCEPTED for change in row.changes)


async def only(runtime, **query):
    """The one handoff that there is."""
    (found,) = await runtime.handoffs(**query)
    return found


async def statuses(runtime, **query):
    """How handoffs stand, in the order offered."""
    return [each.status for each in await runtime.handoffs(**query)]


async def asked(runtime, graph="first", **wanted):
    """An agent that has asked, once all is at rest."""
    agent = await runtime.start(graph, at="TALKING")
    await agent.send("ASK", {"to": "second", **wanted})
    await rest(runtime)
    return agent


async def target_of(runtime, agent):
    """The agent to which another one handed on last."""
    return await runtime.resume((await runtime.handoffs(source=agent.id))[-1].target)
