"""Sending: one event at a time for each agent, in the order sent; whole turns; refusals that say why."""

import asyncio
import logging
from contextlib import suppress
from enum import Enum

import pytest
from pydantic import BaseModel

from gatechart import ANY, OnRefusal, Runtime, State, StateTransitionGraph, Status, Transition
from gatechart.errors import ActionFailedError, EventRefusedError, PayloadError, ReadOnlyContextError
from gatechart.results import RefusalReason
from gatechart.testing import VirtualClock
from gatechart.values.agents import GuardError
from tests.runtime.support import Gate, Parcel, everything, gated, note, nothing_changes, parcel, soon

pytestmark = [pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]


class Signal(Enum):
    STAMPED = "STAMPED"


class Stamp(BaseModel):
    at: str


def is_broken(context, event):
    raise LookupError("where?")


refusing = StateTransitionGraph(
    "refusing",
    context=Parcel,
    states=[State("ENDED", final=True)],
    transitions=[
        Transition("A", "GUARDED", "ENDED", guard=lambda context, event: False),
        Transition("A", "BROKEN", "ENDED", guard=is_broken),
        Transition("A", "BROKEN_BUT", "ENDED", guard=is_broken),
        Transition("A", "BROKEN_BUT", "A", actions=note),
        Transition(ANY, "ENDED", "ENDED"),
    ],
    entry_points=["A", "ENDED"],
)
raising = StateTransitionGraph(
    "raising", transitions=[Transition("A", "GO", "A")], entry_points=["A"], on_refusal=OnRefusal.RAISE
)


@pytest.mark.needs("takes_a_clock")
async def test_an_event_is_applied_and_its_outcome_says_how(place):
    clock = VirtualClock()
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        clock.advance(60)
        outcome = await agent.send("SENT", {"by": "truck"}, event_id="crm-1")
        assert (outcome.event, outcome.configuration, outcome.version) == ("SENT", ("ON_ROAD",), 2)
        assert (outcome.taken, outcome.status) == (("PACKING --SENT--> TRANSIT",), Status.ACTIVE)
        assert (outcome.applied, outcome.repeat, outcome.refusal, outcome.guard_errors) == (True, False, None, ())
        assert (agent.configuration, agent.context.stops) == (("ON_ROAD",), ["entered", "entered"])
        entry = (await agent.history())[-1]
        assert (entry.event.name, entry.event.payload, entry.event.id) == ("SENT", {"by": "truck"}, "crm-1")
        assert (entry.event.time, entry.event.sender) == (clock.now(), None)
        assert (entry.source, entry.target) == (("PACKING",), ("ON_ROAD",))
        assert (entry.changed, entry.appended) == ({}, {"stops": ("entered",)})
        assert entry.outcome == outcome


async def test_events_and_payloads_may_be_enums_and_models(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        await agent.send(Signal.STAMPED, Stamp(at="Porto"))
        assert agent.context.stops == ["entered", "Porto"]


@pytest.mark.parametrize("graph", ["parcel", "gated"])
async def test_concurrent_sends_are_applied_in_the_order_of_sending(place, graph):
    async with Runtime.open(place, graphs=[parcel, gated]) as runtime:
        agent = await runtime.start(graph, at=next(iter({"parcel": parcel, "gated": gated}[graph].entry_points)))
        begun = len(agent.context.stops)
        outcomes = await asyncio.gather(*(agent.send("STAMPED", {"at": str(n)}) for n in range(50)))
        assert agent.context.stops[begun:] == [str(n) for n in range(50)]
        assert [outcome.version for outcome in outcomes] == list(range(2, 52))
        entries = await agent.history(after=1)
        assert [entry.event.payload["at"] for entry in entries] == [str(n) for n in range(50)]


async def test_an_agent_has_one_turn_at_a_time_while_others_have_theirs(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agents = [await runtime.start("gated", at="RESTING", agent_id=name) for name in "abc"]
        sends = [agent.send("PASSED", {"at": str(n)}) for n in range(4) for agent in agents]
        sending = asyncio.gather(*sends)
        await gate.reached(turns=3)
        gate.opened.set()
        await soon(sending)
        assert (gate.most_of_one, gate.most_together) == (1, 3)
        for agent in agents:
            assert [at for agent_id, at in gate.passed if agent_id == agent.id] == ["0", "1", "2", "3"]
            assert agent.context.stops == ["0", "1", "2", "3"]


async def test_a_newer_event_never_interrupts_a_turn(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING")
        first = asyncio.ensure_future(agent.send("PASSED", {"at": "first"}))
        await gate.reached()
        second = asyncio.ensure_future(agent.send("STAMPED", {"at": "second"}))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not second.done()
        gate.opened.set()
        assert ((await soon(first)).version, (await soon(second)).version) == (2, 3)
        assert agent.context.stops == ["first", "second"]


async def test_what_is_read_during_a_turn_is_what_is_committed(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        async with nothing_changes(runtime, agent):
            sending = asyncio.ensure_future(agent.send("PASSED"))
            await gate.reached()
            assert agent.context == (await runtime.resume("g-1")).context == Parcel()
            assert (agent.snapshot.version, agent.configuration) == (1, ("RESTING",))
        gate.opened.set()
        await soon(sending)
        assert agent.context.stops == ["PASSED"]


async def test_the_context_of_a_handle_is_a_copy_whose_fields_cannot_be_set(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        async with nothing_changes(runtime, agent):
            mine = agent.context
            mine.stops.append("nowhere")
            with pytest.raises(ReadOnlyContextError, match="'weight' of a Parcel cannot be set here"):
                mine.weight = 99
        assert agent.context is not agent.context
        await agent.send("STAMPED", {"at": "Porto"})
        assert agent.context == Parcel(stops=["entered", "Porto"])


@pytest.mark.parametrize(
    ("graph", "event", "reason", "guards", "told"),
    [
        ("refusing", "UNHEARD_OF", RefusalReason.NO_TRANSITION, (), "no transition in A; accepted there: GUARDED, BRO"),
        ("refusing", "GUARDED", RefusalReason.GUARDS_SAID_NO, ("<lambda>",), "guards said no (<lambda>) in A; acc"),
        ("refusing", "BROKEN", RefusalReason.GUARD_RAISED, ("is_broken",), "a guard raised (is_broken) in A; acc"),
    ],
)
async def test_a_refused_event_changes_nothing_and_says_why(place, caplog, graph, event, reason, guards, told):
    async with Runtime.open(place, graphs=[refusing]) as runtime:
        agent = await runtime.start(graph, at="A", agent_id="r-1")
        async with nothing_changes(runtime, agent):
            outcome = await agent.send(event)
        assert not outcome.applied
        assert (outcome.event, outcome.version, outcome.configuration, outcome.taken) == (event, 1, ("A",), ())
        assert (outcome.refusal.reason, outcome.refusal.guards) == (reason, guards)
        assert outcome.refusal.accepts == ("GUARDED", "BROKEN", "BROKEN_BUT", "ENDED")
        assert str(outcome.refusal).startswith(told)
        [record] = [record for record in caplog.records if record.name.startswith("gatechart")]
        message = f"an event was refused: {event} of agent r-1, graph refusing: {outcome.refusal}"
        assert (record.levelno, record.getMessage()) == (logging.WARNING, message)
        assert (record.agent_id, record.event, record.reason) == ("r-1", event, str(outcome.refusal))


async def test_a_guard_that_raises_is_told_with_the_refusal(place):
    async with Runtime.open(place, graphs=[refusing]) as runtime:
        agent = await runtime.start("refusing", at="A")
        outcome = await agent.send("BROKEN")
        assert outcome.guard_errors == (GuardError("is_broken", "A --BROKEN--> ENDED", "LookupError: where?"),)


async def test_a_guard_that_raises_leaves_the_next_transition_its_chance(place):
    async with Runtime.open(place, graphs=[refusing]) as runtime:
        agent = await runtime.start("refusing", at="A")
        outcome = await agent.send("BROKEN_BUT")
        assert outcome.applied
        assert outcome.taken == ("A --BROKEN_BUT--> A",)
        assert outcome.guard_errors == (GuardError("is_broken", "A --BROKEN_BUT--> ENDED", "LookupError: where?"),)
        assert (await agent.history())[-1].outcome == outcome


async def test_a_graph_may_ask_for_an_error_where_an_event_is_refused(place, caplog):
    async with Runtime.open(place, graphs=[raising]) as runtime:
        agent = await runtime.start("raising", at="A", agent_id="r-1")
        async with nothing_changes(runtime, agent):
            with pytest.raises(EventRefusedError) as caught:
                await agent.send("STOP")
        assert str(caught.value) == "agent 'r-1' refused 'STOP': no transition in A; accepted there: GO"
        assert caplog.records == []
        assert (await agent.send("GO")).version == 2


@pytest.mark.parametrize("begins_there", [True, False])
async def test_an_agent_in_a_final_state_refuses_every_event(place, begins_there):
    async with Runtime.open(place, graphs=[refusing]) as runtime:
        agent = await runtime.start("refusing", at="ENDED" if begins_there else "A")
        if not begins_there:
            assert (await agent.send("ENDED")).status is Status.DONE
        async with nothing_changes(runtime, agent):
            for event in ("ENDED", "UNHEARD_OF"):
                outcome = await agent.send(event)
                assert outcome.refusal.reason is RefusalReason.AGENT_ENDED
                assert (outcome.status, outcome.refusal.accepts) == (Status.DONE, ())
                assert str(outcome.refusal) == "the agent has ended in ENDED; nothing is accepted there"


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ("Porto", "it is a str"),
        (["Porto"], "it is a list"),
        ([], "it is a list"),
        (0, "it is a int"),
        ({"at": object()}, "Unable to serialize unknown type"),
        ({"at": "\ud800"}, "surrogate"),
    ],
)
async def test_a_payload_that_is_no_json_is_refused(place, payload, told):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        async with nothing_changes(runtime, agent):
            with pytest.raises(PayloadError, match=told) as caught:
                await agent.send("STAMPED", payload)
            assert "does not fit event 'STAMPED'" in str(caught.value)
            assert "Expected: a mapping or pydantic model of JSON values" in str(caught.value)


@pytest.mark.parametrize("wrong", ["", 5, "\ud800"])
async def test_an_event_id_that_cannot_be_one_is_refused(place, wrong):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        async with nothing_changes(runtime, agent):
            with pytest.raises(PayloadError, match="does not fit id"):
                await agent.send("STAMPED", event_id=wrong)


async def test_a_payload_belongs_to_the_event_once_it_is_sent(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        payload = {"at": "Porto"}
        sending = asyncio.ensure_future(agent.send("STAMPED", payload, event_id="crm-1"))
        await asyncio.sleep(0)
        payload["at"] = "Lisbon"
        await sending
        assert agent.context.stops == ["entered", "Porto"]
        assert (await agent.history())[-1].event.payload == {"at": "Porto"}


def scribble(context, event):
    event.payload["scribble"] = True


def look(context, event):
    context.stops.append(",".join(event.payload))


scribbling = StateTransitionGraph(
    "scribbling",
    context=Parcel,
    transitions=[Transition("A", "SCRIBBLED", actions=scribble), Transition("A", "SEEN", actions=look)],
    entry_points=["A"],
)


async def test_an_action_that_writes_into_a_payload_does_not_reach_other_events(place):
    async with Runtime.open(place, graphs=[scribbling]) as runtime:
        agent, other = [await runtime.start("scribbling", at="A") for _ in "ab"]
        with suppress(ActionFailedError):  # to refuse it is fine as well
            await agent.send("SCRIBBLED")
        await other.send("SEEN", {"mine": 1})
        assert other.context.stops == ["mine"]


async def test_an_action_that_writes_into_a_payload_does_not_change_what_happened(place):
    async with Runtime.open(place, graphs=[scribbling]) as runtime:
        agent = await runtime.start("scribbling", at="A")
        with suppress(ActionFailedError):
            await agent.send("SCRIBBLED", {"note": "as sent"})
        assert all(entry.event.payload == {"note": "as sent"} for entry in await agent.history(after=1))


@pytest.mark.parametrize("event", ["", 5, None, "\ud800", "a\0b"])
async def test_an_event_needs_a_name_that_every_store_can_keep(place, event):
    async with Runtime.open(place, graphs=[refusing]) as runtime:
        agent = await runtime.start("refusing", at="A")
        async with nothing_changes(runtime, agent):
            with pytest.raises(PayloadError, match="the payload does not fit event"):
                await agent.send(event)


async def test_history_is_read_in_parts(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        for n in range(4):
            await agent.send("STAMPED", {"at": str(n)})
        assert [entry.version for entry in await agent.history()] == [1, 2, 3, 4, 5]
        assert [entry.version for entry in await agent.history(after=1, limit=2)] == [2, 3]
        assert [entry.version for entry in await runtime.history("p-1", after=3)] == [4, 5]
        assert await agent.history(after=5) in ([], ())


@pytest.mark.parametrize("part", [{"after": -1}, {"limit": -1}])
async def test_a_part_of_history_that_cannot_be_is_refused(place, part):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        with pytest.raises(PayloadError, match="history"):
            await agent.history(**part)
        with pytest.raises(PayloadError, match="history"):
            await runtime.history("p-1", **part)


async def test_a_turn_answers_the_same_wherever_it_is_run(sqlite_url):
    """Time, ids and random numbers come from the event and the turn alone."""

    def draw(context, event, turn):
        context.stops = [turn.new_id(), turn.new_id(), str(turn.random.random()), turn.now.isoformat()]

    drawing = StateTransitionGraph(
        "drawing", context=Parcel, transitions=[Transition("A", "DRAWN", actions=draw)], entry_points=["A"]
    )
    drawn = []
    for place in ("memory:", sqlite_url):
        async with Runtime.open(place, graphs=[drawing], clock=VirtualClock()) as runtime:
            for agent_id in ("d-1", "d-2"):
                agent = await runtime.start("drawing", at="A", agent_id=agent_id)
                for _ in "ab":
                    await agent.send("DRAWN")
                    drawn.append(tuple(agent.context.stops))
            assert len(await everything(runtime)) == 2
    assert drawn[:4] == drawn[4:]
    assert len({new_id for stops in drawn[:4] for new_id in stops[:2]}) == 8
    assert {stops[3] for stops in drawn} == {"2000-01-01T00:00:00+00:00"}
