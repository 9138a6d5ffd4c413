"""Recorded histories played through another version of their graph: what differs, what does not, and no more."""

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from gatechart import AgentContext, Every, Invoke, Migration, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import PayloadError, UnknownAgentError
from gatechart.results import Difference, Fidelity
from gatechart.stores import MemoryStore
from gatechart.testing import VirtualClock, replay
from tests.runtime.handoff_steps import live, steps
from tests.runtime.handovers import ALL
from tests.runtime.support import at_rest


class Order(AgentContext):
    paid: int = 0
    drawn: list[str] = Field(default_factory=list)
    reminders: int = 0


class Bill(AgentContext):
    cents: int = 0
    drawn: list[str] = Field(default_factory=list)
    reminders: int = 0


def pay(context, event, turn):
    context.paid += event.payload["amount"]
    context.drawn.append(f"{turn.now} {turn.random.random()}")
    turn.send("archive", "PAID_FOR", {"amount": event.payload["amount"]})


def pay_cents(context, event, turn):
    context.cents += event.payload["amount"] * 100
    context.drawn.append(f"{turn.now} {turn.random.random()}")
    turn.send("archive", "PAID_FOR", {"amount": event.payload["amount"]})


def remind(context, event):
    context.reminders += 1


async def print_label(context, work):
    work.services.append("printed")
    return "label"


def order(version="1", first="NEW", *migrations, context=Order, on_paid=pay, shipped="SHIPPED"):
    return StateTransitionGraph(
        "order",
        version=version,
        context=context,
        states=[
            State(first, after={"30d": "EXPIRED"}, every={Every("1d", missed="each"): remind}),
            State("LABELLING", invoke=Invoke(print_label)),
            State("EXPIRED", final=True),
        ],
        transitions=[
            Transition(first, "PAID", actions=on_paid),
            Transition(first, "CLOSED", "LABELLING"),
            Transition("LABELLING", "done.invoke.print_label", shipped),
        ],
        entry_points=[first],
        migrations=migrations,
    )


def in_cents(stored):
    context = {name: value for name, value in stored.context.items() if name != "paid"}
    return replace(stored, context={**context, "cents": stored.context["paid"] * 100}).renamed({"NEW": "OPEN"})


@pytest.fixture(params=["memory", "sqlite_url", "postgres_url"])
def store(request):
    """Where histories are kept."""
    return MemoryStore() if request.param == "memory" else request.getfixturevalue(request.param)


async def lived(store, services, graph=None):
    """The life of one agent that is paid for, reminded, labelled and shipped, and of one that expires."""
    clock = VirtualClock()
    async with Runtime.open(store, graphs=[graph or order()], services=services, clock=clock) as runtime:
        agent = await runtime.start("order", at="NEW", agent_id="o-1")
        await agent.send("PAID", {"amount": 3})
        clock.advance("2d12h")
        await at_rest(runtime, clock)
        await agent.send("PAID", {"amount": 4})
        await agent.send("CLOSED")
        await agent.until("SHIPPED")
        await runtime.start("order", at="NEW", agent_id="o-2")
        clock.advance("31d")
        await at_rest(runtime, clock)
        return clock.now()


async def everything(store):
    async with Runtime.open(store, graphs=[order()], role="reader") as runtime:
        agents = (await runtime.find()).agents
        return agents, [await runtime.history(each.agent_id) for each in agents], await runtime.mail()


async def test_the_same_version_differs_nowhere_and_nothing_happens(store):
    labels = []
    await lived(store, labels)
    before = await everything(store)
    report = await replay(store, order(), recorded=order())
    assert (report.turns, report.agents, report.skipped, report.effects_unknown) == ((), 2, 0, 0), report
    assert report.same == sum(agent.version for agent in before[0]) > 8
    assert await everything(store) == before
    assert labels == ["printed"]


async def test_a_migrated_version_is_compared_in_its_own_terms(store):
    await lived(store, [])
    migration = Migration("1", "2", in_cents)
    new = order("2", "OPEN", migration, context=Bill, on_paid=pay_cents)
    report = await replay(store, new, recorded=[order()])
    assert {each.event for each in report.turns} == {"agent.started.NEW"}, report  # no entry point of that name
    assert report.same == sum(agent.version for agent in (await everything(store))[0]) - 2
    pounds = order("2", "OPEN", migration, context=Bill, on_paid=lambda context, event: None)
    found = (await replay(store, pounds, recorded=[order()])).differing
    paid = [each for each in found if each.event == "PAID"]
    assert [each.version for each in paid] == [2, 5]
    assert Difference("context.cents", 300, 0) in paid[0].differences
    assert Difference("context.cents", 700, 300) in paid[1].differences  # from where it was, not from where it led


async def test_what_a_new_version_sends_or_no_longer_sends_differs(store):
    await lived(store, [])

    def pay_quietly(context, event, turn):
        context.paid += event.payload["amount"]
        context.drawn.append(f"{turn.now} {turn.random.random()}")

    quiet = order(on_paid=pay_quietly)
    report = await replay(store, quiet, recorded=order())
    assert [(each.version, [d.aspect for d in each.differences]) for each in report.turns] == [
        (2, ["effects"]),
        (5, ["effects"]),
    ]
    [difference] = report.turns[0].differences
    assert difference.recorded[0] == {"send": "PAID_FOR", "to": "archive", "payload": {"amount": 3}, "due": None}
    assert difference.replayed == []
    unknown = await replay(store, quiet)
    assert (unknown.turns, unknown.effects_unknown) == ((), unknown.same)


async def test_a_report_tells_each_turn_that_differs(store):
    await lived(store, [])
    report = await replay(store, order(shipped="LOST"), recorded=order())
    [turn] = report.turns
    assert (turn.agent_id, turn.event, turn.fidelity) == ("o-1", "done.invoke.print_label", Fidelity.DIFFERS)
    assert str(report).splitlines() == [
        f"1 of {report.same + 1} turns of 2 agents are not the same",
        "  o-1 version 7, done.invoke.print_label: differs: configuration: recorded ['SHIPPED'], now ['LOST']",
    ]


async def test_turns_of_operators_and_pruned_ones_are_skipped(store):
    labels, clock = [], VirtualClock()
    async with Runtime.open(store, graphs=[order()], services=labels, clock=clock) as runtime:
        agent = await runtime.start("order", at="NEW", agent_id="o-1")
        for amount in range(3):
            await agent.send("PAID", {"amount": amount})
        await agent.rollback(2, reason="a slip")
        await agent.send("PAID", {"amount": 5})
        await runtime.stop("o-1")
        report = await replay(store, order(), recorded=order())
        assert (report.turns, report.same, report.skipped) == ((), 5, 2)
        clock.advance("10d")
        await runtime.prune(keep_turns=3, ids_for=timedelta(0))
        report = await replay(store, order(), recorded=order())
        assert (report.turns, report.same, report.skipped) == ((), 1, 2)


async def test_agents_and_turns_can_be_chosen(store):
    now = await lived(store, [])
    whole = await replay(store, order())
    late = await replay(store, order(), since=now - timedelta(days=29, hours=1))
    one = await replay(store, order(), agents=["o-2"])
    first = await replay(store, order(), limit=1)
    assert (whole.agents, one.agents, first.agents) == (2, 1, 1)
    assert one.same + first.same == whole.same
    assert 0 < late.same < one.same
    assert (await replay(store, order(), since="1d")).same == 0  # the clock of the tests stood in 2000
    with pytest.raises(UnknownAgentError):
        await replay(store, order(), agents=["nobody"])
    other = StateTransitionGraph("other", states=["A"], entry_points=["A"])
    with pytest.raises(PayloadError, match="agent 'o-1' is of graph 'order'"):
        await replay(store, other, agents=["o-1"])


@settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(schedule=st.lists(steps, min_size=5, max_size=16))
def test_whatever_agents_hand_on_to_each_other_is_the_same_again(schedule):
    async def play():
        store = MemoryStore()
        await live(store, schedule)
        return [await replay(store, graph, recorded=graph) for graph in ALL]

    logging.disable()  # of what fails and is refused on purpose
    try:
        for report in asyncio.run(play()):
            assert not report.turns, report
            assert report.effects_unknown == 0
    finally:
        logging.disable(logging.NOTSET)
