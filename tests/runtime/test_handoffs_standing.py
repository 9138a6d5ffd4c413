"""Agents that states invoke; what going back and other versions of a graph make of handoffs that are open."""

import asyncio
import gc
from collections import deque

import pytest

from gatechart import Invoke, Limits, Migration, State, Transition
from gatechart.errors import OpenHandoffError
from gatechart.stores import MemoryStore
from gatechart.values.agents import Status
from gatechart.values.handoffs import Obstacle
from tests.insides import effects_of
from tests.runtime.handovers import (
    ACCEPTED,
    ALL,
    CANCELLED,
    COMPLETED,
    FAILED,
    PENDING,
    REJECTED,
    asked,
    crowded,
    house,
    note,
    only,
    pass_time,
    rest,
    second,
    statuses,
    target_of,
    worker,
)

pytestmark = [pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]

invoked = Invoke(agent="second", at="WORKING", timeout_s=30, packet=lambda context, event: context.packet(user_id="u"))


def boss(invoke=invoked, **more):
    return worker(
        "boss",
        states=[State("DELEGATING", invoke=invoke)],
        transitions=[
            Transition("TALKING", "BEGIN", "DELEGATING"),
            Transition("DELEGATING", f"done.invoke.{invoke.id}", "TALKING", actions=note),
            Transition("DELEGATING", f"error.invoke.{invoke.id}", "FAILED", actions=note),
            Transition("DELEGATING", "BEGIN", "DELEGATING"),
            Transition("DELEGATING", "STAMPED", actions=note),
            Transition("DELEGATING", "LEAVE", "TALKING"),
        ],
        **more,
    )


async def begun(runtime):
    agent = await runtime.start("boss", at="TALKING")
    await agent.send("BEGIN")
    await rest(runtime)
    return agent


async def test_an_agent_that_a_state_invokes_tells_its_end_as_the_invoke_s(place):
    async with house(place, *ALL, boss()) as runtime:
        agent = await begun(runtime)
        target = await target_of(runtime, agent)
        assert (target.configuration, target.context.user_id) == (("WORKING",), "u")
        assert (agent.configuration, [each.invoke for each in agent.snapshot.handoffs]) == (("DELEGATING",), ["second"])
        await target.send("DONE")
        await rest(runtime)
        assert (agent.configuration, agent.snapshot.handoffs) == (("TALKING",), ())
        assert agent.context.told == [{"name": "done.invoke.second", "result": {"order": ""}}]


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("end", ["rejected", "stopped", "late", "cancelled"])
async def test_an_invoked_agent_that_comes_to_nothing_is_an_error_of_the_invoke(place, end):
    invoke = Invoke(agent="picky", at="WORKING") if end == "rejected" else invoked
    async with house(place, *ALL, boss(invoke)) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        if end == "stopped":
            await runtime.stop(row.target)
        elif end == "late":
            await pass_time(runtime, 31)
        elif end == "cancelled":
            await runtime.cancel_handoff(row.id, reason="enough")
        await rest(runtime)
        assert (agent.configuration, agent.snapshot.handoffs) == (("FAILED",), ())
        told = agent.context.told[0]
        assert told["name"] == f"error.invoke.{invoke.id}"
        kinds = {"rejected": "handoff.rejected", "late": "handoff.expired"}
        assert told["type"] == kinds.get(end, "handoff.failed")
        assert told["message"]


async def test_an_invoked_agent_whose_offer_is_rejected_is_replaced_by_its_fallbacks(place):
    from tests.runtime.handovers import FALLBACKS

    async with house(place, *ALL, boss(Invoke(agent="picky", at="WORKING", fallbacks=FALLBACKS["other"]))) as runtime:
        agent = await begun(runtime)
        assert await statuses(runtime) == [REJECTED, ACCEPTED]
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert agent.context.told[0]["name"] == "done.invoke.picky"


@pytest.mark.parametrize("event", ["LEAVE", "BEGIN"])
async def test_leaving_the_state_stops_the_invoked_agent(place, event):
    async with house(place, *ALL, boss()) as runtime:
        agent = await begun(runtime)
        target = await target_of(runtime, agent)
        await agent.send(event)
        await rest(runtime)
        assert target.status is Status.STOPPED
        assert await statuses(runtime) == ([CANCELLED] if event == "LEAVE" else [CANCELLED, ACCEPTED])
        assert len(agent.snapshot.handoffs) == (event == "BEGIN")


async def test_going_back_into_a_state_invokes_its_agent_again(place):
    async with house(place, *ALL, boss()) as runtime:
        agent = await begun(runtime)
        version = agent.snapshot.version
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        await agent.rollback(version, reason="once more")
        await rest(runtime)
        assert await statuses(runtime) == [COMPLETED, ACCEPTED]
        assert agent.configuration == ("DELEGATING",)
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert agent.configuration == ("TALKING",)


async def test_going_back_while_an_invoked_agent_works_leaves_it_at_work(place):
    async with house(place, *ALL, boss()) as runtime:
        agent = await begun(runtime)
        version = agent.snapshot.version
        await agent.send("STAMPED")
        await agent.rollback(version, reason="no stamp")
        await rest(runtime)
        assert await statuses(runtime) == [ACCEPTED]
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert agent.configuration == ("TALKING",)


async def test_there_is_no_way_back_behind_a_handoff_that_is_open(place):
    async with house(place) as runtime:
        agent = await asked(runtime, mode="delegate")
        target = await target_of(runtime, agent)
        before = agent.snapshot
        with pytest.raises(OpenHandoffError) as raised:
            await agent.rollback(1, reason="never asked")
        assert raised.value.handoffs == (before.handoffs[0].id,)
        assert agent.snapshot == before
        await target.send("DONE")
        await rest(runtime)
        await agent.rollback(1, reason="never asked")
        assert (agent.configuration, agent.context.told) == (("TALKING",), [])


async def test_a_living_agent_does_not_go_back_behind_what_it_took(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await asked(runtime, agent=target.id)
        with pytest.raises(OpenHandoffError):
            await target.rollback(1, reason="never took it")


@pytest.mark.parametrize("stays", [True, False])
async def test_work_that_was_handed_over_is_not_had_again_by_going_back(place, stays):
    async with house(place) as runtime:
        agent = await asked(runtime, stays=stays)
        first_of_all = await only(runtime)
        between = await target_of(runtime, agent)
        for version in (1, 2):
            with pytest.raises(OpenHandoffError) as raised:
                await agent.rollback(version, reason="never asked")
            assert raised.value.handoffs == (first_of_all.id,)
        await between.send("ASK", {"to": "desk"})
        await rest(runtime)
        with pytest.raises(OpenHandoffError):
            await agent.rollback(1, reason="never asked")
        await agent.rollback(3, reason="that it was given away stays so")
        await (await target_of(runtime, between)).send("DONE")
        await agent.rollback(1, reason="once more")
        assert agent.configuration == ("TALKING",)


def renamed_boss(new="HANDING_ON", waiting="ON_HOLD", invoke=invoked):
    names = {"DELEGATING": new, "WAITING": waiting}
    return worker(
        "boss",
        version="2",
        states=[State(new, invoke=invoke)],
        transitions=[
            Transition(new, f"done.invoke.{invoke.id}", "TALKING", actions=note),
            Transition(waiting, "handoff.completed", "TALKING", actions=note),
            Transition(waiting, "LEAVE", "TALKING"),
            Transition(new, "LEAVE", "TALKING"),
        ],
        migrations=[Migration("1", "2", lambda stored: stored.renamed(names))],
    )


@pytest.mark.needs("migrates_ahead")
@pytest.mark.parametrize("invokes", [True, False])
async def test_who_waits_in_a_state_that_gets_another_name_waits_there(place, invokes):
    async with house(place, *ALL, boss()) as runtime:
        agent = await (begun(runtime) if invokes else asked(runtime, "boss", mode="delegate"))
    async with house(place, *ALL, renamed_boss()) as runtime:
        agent = await runtime.resume(agent.id)
        name = "HANDING_ON" if invokes else "ON_HOLD"
        assert agent.configuration == (name,)
        assert [each.states for each in agent.snapshot.handoffs] == [(name,)]
        await rest(runtime)
        assert await statuses(runtime) == [ACCEPTED]
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert (agent.configuration, await statuses(runtime)) == (("TALKING",), [COMPLETED])


async def test_leaving_a_state_that_got_another_name_withdraws(place):
    async with house(place, *ALL, boss()) as runtime:
        agent = await begun(runtime)
    async with house(place, *ALL, renamed_boss()) as runtime:
        agent = await runtime.resume(agent.id)
        await agent.send("LEAVE")
        await rest(runtime)
        assert await statuses(runtime) == [CANCELLED]


@pytest.mark.needs("migrates_ahead")
async def test_an_agent_that_the_new_version_does_not_invoke_is_withdrawn_and_another_begins(place):
    other = Invoke(agent="desk", at="WORKING")
    async with house(place, *ALL, boss()) as runtime:
        agent = await begun(runtime)
    async with house(place, *ALL, renamed_boss(invoke=other)) as runtime:
        agent = await runtime.resume(agent.id)
        await rest(runtime)
        assert await statuses(runtime) == [CANCELLED]
        assert agent.snapshot.handoffs == ()


@pytest.mark.needs("migrates_ahead")
async def test_a_migration_into_a_state_invokes_its_agent(place):
    def move(stored):
        return stored.renamed({"TALKING": "DELEGATING"})

    async with house(place, *ALL, boss()) as runtime:
        agent = await runtime.start("boss", at="TALKING")
    async with house(place, *ALL, boss(version="2", migrations=[Migration("1", "2", move)])) as runtime:
        agent = await runtime.resume(agent.id)
        await rest(runtime)
        assert (agent.configuration, await statuses(runtime)) == (("DELEGATING",), [ACCEPTED])
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert agent.configuration == ("TALKING",)


async def test_an_agent_that_is_migrated_keeps_what_it_took(place):
    async with house(place) as runtime:
        agent = await asked(runtime, mode="delegate")
        target = await target_of(runtime, agent)
    newer = worker("second", version="2", migrations=[Migration("1", "2", lambda stored: stored)])
    async with house(place, *[each for each in ALL if each is not second], newer) as runtime:
        agent, target = await runtime.resume(agent.id), await runtime.resume(target.id)
        await target.send("DONE")
        await rest(runtime)
        assert (agent.configuration, await statuses(runtime)) == (("TALKING",), [COMPLETED])


async def test_a_target_that_cannot_take_in_time_is_told_apart_from_one_that_will_not(place):
    """Places are held by what is open, across everything that happens to the agents that hold them."""
    async with house(place) as runtime:
        one = await asked(runtime, to="crowded", mode="delegate")
        await one.send("LEAVE")
        await rest(runtime)
        two = await asked(runtime, to="crowded", mode="delegate")
        await runtime.erase((await target_of(runtime, two)).id)
        await rest(runtime)
        three = await asked(runtime, to="crowded")
        await runtime.erase(three.id)  # the one that took it still has it
        four = await asked(runtime, to="crowded")
        assert four.context.told[0]["reason"] == Obstacle.OVERLOAD.value
        (holder,) = (await runtime.find(graph=crowded.name, status="active")).agents
        await (await runtime.resume(holder.agent_id)).send("DONE")
        five = await asked(runtime, to="crowded")
        assert five.status is Status.DONE
        assert PENDING not in await statuses(runtime)
        assert FAILED not in await statuses(runtime)


async def test_who_was_stopped_while_it_handed_on_does_not_get_the_work_back_by_going_back(place):
    async with house(place) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await asyncio.gather(agent.send("ASK", {"to": "second"}), runtime.stop(agent.id))
        await rest(runtime)
        assert await statuses(runtime) == [ACCEPTED]
        for version in (1, 2):
            with pytest.raises(OpenHandoffError):
                await agent.rollback(version, reason="never asked")


async def test_a_fork_asks_another_agent_for_the_work_that_its_state_delegates(place):
    async with house(place, *ALL, boss()) as runtime:
        agent = await begun(runtime)
        target = await target_of(runtime, agent)
        fork = await runtime.fork(agent.id, agent.snapshot.version)
        await rest(runtime)
        other = await target_of(runtime, fork)
        assert (other.configuration, other.id != target.id) == (("WORKING",), True)
        await other.send("DONE")
        await rest(runtime)
        assert (fork.configuration, agent.configuration) == (("TALKING",), ("DELEGATING",))
        assert target.configuration == ("WORKING",)


class _Counted(MemoryStore):
    """A store that counts how often an agent is looked for. Like a durable one, it answers only after a while."""

    is_instant = False
    looks = 0

    async def load_many(self, agent_ids):
        self.looks += 1
        await asyncio.sleep(0)
        return await super().load_many(agent_ids)


async def test_an_offer_to_a_new_agent_gets_there_without_a_look_for_it_in_the_store():
    store = _Counted()
    async with house(store) as runtime:
        agent = await runtime.start("first", at="TALKING")
        await agent.send("ASK", {"to": "second"})
        await rest(runtime)
        assert await statuses(runtime) == [ACCEPTED]
    assert store.looks == 0


async def test_an_offer_to_a_new_agent_goes_to_who_was_started_under_its_id_meanwhile():
    """The agent is out of memory again, so that only the commit of the accepting turn finds it."""
    store = _Counted()
    async with house(store, limits=Limits(resident=1)) as runtime:
        agent = await runtime.start("first", at="TALKING")
        inboxes = effects_of(runtime).inboxes
        begin, inboxes._offer = inboxes._offer, lambda *_: None
        await agent.send("ASK", {"to": "second"})
        target = (await only(runtime)).target
        await runtime.start("second", at="RESTING", agent_id=target)
        await runtime.start("second", at="RESTING")
        gc.collect()
        (offer,) = await runtime.mail(target)
        begin(target, effects_of(runtime).directory.slots.of(target), deque((offer,)))
        await rest(runtime)
        assert await statuses(runtime) == [ACCEPTED]
        assert (await runtime.resume(target)).snapshot.version == 2
