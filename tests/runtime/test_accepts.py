"""What can happen now, asked in every home."""

from dataclasses import replace

import pytest
from pydantic import BaseModel

from gatechart import AgentContext, EventType, Migration, Refused, Runtime, State, StateTransitionGraph, Transition
from gatechart.clients.database import open_database_client
from gatechart.errors import InsideTurnError, PayloadError, ReservedEventError, UnknownAgentError
from gatechart.results import Agrees

pytestmark = pytest.mark.sqlite_is_enough


class Decision(BaseModel):
    approved: bool


class Case(AgentContext):
    author: str = "ada"


def is_approved(context, event):
    return event.data.approved


def is_another(context, event):
    return Refused("the author may not decide")


def case(version="1", **more):
    return StateTransitionGraph(
        "case",
        version=version,
        context=Case,
        states=[State("CLOSED", final=True)],
        transitions=[
            Transition("OPEN", "DECIDED", "CLOSED", guard=is_approved),
            Transition("OPEN", "SIGNED", "CLOSED", guard=is_another),
            Transition("OPEN", "NOTED"),
        ],
        entry_points=["OPEN"],
        events=[EventType("DECIDED", takes=Decision, description="Somebody decided.")],
        **more,
    )


async def test_an_agent_tells_what_it_accepts_and_nothing_changes(place):
    async with Runtime.open(place, graphs=[case()]) as runtime:
        agent = await runtime.start("case", at="OPEN", agent_id="a")
        found = await agent.accepts()
        assert [(each.event, each.agrees, each.why_not) for each in found] == [
            ("DECIDED", Agrees.DEPENDS, ""),
            ("SIGNED", Agrees.NO, "the author may not decide"),
            ("NOTED", Agrees.YES, ""),
        ]
        assert (found[0].description, found[0].payload_schema) == ("Somebody decided.", Decision.model_json_schema())
        assert [each.targets for each in found[0].transitions] == [("CLOSED",)]
        assert list(await runtime.accepts("a")) == list(found)
        assert (await runtime.read("a")).version == 1


async def test_an_agent_tells_what_one_event_would_do(place):
    async with Runtime.open(place, graphs=[case()]) as runtime:
        agent = await runtime.start("case", at="OPEN", agent_id="a")
        assert await agent.can("DECIDED", Decision(approved=True))
        assert not await agent.can("DECIDED", {"approved": False})
        assert (await agent.can("DECIDED")).agrees is Agrees.DEPENDS
        assert (await runtime.can("a", "DECIDED", {})).why_not == "the payload does not fit (approved: Field required)"
        assert (await agent.can("NOTHING")).why_not == "no transition in OPEN"
        await agent.send("DECIDED", {"approved": True})
        assert list(await agent.accepts()) == []
        assert (await agent.can("NOTED")).why_not == "the agent has ended"


async def test_what_nobody_can_ask_is_an_error(place):
    async with Runtime.open(place, graphs=[case()]) as runtime:
        agent = await runtime.start("case", at="OPEN", agent_id="a")
        with pytest.raises(ReservedEventError):
            await agent.can("done.invoke.search")
        with pytest.raises(PayloadError):
            await agent.can("NOTED", {"thing": object()})
        with pytest.raises(UnknownAgentError):
            await runtime.accepts("nobody")


async def test_an_agent_of_an_earlier_version_tells_what_it_will_accept(place):
    async with Runtime.open(place, graphs=[case()]) as runtime:
        await runtime.start("case", at="OPEN", agent_id="a")
    newer = StateTransitionGraph(
        "case",
        version="2",
        context=Case,
        transitions=[Transition("WAITING", "DECIDED", "CLOSED")],
        entry_points=["WAITING"],
        migrations=Migration("1", "2", lambda stored: replace(stored, configuration=("WAITING",))),
    )
    async with Runtime.open(place, graphs=[newer]) as runtime:
        assert [(each.event, each.payload_schema) for each in await runtime.accepts("a")] == [("DECIDED", None)]


async def test_a_client_of_the_database_asks_without_the_owner(sqlite_url):
    graph = case()
    async with (
        Runtime.open(sqlite_url, graphs=[graph]) as runtime,
        open_database_client(sqlite_url, graphs=[graph]) as client,
    ):
        agent = await runtime.start("case", at="OPEN", agent_id="a")
        assert list(await client.accepts("a")) == list(await agent.accepts())
        assert await client.can("a", "DECIDED", {"approved": True}) == await agent.can("DECIDED", {"approved": True})
        assert list(await (await client.resume("a")).accepts()) == list(await agent.accepts())


async def test_a_guard_cannot_use_the_runtime(place):
    asked = []

    def asks(context, event):
        try:
            runtime.post("a", "NOTED").send(None)
        except InsideTurnError as error:
            asked.append(error.call)
        return True

    graph = StateTransitionGraph("g", transitions=[Transition("A", "GO", guard=asks)], entry_points=["A"])
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("g", at="A", agent_id="a")
        assert await agent.can("GO")
        assert asked == ["post"]
