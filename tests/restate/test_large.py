"""Agents for which much mail waits: no more than they can bear is accepted, and each can be erased."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import Field

from gatechart import AgentContext, Runtime, StateTransitionGraph, Transition
from gatechart.errors import AgentTooLargeError, InboxFullError, UnknownAgentError
from gatechart.restate import RestateRuntime, auxiliary_objects
from gatechart.values.mail import Mail, MailStatus
from tests.insides import calls_of
from tests.restate.engines import eventually

MEGABYTE = 1_000_000
STATE = "SELECT key, length(value) AS bytes FROM state WHERE service_name = '{}.Agent' AND service_key = '{}'"
ASIDE = "SELECT service_key FROM state WHERE service_name = '{}.Payloads' AND service_key LIKE '{}/%'"

pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body")


def send_on(context, event, turn):
    for _ in range(event.payload["times"]):
        turn.send("nobody", "NOTED", {"text": "x" * event.payload["size"]})


class Seen(AgentContext):
    seen: list[list[int]] = Field(default_factory=list)  # the number of each payload, and the length of its text


def see(context, event):
    if "n" in event.payload:
        context.seen.append([event.payload["n"], len(event.payload["text"])])


graph = StateTransitionGraph(
    "large",
    context=Seen,
    transitions=[Transition("OPEN", "NOTED", actions=see), Transition("OPEN", "SENT_ON", actions=send_on)],
    entry_points=["OPEN"],
)


def opened(place, **terms):
    return Runtime.open(place, graphs=[graph], kind=RestateRuntime, **terms)


def letter(number, size, to="l-1"):
    return Mail(number, to, "NOTED", {"text": "x" * size}, datetime.now(UTC))


async def state_bytes(place, agent_id):
    rows = await place.engine.ask(STATE.format(place.namespace, agent_id))
    return {row["key"]: row["bytes"] for row in rows}


async def has_none_aside(place, agent_id):
    """Whether no payload of the agent is kept any more."""
    return await place.engine.ask(ASIDE.format(place.namespace, agent_id)) == []


async def arrived(runtime, agent_id, count):
    async def are_there():
        return len(await runtime.mail(agent_id, limit=100)) == count

    await eventually(are_there)


async def test_more_bytes_than_an_agent_may_keep_are_not_accepted(place):
    async with opened(place, inbox_bytes=10_000) as runtime:
        for _ in range(3):
            await runtime.post("l-1", "NOTED", {"text": "x" * 3000})
        for size in (3000, 20_000):
            with pytest.raises(
                InboxFullError, match=r"'l-1' is full: .* [0-9,]+ bytes, and the limit is 10,000"
            ) as full:
                await runtime.post("l-1", "NOTED", {"text": "x" * size})
            assert full.value.size > full.value.limit_bytes == 10_000
            assert full.value.limit == 0
        await runtime.post("l-2", "NOTED", {"text": "x" * 3000})
        await arrived(runtime, "l-1", 3)
        agent = await runtime.start("large", at="OPEN", agent_id="l-1")
        await agent.send("NOTED")  # behind what waited
        await runtime.post("l-1", "NOTED", {"text": "x" * 3000})


async def test_an_agent_that_was_erased_has_room_again(place):
    async with opened(place, inbox=2) as runtime:
        for _ in range(3):
            for _ in range(2):
                await runtime.post("l-1", "NOTED")
            with pytest.raises(InboxFullError, match="2 events already wait for agent 'l-1'"):
                await runtime.post("l-1", "NOTED")
            await runtime.start("large", at="OPEN", agent_id="l-1")
            await runtime.erase("l-1")


async def test_a_place_of_a_caller_that_died_is_given_again(place, monkeypatch):
    async with opened(place, inbox=2) as runtime:
        for _ in range(2):
            await calls_of(runtime).ingress.ask(
                "post", calls_of(runtime).names.inbox, "enter", "l-1", {"bytes": 10}, reads=False
            )
        with pytest.raises(InboxFullError):
            await runtime.post("l-1", "NOTED")
        monkeypatch.setattr(auxiliary_objects, "LOST_S", -1.0)
        for _ in range(2):
            await runtime.post("l-1", "NOTED")
        await arrived(runtime, "l-1", 2)


async def test_mail_of_agents_waits_outside_where_an_agent_keeps_too_much(place):
    async with opened(place, most_kept_bytes=20_000) as runtime:
        agent = await runtime.start("large", at="OPEN")
        await agent.send("SENT_ON", {"times": 9, "size": 5000})
        await arrived(runtime, "nobody", 3)
        assert (await state_bytes(place, "nobody"))["agent"] < 20_000
        other = await runtime.start("large", at="OPEN", agent_id="nobody")

        async def all_applied():
            return (await runtime.resume("nobody")).snapshot.version == 10

        await eventually(all_applied)
        assert (await runtime.mail("nobody"), other.id) == ([], "nobody")


async def test_a_turn_that_sends_more_than_a_message_carries_is_undone(place):
    async with opened(place, inbox_bytes=20_000) as runtime:
        agent = await runtime.start("large", at="OPEN")
        with pytest.raises(AgentTooLargeError):
            await agent.send("SENT_ON", {"times": 9, "size": 5000})
        assert (await agent.send("NOTED")).version == 2


@pytest.mark.slow
async def test_an_agent_that_keeps_all_that_a_message_carries_is_erased(place):
    """More would fit into no message of the engine, and nothing could change the agent any more."""
    async with opened(place, most_kept_bytes=2**40) as runtime:
        await runtime.start("large", at="OPEN", agent_id="l-1")
        for count in (1, 2):
            await deliver_much(runtime, "l-1", 15)
            await arrived(runtime, "l-1", count)
    async with opened(place) as runtime:
        for _ in range(2):
            await deliver_much(runtime, "l-1", 4)
        async with asyncio.timeout(30):
            await runtime.erase("l-1")
        with pytest.raises(UnknownAgentError):
            await runtime.resume("l-1")
        assert (await runtime.start("large", at="OPEN", agent_id="l-1")).id == "l-1"


async def deliver_much(runtime, agent_id, megabytes):
    """Delivers a large timer, as an agent's turn does."""
    mail = replace(letter(0, megabytes * MEGABYTE, agent_id), due=datetime.now(UTC) + timedelta(hours=1))
    await calls_of(runtime).deliver("post", mail)


async def test_large_payloads_are_kept_out_of_what_each_run_reads(place):
    async with opened(place) as runtime:
        await runtime.post("l-1", "NOTED", {"text": "x" * MEGABYTE})
        await arrived(runtime, "l-1", 1)
        assert (await state_bytes(place, "l-1"))["agent"] < MEGABYTE / 10


async def test_much_mail_of_moderate_size_does_not_make_each_run_read_all_of_it(place):
    async with opened(place) as runtime:
        for n in range(30):
            mail = replace(letter(0, 0), payload={"n": n, "text": "x" * 15_000})
            await calls_of(runtime).deliver("post", mail)
        await arrived(runtime, "l-1", 30)
        assert (await state_bytes(place, "l-1"))["agent"] < 170_000
        await runtime.start("large", at="OPEN", agent_id="l-1")

        async def are_all_seen():
            return len((await runtime.resume("l-1")).context.seen) == 30

        await eventually(are_all_seen, within_s=45)
        assert (await runtime.resume("l-1")).context.seen == [[n, 15_000] for n in range(30)]
        await eventually(lambda: has_none_aside(place, "l-1"))


async def test_large_mail_of_agents_waits_outside_too_where_an_agent_keeps_too_much(place):
    async with opened(place, most_kept_bytes=4_000) as runtime:
        agent = await runtime.start("large", at="OPEN")
        await agent.send("SENT_ON", {"times": 20, "size": 20_000})
        await eventually(lambda: is_filled(place, "nobody", 3_000))
        assert (await state_bytes(place, "nobody"))["agent"] < 4_500
        await runtime.start("large", at="OPEN", agent_id="nobody")

        async def all_applied():
            return (await runtime.resume("nobody")).snapshot.version == 21

        await eventually(all_applied, within_s=30)


async def is_filled(place, agent_id, least):
    return (await state_bytes(place, agent_id)).get("agent", 0) >= least


@pytest.mark.slow
async def test_mail_that_is_more_than_a_message_carries_is_taken_in_order_and_leaves_nothing_behind(place):
    """The engine sends a service as much of what is kept with each call as a message carries."""
    async with opened(place) as runtime:
        for n in range(40):
            mail = replace(letter(0, 0), payload={"n": n, "text": "x" * 900_000})
            await calls_of(runtime).deliver("post", mail)
        await runtime.start("large", at="OPEN", agent_id="l-1")

        async def are_all_seen():
            return len((await runtime.resume("l-1")).context.seen) == 40

        await eventually(are_all_seen, within_s=45)
        assert (await runtime.resume("l-1")).context.seen == [[n, 900_000] for n in range(40)]
        await eventually(lambda: has_none_aside(place, "l-1"))


async def test_a_large_payload_of_dead_mail_is_kept_shown_and_tried_again(place):
    async with opened(place) as runtime:
        agent = await runtime.start("large", at="OPEN")
        payload = {"times": "none", "text": "x" * 50_000}
        await runtime.post(agent.id, "SENT_ON", payload)
        await eventually(lambda: is_dead(runtime, agent.id))
        (dead,) = await runtime.mail(agent.id)
        assert dead.payload == payload
        assert (await runtime.retry(dead.number, to=agent.id)).payload == payload
        await eventually(lambda: is_dead(runtime, agent.id))
        (dead,) = await runtime.mail(agent.id)
        assert (await runtime.discard(dead.number, to=agent.id)).payload == payload
        await eventually(lambda: has_none_aside(place, agent.id))


async def is_dead(runtime, agent_id):
    return [each.status for each in await runtime.mail(agent_id)] == [MailStatus.DEAD]
