"""Work is handed to new agents and to living ones, is done there or not, and has one owner at every instant."""

import asyncio

import pytest

from gatechart import Handoff, Runtime
from gatechart.errors import NoHandoffError, ReservedEventError
from gatechart.values.agents import Status
from gatechart.values.handoffs import Mode, Side
from gatechart.values.mail import Mail
from tests.insides import accept_mail, clock_of, store_of
from tests.runtime.handovers import (
    ACCEPTED,
    ALL,
    CANCELLED,
    COMPLETED,
    EXPIRED,
    FAILED,
    PENDING,
    REJECTED,
    asked,
    house,
    only,
    owner,
    pass_time,
    rest,
    statuses,
    target_of,
)
from tests.runtime.support import eventually

pytestmark = pytest.mark.one_variant_is_enough


def names(agent):
    return [each["name"] for each in agent.context.told]


async def living(runtime, graph="second"):
    return await runtime.start(graph, at="RESTING")


async def test_a_transfer_to_a_new_agent_begins_it_and_ends_the_one_that_asked(place):
    async with house(place) as runtime:
        agent = await asked(runtime, say="a fridge")
        target = await target_of(runtime, agent)
        assert (agent.status, agent.configuration) == (Status.DONE, ("WAITING",))
        assert (target.configuration, target.context.entered) == (("WORKING",), 1)
        assert [message.content for message in target.context.messages] == ["a fridge"]
        row = await only(runtime)
        assert (row.status, row.is_new, row.mode) == (ACCEPTED, True, Mode.TRANSFER)
        assert await owner(runtime, agent.id) == target.id
        await target.send("DONE")
        assert [change.status for change in (await only(runtime)).changes] == [PENDING, ACCEPTED, COMPLETED]
        assert agent.snapshot.handoffs == target.snapshot.handoffs == ()


async def test_a_transfer_to_a_living_agent_is_an_event_to_it(place):
    async with house(place) as runtime:
        target = await living(runtime)
        agent = await asked(runtime, agent=target.id, stays=True)
        assert (target.configuration, target.context.entered, target.snapshot.version) == (("WORKING",), 1, 2)
        assert (agent.configuration, names(agent)) == (("RESTING",), ["handoff.accepted"])
        row = await only(runtime)
        assert (row.status, row.is_new, row.target) == (ACCEPTED, False, target.id)
        entry = (await target.history())[-1]
        assert (entry.event.name, entry.event.id, entry.event.sender) == ("handoff.offered.WORKING", row.id, agent.id)
        assert await owner(runtime, agent.id) == target.id
        assert agent.snapshot.handoffs == ()


async def test_a_delegation_to_a_new_agent_is_completed_by_its_final_state(place):
    async with house(place) as runtime:
        agent = await asked(runtime, mode="delegate")
        target = await target_of(runtime, agent)
        assert (agent.configuration, names(agent)) == (("WAITING",), ["handoff.accepted"])
        assert [(each.side, each.is_accepted) for each in agent.snapshot.handoffs] == [(Side.ASKED, True)]
        assert await owner(runtime, agent.id) == agent.id
        await target.send("DONE")
        await rest(runtime)
        assert (agent.configuration, agent.snapshot.handoffs) == (("TALKING",), ())
        assert agent.context.told[-1]["result"] == {"order": ""}
        assert (await only(runtime)).result == {"order": ""}
        assert await statuses(runtime) == [COMPLETED]


@pytest.mark.parametrize(
    ("event", "status", "state"), [("SOLVED", COMPLETED, "TALKING"), ("GAVE_UP", FAILED, "FAILED")]
)
async def test_a_delegation_to_a_living_agent_is_ended_by_a_turn_of_it(place, event, status, state):
    async with house(place) as runtime:
        target = await living(runtime)
        agent = await asked(runtime, agent=target.id, mode="delegate")
        await target.send(event)
        await rest(runtime)
        assert (agent.configuration, target.configuration) == ((state,), ("RESTING",))
        assert await statuses(runtime) == [status]
        assert target.snapshot.handoffs == agent.snapshot.handoffs == ()
        told = agent.context.told[-1]
        assert (told.get("result"), told["details"]) == (
            ({"answer": "42"}, "") if event == "SOLVED" else ({}, "no idea")
        )


async def test_a_living_agent_that_ends_without_completing_a_delegation_has_failed_it(place):
    async with house(place) as runtime:
        target = await living(runtime)
        agent = await asked(runtime, agent=target.id, mode="delegate")
        await target.send("DONE")
        await rest(runtime)
        assert (agent.configuration, await statuses(runtime)) == (("FAILED",), [FAILED])


@pytest.mark.needs("takes_a_clock")
async def test_an_offer_that_nobody_has_taken_expires(place):
    async with house(place) as runtime:
        target = await living(runtime)
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, deadline="25s", fallbacks="again")
        assert (agent.configuration, await statuses(runtime)) == (("WAITING",), [REJECTED, PENDING])
        await pass_time(runtime, 10)
        assert await statuses(runtime) == [REJECTED, REJECTED, PENDING]
        await target.send("WILL", {"willing": True})
        await pass_time(runtime, 15)
        assert await statuses(runtime) == [REJECTED, REJECTED, EXPIRED]
        assert (agent.configuration, names(agent)) == (("LATE",), ["handoff.expired"])
        await pass_time(runtime, 60)
        assert (target.configuration, await runtime.mail()) == (("RESTING",), [])


async def test_an_offer_that_comes_after_its_deadline_is_not_taken(place):
    async with house(place) as runtime:
        agent = await asked(runtime, deadline=0)
        assert (agent.configuration, await statuses(runtime)) == (("LATE",), [EXPIRED])


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("new", [True, False])
async def test_a_delegation_that_outlasts_its_deadline_is_cancelled(place, new):
    async with house(place) as runtime:
        target = None if new else await living(runtime)
        agent = await asked(runtime, agent=None if new else target.id, deadline="30s", mode="delegate")
        target = target or await target_of(runtime, agent)
        await pass_time(runtime, 31)
        assert (agent.configuration, await statuses(runtime)) == (("LATE",), [CANCELLED])
        if new:
            assert target.status is Status.STOPPED
        else:
            assert (target.configuration, names(target)) == (("RESTING",), ["handoff.cancelled"])
        assert target.snapshot.handoffs == ()


@pytest.mark.needs("takes_a_clock")
async def test_a_transfer_that_was_taken_outlasts_its_deadline(place):
    async with house(place) as runtime:
        agent = await asked(runtime, deadline="30s")
        await pass_time(runtime, 31)
        assert await statuses(runtime) == [ACCEPTED]
        assert (await target_of(runtime, agent)).configuration == ("WORKING",)
        assert await runtime.mail() == []


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("mode", ["transfer", "delegate"])
async def test_who_leaves_the_waiting_state_before_the_acceptance_withdraws_the_offer(place, mode):
    async with house(place) as runtime:
        target = await living(runtime)
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="again", mode=mode)
        await agent.send("LEAVE")
        await rest(runtime)
        assert (agent.configuration, agent.snapshot.handoffs, names(agent)) == (("TALKING",), (), [])
        assert (await statuses(runtime))[-1] is CANCELLED
        await target.send("WILL", {"willing": True})
        await pass_time(runtime, 60)
        assert (target.configuration, await runtime.mail()) == (("RESTING",), [])
        assert await owner(runtime, agent.id) == agent.id


@pytest.mark.parametrize("new", [True, False])
async def test_who_leaves_the_waiting_state_of_a_delegation_that_was_taken_ends_it(place, new):
    async with house(place) as runtime:
        target = None if new else await living(runtime)
        agent = await asked(runtime, agent=None if new else target.id, mode="delegate")
        target = target or await target_of(runtime, agent)
        await agent.send("LEAVE")
        await rest(runtime)
        assert (await statuses(runtime), names(agent)) == ([CANCELLED], ["handoff.accepted"])
        assert target.status is (Status.STOPPED if new else Status.ACTIVE)
        assert new or names(target) == ["handoff.cancelled"]


@pytest.mark.parametrize("stays", [True, False])
async def test_a_transfer_that_is_taken_while_it_is_withdrawn_stands(place, stays):
    """The one that asked is the owner up to the answer; then it is not, wherever it has gone meanwhile."""
    async with house(place) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await agent.send("ASK", {"to": "second", "stays": stays})
        await agent.send("LEAVE")  # in the store behind the offer
        await rest(runtime)
        row = await only(runtime)
        assert row.status is ACCEPTED
        assert [entry.event.name for entry in await agent.history()][-2:] == ["LEAVE", "handoff.accepted"]
        assert agent.snapshot.handoffs == ()
        assert agent.status is (Status.ACTIVE if stays else Status.DONE)
        assert await owner(runtime, agent.id) == row.target


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("mode", ["transfer", "delegate"])
async def test_a_cancellation_and_an_acceptance_are_settled_by_the_order_of_the_inbox(place, mode, when):
    async with house(place) as runtime:
        target = await living(runtime)
        await target.send("WILL", {"willing": when == "after"})
        agent = await asked(runtime, agent=target.id, fallbacks="again", mode=mode, stays=True)
        row = (await runtime.handoffs())[-1]
        assert row.status is (ACCEPTED if when == "after" else PENDING)
        await runtime.cancel_handoff(row.id, reason="enough")
        await target.send("WILL", {"willing": True})
        await rest(runtime)
        await pass_time(runtime, 60)
        after = (await runtime.handoffs())[-1]
        stands = mode == "transfer" and when == "after"
        assert after.status is (ACCEPTED if stands else CANCELLED)
        assert (target.configuration == ("WORKING",)) is stands
        if stands:
            assert agent.configuration == ("RESTING",)
        else:
            assert (agent.configuration, agent.context.told[-1]["details"]) == (("FAILED",), "enough")
            with pytest.raises(NoHandoffError):
                await runtime.cancel_handoff(row.id, reason="again")


@pytest.mark.needs("takes_a_clock")
async def test_an_offer_whose_id_is_settled_is_refused(place):
    async with house(place) as runtime:
        target = await living(runtime)
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id)
        row = await only(runtime)
        await target.send("WILL", {"willing": True})
        assert agent.configuration == ("REFUSED",)
        store, now = store_of(runtime), clock_of(runtime).now()
        again = Mail(store.numbers(1), target.id, "handoff.offered.WORKING", row.packet, now, row.id, agent.id)
        await accept_mail(runtime, again)
        await rest(runtime)
        assert (target.configuration, await runtime.mail(), await statuses(runtime)) == (("RESTING",), [], [REJECTED])


async def test_a_person_cannot_forge_an_offer(place):
    async with house(place) as runtime:
        target = await runtime.start("crowded", at="RESTING")
        with pytest.raises(ReservedEventError):
            await target.send("handoff.offered.WORKING", {"any": "thing"})
        with pytest.raises(ReservedEventError):
            await runtime.post("nobody-yet", "handoff.offered.WORKING", {}, event_id="1")
        assert (target.configuration, await runtime.handoffs(), await runtime.mail()) == (("RESTING",), [], [])


async def test_an_operator_hands_on_what_an_agent_does(place):
    async with house(place) as runtime:
        agent = await runtime.start("first", at="WORKING")
        made = await runtime.handoff(agent.id, Handoff("desk", at="WORKING", reason="user escalation"))
        await rest(runtime)
        row = await only(runtime)
        assert (row.id, row.status, row.reason.value) == (made, ACCEPTED, "user escalation")
        assert (agent.status, agent.configuration) == (Status.DONE, ("WORKING",))


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("end", ["stop", "erase"])
async def test_the_end_of_an_agent_that_works_on_a_delegation_is_told_to_the_other(place, new, end):
    async with house(place) as runtime:
        target = None if new else await living(runtime)
        agent = await asked(runtime, agent=None if new else target.id, mode="delegate")
        target = target or await target_of(runtime, agent)
        await getattr(runtime, end)(target.id)
        await rest(runtime)
        assert (agent.configuration, agent.snapshot.handoffs) == (("FAILED",), ())
        assert "stopped" in agent.context.told[-1]["details"]
        assert await statuses(runtime) == ([FAILED] if end == "stop" else [])


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("mode", ["transfer", "delegate"])
@pytest.mark.parametrize("end", ["stop", "erase"])
async def test_the_end_of_an_agent_that_asked_withdraws_what_nobody_has_taken(place, mode, end):
    async with house(place) as runtime:
        target = await living(runtime)
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="again", mode=mode)
        await getattr(runtime, end)(agent.id)
        await target.send("WILL", {"willing": True})
        await rest(runtime)
        await pass_time(runtime, 60)
        assert target.configuration == ("RESTING",)
        assert await statuses(runtime) == ([REJECTED, CANCELLED] if end == "stop" else [])
        assert [mail.recipient for mail in await runtime.mail() if mail.recipient == target.id] == []


@pytest.mark.parametrize("end", ["stop", "erase"])
async def test_the_end_of_an_agent_that_asked_ends_the_delegation_that_was_taken(place, end):
    async with house(place) as runtime:
        agent = await asked(runtime, mode="delegate")
        target = await target_of(runtime, agent)
        await getattr(runtime, end)(agent.id)
        await rest(runtime)
        assert target.status is Status.STOPPED


async def test_an_agent_completes_what_it_took_after_the_one_that_asked_was_erased(place):
    async with house(place) as runtime:
        agent = await asked(runtime)
        target = await target_of(runtime, agent)
        await runtime.erase(agent.id)
        assert await statuses(runtime) == []
        assert (await target.send("DONE")).applied
        assert target.status is Status.DONE


async def test_a_transfer_onward_settles_what_the_agent_took_itself(place):
    async with house(place) as runtime:
        agent = await asked(runtime)
        between = await target_of(runtime, agent)
        await between.send("ASK", {"to": "desk", "stays": False})
        await rest(runtime)
        assert await statuses(runtime) == [COMPLETED, ACCEPTED]
        row = (await runtime.handoffs())[-1]
        assert [step["graph"] for step in row.packet["path"]] == ["first", "second"]
        assert row.packet["session_id"] == agent.id
        assert between.status is Status.DONE
        assert await owner(runtime, agent.id) == row.target


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_thousand_are_handed_on_at_once(place):
    async with Runtime.open(place, graphs=ALL) as runtime:
        agents = await asyncio.gather(*(runtime.start("first", at="TALKING") for _ in range(1000)))
        await asyncio.gather(*(agent.send("ASK", {"to": "second"}) for agent in agents))
        await eventually(lambda: all(agent.status is Status.DONE for agent in agents))
        rows = await runtime.handoffs(limit=2000)
        assert len(rows) == 1000
        assert {row.status for row in rows} == {ACCEPTED}
        assert len({row.target for row in rows}) == 1000
        found = (await runtime.find(graph="second", limit=2000)).agents
        assert {each.agent_id for each in found} == {row.target for row in rows}
        assert await runtime.handoffs(status=PENDING) == []


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
@pytest.mark.parametrize("resident", [True, False])
async def test_an_agent_that_is_erased_rejects_what_it_was_offered(place, resident):
    async with house(place) as runtime:
        target = await living(runtime)
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="all")
        clock = clock_of(runtime)
        if resident:
            await runtime.erase(target.id)
    async with house(place, clock=clock) as runtime:
        if not resident:
            await runtime.erase(target.id)
        await rest(runtime)
        (row,) = await runtime.handoffs(source=agent.id)
        assert (row.status, row.target_graph) == (ACCEPTED, "second")
        assert await owner(runtime, agent.id) == row.target
