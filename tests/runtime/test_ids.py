"""An event's id takes effect once; a repeat has the outcome that the event had first."""

import asyncio
from contextlib import suppress

import pytest

from gatechart import Runtime
from gatechart.errors import ActionFailedError, ContextInvalidError, EventIdReusedError
from gatechart.results import RefusalReason
from gatechart.testing import VirtualClock
from tests.runtime.support import Gate, Parcel, gated, nothing_changes, parcel, soon

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough]


@pytest.mark.needs("takes_a_clock")
async def test_a_repeat_has_the_first_outcome_and_changes_nothing(place):
    clock = VirtualClock()
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        first = await agent.send("SENT", {"by": "truck", "n": [1, 2.5, None]}, event_id="crm-1")
        await agent.send("ARRIVED")
        clock.advance(3600)
        async with nothing_changes(runtime, agent):
            repeat = await agent.send("SENT", {"n": [1, 2.5, None], "by": "truck"}, event_id="crm-1")
        assert repeat.repeat
        assert repeat == first.repeated() != first
        assert (repeat.configuration, repeat.version) == (("ON_ROAD",), 2)


async def test_a_repeat_is_known_after_the_database_was_opened_again(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        first = await agent.send("SENT", {"by": "truck"}, event_id="crm-1")
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.resume("p-1")
        async with nothing_changes(runtime, agent):
            assert await agent.send("SENT", {"by": "truck"}, event_id="crm-1") == first.repeated()


@pytest.mark.parametrize(("event", "payload"), [("SENT", {"by": "ship"}), ("SENT", None), ("STAMPED", {"by": "truck"})])
async def test_an_id_that_stands_for_another_event_is_refused(place, event, payload):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        await agent.send("SENT", {"by": "truck"}, event_id="crm-1")
        async with nothing_changes(runtime, agent):
            with pytest.raises(EventIdReusedError, match="'p-1' knows the id 'crm-1' from 'SENT' with other content"):
                await agent.send(event, payload, event_id="crm-1")


async def test_ids_are_compared_with_their_types(place):
    """1, 1.0 and true are equal to Python, but they are not the same content."""
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        await agent.send("STAMPED", {"at": "x", "n": 1}, event_id="crm-1")
        with pytest.raises(EventIdReusedError):
            await agent.send("STAMPED", {"at": "x", "n": True}, event_id="crm-1")


async def test_ids_are_per_agent(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        for _ in "ab":
            agent = await runtime.start("parcel", at="PACKING")
            outcome = await agent.send("STAMPED", {"at": agent.id}, event_id="crm-1")
            assert not outcome.repeat
            assert agent.context.stops == ["entered", agent.id]


async def test_sends_of_one_id_at_the_same_instant_are_applied_once(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        outcomes = await asyncio.gather(*(agent.send("STAMPED", event_id="crm-1") for _ in range(5)))
        assert [outcome.repeat for outcome in outcomes] == [False, True, True, True, True]
        assert {outcome.version for outcome in outcomes} == {2}
        assert agent.context.stops == ["entered", "STAMPED"]


async def test_a_repeat_that_comes_during_the_turn_waits_for_its_outcome(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING")
        sends = [asyncio.ensure_future(agent.send("PASSED", event_id="crm-1")) for _ in "ab"]
        await gate.reached()
        gate.opened.set()
        first, second = await soon(asyncio.gather(*sends))
        assert second == first.repeated()
        assert len(gate.passed) == 1


async def test_a_refused_event_frees_its_id(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        for _ in "ab":
            refused = await agent.send("LANDED", event_id="crm-1")
            assert (refused.applied, refused.repeat) == (False, False)
        applied = await agent.send("STAMPED", {"at": "Porto"}, event_id="crm-1")
        assert (applied.version, applied.repeat) == (2, False)


@pytest.mark.parametrize(
    ("event", "payload", "error"),
    [("DROPPED", None, ActionFailedError), ("WEIGHED", {"weight": "x"}, ContextInvalidError)],
)
async def test_a_failed_event_frees_its_id(place, event, payload, error):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        with pytest.raises(error):
            await agent.send(event, payload, event_id="crm-1")
        outcome = await agent.send("STAMPED", {"at": "Porto"}, event_id="crm-1")
        assert (outcome.version, outcome.repeat) == (2, False)
        assert agent.context == Parcel(stops=["entered", "Porto"])


async def test_an_ended_agent_still_knows_what_it_applied(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="AT_SEA", payload={"stops": []})
        last = await agent.send("ARRIVED", event_id="crm-1")
        assert await agent.send("ARRIVED", event_id="crm-1") == last.repeated()
        assert (await agent.send("ARRIVED", event_id="crm-2")).refusal.reason is RefusalReason.AGENT_ENDED


async def test_an_event_without_an_id_is_applied_each_time(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        versions = [(await agent.send("STAMPED", {"at": "x"})).version for _ in range(3)]
        assert versions == [2, 3, 4]


async def test_an_id_goes_with_the_outcome_of_a_sender_that_stopped_waiting(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING")
        sending = asyncio.ensure_future(agent.send("PASSED", {"at": "once"}, event_id="crm-1"))
        await gate.reached()
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending
        gate.opened.set()
        outcome = await soon(agent.send("PASSED", {"at": "once"}, event_id="crm-1"))
        assert (outcome.repeat, outcome.version) == (True, 2)
        assert agent.context.stops == ["once"]
