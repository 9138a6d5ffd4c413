"""Offers that are not taken: why, what is tried next, and what the agent that asked is told in the end."""

import asyncio

import pytest

from gatechart import EntryPoint, State, StateTransitionGraph, Transition
from gatechart.errors import AgentExistsError
from gatechart.handoff import PacketMigration
from gatechart.hosting.limits import Limits
from gatechart.values.agents import Status
from gatechart.values.commits import MailEnd, Posting, TurnRecord
from gatechart.values.delays import Retry
from gatechart.values.effects import Offer
from gatechart.values.handoffs import Obstacle
from gatechart.values.mail import Mail
from tests.insides import clock_of, core_of, effects_of, store_of, withhold_mail
from tests.runtime.handovers import (
    ACCEPTED,
    ALL,
    COMPLETED,
    PENDING,
    REJECTED,
    Talk,
    asked,
    desk,
    first,
    house,
    only,
    owner,
    pass_time,
    rest,
    second,
    statuses,
    target_of,
    worker,
)

pytestmark = [pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]

PATIENCE = Limits(mail_retry=Retry(attempts=3, first_s=5, factor=1))


@pytest.mark.parametrize(
    ("wanted", "obstacle", "told"),
    [
        ({"to": "nowhere"}, Obstacle.UNKNOWN_GRAPH, "no graph is named 'nowhere'"),
        ({"agent": "nobody"}, Obstacle.UNKNOWN_GRAPH, "there is no agent 'nobody'"),
        ({"at": "WINDOW"}, Obstacle.NO_ENTRY, "the entry points of 'second' are"),
        ({"at": "STRICT"}, Obstacle.PAYLOAD, "order"),
        ({"at": "GUARDED"}, Obstacle.GUARD, "is_known"),
        ({"to": "picky"}, Obstacle.WRONG_SKILLS, "fridges only"),
    ],
)
async def test_an_offer_that_a_new_agent_cannot_take_is_rejected_and_creates_none(place, wanted, obstacle, told):
    async with house(place) as runtime:
        agent = await asked(runtime, **wanted)
        row = await only(runtime)
        assert row.status is REJECTED
        assert row.changes[-1].details.startswith(f"{obstacle.value}: ")
        assert told in row.changes[-1].details
        assert (agent.configuration, agent.snapshot.handoffs) == (("REFUSED",), ())
        answer = agent.context.told[0]
        assert (answer["name"], answer["reason"], answer["handoff"]) == ("handoff.rejected", obstacle.value, row.id)
        assert told in answer["details"]
        assert [each.agent_id for each in (await runtime.find()).agents] == [agent.id]
        assert await runtime.mail() == []
        assert await owner(runtime, agent.id) == agent.id


@pytest.mark.parametrize(
    ("wanted", "obstacle"),
    [
        ({"to": "desk"}, Obstacle.UNKNOWN_GRAPH),  # the agent is of another
        ({"at": "WINDOW"}, Obstacle.NO_ENTRY),
        ({"at": "STRICT"}, Obstacle.PAYLOAD),
        ({"at": "GUARDED"}, Obstacle.GUARD),
        ({"at": "TALKING"}, Obstacle.NO_TRANSITION),
    ],
)
async def test_an_offer_that_a_living_agent_cannot_take_leaves_it_as_it_was(place, wanted, obstacle):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        before = target.snapshot
        agent = await asked(runtime, agent=target.id, **wanted)
        assert (await only(runtime)).changes[-1].details.startswith(f"{obstacle.value}: ")
        assert (agent.configuration, agent.context.told[0]["reason"]) == (("REFUSED",), obstacle.value)
        assert target.snapshot == before


async def test_a_transition_that_leads_elsewhere_is_no_acceptance(place):
    astray = worker("astray", transitions=[Transition("RESTING", "handoff.offered.TALKING", "WORKING")])
    async with house(place, first, astray) as runtime:
        target = await runtime.start("astray", at="RESTING")
        agent = await asked(runtime, to="astray", at="TALKING", agent=target.id)
        assert agent.context.told[0]["reason"] == Obstacle.NO_TRANSITION.value
        assert (target.configuration, target.context.entered) == (("RESTING",), 0)


async def test_an_agent_that_has_ended_takes_nothing(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await runtime.stop(target.id)
        agent = await asked(runtime, agent=target.id)
        assert agent.context.told[0]["reason"] == Obstacle.ENDED.value


async def test_a_graph_takes_no_more_than_it_has_places_for(place):
    async with house(place) as runtime:
        one = await asked(runtime, to="crowded")
        two = await asked(runtime, to="crowded")
        assert (one.status, two.configuration) == (Status.DONE, ("REFUSED",))
        assert two.context.told[0]["reason"] == Obstacle.OVERLOAD.value
        await (await target_of(runtime, one)).send("DONE")
        three = await asked(runtime, to="crowded")
        assert three.status is Status.DONE
        assert await statuses(runtime) == [COMPLETED, REJECTED, ACCEPTED]


async def test_a_place_is_kept_through_a_restart_and_freed_by_a_rejection(place):
    async with house(place) as runtime:
        await asked(runtime, to="crowded", at="WINDOW")
        one = await asked(runtime, to="crowded")
    async with house(place) as runtime:
        two = await asked(runtime, to="crowded")
        assert two.configuration == ("REFUSED",)
        await runtime.stop((await target_of(runtime, one)).id)
        assert (await asked(runtime, to="crowded")).status is Status.DONE


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("new", [True, False])
async def test_a_target_whose_every_turn_fails_has_rejected(place, new):
    async with house(place, limits=PATIENCE) as runtime:
        target = None if new else await runtime.start("second", at="RESTING")
        agent = await asked(runtime, at="BROKEN", agent=None if new else target.id)
        for _ in range(2):
            assert agent.configuration == ("WAITING",)
            await pass_time(runtime, 5)
        assert agent.configuration == ("REFUSED",)
        answer = agent.context.told[0]
        assert (answer["reason"], "it never works" in answer["details"]) == (Obstacle.FAILURE.value, True)
        assert await runtime.mail() == []
        assert new or target.configuration == ("RESTING",)


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_packet_that_cannot_be_read_goes_on_with_the_raw_one_and_the_error(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="all")
        row = (await runtime.handoffs())[-1]
        assert row.status is PENDING
        spoilt = row.packet | {"conversation": "not a conversation", "odd": [1]}
        await _offer_instead(runtime, row, spoilt)
        details = (await runtime.handoffs(handoff_id=row.id))[0].changes[-1].details
        assert details.startswith(f"{Obstacle.UNREADABLE.value}: ")
        taker = await target_of(runtime, agent)
        assert taker.snapshot.graph == "second"
        taken = (await runtime.handoffs())[-1].packet
        assert "conversation" in taken["evidence"]
        assert any(value == spoilt for value in taken.values())
        assert [each["obstacle"] for each in taken["attempts"]][-1] == Obstacle.UNREADABLE.value


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_older_packet_is_brought_up_to_date(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="again")
        row = (await runtime.handoffs())[-1]
        await target.send("WILL", {"willing": True})
        old = {name: value for name, value in row.packet.items() if name != "conversation"}
        old |= {"schema_version": 0, "messages": [{"role": "user", "content": "from long ago"}]}
        await _offer_instead(runtime, row, old, deliver=False)

    def upgrade(packet):
        return packet | {"conversation": packet.pop("messages")}

    async with house(place, packet_migrations=[PacketMigration(0, upgrade)]) as runtime:
        await rest(runtime)
        agent, target = await runtime.resume(agent.id), await runtime.resume(target.id)
        assert (agent.status, target.configuration) == (Status.DONE, ("WORKING",))
        assert await runtime.handoffs(status=PENDING) == []


async def _offer_instead(runtime, row, packet, *, deliver=True):
    """Has another packet come under the handoff's id, as one that an older program wrote."""
    core = core_of(runtime)
    (waiting,) = [mail for mail in await runtime.mail(row.target) if mail.id == row.id]
    offered = Mail(core.store.numbers(1), row.target, waiting.event, packet, core.clock.now(), row.id, row.source)
    await store_of(runtime).commit([MailEnd(waiting.number), Posting(offered)])
    effects_of(runtime).timers.drop(row.target, lambda mail: mail.number == waiting.number)
    if deliver:
        effects_of(runtime).accept(offered)
        await rest(runtime)


@pytest.mark.needs("takes_a_clock")
async def test_it_is_tried_again_after_a_while_with_the_same_target(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="again")
        assert await statuses(runtime) == [REJECTED, PENDING]
        await pass_time(runtime, 9)
        assert await statuses(runtime) == [REJECTED, PENDING]
        await pass_time(runtime, 1)
        assert await statuses(runtime) == [REJECTED, REJECTED, PENDING]
        await target.send("WILL", {"willing": True})
        await pass_time(runtime, 20)
        assert await statuses(runtime) == [REJECTED, REJECTED, ACCEPTED]
        rows = await runtime.handoffs()
        assert {row.request for row in rows} == {rows[0].id}
        assert (agent.status, agent.context.told) == (Status.DONE, [])


@pytest.mark.needs("takes_a_clock")
async def test_a_try_that_waits_for_its_time_survives_a_restart(place):
    async with house(place) as runtime:
        agent = await asked(runtime, at="GUARDED", fallbacks="again")
        clock = clock_of(runtime)
    async with house(place, clock=clock) as runtime:
        await rest(runtime)
        assert await statuses(runtime) == [REJECTED, PENDING]
        await pass_time(runtime, 10)
        await pass_time(runtime, 20)
        assert await statuses(runtime) == [REJECTED, REJECTED, REJECTED]
        agent = await runtime.resume(agent.id)
        assert (agent.configuration, len(agent.context.told[0]["attempts"])) == (("FAILED",), 3)


@pytest.mark.parametrize(
    ("wanted", "fallbacks", "graph"),
    [
        ({"to": "crowded"}, "all", "second"),  # overload: another
        ({"to": "picky"}, "other", "second"),  # wrong skills: another
        ({"to": "picky"}, "person", "desk"),  # else a person
        ({"to": "nowhere"}, "all", "second"),  # at once the next
        ({"to": "nowhere"}, "person", "desk"),
    ],
)
async def test_another_target_is_tried_at_once(place, wanted, fallbacks, graph):
    async with house(place) as runtime:
        await asked(runtime, to="crowded")
        agent = await asked(runtime, fallbacks=fallbacks, **wanted)
        tried, taken = await runtime.handoffs(source=agent.id)
        assert (tried.status, taken.status, taken.target_graph) == (REJECTED, ACCEPTED, graph)
        assert taken.request == tried.request == tried.id
        assert [each["graph"] for each in taken.packet["attempts"]] == [wanted["to"]]
        assert await owner(runtime, agent.id) == taken.target


async def test_when_nothing_is_left_the_agent_is_told_of_every_attempt(place):
    async with house(place) as runtime:
        agent = await asked(runtime, to="picky", fallbacks="nobody")
        assert await statuses(runtime) == [REJECTED] * 3
        answer = agent.context.told[0]
        assert (agent.configuration, answer["name"]) == (("FAILED",), "handoff.failed")
        assert [each["graph"] for each in answer["attempts"]] == ["picky", "nowhere", "neither"]
        assert answer["handoff"] == (await runtime.handoffs())[0].id


async def test_a_loop_without_progress_is_told_with_its_evidence(place):
    async with house(place) as runtime:
        agent = await asked(runtime)
        between = await target_of(runtime, agent)
        await between.send("ASK", {"to": "first"})
        await rest(runtime)
        answer = between.context.told[0]
        assert (between.configuration, answer["reason"]) == (("REFUSED",), Obstacle.LOOP.value)
        assert "first → second → first" in answer["details"]
        assert len(answer["attempts"]) == 1
        assert await statuses(runtime) == [ACCEPTED, REJECTED]
        assert await owner(runtime, agent.id) == between.id


async def test_a_loop_goes_to_the_person_with_its_evidence(place):
    async with house(place) as runtime:
        agent = await asked(runtime)
        between = await target_of(runtime, agent)
        await between.send("ASK", {"to": "first", "fallbacks": "all"})
        await rest(runtime)
        row = (await runtime.handoffs())[-1]
        assert (row.target_graph, row.status) == ("desk", ACCEPTED)
        assert "first → second → first" in row.packet["evidence"]


@pytest.mark.parametrize("achieved", ["", "the policy was read out"])
async def test_ping_pong_goes_on_as_long_as_something_is_achieved_also_after_a_restart(place, achieved):
    async with house(place) as runtime:
        agent = await asked(runtime, stays=True, achieved=achieved)
        other = await target_of(runtime, agent)
    for here, there in ((other.id, agent.id), (agent.id, other.id)):
        async with house(place) as runtime:
            has, gets = await runtime.resume(here), await runtime.resume(there)
            await has.send("ASK", {"to": gets.snapshot.graph, "agent": gets.id, "stays": True, "achieved": achieved})
            await rest(runtime)
            if not achieved:
                assert has.configuration == ("REFUSED",)
                assert await owner(runtime, agent.id) == has.id
                return
            assert (has.configuration, gets.configuration) == (("RESTING",), ("WORKING",))
            assert await owner(runtime, agent.id) == gets.id
            assert [len(row.packet["path"]) for row in await runtime.handoffs()][-1] == (2 if here == other.id else 3)


async def test_work_is_not_handed_on_for_ever(place):
    async with house(place) as runtime:
        agent = await asked(runtime, achieved="something")
        for _ in range(7):
            holder = await runtime.resume(await owner(runtime, agent.id))
            graph = "first" if holder.snapshot.graph == "second" else "second"
            await holder.send("ASK", {"to": graph, "achieved": "something"})
            await rest(runtime)
        assert await statuses(runtime) == [COMPLETED] * 7 + [ACCEPTED]
        holder = await runtime.resume(await owner(runtime, agent.id))
        await holder.send("ASK", {"to": "second", "achieved": "something"})
        await rest(runtime)
        assert holder.context.told[-1]["reason"] == Obstacle.LOOP.value


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
@pytest.mark.parametrize("new", [True, False])
async def test_an_offer_to_a_graph_that_is_gone_by_then_goes_to_the_next(place, new):
    async with house(place) as runtime:
        target = await runtime.start("picky", at="RESTING")
        agent = await runtime.start("first", at="TALKING")
        wanted = {"to": "picky", "agent": None if new else target.id}
        offer = await _held_back(runtime, agent, {**wanted, "fallbacks": "other"})
        clock = clock_of(runtime)
    async with house(place, first, second, desk, clock=clock) as runtime:
        await rest(runtime)
        tried, taken = await runtime.handoffs()
        assert (tried.id, tried.status, taken.status, taken.target_graph) == (offer, REJECTED, ACCEPTED, "second")
        assert tried.changes[-1].details.startswith(Obstacle.UNKNOWN_GRAPH.value)


async def _held_back(runtime, agent, wanted):
    """The id of an offer that is committed, and does not get to its target in this runtime."""
    withhold_mail(runtime)
    await agent.send("ASK", wanted)
    return (await only(runtime)).id


@pytest.mark.not_on_restate("the service has graphs of its own, and migrates")
async def test_what_withdraws_a_delegation_waits_for_the_graph_of_its_target(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        agent = await asked(runtime, agent=target.id, mode="delegate")
    async with house(place, first) as runtime:
        await (await runtime.resume(agent.id)).send("LEAVE")
        await rest(runtime)
        assert await statuses(runtime) == [ACCEPTED]
        runtime.register(second)
        await rest(runtime)
        assert (await only(runtime)).status.value == "cancelled"
        assert (await runtime.resume(target.id)).configuration == ("RESTING",)


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_mail_for_an_agent_to_come_waits_until_it_has_taken_the_offer(place):
    async with house(place) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await _held_back(runtime, agent, {"to": "second"})
        row = await only(runtime)
        await runtime.post(row.target, "DONE")
    async with house(place) as runtime:
        await rest(runtime)
        assert (await runtime.resume(row.target)).configuration == ("FINISHED",)
        assert await statuses(runtime) == [COMPLETED]
        assert await runtime.mail() == []


async def test_an_agent_that_is_done_as_soon_as_it_begins_completes_what_it_took(place):
    quick = StateTransitionGraph(
        "quick",
        context=Talk,
        states=[State("DONE", final=True, data=lambda context, event: {"sum": 7})],
        entry_points=[EntryPoint("DONE")],
    )
    async with house(place, *ALL, quick) as runtime:
        agent = await asked(runtime, to="quick", at="DONE", mode="delegate")
        assert [change.status for change in (await only(runtime)).changes] == [PENDING, ACCEPTED, COMPLETED]
        assert (agent.configuration, agent.context.told[-1]["result"]) == (("TALKING",), {"sum": 7})


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_offer_whose_mail_is_gone_is_sent_again_by_the_next_runtime(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="again")
        await target.send("WILL", {"willing": True})
        waiting = next(mail for mail in await runtime.mail(target.id) if mail.event.startswith("handoff.offered."))
        await store_of(runtime).store.commit([MailEnd(waiting.number)])
        assert await statuses(runtime) == [REJECTED, PENDING]
    async with house(place) as runtime:
        await rest(runtime)
        assert await statuses(runtime) == [REJECTED, ACCEPTED]
        assert (await runtime.resume(agent.id)).status is Status.DONE


async def test_an_offer_that_waits_is_not_sent_again_by_the_next_runtime(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await target.send("WILL", {"willing": False})
        await asked(runtime, agent=target.id, fallbacks="again")
        before = await runtime.mail(target.id)
    async with house(place) as runtime:
        await rest(runtime)
        assert await runtime.mail(target.id) == before
        assert await statuses(runtime) == [REJECTED, PENDING]


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_offer_to_a_new_agent_is_answered_by_one_that_was_started_under_its_id(place):
    async with house(place) as runtime:
        store, starts = store_of(runtime), []
        checked = store.after

        async def start_under_its_id(units):
            await checked(units)
            effects = [effect for unit in units if isinstance(unit, TurnRecord) for effect in unit.effects]
            for offer in (each for each in effects if isinstance(each, Offer)):
                start = runtime.start("second", at="RESTING", agent_id=offer.handoff.target)
                starts.append(asyncio.ensure_future(start))

        store.after = start_under_its_id
        agent = await asked(runtime)
        (started,) = await asyncio.gather(*starts, return_exceptions=True)
        await rest(runtime)
        row = await only(runtime)
        assert row.status in (ACCEPTED, REJECTED)
        assert (row.status is REJECTED) or isinstance(started, AgentExistsError) or started.id == row.target
        assert agent.snapshot.handoffs == ()


async def test_a_fallback_that_would_close_a_loop_is_passed_over_for_the_person(place):
    async with house(place) as runtime:
        agent = await asked(runtime, to="nowhere", fallbacks="back")
        rows = await runtime.handoffs()
        assert [(row.target_graph, row.status) for row in rows] == [("nowhere", REJECTED), ("desk", ACCEPTED)]
        assert agent.status is Status.DONE
