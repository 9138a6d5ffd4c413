"""The verbs of a runtime that is elsewhere: what they ask travels as JSON, and so does what comes back."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from inspect import Parameter, signature

import pytest
from pydantic import BaseModel, ValidationError

from gatechart import (
    Fallbacks,
    Handoff,
    HandoffPacket,
    Human,
    OtherGraph,
    Runtime,
    SameTarget,
    StateTransitionGraph,
    Status,
)
from gatechart.agent import Agent
from gatechart.api.agents import StartCommand
from gatechart.api.arguments import check_writable
from gatechart.api.commands import COMMANDS, KINDS
from gatechart.api.errors import ErrorDocument
from gatechart.api.events import PostCommand, SendCommand
from gatechart.api.home import AgentHome
from gatechart.errors import EventRefusedError, GatechartError, NoHandoffError, PayloadError, UnknownAgentError
from gatechart.graph.definition import OnRefusal
from gatechart.handoff import HandoffStatus, Mode, Reason
from gatechart.restate import runtime as restate_runtime
from gatechart.runtime import runtime
from gatechart.runtime.operations import OPERATIONS
from gatechart.testing.records import NOON
from gatechart.values.mail import MailStatus
from gatechart.values.queries import GraphCount
from tests.api.charts import Note, lamp, shade


class Through(AgentHome):
    """As if somewhere else: commands, documents and errors cross over as text."""

    def __init__(self, home):
        self.home = home

    @property
    def capabilities(self):
        return self.home.capabilities

    def graph_of(self, snapshot):
        return self.home.graph_of(snapshot)

    async def execute(self, command):
        check_writable(command)
        asked = COMMANDS.validate_json(command.model_dump_json())
        try:
            text = asked.answer.write(await self.home.execute(asked))
        except GatechartError as error:
            raise ErrorDocument.model_validate_json(ErrorDocument.of(error).model_dump_json()).value() from None
        return command.answer.read(text)


@pytest.fixture(params=[Through, lambda runtime: runtime], ids=["through", "direct"])
async def verbs(request):
    async with Runtime.open("memory:", graphs=[lamp, shade]) as runtime:
        yield request.param(runtime)


async def test_an_agent_is_started_fed_and_read_from_elsewhere(verbs):
    begun = (await verbs.start(lamp, at="OFF", payload=Note(text="hi"), agent_id="a")).snapshot
    outcome = await verbs.send("a", "SWITCHED", {"text": "on"}, event_id="1")
    again = await verbs.send("a", "SWITCHED", {"text": "on"}, event_id="1")
    refused = await verbs.send("a", "BURNED")
    assert (begun.configuration, begun.context) == (("OFF",), {"text": "hi"})
    assert (outcome.applied, outcome.configuration, again) == (True, ("ON",), outcome.repeated())
    assert set(refused.refusal.accepts) == {"SWITCHED", "SHATTERED"}
    assert (await verbs.read("a")).context == {"text": "on"}
    assert (await verbs.snapshot_at("a", 1)) == begun
    assert [entry.version for entry in await verbs.history("a", after=1)] == [2]
    assert (await verbs.stop("a")).status is Status.STOPPED


async def test_a_trigger_opens_an_entry_point_from_elsewhere_and_agents_are_found(verbs):
    for agent_id in "ab":
        await verbs.start_on("DUSK", {"text": ""}, agent_id=agent_id)
    page = await verbs.find(graph="lamp", state="OFF", status="active", limit=1)
    assert ([agent.agent_id for agent in page.agents], page.next) == (["a"], "a")
    assert [agent.agent_id for agent in (await verbs.find(after=page.next)).agents] == ["b"]


async def test_agents_are_gone_through_and_counted_from_elsewhere(verbs):
    for agent_id in "abc":
        await verbs.start_on("DUSK", {"text": ""}, agent_id=agent_id)
    await verbs.send("b", "SWITCHED")
    assert [each.agent_id async for each in verbs.agents(graph=lamp, order="changed")] == ["b", "c", "a"]
    await verbs.start(lamp, at="OFF", payload={"text": "Ada"}, agent_id="d")
    assert [each.agent_id async for each in verbs.agents(where={"text": ["Ada", "x"]}, order="-text")] == ["d"]
    page = await verbs.find(where={"text": {"prefix": ""}}, order="text", limit=3)
    assert [each.agent_id for each in page.agents] == ["a", "b", "c"]
    assert [each.agent_id for each in (await verbs.find(order="text", after=page.next)).agents] == ["d"]
    await verbs.erase("d")
    assert await verbs.counts(graph="lamp") == (GraphCount("lamp", 3, {Status.ACTIVE: 3}, {"OFF": 2, "ON": 1}),)


async def test_mail_is_posted_and_listed_from_elsewhere(verbs):
    receipt = await verbs.post("nobody", "SWITCHED", {"text": "x"}, event_id="m", due=NOON)
    assert (await verbs.post("nobody", "SWITCHED", {"text": "x"}, event_id="m", due=NOON)).repeat
    (mail,) = await verbs.mail("nobody", status="waiting")
    assert (mail.number, mail.due, mail.payload) == (receipt.number, NOON, {"text": "x"})
    assert not await verbs.mail(status=MailStatus.DEAD)


async def test_an_agent_goes_back_from_elsewhere_and_only_once_under_an_id(verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    await verbs.send("a", "SWITCHED")
    for _ in range(2):
        assert (await verbs.rollback("a", 1, reason="too dark", idempotency_key="r")).version == 3
    assert (await verbs.read("a")).configuration == ("ON",)
    await verbs.erase("a")
    with pytest.raises(UnknownAgentError):
        await verbs.read("a")


async def test_a_start_made_again_under_its_id_begins_nothing_again(verbs):
    first = (await verbs.start("lamp", at="OFF", payload={"text": "x"}, idempotency_key="s")).snapshot
    assert (await verbs.start("lamp", at="OFF", payload={"text": "x"}, idempotency_key="s")).snapshot == first
    await verbs.send(first.agent_id, "SWITCHED")
    assert (await verbs.start("lamp", at="OFF", payload={"text": "x"}, idempotency_key="s")).snapshot.version == 2
    assert len((await verbs.find()).agents) == 1
    assert first.agent_id == "s"


async def test_a_handoff_is_asked_for_and_withdrawn_from_elsewhere_each_once(verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    handoff = Handoff(
        "shade",
        at="UP",
        packet=HandoffPacket(current_problem="too bright"),
        reason=Reason.OUT_OF_SCOPE,
        mode="delegate",
        deadline=timedelta(hours=1),
        fallbacks=Fallbacks(SameTarget(attempts=2), OtherGraph("lamp", at="ON"), Human("lamp", at="OFF", agent="b")),
    )
    made = await verbs.handoff("a", handoff, idempotency_key="h")
    assert await verbs.handoff("a", handoff, idempotency_key="h") == made
    (record,) = await verbs.handoffs(source="a")
    assert (record.id, record.mode, record.reason) == (made, Mode.DELEGATE, Reason.OUT_OF_SCOPE)
    assert record.packet["current_problem"] == "too bright"
    kinds = [step["kind"] for step in record.packet["fallbacks"]]
    assert kinds == ["same_target", "other_graph", "human"]
    receipt = await verbs.cancel_handoff(made, reason="never mind", idempotency_key="c")
    assert not receipt.repeat


WITH_A_REASON = {
    "rollback": lambda verbs, reason: verbs.rollback("a", 1, reason=reason),
    "an agent's rollback": lambda verbs, reason: on_agent(verbs, reason),
    "cancel_handoff": lambda verbs, reason: verbs.cancel_handoff("h", reason=reason),
    "fire_timer": lambda verbs, reason: verbs.fire_timer(1, reason=reason),
    "end_invoke": lambda verbs, reason: verbs.end_invoke("a", "call", reason=reason),
}


async def on_agent(verbs, reason):
    await (await verbs.resume("a")).rollback(1, reason=reason)


@pytest.mark.parametrize("reason", ["", " ", "\n\t\u2003"])
@pytest.mark.parametrize("verb", list(WITH_A_REASON))
async def test_a_blank_reason_is_refused_and_nothing_is_changed(verb, reason, verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    with pytest.raises(PayloadError, match=r"is blank.*a text with the reason"):
        await WITH_A_REASON[verb](verbs, reason)
    assert (await verbs.read("a")).version == 1


async def test_a_handoff_that_is_over_by_then_was_withdrawn_by_this_call_or_by_another(verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    made = await verbs.handoff("a", Handoff("shade", at="UP", mode="delegate"))
    await until(verbs, made, HandoffStatus.ACCEPTED)
    assert not (await verbs.cancel_handoff(made, reason="never mind", idempotency_key="c")).repeat
    await until(verbs, made, HandoffStatus.CANCELLED)
    assert (await verbs.cancel_handoff(made, reason="never mind", idempotency_key="c")).repeat
    with pytest.raises(NoHandoffError):
        await verbs.cancel_handoff(made, reason="too late", idempotency_key="d")


@pytest.mark.parametrize(
    ("said", "stored"), [(None, Reason.TIMEOUT), ("tool failure", Reason.TOOL_FAILURE), ("other", Reason.OTHER)]
)
async def test_the_reason_of_a_handoff_goes_before_that_of_its_packet(said, stored, verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    packet = HandoffPacket(reason=Reason.TIMEOUT)
    made = await verbs.handoff("a", Handoff("shade", at="UP", packet=packet, reason=said))
    (record,) = await verbs.handoffs(handoff_id=made)
    assert (record.reason, record.packet["reason"]) == (stored, stored)


async def test_a_handoff_without_packet_and_reason_has_another_reason(verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    made = await verbs.handoff("a", Handoff("shade", at="UP"))
    (record,) = await verbs.handoffs(handoff_id=made)
    assert record.reason is Reason.OTHER


@pytest.mark.parametrize(
    "handoff",
    [
        Handoff("shade", at="UP", packet=lambda context, event: HandoffPacket()),
        Handoff("shade", at="UP", agent=lambda context, event: "b"),
        Handoff("shade", at="UP", achieved=lambda context, event: "much"),
        Handoff("shade", at="UP", packet=Note()),
        Handoff(shade, at="UP"),
        "shade",
        shade,
    ],
)
async def test_a_handoff_that_only_an_action_can_make_or_that_is_none_is_refused(handoff, verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    with pytest.raises(PayloadError, match="handoff"):
        await verbs.handoff("a", handoff)
    assert not await verbs.handoffs()


@pytest.mark.parametrize("deadline", ["10", "2026", "soon", "2026-07-01T12:00:00"])
async def test_a_deadline_that_is_neither_a_moment_nor_a_delay_is_told_as_such_elsewhere_too(deadline, verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    with pytest.raises(PayloadError, match=re.escape(f"{deadline!r} is not a duration")):
        await verbs.handoff("a", Handoff("shade", at="UP", deadline=deadline))
    assert not await verbs.handoffs()


@pytest.mark.parametrize("deadline", [NOON, "10m", 600, timedelta(minutes=10)])
async def test_a_deadline_is_a_moment_or_a_delay_elsewhere_too(deadline, verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    before = datetime.now(UTC)
    await verbs.handoff("a", Handoff("shade", at="UP", deadline=deadline))
    (record,) = await verbs.handoffs()
    if deadline is NOON:
        assert record.deadline == NOON
    else:
        assert timedelta(0) <= record.deadline - before - timedelta(minutes=10) < timedelta(minutes=1)


async def until(verbs, handoff, status):
    while (await verbs.handoffs(handoff_id=handoff))[0].status is not status:  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def test_what_the_verb_raises_there_is_raised_here(verbs):
    with pytest.raises(UnknownAgentError) as raised:
        await verbs.send("nobody", "SWITCHED")
    assert raised.value.agent_id == "nobody"
    with pytest.raises(PayloadError, match="text"):
        await verbs.start("lamp", at="OFF", payload={"text": 7})


async def test_a_graph_that_asks_for_an_error_on_refusal_gets_it_here():
    strict = StateTransitionGraph(
        "strict", context=Note, states=["OPEN"], entry_points=["OPEN"], on_refusal=OnRefusal.RAISE
    )
    async with Runtime.open("memory:", graphs=[strict]) as runtime:
        verbs = Through(runtime)
        await verbs.start("strict", at="OPEN", agent_id="a")
        with pytest.raises(EventRefusedError) as raised:
            await verbs.send("a", "CLOSED")
    assert raised.value.event == "CLOSED"


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("history", {"agent_id": "a", "after": -1}),
        ("find", {"limit": 0}),
        ("find", {"status": "asleep"}),
        ("post", {"to": "a", "event": "E", "due": NOON.replace(tzinfo=None)}),
        ("post", {"to": "a", "event": "E", "due": 10}),
        ("post", {"to": "a", "event": "E", "due": "10"}),
        ("send", {"to": "a", "event": "E", "payload": {"a": object()}}),
        ("start", {"graph": "lamp", "at": "ON", "payload": 7}),
        ("rollback", {"agent_id": "a", "version": "the first", "reason": "x"}),
        ("read", {"agent_id": "\ud800"}),
        ("stop", {"agent_id": "a\ud800"}),
        ("rollback", {"agent_id": "a", "version": 1, "reason": "\udfff"}),
        ("handoff", {"agent_id": "a", "handoff": Handoff("shade", at="\ud800")}),
    ],
)
async def test_what_cannot_be_asked_is_told_before_it_travels(verb, given, verbs):
    with pytest.raises((PayloadError, UnknownAgentError)):
        await getattr(verbs, verb)(**given)


def test_a_call_of_an_unknown_verb_or_with_an_unknown_field_is_refused():
    for text in ('{"verb":"dance"}', '{"verb":"stop","agent_id":"a","hard":true}', '{"id":"a"}', "[]"):
        with pytest.raises(ValidationError):
            COMMANDS.validate_json(text)


def test_a_call_that_writes_gets_an_id_where_it_has_none():
    assert SendCommand(to="a", event="E").named("r").event_id == "r"
    assert PostCommand(to="a", event="E", event_id="own").named("r").event_id == "own"
    assert StartCommand(graph="g", at="A", agent_id="a").named("r") == StartCommand(
        graph="g", at="A", agent_id="a", idempotency_key="r"
    )


@pytest.mark.parametrize("verb", ["start", "start_on", "post", "stop", "erase", "handoff", "cancel_handoff", "find"])
def test_a_verb_takes_what_it_takes_of_a_runtime(verb):
    assert taken(getattr(AgentHome, verb)) == taken(getattr(Runtime, verb))


def test_sending_and_going_back_take_what_they_take_of_an_agent_and_its_id_first():
    for verb in ("send", "rollback"):
        assert taken(getattr(AgentHome, verb))[1:] == taken(getattr(Agent, verb))


def taken(verb):
    """The parameters, each with its kind and default."""
    parameters = [*signature(verb).parameters.values()][1:]
    return [(each.name, each.kind, each.default) for each in parameters if each.kind is not Parameter.VAR_KEYWORD]


class Weight(BaseModel):
    grams: int


async def test_a_payload_may_be_a_model(verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    await verbs.send("a", "SWITCHED", Weight(grams=5))
    assert (await verbs.history("a"))[1].event.payload == {"grams": 5}


async def test_a_handle_shows_and_does_the_same_in_every_home(verbs):
    agent = await verbs.start(lamp, at="OFF", payload=Note(text="hi"), agent_id="a")
    outcome = await agent.send("SWITCHED", {"text": "on"}, event_id="1")
    assert (outcome.applied, agent.configuration, agent.context.text) == (True, ("ON",), "on")
    assert (await agent.until("ON")).version == 2
    assert (await agent.snapshot_at(1)).configuration == ("OFF",)
    assert [turn.version for turn in await agent.history(after=1)] == [2]
    assert (await agent.rollback(1, reason="too bright")).version == agent.snapshot.version == 3
    assert (await verbs.resume("a")).snapshot == agent.snapshot


async def test_a_state_that_is_passed_between_two_looks_is_seen(verbs):
    agent = await verbs.start(lamp, at="OFF", agent_id="a")
    waiting = asyncio.create_task(agent.until("ON"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await verbs.send("a", "SWITCHED")
    await verbs.send("a", "SWITCHED")
    async with asyncio.timeout(60):
        assert ((await waiting).version, (await verbs.read("a")).configuration) == (2, ("OFF",))


async def test_a_state_that_was_passed_since_a_distant_handle_looked_is_seen():
    async with Runtime.open("memory:", graphs=[lamp]) as runtime:
        agent = await Through(runtime).start(lamp, at="OFF", agent_id="a")
        for _ in range(4):
            await runtime.send("a", "SWITCHED")
        async with asyncio.timeout(60):
            passed = await agent.until("ON")
        assert (passed.version, agent.snapshot.version, agent.configuration) == (2, 5, ("OFF",))


async def test_mail_is_discarded_in_every_home(verbs):
    await verbs.start("lamp", at="ON", agent_id="a")
    await verbs.stop("a")
    await verbs.post("a", "SWITCHED")
    async with asyncio.timeout(60):
        while not (refused := await verbs.mail("a", status="refused")):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert (await verbs.discard(refused[0].number)).number == refused[0].number
    assert not await verbs.mail("a")


@pytest.mark.parametrize("executors", [runtime.EXECUTORS | OPERATIONS, restate_runtime.EXECUTORS])
def test_a_home_executes_every_command_and_each_has_a_route(executors):
    assert set(executors) == set(KINDS)
