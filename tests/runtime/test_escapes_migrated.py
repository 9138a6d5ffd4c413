"""Ways out that are due or under way while their agent migrates to a version with another plan."""

import asyncio

import pytest

from gatechart import EscapePlan, Runtime, State, StateTransitionGraph, Transition
from gatechart.escape import Reroute, Restart
from gatechart.graph.definition import Invoke
from gatechart.graph.migration import Migration
from gatechart.graph.signals import Signal
from gatechart.hosting.limits import Limits
from gatechart.runtime.escapes import StoredPast
from gatechart.signals import ToolFailures
from gatechart.values.agents import Status
from tests.runtime.support import eventually
from tests.runtime.test_undoing import Desk, Trip, attempts, book_two, check

pytestmark = pytest.mark.not_on_restate("a process that is let go there still has the invocation that takes calls back")

PLAN = EscapePlan({"failing": [Restart(), Reroute("READY")]}, cooldown="0s")
ELSEWHERE = EscapePlan({"other": Restart()}, shared=True)  # it answers nothing that was found


def trip(version, plan, *, checking="CHECKING", states=(), migration=lambda stored: stored):
    """A graph whose agents book two seats, and then fail to check them."""
    return StateTransitionGraph(
        "trip",
        version=version,
        context=Trip,
        states=[
            State("BUYING", invoke=Invoke(book_two, id="buy")),
            State(checking, invoke=Invoke(check, id="check")),
            State("DONE", final=True),
            *states,
        ],
        transitions=[
            Transition("READY", "GO", "BUYING"),
            Transition("BUYING", "done.invoke.buy", checking),
            Transition(checking, "done.invoke.check", "DONE"),
        ],
        entry_points=["READY", "BUYING"],
        signals=Signal(ToolFailures(3), "failing"),
        escape=plan,
        migrations=[Migration("1", "2", migration)] if version == "2" else [],
    )


async def migrated_while_taking_back(place, newer, ends, *, breaks=False):
    """An agent that migrates to a newer version while it takes calls back, once it has come to where it goes on."""
    old = Desk(opened=asyncio.Event(), cancels="safe")
    async with Runtime.open(place, graphs=trip("1", PLAN), services=old, limits=Limits(close_s=0.1)) as runtime:
        agent = await runtime.start("trip", at="BUYING", agent_id="a")
        await agent.until("UNDOING", timeout=30)
    async with Runtime.open(place, graphs=newer, services=Desk(fails=0, breaks=breaks, cancels="safe")) as runtime:
        agent = await runtime.resume("a")
        await agent.until(*ends, timeout=30)
        assert agent.snapshot.graph_version == "2"
        return agent, [(turn.event.name, turn.target) for turn in await attempts(agent)]


@pytest.mark.parametrize("breaks", [False, True])
async def test_calls_that_no_plan_wants_taken_back_any_more_lead_to_the_last_resort(place, breaks):
    agent, tried = await migrated_while_taking_back(place, trip("2", ELSEWHERE), ["GAVE_UP"], breaks=breaks)
    assert agent.snapshot.status is Status.FAILED
    assert tried == [("escape.restart", ("UNDOING",)), ("escape.give_up", ("GAVE_UP",))]


async def test_the_last_resort_is_that_of_any_plan_if_none_counts_where_the_agent_was(place):
    elsewhere = State("ELSEWHERE", escape=ELSEWHERE)
    agent, tried = await migrated_while_taking_back(place, trip("2", None, states=[elsewhere]), ["GAVE_UP"])
    assert agent.snapshot.status is Status.FAILED
    assert tried[-1] == ("escape.give_up", ("GAVE_UP",))


@pytest.mark.parametrize(("breaks", "then"), [(False, ("escape.restart", "DONE")), (True, ("escape.reroute", "READY"))])
async def test_a_way_back_goes_on_although_the_state_that_was_left_has_another_name(place, breaks, then):
    newer = trip("2", PLAN, checking="VERIFYING")
    agent, tried = await migrated_while_taking_back(place, newer, [then[1]], breaks=breaks)
    assert [name for name, _ in tried] == ["escape.restart", then[0]]
    assert agent.snapshot.configuration == (then[1],)


async def test_strategies_with_other_names_are_tried_once_the_calls_are_taken_back(place):
    newer = trip("2", EscapePlan({"failing": Restart("READY")}, cooldown="0s"))
    _, tried = await migrated_while_taking_back(place, newer, ["READY"])
    assert tried == [("escape.restart", ("UNDOING",)), ("escape.restart_at_READY", ("READY",))]


async def never(*_):
    await asyncio.Event().wait()


async def test_an_agent_is_told_if_no_plan_answers_any_more_what_it_asked_for(place, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(StoredPast, "tools", never)
        async with Runtime.open(place, graphs=trip("1", PLAN), services=Desk(), limits=Limits(close_s=0.1)) as runtime:
            agent = await runtime.start("trip", at="BUYING", agent_id="a")
            await eventually(lambda: agent.snapshot.trail.escapes.is_due)
    async with Runtime.open(place, graphs=trip("2", None), services=Desk()) as runtime:
        agent = await runtime.resume("a")
        await eventually(lambda: not agent.snapshot.trail.escapes.is_due)
        [told] = await attempts(agent)
        assert (told.event.name, told.target) == ("escape.none", ("CHECKING",))
        assert told.event.payload["way"] == "no plan answers it any more"
