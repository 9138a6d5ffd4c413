"""A runtime that comes and goes: it serves the agents that it is called for, and nobody else."""

import asyncio

import pytest

from gatechart import AgentContext, EntryPoint, Handoff, Invoke, Runtime, State, StateTransitionGraph, Transition
from gatechart.selection import Best, Needs, Profile
from gatechart.testing import VirtualClock
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.homes import Role
from tests.runtime.handovers import ALL
from tests.runtime.ledgers import Faults, ledger
from tests.runtime.support import eventually, soon


async def answer(context, work):
    return 1


asking = StateTransitionGraph(
    "asking",
    context=AgentContext,
    states=[State("ASKING", invoke=Invoke(answer), after={"10s": "LATE"}), "LATE"],
    transitions=[Transition("ASKING", "done.invoke.answer", "ANSWERED"), Transition("ASKING", "AGAIN", "ASKING")],
    entry_points=["ASKING"],
)


def visit(place, **more):
    return Runtime.open(place, graphs=[ledger, asking], services=Faults(), role=Role.VISITOR, **more)


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_mail_that_waits_for_an_agent_goes_before_what_it_is_sent(place):
    async with visit(place) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="a")
    async with visit(place) as runtime:
        await runtime.post("a", "NOTED", {"n": "1"})
        await runtime.post("a", "NOTED", {"n": "2"})
    async with visit(place) as runtime:
        agent = await runtime.resume("a")
        await runtime.post("a", "NOTED", {"n": "3"})
        await agent.send("NOTED", {"n": "4"})
        assert agent.context.notes == ["1", "2", "3", "4"]
        assert await runtime.mail() == []


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_an_agent_that_is_started_takes_the_mail_that_waited_for_it(place):
    async with visit(place) as runtime:
        await runtime.post("a", "NOTED", {"n": "before"})
        agent = await runtime.start("ledger", at="OPEN", agent_id="a")
        await eventually(lambda: agent.context.notes == ["before"])


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_mail_for_others_waits(place):
    async with visit(place) as runtime:
        for agent_id in "ab":
            await runtime.start("ledger", at="OPEN", agent_id=agent_id)
    async with visit(place) as runtime:
        await runtime.post("b", "NOTED")
        agent = await runtime.resume("a")
        await agent.send("PASSED_ON", {"to": [["b", "NOTED"]]})
        await asyncio.sleep(0.01)
        assert [mail.recipient for mail in await runtime.mail(status="waiting")] == ["b", "b"]
    async with Runtime.open(place, graphs=[ledger, asking], services=Faults()) as runtime:
        b = await runtime.resume("b")
        await eventually(lambda: len(b.context.notes) == 2)


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_an_offer_to_a_new_agent_waits(place):
    async with Runtime.open(place, graphs=ALL, role=Role.VISITOR) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await agent.send("ASK", {"to": "second", "mode": "delegate"})
        await asyncio.sleep(0.05)
        assert [each.agent_id for each in (await runtime.find()).agents] == [agent.id]
        [offer] = await runtime.mail(status="waiting")
        assert offer.event == "handoff.offered.WORKING"
    async with Runtime.open(place, graphs=ALL) as runtime:
        agent = await runtime.resume(agent.id)
        await eventually(lambda: [each["name"] for each in agent.context.told] == ["handoff.accepted"])
        assert (await runtime.resume(offer.recipient)).configuration == ("WORKING",)


class Asking(AgentContext):
    said: int = 0


def hear(context, event):
    context.said += 1


asker = StateTransitionGraph(
    "asker",
    context=Asking,
    states=["WAITING"],
    transitions=[
        Transition("ASKING", "HELP", "WAITING", actions=Handoff(Best(Needs(domains=("work",))))),
        Transition("WAITING", "AGAIN", actions=hear),
    ],
    entry_points=["ASKING"],
)
helper = StateTransitionGraph(
    "helper",
    context=AgentContext,
    states=["WORKING"],
    entry_points=[EntryPoint("WORKING", profile=Profile(domains=("work",)))],
)


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
@pytest.mark.parametrize("is_read_again", [False, True])
async def test_a_choice_waits_for_a_host_which_knows_all_graphs_and_holds_up_no_event(place, is_read_again):
    async with Runtime.open(place, graphs=[asker], role=Role.VISITOR) as runtime:
        agent = await runtime.start("asker", at="ASKING", agent_id="a")
        await agent.send("HELP")
        if not is_read_again:
            await agent.send("AGAIN")
        await asyncio.sleep(0.05)
    if is_read_again:
        async with Runtime.open(place, graphs=[asker], role=Role.VISITOR) as runtime:
            await runtime.send("a", "AGAIN")
            await asyncio.sleep(0.05)
    async with Runtime.open(place, graphs=[asker], role=Role.READER) as runtime:
        assert [each.status for each in await runtime.handoffs()] == [HandoffStatus.CHOOSING]
        assert (await runtime.read("a")).context["said"] == 1
    async with Runtime.open(place, graphs=[asker, helper]) as runtime:
        await (await runtime.resume("a")).until(ended=True)
        (handoff,) = await runtime.handoffs()
        assert (handoff.target_graph, handoff.packet["recipient"]) == ("helper", "helper.WORKING")


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_no_invoke_is_run_and_the_next_host_runs_it_once(place):
    clock = VirtualClock()
    async with visit(place, clock=clock) as runtime:
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await agent.send("AGAIN")
        await asyncio.sleep(0.01)
        assert agent.configuration == ("ASKING",)
    async with Runtime.open(place, graphs=[asking], clock=clock) as runtime:
        agent = await runtime.resume("a")
        await soon(agent.until("ANSWERED"))
        assert agent.snapshot.version == 3


@pytest.mark.needs("takes_a_clock")
async def test_an_overdue_timer_of_the_agent_fires_first(place):
    clock = VirtualClock()
    async with visit(place, clock=clock) as runtime:
        await runtime.start("asking", at="ASKING", agent_id="a")
    clock.advance(11)
    async with visit(place, clock=clock) as runtime:
        agent = await runtime.resume("a")
        refused = await agent.send("AGAIN")
        assert (refused.applied, agent.configuration) == (False, ("LATE",))
