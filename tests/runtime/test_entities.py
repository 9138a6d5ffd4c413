"""What a user said and what an agent said under the same name: which of the two fills the fields of the next agent."""

import asyncio
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from gatechart import (
    AgentContext,
    ConversationContext,
    EntryPoint,
    Fallbacks,
    Handoff,
    HandoffPacket,
    Invoke,
    OtherGraph,
    Runtime,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.errors import PayloadError
from gatechart.graph.transfers import To, Transfers
from gatechart.handoff import PacketMigration, read_packet
from gatechart.stores import MemoryStore
from gatechart.values.handoffs import HandoffStatus
from tests.runtime.handovers import house, only, rest

NAMES = ("a", "b", "c", "d")
DECLARED = ("a", "b")


class Talk(ConversationContext):
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


class Record(AgentContext):
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


class Form(BaseModel):
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


def take_over(context, event):
    context.take(read_packet(event.payload), entities=DECLARED)


def target(name, context):
    """A graph that is entered with a packet in each possible way."""
    return StateTransitionGraph(
        name,
        context=context,
        transitions=[
            *([Transition("RESTING", "handoff.offered.BARE", "BARE", actions=take_over)] if context is Talk else []),
            Transition("BARE", "ASK", "BARE"),
        ],
        states=["RESTING", "BARE", "FORM", "WHOLE", "CLOSED"],
        entry_points=[
            "RESTING",
            EntryPoint("BARE", entities=DECLARED),
            EntryPoint("FORM", takes=Form, entities=DECLARED),
            EntryPoint("WHOLE", takes=HandoffPacket, entities=DECLARED),
            EntryPoint("CLOSED"),
        ],
    )


source = StateTransitionGraph("source", context=Talk, states=["IDLE"], entry_points=["IDLE"])
GRAPHS = (source, target("talk", Talk), target("record", Record))
DOORS = ("BARE", "FORM", "WHOLE", "CLOSED")

ours = st.dictionaries(st.sampled_from(NAMES), st.integers(-9, -1))
theirs = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 9))


def assert_lawful(context, door, own, entities):
    """The agent's values are negative, those of entities positive, and defaults are 0."""
    declared = () if door == "CLOSED" else DECLARED
    for name in NAMES:
        allowed = entities.get(name, 0) if name in declared else 0
        assert getattr(context, name) == own.get(name, allowed), (door, name)


async def handed_over(runtime, door, graph, own, entities, agent=None, **more):
    """Returns the context of the agent that accepted the packet, and the record of the handoff."""
    row = await offered(runtime, door, graph, HandoffPacket(internal_state=own, entities=entities), agent=agent, **more)
    return (await runtime.resume(row.target)).context, row


async def offered(runtime, door, graph, packet, **more):
    """Returns the record of a handoff once its target has answered: of the last attempt if there are fallbacks."""
    giver = await runtime.start("source", at="IDLE")
    await runtime.handoff(giver.id, Handoff(graph, at=door, packet=packet, **more))
    await rest(runtime)
    return (await runtime.handoffs(source=giver.id))[-1]


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(ours, theirs)
def test_the_agents_own_word_wins_and_no_undeclared_field_is_filled(own, entities):
    async def live():
        async with house(MemoryStore(), *GRAPHS) as runtime:
            packet = HandoffPacket(internal_state=own, entities=entities)
            for graph in ("talk", "record"):
                for door in DOORS:
                    context, row = await handed_over(runtime, door, graph, own, entities)
                    assert_lawful(context, door, own, entities)
                    is_noted = bool(row.changes[-1].details)
                    assert is_noted == bool(own.keys() & entities.keys())
                begun = await runtime.start(graph, at="WHOLE", payload=packet)
                assert_lawful(begun.context, "WHOLE", own, entities)
            living = await runtime.start("talk", at="RESTING")
            context, _ = await handed_over(runtime, "BARE", "talk", own, entities, living.id)
            assert_lawful(context, "BARE", own, entities)

    asyncio.run(live())


async def test_it_is_so_wherever_agents_live(place):
    rng = random.Random(7)
    async with house(place, *GRAPHS) as runtime:
        for graph in ("talk", "record"):
            for door in DOORS:
                own = {name: rng.randint(-9, -1) for name in rng.sample(NAMES, 2)}
                entities = {name: rng.randint(1, 9) for name in rng.sample(NAMES, 3)}
                context, row = await handed_over(runtime, door, graph, own, entities)
                assert_lawful(context, door, own, entities)
                noted = sorted(own.keys() & entities.keys())
                assert all(f"{name} is {own[name]}, not {entities[name]}" in row.changes[-1].details for name in noted)
        living = await runtime.start("talk", at="RESTING")
        context, _ = await handed_over(runtime, "BARE", "talk", {"a": -1}, {"a": 1, "b": 2, "c": 3}, living.id)
        assert_lawful(context, "BARE", {"a": -1}, {"a": 1, "b": 2})


class Case(ConversationContext):
    order: str = ""
    approved_by_us: bool = False


class Claim(BaseModel):
    order: str
    approved_by_us: bool = False
    pin: SecretStr | None = None


def refunds(*entities, name="refunds", **more):
    entry = EntryPoint("REVIEWING", takes=Claim, maps={"order": "order"}, entities=entities, **more)
    return StateTransitionGraph(name, context=Case, states=["REVIEWING"], entry_points=[entry])


def approve(context, event):
    context.approved_by_us = event.payload["approved"]
    context.entities |= event.payload["entities"]


def shop(name, to, *entities):
    """A graph whose agents say something of their own, and give the work on."""
    return StateTransitionGraph(
        name,
        context=Case,
        transitions=[
            Transition("TALKING", "SAID", actions=approve),
            Transition("TALKING", "GIVE", "WAITING", actions=Handoff(to, at="TALKING")),
            Transition("WAITING", "handoff.accepted", "AWAY"),
            Transition("WAITING", "handoff.rejected", "TALKING"),
        ],
        entry_points=[EntryPoint("TALKING", entities=entities)],
    )


async def given_on(runtime, agent):
    """The agent that gets the work next, and the record of the handoff."""
    await agent.send("GIVE")
    await rest(runtime)
    row = await only(runtime, source=agent.id)
    return await runtime.resume(row.target), row


async def test_a_no_that_is_also_the_default_is_the_agents_word(place):
    declared = ("approved_by_us", "order")
    async with house(place, shop("first", "second"), shop("second", "third", *declared)) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await agent.send("SAID", {"approved": False, "entities": {"approved_by_us": True, "order": "4711"}})
        other, row = await given_on(runtime, agent)
        assert (other.context.approved_by_us, other.context.order) == (False, "4711")
        assert row.changes[-1].details.endswith(": approved_by_us is false, not true")


async def test_a_value_that_the_agent_took_back_does_not_travel_on(place):
    async with house(place, shop("first", "second"), shop("second", "third"), shop("third", "fourth")) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await agent.send("SAID", {"approved": True, "entities": {}})
        second, _ = await given_on(runtime, agent)
        assert second.context.approved_by_us is True
        await second.send("SAID", {"approved": False, "entities": {}})
        third, _ = await given_on(runtime, second)
        assert third.context.approved_by_us is False


async def test_a_missing_field_names_the_declaration_that_would_fill_it(place):
    async with house(place, source, refunds("approved_by_us")) as runtime:
        packet = HandoffPacket(entities={"order": "4711", "city": "Bern"})
        row = await offered(runtime, "REVIEWING", "refunds", packet)
        assert row.status is HandoffStatus.REJECTED
        assert "order: Field required" in row.changes[-1].details
        assert "declare entities=('approved_by_us', 'order') on entry point 'REVIEWING'" in row.changes[-1].details
        assert "city" not in row.changes[-1].details


class Strict(AgentContext):
    order: str


async def test_a_start_with_a_packet_names_the_declaration_too():
    entry = EntryPoint("REVIEWING", takes=HandoffPacket)
    graph = StateTransitionGraph("strict", context=Strict, states=["REVIEWING"], entry_points=[entry])
    async with Runtime.open("memory:", graphs=[graph]) as runtime:
        with pytest.raises(PayloadError, match=r"declare entities=\('order',\) on entry point 'REVIEWING'"):
            await runtime.start("strict", at="REVIEWING", payload=HandoffPacket(entities={"order": "4711"}))
        with pytest.raises(PayloadError) as raised:
            await runtime.start("strict", at="REVIEWING", payload=HandoffPacket(entities={"city": "Bern"}))
        assert "entities" not in str(raised.value)


async def test_secrets_are_masked_where_a_collision_is_recorded(place):
    async with house(place, source, refunds("order", "pin")) as runtime:
        own, entities = {"order": "0815", "pin": "our pin"}, {"order": "4711", "pin": "their pin"}
        _, row = await handed_over(runtime, "REVIEWING", "refunds", own, entities)
        details = row.changes[-1].details
        assert 'order is "0815", not "4711"' in details
        assert "pin is **********, not **********" in details
        assert "our pin" not in details
        assert "their pin" not in details


async def test_marked_secrets_are_masked_there_too(place):
    async with house(place, *GRAPHS) as runtime:
        own, entities = {"a": {"$secret": -1234}}, {"a": {"$secret": 5678}}
        context, row = await handed_over(runtime, "BARE", "record", own, entities)
        assert context.a == 0
        assert 'a is "**********", not "**********"' in row.changes[-1].details


async def test_the_source_is_told_of_a_collision(place):
    async with house(place, source, refunds()) as runtime:
        _, row = await handed_over(runtime, "REVIEWING", "refunds", {"order": "1"}, {"order": "2"})
        turns = await runtime.history(row.source)
        told = next(each.event.payload for each in turns if each.event.name == "handoff.accepted")
        assert told["details"] == row.changes[-1].details != ""


async def test_equal_words_are_no_collision(place):
    async with house(place, source, refunds()) as runtime:
        _, row = await handed_over(runtime, "REVIEWING", "refunds", {"order": "1", "x": 1}, {"order": "1", "x": 2})
        assert row.changes[-1].details == ""


async def test_fallbacks_and_older_packets_obey_the_same_rule(place):
    def upgrade(old):
        return {**old, "internal_state": old.pop("state"), "entities": old.pop("words")}

    closed = refunds(name="closed", guard=lambda context, event: False)
    graphs = (source, closed, refunds("order", "approved_by_us"))
    async with house(place, *graphs, packet_migrations=[PacketMigration(0, upgrade)]) as runtime:
        old = HandoffPacket(schema_version=0, state={"order": "ours"}, words={"order": "theirs"})
        fallbacks = Fallbacks(OtherGraph("refunds", at="REVIEWING"))
        row = await offered(runtime, "REVIEWING", "closed", old, fallbacks=fallbacks)
        assert row.target_graph == "refunds"
        assert (await runtime.resume(row.target)).context.order == "ours"
        assert 'order is "ours", not "theirs"' in row.changes[-1].details


# A model's arguments


class Ticket(AgentContext):
    order: str = ""
    approved_by_us: bool = False


async def choose(context, work):
    offer = await work.transfer_tools()
    (work.services.tool,) = (tool for tool in offer.openai() if "refunds" in tool["function"]["name"])
    await work.transfer("transfer_to_refunds_at_REVIEWING", {"reason": "broken", **work.services.arguments})


class Model:
    def __init__(self, **arguments):
        self.arguments, self.tool = arguments, None


def desk(to):
    transfers = Transfers([to, "DONE"], otherwise="DONE")
    states = [State("CHECKING", invoke=Invoke(choose), transfers=transfers), State("DONE", final=True)]
    return StateTransitionGraph(
        "desk",
        context=Ticket,
        states=states,
        entry_points=[EntryPoint("CHECKING", takes=Ticket)],
    )


async def chosen(place, model, to, refunding, **ticket):
    """Returns the handoff that a model chose, and the context of its target."""
    async with Runtime.open(place, graphs=[desk(to), refunding], services=model) as runtime:
        agent = await runtime.start("desk", at="CHECKING", payload=Ticket(**ticket))
        await agent.until(ended=True, timeout=60)
        (row,) = await runtime.handoffs(source=agent.id)
        return row, (await runtime.resume(row.target)).context


async def test_a_model_is_asked_for_declared_fields_and_fills_what_the_agent_left_open(place):
    model = Model(order="4711")
    row, context = await chosen(place, model, To("refunds", at="REVIEWING", description="pays"), refunds("order"))
    assert sorted(model.tool["function"]["parameters"]["properties"]) == ["order", "reason", "summary"]
    assert (context.order, row.changes[-1].details) == ("4711", "")


async def test_a_model_does_not_overrule_the_agent(place):
    class Words(BaseModel):
        order: str
        approved_by_us: bool

    to = To("refunds", at="REVIEWING", takes=Words, description="pays")
    entry = EntryPoint("REVIEWING", takes=Claim, maps={"order": "order", "approved_by_us": "approved_by_us"})
    refunding = StateTransitionGraph("refunds", context=Case, states=["REVIEWING"], entry_points=[entry])
    model = Model(order="4712", approved_by_us=True)
    row, context = await chosen(place, model, to, refunding, order="4711")
    assert (context.order, context.approved_by_us) == ("4711", False)
    assert 'order is "4711", not "4712"; approved_by_us is false, not true' in row.changes[-1].details
