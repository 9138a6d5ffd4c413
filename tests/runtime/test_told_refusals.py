"""Refusals that the chart hears of: the refused event leads to an error state, in a turn like any other."""

from contextlib import nullcontext

import pytest
from pydantic import Field

from gatechart import ANY, AgentContext, EventType, OnRefusal, Runtime, State, StateTransitionGraph, Status, Transition
from gatechart.errors import ActionFailedError, EventRefusedError, PayloadError
from gatechart.results import RefusalReason
from gatechart.values.agents import Refused
from tests.runtime.support import eventually, nothing_changes

pytestmark = pytest.mark.sqlite_is_enough


class Case(AgentContext):
    told: list[list[object]] = Field(default_factory=list)
    is_ready: bool = False


def keep(context, event):
    context.told.append([event.name, *event.payload.values()])


def is_ready(context, event):
    return context.is_ready or Refused("nobody is there")


def fail(context, event):
    raise LookupError("no such case")


def case(on_refusal=OnRefusal.EVENT, extra=(), **more):
    return StateTransitionGraph(
        "case",
        context=Case,
        states=[
            State("OPEN", states=["ASKING", "ANSWERED"], defer="LATER"),
            State("STUCK", after={"10d": "GONE"}),
            State("GONE", final=True),
        ],
        transitions=[
            Transition("ASKING", "REPLIED", "ANSWERED", guard=is_ready),
            Transition("OPEN", "error.refused", "STUCK", actions=keep),
            Transition("STUCK", "RESUMED", "OPEN"),
            Transition(ANY, "LEFT", "GONE"),
            *extra,
        ],
        entry_points=["OPEN"],
        on_refusal=on_refusal,
        **more,
    )


@pytest.fixture
async def runtime(place):
    async with Runtime.open(place, graphs=[case()]) as opened:
        yield opened


@pytest.fixture
async def agent(runtime):
    return await runtime.start("case", at="OPEN", agent_id="c-1")


async def test_a_refused_event_leads_to_the_error_state_with_itself_and_the_reason(agent):
    outcome = await agent.send("RATED", {"stars": 5}, event_id="r-1")
    assert (outcome.applied, outcome.refusal, outcome.configuration) == (True, None, ("STUCK",))
    assert outcome.taken == ("OPEN --error.refused--> STUCK",)
    [[name, event, payload, reason, message]] = agent.context.told
    assert (name, event, payload, reason) == ("error.refused", "RATED", {"stars": 5}, "no transition")
    assert message == "no transition in ASKING; accepted there: REPLIED, LEFT; deferred there: LATER"


async def test_the_turn_is_one_like_any_other_with_the_refused_event_and_its_id(agent, runtime):
    first = await agent.send("RATED", {"stars": 5}, event_id="r-1")
    again = await agent.send("RATED", {"stars": 5}, event_id="r-1")
    assert again == first.repeated()
    turn = (await agent.history())[-1]
    assert (turn.event.name, turn.event.id, turn.version, turn.target) == ("RATED", "r-1", 2, ("STUCK",))
    [timer] = await runtime.mail("c-1")
    assert timer.event == "after.10d.STUCK"


async def test_what_guards_say_is_part_of_the_reason(agent):
    await agent.send("REPLIED")
    [[_, event, _, reason, message]] = agent.context.told
    assert (event, reason) == ("REPLIED", "guards said no")
    assert message.startswith("guards said no (is_ready): nobody is there, in ASKING")


async def test_where_no_transition_takes_it_the_event_is_refused_as_usual(agent, runtime):
    await agent.send("RATED")
    async with nothing_changes(runtime, agent):
        outcome = await agent.send("RATED")
    assert (outcome.applied, outcome.refusal.reason) == (False, RefusalReason.NO_TRANSITION)
    assert (await agent.send("RESUMED")).configuration == ("ASKING",)


async def test_mail_that_is_refused_leads_there_too_and_is_not_listed_as_refused(agent, runtime):
    await runtime.post("c-1", "RATED", {"stars": 1})
    await eventually(lambda: agent.configuration == ("STUCK",))
    assert agent.context.told[0][1:3] == ["RATED", {"stars": 1}]
    assert await runtime.mail("c-1", status="refused") == []


async def test_an_event_that_a_state_defers_is_deferred(agent):
    outcome = await agent.send("LATER")
    assert (outcome.deferred, agent.configuration) == (True, ("ASKING",))


async def test_an_agent_that_has_ended_refuses_as_usual(agent):
    await agent.send("LEFT")
    outcome = await agent.send("RATED")
    assert (outcome.refusal.reason, agent.status) == (RefusalReason.AGENT_ENDED, Status.DONE)


async def test_an_event_that_does_not_fit_its_declaration_is_an_error_for_its_sender(place):
    graph = case(events=[EventType("REPLIED", takes={"type": "object", "required": ["text"]})], events_closed=False)
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("case", at="OPEN")
        async with nothing_changes(runtime, agent):
            with pytest.raises(PayloadError, match="text"):
                await agent.send("REPLIED")


async def test_an_action_that_fails_on_the_way_to_the_error_state_undoes_the_turn(place):
    graph = case(extra=[Transition("ASKING", "error.refused", "STUCK", actions=fail)])
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("case", at="OPEN")
        async with nothing_changes(runtime, agent):
            with pytest.raises(ActionFailedError, match="no such case"):
                await agent.send("RATED")


@pytest.mark.parametrize(("policy", "error"), [(OnRefusal.RETURN, None), (OnRefusal.RAISE, EventRefusedError)])
async def test_other_graphs_do_not_hear_of_refusals(policy, error):
    async with Runtime.open("memory:", graphs=[case(policy)]) as runtime:
        agent = await runtime.start("case", at="OPEN")
        async with nothing_changes(runtime, agent):
            with nullcontext() if error is None else pytest.raises(error):
                await agent.send("RATED")
