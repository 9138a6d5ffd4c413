"""Handoffs whose agents are erased meanwhile, and mail about them at which charts fail: nobody waits for ever."""

import asyncio
import logging
from datetime import timedelta
from functools import partial

import pytest

from gatechart import StateTransitionGraph, Transition
from gatechart.errors import StoreFailedError, UnknownAgentError
from gatechart.hosting.limits import Limits
from gatechart.values.agents import Status
from gatechart.values.commits import MailEnd, ReserveSlot, TurnRecord, Verdict
from gatechart.values.delays import Retry
from gatechart.values.mail import MailStatus
from tests.insides import store_of
from tests.runtime.handovers import (
    ACCEPTED,
    ALL,
    CANCELLED,
    COMPLETED,
    PENDING,
    REJECTED,
    Talk,
    asked,
    check,
    house,
    only,
    pass_time,
    rest,
    statuses,
    target_of,
)
from tests.runtime.support import eventually

pytestmark = [pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]

PATIENCE = Limits(mail_retry=Retry(attempts=2, first_s=5, factor=1))


def fail(context, event):
    raise RuntimeError("it never works")


def offer_on(context, event, turn):
    turn.handoff("second", at="WORKING", packet=context.packet(), mode=event.payload["mode"])


fragile = StateTransitionGraph(
    "fragile",
    context=Talk,
    states=["RESTING", "WORKING", "ASKING"],
    transitions=[
        Transition("RESTING", "handoff.offered.WORKING", "WORKING"),
        Transition("WORKING", "handoff.cancelled", "RESTING", actions=fail),
        Transition("RESTING", "GO", "ASKING", actions=offer_on),
        Transition("ASKING", "handoff.accepted", "RESTING", actions=fail),
        *[Transition("ASKING", f"handoff.{name}", "RESTING", actions=fail) for name in ("completed", "rejected")],
    ],
    entry_points=["RESTING", "WORKING"],
)


async def strangers(runtime, count=1):
    """Agents that are about to ask."""
    return [await runtime.start("first", at="TALKING") for _ in range(count)]


def ask(agent, target_id, **more):
    return agent.send("ASK", {"to": "second", "agent": target_id, **more})


def is_answered(agent):
    """Whether the agent waits no more: it was refused, or has handed over what it did and has ended."""
    has_ended = agent.status is Status.DONE
    return agent.snapshot.handoffs == () and (has_ended or agent.configuration in (("REFUSED",), ("FAILED",)))


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
@pytest.mark.parametrize("is_in_memory", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_offer_that_comes_while_its_target_is_erased_is_answered(place, is_in_memory, when):
    async with house(place) as runtime:
        target_id = (await runtime.start("second", at="RESTING", agent_id="t")).id
    async with house(place) as runtime:
        held = await runtime.resume(target_id) if is_in_memory else None
        store, agents = store_of(runtime), await strangers(runtime, 2)
        left = list(agents)

        async def erase(agent_id):
            if when == "before" and left:
                await ask(left.pop(), agent_id)
            is_done = await store.store.erase(agent_id)
            if when == "after" and left:
                await ask(left.pop(), agent_id)
                await ask(left.pop(), agent_id)
            return is_done

        store.erase = erase
        await runtime.erase(target_id)
        await rest(runtime)
        assert not left
        assert all(map(is_answered, agents))
        assert held is None or [agent.configuration for agent in agents] == [("REFUSED",)] * 2
        assert await runtime.mail() == []
        with pytest.raises(UnknownAgentError):
            await runtime.resume(target_id)


@pytest.mark.parametrize("is_in_memory", [True, False])
async def test_nobody_waits_for_ever_for_an_agent_that_is_erased_while_many_ask(place, is_in_memory):
    async with house(place) as runtime:
        target_id = (await runtime.start("second", at="RESTING")).id
    async with house(place) as runtime:
        held = await runtime.resume(target_id) if is_in_memory else None
        agents = await strangers(runtime, 20)

        async def after(steps, call):
            for _ in range(steps):
                await asyncio.sleep(0)
            await call()

        asking = (after(3 * nth, partial(ask, agent, target_id)) for nth, agent in enumerate(agents))
        await asyncio.gather(after(20, partial(runtime.erase, target_id)), *asking)
        await rest(runtime)
        assert held is None or held.id == target_id
        assert all(map(is_answered, agents))


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_agent_that_takes_a_handoff_while_it_is_erased_fails_it(place):
    async with house(place) as runtime:
        target_id = (await runtime.start("second", at="RESTING")).id
    async with house(place) as runtime:
        store, (agent,) = store_of(runtime), await strangers(runtime)

        async def erase(agent_id):
            if agent.configuration == ("TALKING",):
                await ask(agent, agent_id, mode="delegate")
                await eventually(lambda: agent.snapshot.handoffs and agent.snapshot.handoffs[0].is_accepted)
            return await store.store.erase(agent_id)

        store.erase = erase
        await runtime.erase(target_id)
        await rest(runtime)
        assert (agent.configuration, agent.context.told[-1]["details"]) == (("FAILED",), "the agent was stopped")
        with pytest.raises(UnknownAgentError):
            await runtime.resume(target_id)


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_offer_whose_mail_is_gone_is_refused_when_its_target_is_erased(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await target.send("WILL", {"willing": False})
        agent = await asked(runtime, agent=target.id, fallbacks="again")
        (waiting,) = [mail for mail in await runtime.mail(target.id) if mail.event.startswith("handoff.offered.")]
        await store_of(runtime).store.commit([MailEnd(waiting.number)])
        await runtime.erase(target.id)
        await rest(runtime)
        assert agent.snapshot.handoffs == ()
        assert agent.configuration == ("FAILED",)


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_erasure_reads_the_mail_once_for_all_offers(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        await target.send("WILL", {"willing": False})
        agents = await strangers(runtime, 5)
        for agent in agents:
            await ask(agent, target.id, fallbacks="again")
        await rest(runtime)
        store, read = store_of(runtime), []

        async def mail(query):
            read.append(query)
            return await store.store.mail(query)

        store.mail = mail
        await runtime.erase(target.id)
        assert len([query for query in read if query.limit > 1000]) == 1
        await rest(runtime)
        assert {agent.configuration for agent in agents} == {("FAILED",)}


@pytest.mark.needs("takes_a_clock")
async def test_a_source_whose_chart_fails_at_the_acceptance_ends(place, caplog):
    async with house(place, fragile, *ALL, limits=PATIENCE) as runtime:
        agent = await runtime.start("fragile", at="RESTING")
        await agent.send("GO", {"mode": "transfer"})
        await rest(runtime)
        with caplog.at_level(logging.ERROR):
            await pass_time(runtime, 6)
        assert (await statuses(runtime), agent.status, agent.snapshot.handoffs) == ([ACCEPTED], Status.DONE, ())
        [letter] = await runtime.mail()
        assert (letter.event, letter.status) == ("handoff.accepted", MailStatus.DEAD)
        assert (
            agent.snapshot.version == (await runtime.history(agent.id))[-1].version == 3
        )  # it is not told: it has ended
        assert "every attempt failed" in caplog.text
        assert "it never works" in caplog.text


@pytest.mark.needs("takes_a_clock")
async def test_a_source_whose_chart_fails_at_the_result_waits_no_more(place):
    async with house(place, fragile, *ALL, limits=PATIENCE) as runtime:
        agent = await runtime.start("fragile", at="RESTING")
        await agent.send("GO", {"mode": "delegate"})
        await rest(runtime)
        await pass_time(runtime, 6)
        assert agent.snapshot.handoffs[0].is_accepted
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        await pass_time(runtime, 6)
        assert await statuses(runtime) == [COMPLETED]
        assert [each.event for each in await runtime.mail(status="dead")] == ["handoff.accepted", "handoff.completed"]
        assert (agent.status, agent.configuration, agent.snapshot.handoffs) == (Status.ACTIVE, ("ASKING",), ())


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("end", ["deadline", "cancelled"])
async def test_a_source_has_its_answer_though_the_chart_of_the_target_fails_at_the_withdrawal(place, end):
    async with house(place, fragile, *ALL, limits=PATIENCE) as runtime:
        target = await runtime.start("fragile", at="RESTING")
        deadline = "30s" if end == "deadline" else None
        agent = await asked(runtime, to="fragile", agent=target.id, mode="delegate", deadline=deadline)
        if end == "cancelled":
            await runtime.cancel_handoff((await only(runtime)).id, reason="enough")
        await pass_time(runtime, 31)
        await pass_time(runtime, 6)
        assert agent.configuration == (("LATE",) if end == "deadline" else ("FAILED",))
        assert await statuses(runtime) == [CANCELLED]
        assert [(each.recipient, each.event) for each in await runtime.mail()] == [(target.id, "handoff.cancelled")]
        assert (target.status, target.configuration, target.snapshot.handoffs) == (Status.ACTIVE, ("WORKING",), ())


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_offer_is_not_taken_without_a_place_by_a_runtime_that_closes(place):
    async with house(place) as runtime:
        store, refused = store_of(runtime), asyncio.Event()

        async def cannot_reserve(units):
            if any(isinstance(unit, ReserveSlot) for unit in units):
                refused.set()
                raise StoreFailedError("there", "disk I/O error")

        store.before = cannot_reserve
        (agent,) = await strangers(runtime)
        await agent.send("ASK", {"to": "crowded"})
        await refused.wait()
    async with house(place) as runtime:
        assert [each.status for each in await runtime.handoffs()] == [PENDING]
        await rest(runtime)
        assert await statuses(runtime) == [ACCEPTED]
        await asked(runtime, to="crowded")
        assert await statuses(runtime) == [ACCEPTED, REJECTED]


@pytest.mark.needs("takes_a_clock")
async def test_an_offer_that_is_stale_and_still_pending_is_tried_again_after_a_while(place):
    async with house(place) as runtime:
        target = await runtime.start("second", at="RESTING")
        store, tried = store_of(runtime), []
        commit = store.commit

        async def never_takes(units):
            if any(isinstance(unit, TurnRecord) and unit.snapshot.agent_id == target.id for unit in units):
                tried.append(units)
                return [Verdict.STALE for _ in units]
            return await commit(units)

        store.commit = never_takes
        agent = await asked(runtime, agent=target.id)
        assert len(tried) == 2
        store.commit = commit
        await pass_time(runtime, 1)
        assert (await statuses(runtime), agent.status) == ([ACCEPTED], Status.DONE)


@pytest.mark.needs("takes_a_clock")
async def test_what_was_handed_on_is_not_pruned_while_it_is_worked_on(place):
    async with house(place) as runtime:
        agent = await asked(runtime)
        await pass_time(runtime, 86400 * 40)
        assert (await runtime.prune(ended_before=timedelta(days=30))).agents == 0
        target = await target_of(runtime, agent)
        await target.send("DONE")
        await rest(runtime)
        assert await statuses(runtime) == [COMPLETED]
        assert (await runtime.prune(ended_before=timedelta(days=30))).agents == 1
        await check(store_of(runtime))
