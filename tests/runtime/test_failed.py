"""Agents that end in a failure: their status, what becomes of what they took, what those are told that wait for it."""

import pytest
from pydantic import Field

from gatechart import AgentContext, State, StateTransitionGraph, Transition
from gatechart.graph.definition import Invoke
from gatechart.graph.handoff import Fallbacks, Handoff, OtherGraph, SameTarget
from gatechart.values.agents import Status
from gatechart.values.handoffs import Mode
from tests.runtime.handovers import COMPLETED, FAILED, house, only, rest, target_of

pytestmark = pytest.mark.sqlite_is_enough


class Repair(AgentContext):
    told: list = Field(default_factory=list)


def note(context, event):
    context.told.append([event.name, dict(event.payload)])


def why(context, event):
    return {"part": event.payload.get("part", "none")}


repairs = StateTransitionGraph(
    "repairs",
    context=Repair,
    states=[
        "WORKING",
        State("REPAIRED", final=True, data=why),
        State("BROKEN", final=True, failed=True, data=why),
    ],
    transitions=[
        Transition("WORKING", "MENDED", "REPAIRED"),
        Transition("WORKING", "GAVE_UP", "BROKEN"),
        Transition("RESTING", "handoff.offered.WORKING", "WORKING"),
    ],
    entry_points=["WORKING", "RESTING", "BROKEN"],
)
FALLBACKS = Fallbacks(SameTarget(attempts=5, first_s=1), OtherGraph("repairs", at="WORKING"))
shop = StateTransitionGraph(
    "shop",
    context=Repair,
    states=["TALKING", State("INVOKING", invoke=Invoke(agent="repairs", at="WORKING", id="mend", fallbacks=FALLBACKS))],
    transitions=[
        Transition(
            "TALKING",
            "DELEGATE",
            "WAITING",
            actions=Handoff("repairs", at="WORKING", mode=Mode.DELEGATE, fallbacks=FALLBACKS),
        ),
        Transition("TALKING", "TRANSFER", "WAITING", actions=Handoff("repairs", at="WORKING")),
        Transition("TALKING", "INVOKE", "INVOKING"),
        Transition("WAITING", "handoff.completed", "GLAD", actions=note),
        Transition("WAITING", "handoff.failed", "SORRY", actions=note),
        Transition("INVOKING", "done.invoke.mend", "GLAD", actions=note),
        Transition("INVOKING", "error.invoke.mend", "SORRY", actions=note),
    ],
    entry_points=["TALKING"],
)
GRAPHS = (shop, repairs)


async def asking(runtime, event):
    agent = await runtime.start("shop", at="TALKING")
    await agent.send(event)
    await rest(runtime)
    return agent, await target_of(runtime, agent)


@pytest.mark.parametrize(("event", "told"), [("DELEGATE", "handoff.failed"), ("INVOKE", "error.invoke.mend")])
async def test_who_delegated_to_an_agent_that_fails_is_told_so_with_its_data(place, event, told):
    async with house(place, *GRAPHS) as runtime:
        agent, target = await asking(runtime, event)
        outcome = await target.send("GAVE_UP", {"part": "the fan"})
        await rest(runtime)
        assert (outcome.status, target.status) == (Status.FAILED, Status.FAILED)
        agent = await runtime.resume(agent.id)
        assert agent.configuration == ("SORRY",)
        [[name, payload]] = agent.context.told
        assert name == told
        assert payload["result"] == {"part": "the fan"}
        assert payload["details"] == "the agent ended in BROKEN, a failure"
        row = await only(runtime)  # no fallback is taken: it was accepted
        assert (row.status, row.result) == (FAILED, {"part": "the fan"})
        assert row.changes[-1].details == "the agent ended in BROKEN, a failure"


@pytest.mark.parametrize("event", ["DELEGATE", "INVOKE"])
async def test_an_agent_that_ends_elsewhere_is_done(place, event):
    async with house(place, *GRAPHS) as runtime:
        agent, target = await asking(runtime, event)
        assert (await target.send("MENDED")).status is Status.DONE
        await rest(runtime)
        assert (await runtime.resume(agent.id)).configuration == ("GLAD",)
        assert (await only(runtime)).status is COMPLETED


async def test_a_transfer_to_an_agent_that_fails_has_failed(place):
    async with house(place, *GRAPHS) as runtime:
        agent, target = await asking(runtime, "TRANSFER")
        assert agent.status is Status.DONE  # it has handed over, and what comes of that is not its own
        await target.send("GAVE_UP", {"part": "the fan"})
        await rest(runtime)
        row = await only(runtime)
        assert (row.status, row.result) == (FAILED, {"part": "the fan"})
        assert (await runtime.resume(agent.id)).status is Status.DONE


async def test_a_living_agent_that_ends_in_a_failure_fails_what_it_took(place):
    async with house(place, *GRAPHS) as runtime:
        living = await runtime.start("repairs", at="RESTING")
        agent = await runtime.start("shop", at="TALKING")
        await runtime.handoff(agent.id, Handoff("repairs", at="WORKING", agent=living.id, mode=Mode.DELEGATE))
        await rest(runtime)
        await living.send("GAVE_UP", {"part": "the fan"})
        await rest(runtime)
        row = await only(runtime)
        assert (row.status, row.result) == (FAILED, {"part": "the fan"})


async def test_agents_that_failed_are_found_by_their_status(place):
    async with house(place, *GRAPHS) as runtime:
        begun = [await runtime.start("repairs", at="WORKING") for _ in range(3)]
        await begun[0].send("MENDED")
        await begun[1].send("GAVE_UP")
        at_once = await runtime.start("repairs", at="BROKEN")
        await rest(runtime)
        assert at_once.status is Status.FAILED
        for status, wanted in (
            ("failed", {begun[1].id, at_once.id}),
            (Status.DONE, {begun[0].id}),
            ("active", {begun[2].id}),
        ):
            assert {each.agent_id for each in (await runtime.find(status=status)).agents} == wanted


async def test_an_agent_that_failed_takes_no_more_events_and_is_the_same_after_a_restart(place):
    async with house(place, *GRAPHS) as runtime:
        agent = await runtime.start("repairs", at="WORKING")
        await agent.send("GAVE_UP")
        outcome = await agent.send("MENDED")
        assert (outcome.applied, outcome.refusal.reason.value) == (False, "the agent has ended")
        await rest(runtime)
        assert [each.status for each in await runtime.history(agent.id)] == [Status.ACTIVE, Status.FAILED]
        before = agent.snapshot
    async with house(place, *GRAPHS) as runtime:
        again = await runtime.resume(agent.id)
        assert again.snapshot == before == await again.snapshot_at(2)
        assert (await again.rollback(1, reason="it can be mended after all")).status is Status.ACTIVE


async def test_an_end_with_states_that_ends_at_once_asks_no_agent(place):
    """Nobody would wait for what it invokes."""
    over = State("OVER", final=True, invoke=Invoke(agent="repairs", at="WORKING"), states=[State("END", final=True)])
    inn = StateTransitionGraph(
        "inn", states=["OPEN", over], transitions=[Transition("OPEN", "SHUT", "OVER")], entry_points=["OPEN", "OVER"]
    )
    async with house(place, inn, repairs) as runtime:
        for agent in (await runtime.start("inn", at="OPEN"), await runtime.start("inn", at="OVER")):
            if agent.status is Status.ACTIVE:
                await agent.send("SHUT")
            assert (agent.status, agent.configuration) == (Status.DONE, ("END",))
        assert await runtime.handoffs() == []
