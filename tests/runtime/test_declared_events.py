"""Declared events at the door of every home: what does not fit is an error that changes nothing."""

from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from gatechart import AgentContext, EventType, Runtime, StateTransitionGraph, Transition
from gatechart.errors import EventIdReusedError, PayloadError, UndeclaredEventError

pytestmark = pytest.mark.sqlite_is_enough


class Decision(BaseModel):
    approved: bool


class Case(AgentContext):
    decided: bool | None = None


def decide(context, event):
    context.decided = event.data.approved


def graph_of(name, *, closed=False):
    transitions = [Transition("WAITING", "DECIDED", "WAITING", actions=decide), Transition("WAITING", "NOTED")]
    return StateTransitionGraph(
        name,
        context=Case,
        transitions=transitions,
        entry_points=["WAITING"],
        events=[EventType("DECIDED", takes=Decision)],
        events_closed=closed,
    )


opened, closed = graph_of("opened"), graph_of("closed", closed=True)


async def test_a_payload_that_does_not_fit_is_an_error_that_takes_no_id(place):
    async with Runtime.open(place, graphs=[opened]) as runtime:
        agent = await runtime.start(opened, at="WAITING")
        with pytest.raises(PayloadError) as raised:
            await agent.send("DECIDED", {"approved": "perhaps"}, event_id="1")
        assert (raised.value.taker, raised.value.expected) == (
            "event 'DECIDED' of 'opened'",
            "Decision(approved: bool)",
        )
        assert raised.value.problems[0].startswith("approved: Input should be a valid boolean")
        assert agent.snapshot.version == 1
        outcome = await agent.send("DECIDED", {"approved": True}, event_id="1")
        assert (outcome.applied, outcome.repeat, agent.context.decided) == (True, False, True)


async def test_an_id_stands_for_the_payload_as_it_was_sent(place):
    async with Runtime.open(place, graphs=[opened]) as runtime:
        agent = await runtime.start(opened, at="WAITING")
        await agent.send("DECIDED", {"approved": "yes"}, event_id="1")
        assert (await agent.send("DECIDED", {"approved": "yes"}, event_id="1")).repeat
        with pytest.raises(EventIdReusedError):
            await agent.send("DECIDED", {"approved": True}, event_id="1")


async def test_what_is_posted_to_an_agent_that_exists_must_fit(place):
    async with Runtime.open(place, graphs=[opened]) as runtime:
        await runtime.start(opened, at="WAITING", agent_id="a")
        with pytest.raises(PayloadError, match="approved: Field required"):
            await runtime.post("a", "DECIDED", {}, event_id="1")
        assert list(await runtime.mail("a")) == []
        await runtime.post("a", "NOTED", {"anything": 1})


@pytest.mark.not_on_restate("what was applied is known to the agent alone")
@pytest.mark.parametrize("due", [None, datetime(2200, 1, 1, tzinfo=UTC)], ids=["applied", "waiting"])
async def test_mail_that_was_accepted_before_the_events_had_types_is_a_repeat_when_it_is_posted_again(place, due):
    before = StateTransitionGraph(
        "opened", context=Case, transitions=[Transition("WAITING", "DECIDED", "DONE")], entry_points=["WAITING"]
    )
    async with Runtime.open(place, graphs=[before]) as runtime:
        agent = await runtime.start(before, at="WAITING", agent_id="a")
        await runtime.post("a", "DECIDED", {"approved": "perhaps"}, event_id="1", due=due)
        if due is None:
            await agent.until("DONE")
    async with Runtime.open(place, graphs=[opened]) as runtime:
        assert (await runtime.post("a", "DECIDED", {"approved": "perhaps"}, event_id="1", due=due)).repeat
        with pytest.raises(PayloadError):
            await runtime.post("a", "DECIDED", {"approved": "perhaps"}, event_id="2")


@pytest.mark.not_on_restate("mail to an agent that does not exist is listed with the agent")
async def test_what_is_posted_before_the_agent_exists_is_refused_in_its_turn(place):
    async with Runtime.open(place, graphs=[opened]) as runtime:
        await runtime.post("a", "DECIDED", {"approved": "perhaps"})
        agent = await runtime.start(opened, at="WAITING", agent_id="a")
        await agent.send("NOTED")
        (mail,) = await runtime.mail("a")
        assert mail.status == "refused"
        assert mail.reason.startswith("the payload does not fit (approved: Input should be a valid boolean")


async def test_undeclared_events_pass_unless_the_graph_is_closed(place):
    async with Runtime.open(place, graphs=[opened, closed]) as runtime:
        free = await runtime.start(opened, at="WAITING")
        assert (await free.send("NOTED", {"text": 1})).applied
        strict = await runtime.start(closed, at="WAITING", agent_id="strict")
        with pytest.raises(UndeclaredEventError) as raised:
            await strict.send("DECIDDED", event_id="1")
        assert str(raised.value) == (
            "'closed' declares no event 'DECIDDED': did you mean 'DECIDED'? There are 'DECIDED'"
        )
        with pytest.raises(UndeclaredEventError):
            await runtime.post("strict", "NOTED")
        assert strict.snapshot.version == 1
