"""What the agents in a handoff are told: who may tell it, of which handoff, in which words."""

import asyncio
import math

import pytest
from pydantic import BaseModel

from gatechart import Handoff, HandoffPacket, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import ActionFailedError, OpenHandoffError, StoreFailedError
from gatechart.handoff import PacketMigration
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.values.commits import TurnRecord
from gatechart.values.handoffs import HandoffStatus
from tests.runtime.handovers import (
    ACCEPTED,
    ALL,
    CANCELLED,
    REJECTED,
    Talk,
    asked,
    desk,
    house,
    only,
    pass_time,
    rest,
    statuses,
    worker,
)
from tests.runtime.support import WrappedStore, at_rest, eventually, nothing

pytestmark = pytest.mark.sqlite_is_enough


class Scale(BaseModel):
    """What allows any number, and writes an infinite one as null."""

    weight: float


async def test_a_delegation_that_is_cancelled_is_told_to_the_one_that_asked(place):
    async with house(place) as runtime:
        agent = await asked(runtime, mode="delegate")
        await runtime.cancel_handoff((await only(runtime)).id, reason="never mind")
        await rest(runtime)
        assert await statuses(runtime) == [CANCELLED]
        assert (agent.configuration, agent.snapshot.handoffs) == (("FAILED",), ())


@pytest.mark.parametrize(
    ("kept", "status"),
    [
        (("target_graph", "entry_point"), ACCEPTED),
        ((), REJECTED),  # nothing tells the graph
    ],
)
async def test_which_handoff_it_is_the_mail_says_whatever_a_migration_makes_of_the_packet(place, kept, status):
    migration = PacketMigration(0, lambda old: {name: old[name] for name in kept})
    async with house(place, packet_migrations=[migration]) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await runtime.handoff(agent.id, Handoff("second", at="WORKING", packet=HandoffPacket(schema_version=0)))
        await rest(runtime)
        assert await statuses(runtime) == [status]
        assert agent.snapshot.handoffs == ()
        assert await runtime.mail() == []


async def test_actions_see_the_packet_of_today_where_an_older_one_came(place):
    def look(context, event):
        context.told.append(dict(event.payload))

    offered = Transition("RESTING", "handoff.offered.WORKING", "WORKING", actions=look)
    graph = StateTransitionGraph("looker", context=Talk, transitions=[offered], entry_points=["RESTING", "WORKING"])
    migration = PacketMigration(0, lambda old: old | {"current_problem": old["problem"]})
    async with house(place, graph, *ALL, packet_migrations=[migration]) as runtime:
        target, agent = await runtime.start("looker", at="RESTING"), await runtime.start("first", at="TALKING")
        old = HandoffPacket(schema_version=0, problem="no light")
        await runtime.handoff(agent.id, Handoff("looker", at="WORKING", agent=target.id, packet=old))
        await rest(runtime)
        assert target.context.told[0]["current_problem"] == "no light"


async def test_a_given_reason_goes_before_that_of_the_packet(place):
    async with house(place) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await runtime.handoff(agent.id, Handoff("second", at="WORKING", packet=HandoffPacket(), reason="timeout"))
        assert (await only(runtime)).reason == "timeout"


class Weighed(HandoffPacket):
    """A packet that holds what allows numbers that JSON does not have."""

    scale: Scale


@pytest.mark.parametrize(
    ("packet", "found"),
    [
        (HandoffPacket().model_copy(update={"entities": {"price": math.nan}}), "entities.price is nan"),
        (
            HandoffPacket().model_copy(update={"entities": {"one": Scale(weight=math.inf)}}),
            "entities.one.weight is inf",
        ),
        (Weighed(scale=Scale(weight=-math.inf)), "scale.weight is -inf"),
    ],
)
async def test_a_given_packet_with_a_number_that_json_does_not_have_undoes_the_turn(packet, found):
    def hand_on(context, event, turn):
        turn.handoff("second", at="WORKING", packet=packet)

    graph = worker("heavy", transitions=[Transition("TALKING", "HAND_ON", "WAITING", actions=hand_on)])
    async with house("memory:", graph, *ALL) as runtime:
        agent = await runtime.start("heavy", at="TALKING")
        with pytest.raises(ActionFailedError, match=found):
            await agent.send("HAND_ON")
        assert (agent.configuration, await runtime.handoffs()) == (("TALKING",), [])


async def test_an_agent_cannot_answer_for_another_one(place):
    def lie(context, event, turn):
        turn.send(event.payload["to"], "handoff.accepted", {"handoff": event.payload["handoff"]})

    liar = worker("liar", transitions=[Transition("TALKING", "LIE", actions=lie)])
    async with house(place, liar, *ALL) as runtime:
        target = await runtime.start("second", at="RESTING")
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="again")
        waiting = (await runtime.handoffs())[-1]
        false = await runtime.start("liar", at="TALKING")
        with pytest.raises(ActionFailedError, match="only gatechart itself sends"):
            await false.send("LIE", {"to": agent.id, "handoff": waiting.id})
        assert agent.configuration == ("WAITING",)


async def test_the_most_hops_bring_the_work_to_a_person(place):
    graphs = [worker(f"g{number}") for number in range(10)]
    async with house(place, *graphs, desk) as runtime:
        agent = await runtime.start("g0", at="WORKING")
        for number in range(1, 10):
            await agent.send("ASK", {"to": f"g{number}", "fallbacks": "person"})
            await rest(runtime)
            newest = (await runtime.handoffs(limit=100))[-1]
            agent = await runtime.resume(newest.target)
        assert (newest.target_graph, newest.status, newest.reason) == ("desk", ACCEPTED, "loop detected")
        assert "the limit is" in newest.packet["evidence"]


async def test_an_offer_to_another_agent_of_the_same_graph_is_no_loop_where_something_was_achieved(place):
    async with house(place) as runtime:
        await asked(runtime, to="first", achieved="half of it")
        assert await statuses(runtime) == [ACCEPTED]


async def test_a_packet_that_is_passed_on_brings_no_fallbacks_of_before(place):
    def pass_on(context, event, turn):
        turn.handoff("picky", at="WORKING", packet=HandoffPacket.model_validate(context.told[0]))

    def keep(context, event):
        context.told.append(dict(event.payload))

    states = [State("PASSING", on_entry=keep)]
    passer = worker(
        "passer",
        states=states,
        transitions=[Transition("PASSING", "PASS", "WAITING", actions=pass_on)],
    )
    entry = [*(each.name for each in passer.entry_points.values()), "PASSING"]
    graph = StateTransitionGraph(
        "passer",
        context=Talk,
        states=passer.tree,
        transitions=passer.transitions,
        entry_points=[each for each in entry if each not in ("GUARDED", "STRICT")],
    )
    async with house(place, graph, *ALL) as runtime:
        await asked(runtime, to="passer", at="PASSING", fallbacks="person")
        target = await runtime.resume((await only(runtime)).target)
        await target.send("PASS")
        await rest(runtime)
        newest = (await runtime.handoffs())[-1]
        assert (newest.target_graph, newest.packet["fallbacks"], newest.status) == ("picky", [], REJECTED)
        assert target.context.told[-1]["name"] == "handoff.rejected"


@pytest.mark.needs("takes_a_clock")
async def test_a_rollback_into_a_wait_that_was_given_up_and_is_not_answered_is_refused(place):
    async with house(place) as runtime:
        agent = await asked(runtime, at="BROKEN")  # the withdrawal waits behind it
        waited = agent.snapshot.version
        await agent.send("LEAVE")
        with pytest.raises(OpenHandoffError):
            await agent.rollback(waited, reason="a mistake")
        for seconds in (2, 4, 8, 16, 60):
            await pass_time(runtime, seconds)
        assert agent.snapshot.handoffs == ()


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("is_resumed", [False, True])
async def test_an_acceptance_whose_commit_is_in_doubt_is_told_whoever_resumes_the_agent(place, is_resumed):
    later = State("WORKING", after={"10s": "LATER"})
    graph = StateTransitionGraph("slow", context=Talk, states=[later, "LATER"], entry_points=["WORKING"])
    lost = StoreFailedError("agents.db", "the answer was lost")
    async with open_store(place) as store:
        watched, clock, failed = WrappedStore(store), VirtualClock(), []

        async def lose(units):
            if not failed and any(isinstance(unit, TurnRecord) and unit.snapshot.graph == "slow" for unit in units):
                failed.append(units)
                raise lost

        async def unreadable(_):
            if failed:
                raise lost

        watched.after, watched.reading = lose, unreadable
        async with Runtime.open(watched, graphs=[graph, *ALL], clock=clock) as runtime:
            agent = await runtime.start("first", at="TALKING")
            await agent.send("ASK", {"to": "slow", "stays": True})
            await eventually(lambda: bool(failed))
            await asyncio.sleep(0)
            (row,) = await runtime.handoffs()
            assert row.status is HandoffStatus.ACCEPTED
            watched.after = watched.reading = nothing
            if is_resumed:
                await runtime.resume(row.target)
            for seconds in (1, 1, 1, 10):
                clock.advance(seconds)
                await at_rest(runtime, clock)
            target = await runtime.resume(row.target)
            assert (agent.configuration, target.configuration) == (("RESTING",), ("LATER",))
            assert await runtime.mail() == []
