"""Events that a state defers: mail for a later state, on every home."""

import asyncio

import pytest
from pydantic import Field

from gatechart import (
    ANY,
    AgentContext,
    Runtime,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.errors import EventIdReusedError
from gatechart.turn.turns import MOST_DEFERRED
from gatechart.values.agents import RefusalReason

pytestmark = pytest.mark.sqlite_is_enough


class Talk(AgentContext):
    said: list[str] = Field(default_factory=list)
    is_open: bool = False


def note(context, event):
    context.said.append(event.payload.get("text", event.name))


def unlock(context, event):
    context.is_open = True


def is_open(context, event):
    return context.is_open


talk = StateTransitionGraph(
    "talk",
    context=Talk,
    states=[State("THINKING", defer=["ASKED", "HINTED"]), State("OVER", final=True)],
    transitions=[
        Transition("IDLE", "ASKED", "THINKING", actions=note),
        Transition("IDLE", "HINTED", actions=note),
        Transition("THINKING", "ANSWERED", "IDLE", actions=note),
        Transition("THINKING", "HINTED", actions=note, guard=is_open),
        Transition("THINKING", "UNLOCKED", actions=unlock),
        Transition("THINKING", "RESTED", "THINKING"),
        Transition(ANY, "NOTED", actions=note),
        Transition(ANY, "ASKED", "LOST"),
        Transition(ANY, "CLOSED", "OVER"),
    ],
    entry_points=["IDLE", "THINKING"],
)


@pytest.fixture
async def runtime(place):
    async with Runtime.open(place, graphs=[talk]) as runtime:
        yield runtime


@pytest.fixture
async def agent(runtime):
    return await runtime.start("talk", at="THINKING", agent_id="t-1")


async def said(runtime, *texts):
    """Waits until the agent has said this much, and returns what it has said."""
    async with asyncio.timeout(60):
        while len(context := (await runtime.resume("t-1")).context.said) < len(texts):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert context == list(texts)


def asked(text):
    return {"text": text}


async def waiting(runtime):
    return [(mail.event, mail.reason) for mail in await runtime.mail("t-1", status="waiting")]


async def test_a_sent_event_that_a_state_defers_is_mail_for_a_later_state(runtime, agent):
    outcome = await agent.send("ASKED", asked("a"))
    assert (outcome.deferred, outcome.applied, outcome.refusal) == (True, False, None)
    assert (agent.configuration, agent.snapshot.version) == (("THINKING",), 1)
    assert await waiting(runtime) == [("ASKED", "deferred in THINKING")]
    await agent.send("ANSWERED")
    await said(runtime, "ANSWERED", "a")
    assert (await agent.until("THINKING")).version == 3
    assert await waiting(runtime) == []


async def test_deferred_mail_comes_before_newer_mail_and_in_the_order_accepted(runtime, agent):
    for text in "abc":
        await (agent.send("ASKED", asked(text)) if text == "b" else runtime.post("t-1", "ASKED", asked(text)))
    for event in ("NOTED", "ANSWERED"):
        await agent.send(event)
    await agent.send("NOTED", asked("late"))
    await said(runtime, "NOTED", "ANSWERED", "a", "late")
    for _ in range(2):
        await agent.send("ANSWERED")
    await said(runtime, "NOTED", "ANSWERED", "a", "late", "ANSWERED", "b", "ANSWERED", "c")


async def test_a_states_deferral_goes_before_the_transitions_of_its_ancestors(agent):
    assert (await agent.send("ASKED")).deferred
    assert (await agent.send("NOTED")).applied


async def test_an_enabled_transition_of_the_state_itself_goes_before_its_deferral(runtime, agent):
    assert (await agent.send("HINTED", asked("early"))).deferred
    await agent.send("UNLOCKED")
    assert not (await agent.send("HINTED", asked("now"))).deferred
    assert agent.context.said == ["now"]
    await agent.send("ANSWERED")
    await said(runtime, "now", "ANSWERED", "early")


async def test_an_agent_says_what_it_would_defer(runtime, agent):
    said = {each.event: (each.agrees.value, each.deferred) for each in await agent.accepts()}
    assert said == {
        "ANSWERED": ("yes", False),
        "HINTED": ("no", True),
        "UNLOCKED": ("yes", False),
        "RESTED": ("yes", False),
        "NOTED": ("yes", False),
        "CLOSED": ("yes", False),
        "ASKED": ("no", True),
    }
    for event in ("ASKED", "HINTED"):
        assert (await agent.can(event)).deferred
        assert (await agent.send(event)).deferred
    await agent.send("UNLOCKED")
    assert await agent.can("HINTED")
    assert not (await runtime.can("t-1", "HINTED")).deferred


async def test_an_agent_that_can_defer_no_more_says_so(runtime, agent):
    for _ in range(MOST_DEFERRED):
        asked = await agent.can("ASKED")
        assert asked.deferred
        assert (await agent.send("ASKED")).deferred
    asked = await agent.can("ASKED")
    assert (asked.refused, asked.why_not) == (True, RefusalReason.DEFERRED_TOO_MANY.value)
    assert {each.event for each in await runtime.accepts("t-1") if each.deferred} == set()
    assert (await agent.send("ASKED")).refusal.reason is RefusalReason.DEFERRED_TOO_MANY
    assert await agent.can("NOTED")


regions = StateTransitionGraph(
    "regions",
    context=Talk,
    states=[
        State(
            "WORKING",
            parallel=True,
            states=[
                State("LEFT", states=[State("BUSY", defer="ASKED"), "FREE"]),
                State("RIGHT", states=["DEAF", "HEARING"]),
            ],
        )
    ],
    transitions=[
        Transition("HEARING", "ASKED", actions=note),
        Transition("DEAF", "PLUGGED", "HEARING"),
        Transition("BUSY", "DONE", "FREE"),
        Transition("WORKING", "ASKED", "LOST"),
    ],
    entry_points=["WORKING"],
)


async def test_an_enabled_transition_in_another_region_goes_before_a_deferral(place):
    async with Runtime.open(place, graphs=[regions]) as runtime:
        agent = await runtime.start("regions", at="WORKING", agent_id="t-1")
        assert (await agent.can("ASKED")).deferred
        assert (await agent.send("ASKED", asked("a"))).deferred
        await agent.send("PLUGGED")
        assert await agent.can("ASKED")
        await said(runtime, "a")
        assert (await agent.send("ASKED", asked("b"))).applied
        assert agent.context.said == ["a", "b"]


async def test_the_id_of_a_deferred_event_is_taken(runtime, agent):
    assert (await agent.send("ASKED", asked("a"), event_id="1")).deferred
    again = await agent.send("ASKED", asked("a"), event_id="1")
    assert (again.deferred, again.repeat) == (True, True)
    with pytest.raises(EventIdReusedError, match="'ASKED' with other content"):
        await agent.send("ASKED", asked("b"), event_id="1")
    with pytest.raises(EventIdReusedError, match="'ASKED' with other content"):
        await agent.send("NOTED", event_id="1")
    assert len(await waiting(runtime)) == 1
    await agent.send("ANSWERED")
    await said(runtime, "ANSWERED", "a")
    first = await agent.send("ASKED", asked("a"), event_id="1")
    assert (first.deferred, first.repeat, first.taken) == (False, True, ("IDLE --ASKED--> THINKING",))


async def test_no_more_than_a_hundred_events_are_deferred(runtime, agent):
    for number in range(100):
        assert (await agent.send("ASKED", asked(str(number)))).deferred
    refused = await agent.send("ASKED")
    assert refused.refusal.reason is RefusalReason.DEFERRED_TOO_MANY
    assert "as many events as an agent can defer are deferred already in THINKING" in str(refused.refusal)
    await runtime.post("t-1", "ASKED")
    [mail] = await refused_mail(runtime, 1)
    assert "deferred already" in mail.reason


async def refused_mail(runtime, count):
    async with asyncio.timeout(60):
        while len(found := await runtime.mail("t-1", status="refused")) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found


@pytest.mark.parametrize("ends", ["CLOSED", "stop"])
async def test_what_is_deferred_when_the_agent_ends_is_refused_mail(runtime, agent, ends):
    await agent.send("ASKED")
    await runtime.post("t-1", "HINTED")
    await (runtime.stop("t-1") if ends == "stop" else agent.send(ends))
    found = await refused_mail(runtime, 2)
    assert [mail.event for mail in found] == ["ASKED", "HINTED"]
    assert all("the agent has ended" in mail.reason for mail in found)


@pytest.mark.parametrize("posts", [True, False])
async def test_deferred_mail_is_still_there_after_a_restart(place, posts):
    async with Runtime.open(place, graphs=[talk]) as runtime:
        agent = await runtime.start("talk", at="THINKING", agent_id="t-1")
        for text in "ab":
            await (runtime.post("t-1", "ASKED", asked(text)) if posts else agent.send("ASKED", asked(text)))
    async with Runtime.open(place, graphs=[talk]) as runtime:
        agent = await runtime.resume("t-1")
        await agent.send("ANSWERED")
        await said(runtime, "ANSWERED", "a")
        await agent.send("ANSWERED")
        await said(runtime, "ANSWERED", "a", "ANSWERED", "b")


async def test_a_raised_event_is_not_deferred(place):
    def again(context, event, turn):
        turn.raise_event("ASKED")

    graph = StateTransitionGraph(
        "raising",
        states=[State("THINKING", defer="ASKED")],
        transitions=[Transition("THINKING", "STIRRED", actions=again), Transition(ANY, "ASKED", "WOKEN")],
        entry_points=["THINKING"],
    )
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("raising", at="THINKING")
        assert (await agent.send("STIRRED")).configuration == ("WOKEN",)


async def test_erasing_an_agent_erases_what_it_deferred(runtime, agent):
    await agent.send("ASKED", event_id="1")
    await runtime.erase("t-1")
    assert await runtime.mail("t-1") == []
    agent = await runtime.start("talk", at="THINKING", agent_id="t-1")
    assert not (await agent.send("ASKED", event_id="1")).repeat


async def test_a_rollback_to_a_state_that_takes_it_brings_deferred_mail(place):
    async with Runtime.open(place, graphs=[talk]) as runtime:
        agent = await runtime.start("talk", at="IDLE", agent_id="t-1")
        await agent.send("ASKED", asked("a"))
        await agent.send("ASKED", asked("b"))
        await agent.rollback(1, reason="again")
        await said(runtime, "b")
