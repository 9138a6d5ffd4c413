"""Mail: durable when accepted, applied once, in order; tried again where it fails, and given up in the end."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import Runtime
from gatechart.errors import (
    ActionFailedError,
    BacklogFullError,
    EventIdReusedError,
    InboxFullError,
    PayloadError,
    RuntimeClosedError,
    StoreBusyError,
    UnknownAgentError,
    UnknownMailError,
)
from gatechart.hosting.limits import Limits, WhenFull
from gatechart.testing import VirtualClock
from gatechart.values.delays import Retry
from gatechart.values.mail import MailStatus
from tests.insides import core_of, effects_of, store_of
from tests.runtime.ledgers import Faults, ledger
from tests.runtime.support import Gate, WrappedStore, at_rest, eventually, gated, soon

pytestmark = pytest.mark.one_variant_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
TWICE = Limits(mail_retry=Retry(attempts=3, first_s=10, factor=3, most_s=60))
NARROW = Limits(inbox=2)
PATIENCE_S = 30
PATIENT = Limits(inbox=2, when_full=WhenFull.WAIT)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def faults():
    return Faults()


@pytest.fixture
async def desk(place, clock, faults):
    """A runtime whose mail is tried three times, with what is broken as its services."""
    async with Runtime.open(place, graphs=[ledger], clock=clock, limits=TWICE, services=faults) as runtime:
        yield runtime


async def waiting(runtime, agent_id=None):
    return [mail.payload.get("n", mail.event) for mail in await runtime.mail(agent_id, status="waiting")]


# Accepted


@pytest.mark.needs("tells_repeats")
async def test_mail_is_applied_in_the_order_accepted(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        agent = await runtime.start("ledger", at="OPEN")
        receipts = [await runtime.post(agent.id, "NOTED", {"n": str(n)}) for n in range(20)]
        await agent.send("NOTED", {"n": "last"})
        assert agent.context.notes == [*map(str, range(20)), "last"]
        assert [receipt.number for receipt in receipts] == sorted({receipt.number for receipt in receipts})
        assert await runtime.mail() == []


@pytest.mark.needs("lists_all_mail")
async def test_mail_that_was_accepted_is_delivered_by_the_next_runtime(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        passing = asyncio.ensure_future(agent.send("PASSED", {"at": "turn under way"}))
        await gate.reached()
        for n in range(3):
            await runtime.post("g-1", "STAMPED", {"at": str(n)})
        assert len(await runtime.mail("g-1", status=MailStatus.WAITING)) == 3
        asyncio.get_running_loop().call_soon(gate.opened.set)
    assert (await soon(passing)).version == 2
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.resume("g-1")
        await agent.send("STAMPED", {"at": "sent"})
        assert agent.context.stops == ["turn under way", "0", "1", "2", "sent"]
        assert await runtime.mail() == []


async def test_a_send_behind_mail_that_a_closing_runtime_leaves_does_not_overtake_it(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        passing = asyncio.ensure_future(agent.send("PASSED", {"at": "first"}))
        await gate.reached()
        await runtime.post("g-1", "STAMPED", {"at": "second"})
        sending = asyncio.ensure_future(agent.send("STAMPED", {"at": "third"}))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(gate.opened.set)
    await soon(passing)
    [sent] = await asyncio.gather(soon(sending), return_exceptions=True)
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.resume("g-1")
        await agent.send("STAMPED", {"at": "last"})
        told = [] if isinstance(sent, RuntimeClosedError) else ["third"]
        assert agent.context.stops == ["first", "second", *told, "last"]


async def test_mail_for_an_agent_that_does_not_exist_yet_waits_for_it(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        for n in range(3):
            await runtime.post("l-1", "NOTED", {"n": str(n)})
        assert await waiting(runtime) == ["0", "1", "2"]
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        await runtime.post("l-1", "NOTED", {"n": "3"})
        assert await waiting(runtime, "l-1") == ["0", "1", "2", "3"]
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await agent.send("NOTED", {"n": "4"})
        assert agent.context.notes == ["0", "1", "2", "3", "4"]
        assert await runtime.mail() == []


async def test_an_agent_gets_mail_that_was_posted_at_the_instant_of_its_start_before_what_is_sent_to_it(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        for n in range(20):
            _, agent = await asyncio.gather(
                runtime.post(f"l-{n}", "NOTED", {"n": "posted"}), runtime.start("ledger", at="OPEN", agent_id=f"l-{n}")
            )
            await agent.send("NOTED", {"n": "sent"})
            assert agent.context.notes == ["posted", "sent"]


async def test_mail_goes_to_many_agents_that_are_not_in_memory(place):
    ids = [f"l-{n}" for n in range(50)]
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        for agent_id in ids:
            await runtime.start("ledger", at="OPEN", agent_id=agent_id)
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        await asyncio.gather(*(runtime.post(agent_id, "NOTED", {"n": "x"}) for agent_id in ids))
        for agent_id in ids:
            agent = await runtime.resume(agent_id)
            await agent.send("NOTED", {"n": "y"})
            assert agent.context.notes == ["x", "y"]


async def test_what_an_agent_sends_leaves_with_its_turn(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        one = await runtime.start("ledger", at="OPEN", agent_id="one")
        two = await runtime.start("ledger", at="OPEN", agent_id="two")
        to = [["two", "NOTED"], ["one", "NOTED"], ["later", "NOTED"], ["two", "MOVED"]]
        await one.send("PASSED_ON", {"to": to})
        await soon(two.until("ELSEWHERE"))
        later = await runtime.start("ledger", at="OPEN", agent_id="later")
        for agent, notes in [(one, ["PASSED_ON", "NOTED of one"]), (two, ["NOTED of one"]), (later, ["NOTED of one"])]:
            await agent.send("NOTED", {"n": "end"})
            assert agent.context.notes == [*notes, "end"]
        assert [entry.event.sender for entry in await two.history()] == [None, "one", "one", None]


async def test_a_turn_that_is_undone_sends_nothing(desk):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    with pytest.raises(ActionFailedError):
        await agent.send("PASSED_ON", {"to": [["l-2", "NOTED"], ["l-2"]]})
    assert await desk.mail() == []


async def test_what_two_agents_send_one_another_arrives_in_order(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        one = await runtime.start("ledger", at="OPEN", agent_id="one")
        two = await runtime.start("ledger", at="OPEN", agent_id="two")
        for _ in range(10):
            await one.send("PASSED_ON", {"to": [["two", "NOTED"], ["two", "RANG"]]})
        await eventually(lambda: len(two.context.notes) == 20)
        await two.send("NOTED", {"n": "end"})
        assert two.context.notes == [*["NOTED of one", "RANG of one"] * 10, "end"]


async def test_mail_that_is_sent_twice_under_one_id_is_applied_once(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        one = await runtime.start("ledger", at="OPEN", agent_id="one")
        two = await runtime.start("ledger", at="OPEN", agent_id="two")
        for _ in range(3):
            assert (await one.send("PASSED_ON", {"to": [["two", "NOTED"]], "id": "x-1"})).applied
        await one.send("PASSED_ON", {"to": [["two", "RANG"]]})
        await eventually(lambda: len(two.context.notes) > 1)
        await two.send("NOTED", {"n": "end"})
        assert two.context.notes == ["NOTED of one", "RANG of one", "end"]


# Ids


@pytest.mark.needs("tells_repeats")
async def test_an_id_is_accepted_once_while_it_waits_and_after_it_was_applied(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        for repeat in (False, True, True):
            assert (await runtime.post("l-1", "NOTED", {"n": "a", "m": 1}, event_id="x-1")).repeat is repeat
        assert await waiting(runtime) == ["a"]
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await agent.send("NOTED", {"n": "end"})
        assert (await runtime.post("l-1", "NOTED", {"m": 1, "n": "a"}, event_id="x-1")).repeat
        assert (await agent.send("NOTED", {"n": "a", "m": 1}, event_id="x-1")).repeat
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        assert (await runtime.post("l-1", "NOTED", {"n": "a", "m": 1}, event_id="x-1")).repeat
        assert (await runtime.resume("l-1")).context.notes == ["a", "end"]
        assert await runtime.mail() == []


@pytest.mark.needs("tells_repeats")
@pytest.mark.parametrize(("event", "payload"), [("NOTED", {"n": "b"}), ("RANG", {"n": "a"}), ("NOTED", None)])
async def test_an_id_with_other_content_is_refused(place, event, payload):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        await runtime.post("l-1", "NOTED", {"n": "a"}, event_id="x-1")
        with pytest.raises(EventIdReusedError):
            await runtime.post("l-1", event, payload, event_id="x-1")
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await agent.send("NOTED", {"n": "end"})
        with pytest.raises(EventIdReusedError):
            await runtime.post("l-1", event, payload, event_id="x-1")
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes == ["a", "end", "end"]
        assert await runtime.mail() == []


async def test_an_id_is_the_recipients_own(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        for agent_id in ("one", "two"):
            assert not (await runtime.post(agent_id, "NOTED", {"n": agent_id}, event_id="x-1")).repeat
        assert await waiting(runtime) == ["one", "two"]


@pytest.mark.needs("tells_repeats")
async def test_posts_of_one_id_at_the_same_instant_are_accepted_once(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        agent = await runtime.start("ledger", at="OPEN")
        receipts = await asyncio.gather(
            *(runtime.post(agent.id, "NOTED", {"n": "a"}, event_id="x-1") for _ in range(5))
        )
        assert sorted(receipt.repeat for receipt in receipts) == [False, True, True, True, True]
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes == ["a", "end"]


@pytest.mark.not_on_restate(
    "sends of one process to an agent wait there for one another, and what others post goes before"
)
async def test_mail_whose_id_was_applied_by_a_send_while_it_waited_is_a_repeat(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        passing = asyncio.ensure_future(agent.send("PASSED", {"at": "a"}))
        await gate.reached()
        first = asyncio.ensure_future(agent.send("STAMPED", {"at": "once"}, event_id="x-1"))
        other = asyncio.ensure_future(agent.send("STAMPED", {"at": "other"}, event_id="x-2"))
        await asyncio.sleep(0)
        await runtime.post("g-1", "STAMPED", {"at": "once"}, event_id="x-1")
        await runtime.post("g-1", "STAMPED", {"at": "not the same"}, event_id="x-2")
        gate.opened.set()
        await soon(asyncio.gather(passing, first, other))
        await agent.send("STAMPED", {"at": "end"})
        assert agent.context.stops == ["a", "once", "other", "end"]
        [refused] = await runtime.mail()
        assert (refused.status, refused.id) == (MailStatus.REFUSED, "x-2")
        assert "with other content" in refused.reason


# Refused


async def test_refused_mail_is_kept_with_its_reason(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "UNHEARD", {"n": "a"}, event_id="x-1")
        await runtime.post("l-1", "COUNTED", {"n": 1})
        await runtime.post("l-1", "NOTED", {"n": "b"})
        await agent.send("NOTED", {"n": "end"})
        assert (agent.context.notes, agent.snapshot.version) == (["b", "end"], 3)
        one, two = await runtime.mail("l-1", status="refused")
        assert (one.event, one.id, one.attempts) == ("UNHEARD", "x-1", 0)
        assert one.reason.startswith("no transition in OPEN; accepted there: ")
        assert two.reason.startswith("guards said no (is_even)")
        assert await runtime.mail("l-1", status="waiting") == []
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        assert await runtime.mail() == [one, two]


async def test_refused_mail_is_logged_with_its_agent_event_and_reason(caplog):
    async with Runtime.open("memory:", graphs=[ledger]) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "UNHEARD", {"n": "a"})
        await agent.send("NOTED", {"n": "end"})
        [mail] = await runtime.mail("l-1", status="refused")
    assert f"mail was refused: UNHEARD of agent l-1, graph ledger: {mail.reason}" in caplog.messages


async def test_mail_for_an_agent_that_has_ended_is_refused(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "ENDED")
        await runtime.post("l-1", "NOTED")
        await soon(agent.until("CLOSED"))
        await agent.send("NOTED")
        [refused] = await runtime.mail()
        assert (refused.event, refused.status) == ("NOTED", MailStatus.REFUSED)
        assert "the agent has ended" in refused.reason


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_refused_or_failed_send_frees_its_id_for_mail(desk, faults):
    desk_agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    assert not (await desk_agent.send("UNHEARD", event_id="x-1")).applied
    faults.broken.add("a")
    with pytest.raises(ActionFailedError):
        await desk_agent.send("TRIED", {"n": "a"}, event_id="x-2")
    assert not (await desk.post("l-1", "NOTED", {"n": "b"}, event_id="x-1")).repeat
    assert not (await desk.post("l-1", "NOTED", {"n": "c"}, event_id="x-2")).repeat
    await desk_agent.send("NOTED", {"n": "end"})
    assert desk_agent.context.notes == ["b", "c", "end"]


async def test_refused_mail_frees_its_id(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "UNHEARD", event_id="x-1")
        await agent.send("NOTED", {"n": "a"})
        assert not (await runtime.post("l-1", "NOTED", {"n": "b"}, event_id="x-1")).repeat
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes == ["a", "b", "end"]


# Failing


@pytest.mark.needs("takes_a_clock")
async def test_mail_that_fails_is_tried_again_later_each_time_and_then_is_dead(desk, clock, faults):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    faults.broken.add("a")
    number = (await desk.post("l-1", "TRIED", {"n": "a"}, event_id="x-1")).number
    for attempts, wait_s in [(1, 10), (2, 30)]:
        await at_rest(desk, clock)
        [mail] = await desk.mail("l-1")
        assert (mail.number, mail.status, mail.attempts) == (number, MailStatus.WAITING, attempts)
        assert mail.retry_at == clock.now() + timedelta(seconds=wait_s) == clock.next_due
        assert "RuntimeError: a is broken" in mail.reason
        clock.advance(wait_s - 0.001)
        await at_rest(desk, clock)
        assert faults.tried["a"] == attempts
        clock.advance(0.001)
    await eventually(lambda: faults.tried["a"] == 3)
    await at_rest(desk, clock)
    [dead] = await desk.mail("l-1")
    assert (dead.number, dead.status, dead.attempts, dead.retry_at) == (number, MailStatus.DEAD, 3, None)
    assert "RuntimeError: a is broken" in dead.reason
    assert (agent.context.notes, agent.snapshot.version, clock.sleeping) == ([], 1, 0)


@pytest.mark.needs("takes_a_clock")
async def test_mail_that_is_tried_again_holds_the_queue_of_its_agent_alone(desk, clock, faults):
    agent, other = [await desk.start("ledger", at="OPEN", agent_id=name) for name in ("l-1", "l-2")]
    faults.broken.add("a")
    await desk.post("l-1", "TRIED", {"n": "a"})
    await desk.post("l-1", "NOTED", {"n": "b"})
    sending = asyncio.ensure_future(agent.send("NOTED", {"n": "c"}))
    await asyncio.sleep(0)
    await desk.post("l-1", "NOTED", {"n": "d"})
    await at_rest(desk, clock)
    assert not sending.done()
    assert (await soon(other.send("NOTED", {"n": "x"}))).applied
    faults.broken.clear()
    clock.advance(10)
    await soon(sending)
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["a", "b", "c", "d", "end"]
    assert await desk.mail() == []


@pytest.mark.needs("takes_a_clock")
async def test_the_queue_goes_on_behind_dead_mail(desk, clock, faults):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    faults.broken.add("a")
    await desk.post("l-1", "TRIED", {"n": "a"})
    sending = asyncio.ensure_future(agent.send("NOTED", {"n": "b"}))
    for wait_s in (10, 30):
        await at_rest(desk, clock)
        assert not sending.done()
        clock.advance(wait_s)
    assert (await soon(sending)).version == 2
    assert [mail.status for mail in await desk.mail()] == [MailStatus.DEAD]


@pytest.mark.needs("takes_a_clock")
async def test_a_send_that_fails_is_not_tried_again(desk, clock, faults):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    faults.broken.add("a")
    with pytest.raises(ActionFailedError):
        await agent.send("TRIED", {"n": "a"}, event_id="x-1")
    clock.advance(3600)
    await at_rest(desk, clock)
    assert (faults.tried["a"], await desk.mail(), clock.sleeping) == (1, [], 0)


@pytest.mark.needs("takes_a_clock")
async def test_attempts_are_counted_over_runtimes(place, clock):
    faults = Faults("a")
    async with Runtime.open(place, graphs=[ledger], clock=clock, limits=TWICE, services=faults) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "TRIED", {"n": "a"})
        await at_rest(runtime, clock)
        clock.advance(10)
        await eventually(lambda: faults.tried["a"] == 2)
        await at_rest(runtime, clock)
    async with Runtime.open(place, graphs=[ledger], clock=clock, limits=TWICE, services=faults) as runtime:
        await at_rest(runtime, clock)
        assert (faults.tried["a"], clock.next_due) == (2, NOON + timedelta(seconds=40))
        clock.advance(30)
        await eventually(lambda: faults.tried["a"] == 3)
        await at_rest(runtime, clock)
        assert [mail.status for mail in await runtime.mail()] == [MailStatus.DEAD]


@pytest.mark.needs("takes_a_clock")
async def test_dead_mail_is_delivered_once_more_when_asked(desk, clock, faults):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    faults.broken.add("a")
    await desk.post("l-1", "TRIED", {"n": "a"}, event_id="x-1")
    for wait_s in (10, 30, 0):
        await at_rest(desk, clock)
        clock.advance(wait_s)
    [dead] = await desk.mail(status="dead")
    again = await desk.retry(dead.number)
    assert (again.status, again.attempts, again.reason) == (MailStatus.WAITING, 0, "")
    await at_rest(desk, clock)
    assert [mail.attempts for mail in await desk.mail()] == [1]
    with pytest.raises(UnknownMailError):
        await desk.discard(dead.number)
    faults.broken.clear()
    clock.advance(10)
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["a", "end"]
    assert await desk.mail() == []


@pytest.mark.needs("lists_all_mail")
async def test_refused_mail_is_delivered_once_more_when_asked(desk):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    await agent.send("MOVED")
    await desk.post("l-1", "COUNTED", {"n": 2})
    await agent.send("NOTED", {"n": "a"})
    [refused] = await desk.mail()
    await desk.retry(refused.number)
    await agent.send("NOTED", {"n": "b"})
    assert await desk.mail() == [refused]
    await agent.rollback(1, reason="the mail came too late")
    await desk.retry(refused.number)
    await agent.send("NOTED", {"n": "c"})
    assert await desk.mail() == []
    assert [entry.event.name for entry in await agent.history(after=5)] == ["COUNTED", "NOTED"]


@pytest.mark.needs("lists_all_mail")
async def test_discarded_mail_is_forgotten(desk, clock):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    await desk.post("l-1", "UNHEARD", {"n": "a"})
    await agent.send("NOTED")
    [refused] = await desk.mail()
    assert await desk.discard(refused.number) == refused
    assert await desk.mail() == []
    for call in (desk.discard, desk.retry):
        with pytest.raises(UnknownMailError, match=str(refused.number)):
            await call(refused.number)


@pytest.mark.needs("lists_all_mail")
async def test_mail_that_waits_is_neither_retried_nor_discarded(desk):
    number = (await desk.post("l-1", "NOTED")).number
    for call in (desk.discard, desk.retry):
        with pytest.raises(UnknownMailError):
            await call(number)
        with pytest.raises(UnknownMailError):
            await call(number + 1)
    assert len(await desk.mail()) == 1


@pytest.mark.needs("lists_all_mail")
async def test_mail_whose_id_stands_for_another_event_by_now_is_not_delivered_once_more(desk):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    await desk.post("l-1", "UNHEARD", {"n": "a"}, event_id="x-1")
    await agent.send("NOTED", {"n": "b"}, event_id="x-1")
    [refused] = await desk.mail()
    with pytest.raises(EventIdReusedError):
        await desk.retry(refused.number)
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["b", "end"]
    assert await desk.mail() == [refused]


@pytest.mark.needs("lists_all_mail")
async def test_mail_that_has_arrived_under_its_id_meanwhile_is_forgotten_when_it_is_retried(desk):
    agent = await desk.start("ledger", at="OPEN", agent_id="l-1")
    await agent.send("MOVED")
    await desk.post("l-1", "COUNTED", {"n": 2}, event_id="x-1")
    await agent.send("NOTED", {"n": "a"})
    [refused] = await desk.mail()
    await agent.rollback(1, reason="the mail came too late")
    await agent.send("COUNTED", {"n": 2}, event_id="x-1")
    await desk.retry(refused.number)
    assert await desk.mail() == []
    await agent.send("NOTED", {"n": "end"})
    assert [entry.event.name for entry in await agent.history(after=4)] == ["COUNTED", "NOTED"]


@pytest.mark.needs("lists_all_mail")
async def test_mail_is_listed_page_by_page(desk):
    numbers = [(await desk.post("l-1", "NOTED", {"n": str(n)})).number for n in range(5)]
    await desk.post("l-2", "NOTED")
    first = await desk.mail("l-1", limit=3)
    rest = await desk.mail("l-1", limit=3, after=first[-1].number)
    assert [mail.number for mail in (*first, *rest)] == numbers
    assert len(await desk.mail()) == 6


@pytest.mark.needs("lists_all_mail")
@pytest.mark.parametrize("wrong", [{"status": "lost"}, {"after": -1}, {"limit": "x"}])
async def test_mail_cannot_be_listed_by_what_cannot_be(desk, wrong):
    with pytest.raises(PayloadError):
        await desk.mail(**wrong)


# Bounds


async def test_an_inbox_that_is_full_takes_no_more(place):
    async with Runtime.open(place, graphs=[ledger], limits=NARROW) as runtime:
        for n in "ab":
            await runtime.post("l-1", "NOTED", {"n": n})
        with pytest.raises(InboxFullError, match="2 events already wait for agent 'l-1'"):
            await runtime.post("l-1", "NOTED", {"n": "c"})
        await runtime.post("l-2", "NOTED", {"n": "other"})
        assert await waiting(runtime, "l-1") == ["a", "b"]
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await agent.send("NOTED", {"n": "sent"})
        for n in "def":
            await runtime.post("l-1", "NOTED", {"n": n})
            await agent.send("NOTED", {"n": "sent"})
        assert agent.context.notes == ["a", "b", "sent", "d", "sent", "e", "sent", "f", "sent"]


@pytest.mark.needs("bounds_backlogs")
async def test_mail_for_agents_that_nobody_starts_is_bounded_for_all_of_them_together(place):
    limits = Limits(unclaimed=3)
    async with Runtime.open(place, graphs=[ledger], limits=limits) as runtime:
        known = await runtime.start("ledger", at="OPEN", agent_id="l-0")
        for n in "abc":
            await runtime.post(f"l-{n}", "NOTED", {"n": n})
        for n in "de":
            with pytest.raises(BacklogFullError, match=r"3 events already wait for agents.*unclaimed="):
                await runtime.post(f"l-{n}", "NOTED", {"n": n})
        await runtime.post(known.id, "NOTED", {"n": "known"})
    async with Runtime.open(place, graphs=[ledger], limits=limits) as runtime:
        with pytest.raises(BacklogFullError):
            await runtime.post("l-d", "NOTED", {"n": "d"})
        for n in range(5):  # which is there, though not in memory
            await runtime.post(known.id, "NOTED", {"n": str(n)})
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-a")
        await eventually(lambda: agent.context.notes == ["a"])
        await eventually_posted(runtime, "l-d", "NOTED", {"n": "d"})
        assert await waiting(runtime, "l-d") == ["d"]


@pytest.mark.needs("takes_a_clock")
async def test_mail_that_is_due_far_ahead_is_bounded(place, clock):
    limits, later = Limits(scheduled=2), NOON + timedelta(days=300)
    async with Runtime.open(place, graphs=[ledger], limits=limits, clock=clock) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-0")
        await runtime.post("l-0", "NOTED", {"n": "soon"}, due=NOON + timedelta(hours=1))
        await runtime.post("l-0", "NOTED", {"n": "late"}, due=later)
    async with Runtime.open(place, graphs=[ledger], limits=limits, clock=clock) as runtime:
        with pytest.raises(BacklogFullError, match=r"2 events already wait for its due time.*scheduled="):
            await runtime.post("l-0", "NOTED", {"n": "more"}, due=later)
        await runtime.post("l-0", "NOTED", {"n": "now"})
        clock.advance(7200)
        await eventually_posted(runtime, "l-0", "NOTED", {"n": "more"}, due=later)
        agent = await runtime.resume("l-0")
        assert agent.context.notes == ["now", "soon"]
        assert await waiting(runtime) == ["late", "more"]


@pytest.mark.needs("bounds_backlogs")
async def test_mail_for_agents_that_are_there_counts_for_nothing_though_they_are_not_in_memory(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        for n in range(20):
            await runtime.start("ledger", at="OPEN", agent_id=f"l-{n}")
    async with Runtime.open(place, graphs=[ledger], limits=Limits(unclaimed=1)) as runtime:
        for n in range(20):
            await runtime.post(f"l-{n}", "NOTED", {"n": str(n)})
        await runtime.post("nobody", "NOTED", {"n": "x"})
        with pytest.raises(BacklogFullError):
            await runtime.post("nobody else", "NOTED", {"n": "y"})


@pytest.mark.needs("takes_a_clock")
async def test_mail_with_a_due_time_comes_and_goes_in_any_number(place, clock):
    async with Runtime.open(place, graphs=[ledger], limits=Limits(scheduled=2), clock=clock) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-0")
        for n in range(10):
            await eventually_posted(runtime, "l-0", "NOTED", {"n": str(n)}, due=clock.now() + timedelta(seconds=1))
            clock.advance(2)
            await eventually(lambda: len(agent.context.notes) == n + 1)  # noqa: B023
        with pytest.raises(ValueError, match="scheduled"):
            Limits(scheduled=0)


async def eventually_posted(runtime, *args, **options):
    """Posts as soon as there is room, which the store tells a moment later where there was none."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await runtime.post(*args, **options)
            except BacklogFullError:
                await asyncio.sleep(0.01)


async def test_posts_at_the_same_instant_do_not_overfill_an_inbox(place):
    async with Runtime.open(place, graphs=[ledger], limits=NARROW) as runtime:
        posts = [runtime.post("l-1", "NOTED", {"n": str(n)}) for n in range(10)]
        ended = await asyncio.gather(*posts, return_exceptions=True)
        assert sum(isinstance(each, InboxFullError) for each in ended) == 8
        assert len(await runtime.mail("l-1")) == 2


@pytest.mark.needs("tells_repeats")
async def test_what_is_not_accepted_takes_no_room(place):
    async with Runtime.open(place, graphs=[ledger], limits=NARROW) as runtime:
        for _ in range(5):
            await runtime.post("l-1", "NOTED", {"n": "a"}, event_id="x-1")
            with pytest.raises(EventIdReusedError):
                await runtime.post("l-1", "NOTED", {"n": "b"}, event_id="x-1")
        await runtime.post("l-1", "NOTED", {"n": "c"})
        assert await waiting(runtime) == ["a", "c"]


@pytest.mark.needs("takes_a_clock")
async def test_mail_with_a_due_time_takes_no_room_before_it_is_due(place, clock):
    async with Runtime.open(place, graphs=[ledger], limits=NARROW, clock=clock) as runtime:
        for n in range(5):
            await runtime.post("l-1", "NOTED", {"n": f"due {n}"}, due=NOON + timedelta(hours=1))
        for n in "ab":
            await runtime.post("l-1", "NOTED", {"n": n})
        assert len(await runtime.mail()) == 7


@pytest.mark.not_on_restate("a service has no callers that could wait for room")
async def test_a_poster_waits_for_room_and_those_who_came_first_go_first(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate, limits=PATIENT) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        await runtime.post("g-1", "PASSED", {"at": "0"})
        await gate.reached()
        posts = [asyncio.ensure_future(runtime.post("g-1", "STAMPED", {"at": str(n)})) for n in range(1, 10)]
        await soon(posts[0])
        for _ in range(50):
            await asyncio.sleep(0)
        assert [post.done() for post in posts] == [True] + [False] * 8
        assert len(await runtime.mail("g-1")) == 2
        gate.opened.set()
        await soon(asyncio.gather(*posts))
        await agent.send("STAMPED", {"at": "end"})
        assert agent.context.stops == [*map(str, range(10)), "end"]
        assert await runtime.mail() == []


@pytest.mark.not_on_restate("a service has no callers that could wait for room")
async def test_a_poster_that_stops_waiting_for_room_takes_no_room(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate, limits=PATIENT) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        await runtime.post("g-1", "PASSED", {"at": "0"})
        await runtime.post("g-1", "STAMPED", {"at": "1"})
        await gate.reached()
        posts = [asyncio.ensure_future(runtime.post("g-1", "STAMPED", {"at": str(n)})) for n in range(2, 6)]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await runtime.post("g-1", "STAMPED", {"at": "never"})
        posts[0].cancel()
        posts[2].cancel()
        gate.opened.set()
        await soon(asyncio.gather(*posts, return_exceptions=True))
        await agent.send("STAMPED", {"at": "end"})
        assert agent.context.stops == ["0", "1", "3", "5", "end"]
        for n in range(3):
            await soon(runtime.post("g-1", "STAMPED", {"at": f"later {n}"}))
        await agent.send("STAMPED", {"at": "end"})
        assert agent.context.stops[5:] == ["later 0", "later 1", "later 2", "end"]


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_poster_that_is_cancelled_at_the_instant_of_its_admission_leaves_its_room_to_the_next(place):
    limits = Limits(inbox=1, when_full=WhenFull.WAIT)
    async with Runtime.open(place, graphs=[ledger], limits=limits) as runtime:
        await runtime.post("l-1", "NOTED", {"n": "0"})
        posts = [asyncio.ensure_future(runtime.post("l-1", "NOTED", {"n": str(n)})) for n in (1, 2)]
        await asyncio.sleep(0)
        effects = effects_of(runtime)
        finished = effects.finished

        def finish(mail):
            finished(mail)
            posts[0].cancel()

        effects.finished = finish
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await soon(posts[1])
        await soon(runtime.post("l-1", "NOTED", {"n": "3"}))
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes in (["0", "2", "3", "end"], ["0", "1", "2", "3", "end"])


@pytest.mark.not_on_restate("a service has no callers that could wait for room")
async def test_who_waits_for_room_is_told_that_the_runtime_closes(place):
    async with Runtime.open(place, graphs=[ledger], limits=PATIENT) as runtime:
        for n in "ab":
            await runtime.post("l-1", "NOTED", {"n": n})
        posts = [asyncio.ensure_future(runtime.post("l-1", "NOTED", {"n": n})) for n in "cd"]
        await asyncio.sleep(0)
    for post in posts:
        with pytest.raises(RuntimeClosedError, match="post"):
            await soon(post)
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        assert await waiting(runtime) == ["a", "b"]


async def test_mail_that_is_refused_dead_or_cancelled_makes_room(place, clock):
    limits = Limits(inbox=1, mail_retry=Retry(attempts=1))
    async with Runtime.open(place, graphs=[ledger], limits=limits, services=Faults("a"), clock=clock) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        for event in ("UNHEARD", "TRIED", "NOTED"):
            await runtime.post("l-1", event, {"n": "a"})
            await agent.send("MOVED")
        assert [mail.status for mail in await runtime.mail()] == [MailStatus.REFUSED, MailStatus.DEAD]


# Cancelled callers, a store that fails


async def test_mail_whose_poster_is_cancelled_while_it_is_committed_is_delivered(sqlite_url):
    async with Runtime.open(sqlite_url, graphs=[ledger]) as runtime:
        agent = await runtime.start("ledger", at="OPEN")
        store = WrappedStore(store_of(runtime))
        core_of(runtime).committer._store = store
        reached = asyncio.Event()

        async def hold(_):
            reached.set()
            await asyncio.sleep(0)

        store.before = hold
        posting = asyncio.ensure_future(runtime.post(agent.id, "NOTED", {"n": "a"}))
        await reached.wait()
        posting.cancel()
        with suppress(asyncio.CancelledError):
            await posting
        assert posting.cancelled()
        await eventually(lambda: agent.context.notes == ["a"])
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes == ["a", "end"]
        assert await runtime.mail() == []


async def test_posting_under_a_timeout_leaves_mail_whole_or_not_at_all(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        agent = await runtime.start("ledger", at="OPEN")
        for n in range(20):
            with suppress(TimeoutError):
                async with asyncio.timeout(n / 10_000):
                    await runtime.post(agent.id, "NOTED", {"n": str(n)}, event_id=str(n))
        for n in range(20):
            await runtime.post(agent.id, "NOTED", {"n": str(n)}, event_id=str(n))
        await agent.send("NOTED", {"n": "end"})
        assert sorted(agent.context.notes) == sorted([*map(str, range(20)), "end"])


@pytest.mark.needs("takes_a_clock")
async def test_mail_waits_for_a_store_that_cannot_be_read_or_written_for_a_while(place, clock):
    async with Runtime.open(place, graphs=[ledger], clock=clock) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="l-1")
    store = None

    async def fail(_):
        raise StoreBusyError("agents.db", "by a test")

    from gatechart.stores import open_store

    async with open_store(place) as opened:
        store = WrappedStore(opened)
        async with Runtime.open(store, graphs=[ledger], clock=clock) as runtime:
            agent = await runtime.resume("l-1")
            await runtime.post("l-1", "MOVED")
            await soon(agent.until("ELSEWHERE"))
            store.before = fail
            with pytest.raises(StoreBusyError):
                await runtime.post("l-1", "NOTED", {"n": "a"})
            store.before = fail_turns
            await runtime.post("l-1", "NOTED", {"n": "b"})
            for _ in range(3):
                await at_rest(runtime, clock)
                clock.advance(1)
            assert agent.context.notes == []
            store.before = nothing_at_all
            await at_rest(runtime, clock)
            clock.advance(1)
            await agent.send("NOTED", {"n": "end"})
            assert agent.context.notes == ["b", "end"]
            assert await runtime.mail() == []


async def fail_turns(units):
    from gatechart.values.commits import TurnRecord

    if any(isinstance(unit, TurnRecord) for unit in units):
        raise StoreBusyError("agents.db", "by a test")


async def nothing_at_all(_):
    pass


# Due


@pytest.mark.needs("takes_a_clock")
async def test_mail_is_delivered_when_it_is_due(place, clock):
    async with Runtime.open(place, graphs=[ledger], clock=clock) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        for n, seconds in [("c", 30), ("a", 10), ("b", 20), ("now", 0), ("past", -5)]:
            await runtime.post("l-1", "NOTED", {"n": n}, due=NOON + timedelta(seconds=seconds))
        await agent.send("NOTED", {"n": "sent"})
        assert agent.context.notes == ["now", "past", "sent"]
        for seconds in (9.999, 0.001, 100):
            clock.advance(seconds)
            await at_rest(runtime, clock)
            await agent.send("NOTED", {"n": str(seconds)})
        assert agent.context.notes[3:] == ["9.999", "a", "0.001", "b", "c", "100"]
        assert await runtime.mail() == []


@pytest.mark.needs("takes_a_clock")
async def test_mail_with_a_due_time_is_kept_for_the_next_runtime(place, clock):
    async with Runtime.open(place, graphs=[ledger], clock=clock) as runtime:
        await runtime.post("l-1", "NOTED", {"n": "a"}, due=NOON + timedelta(seconds=10))
        await runtime.start("ledger", at="OPEN", agent_id="l-1")
    clock.advance(5)
    async with Runtime.open(place, graphs=[ledger], clock=clock) as runtime:
        agent = await runtime.resume("l-1")
        await eventually(lambda: clock.next_due == NOON + timedelta(seconds=10))
        clock.advance(5)
        await eventually(lambda: agent.context.notes == ["a"])


async def test_mail_due_when_posted_comes_before_mail_posted_later_to_an_agent_that_is_yet_to_start(
    place,
):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        await runtime.post("l-1", "NOTED", {"n": "first"}, due=datetime.now(UTC) - timedelta(seconds=5))
        await runtime.post("l-1", "NOTED", {"n": "second"})
        await runtime.mail("l-1")
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes == ["first", "second", "end"]


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("reopens", [False, True])
async def test_an_agent_that_starts_late_takes_its_mail_as_it_was_accepted_and_became_due(place, clock, reopens):
    async with Runtime.open(place, graphs=[ledger], clock=clock) as runtime:
        await runtime.post("l-1", "NOTED", {"n": "due after 9 s"}, due=NOON + timedelta(seconds=9))
        await runtime.post("l-1", "NOTED", {"n": "due after 3 s"}, due=NOON + timedelta(seconds=3))
        await runtime.post("l-1", "NOTED", {"n": "posted at once"})
        clock.advance(5)
        await at_rest(runtime, clock)
        await runtime.post("l-1", "NOTED", {"n": "posted after 5 s"})
        clock.advance(5)
        await at_rest(runtime, clock)
        if not reopens:
            agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
            await agent.send("NOTED", {"n": "end"})
    if reopens:
        async with Runtime.open(place, graphs=[ledger], clock=clock) as runtime:
            agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
            await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["posted at once", "due after 3 s", "posted after 5 s", "due after 9 s", "end"]


@pytest.mark.needs("takes_a_clock")
async def test_mail_that_became_due_before_other_mail_was_posted_comes_first_after_a_restart_too(place, clock):
    faults = Faults("x")
    async with Runtime.open(place, graphs=[ledger], clock=clock, limits=TWICE, services=faults) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "TRIED", {"n": "x"})
        await at_rest(runtime, clock)  # it failed, and so holds up what comes after it
        await runtime.post("l-1", "NOTED", {"n": "timed"}, due=NOON + timedelta(seconds=3))
        clock.advance(5)
        await at_rest(runtime, clock)
        await runtime.post("l-1", "NOTED", {"n": "posted"})
    faults.broken.clear()
    clock.advance(5)
    async with Runtime.open(place, graphs=[ledger], clock=clock, limits=TWICE, services=faults) as runtime:
        agent = await runtime.resume("l-1")
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes == ["x", "timed", "posted", "end"]


@pytest.mark.parametrize("due", [datetime(2030, 1, 1), 60, "2030-01-01"])  # noqa: DTZ001
async def test_a_due_time_without_a_zone_is_refused(desk, due):
    with pytest.raises(PayloadError, match="due"):
        await desk.post("l-1", "NOTED", due=due)
    assert await desk.mail() == []


@pytest.mark.parametrize(
    ("to", "event", "payload", "more", "error"),
    [
        ("", "NOTED", None, {}, UnknownAgentError),
        ("a\0b", "NOTED", None, {}, UnknownAgentError),
        ("l-1", "", None, {}, PayloadError),
        ("l-1", "NOTED", [1], {}, PayloadError),
        ("l-1", "NOTED", {"n": object()}, {}, PayloadError),
        ("l-1", "NOTED", None, {"event_id": ""}, PayloadError),
        ("l-1", "NOTED", None, {"event_id": 7}, PayloadError),
    ],
)
async def test_mail_that_no_store_can_keep_is_refused(desk, to, event, payload, more, error):
    with pytest.raises(error):
        await desk.post(to, event, payload, **more)
    assert await desk.mail() == []


# Graphs that come later


@pytest.mark.not_on_restate("the service has graphs of its own, and migrates")
async def test_mail_for_an_agent_whose_graph_is_not_registered_waits_for_it(place):
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="l-1")
    async with Runtime.open(place, graphs=[gated]) as runtime:
        for n in "ab":
            await runtime.post("l-1", "NOTED", {"n": n})
        assert await waiting(runtime) == ["a", "b"]
        runtime.register(ledger)
        agent = await runtime.resume("l-1")
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes == ["a", "b", "end"]
    async with Runtime.open(place, graphs=[ledger]) as runtime:
        assert await runtime.mail() == []


@pytest.mark.not_on_restate("the service has graphs of its own, and migrates")
async def test_mail_accepted_before_reaches_an_agent_whose_graph_comes_later(place):
    async with Runtime.open(place, graphs=[gated]) as runtime:
        await runtime.post("l-1", "NOTED", {"n": "a"})
        runtime.register(ledger)
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "NOTED", {"n": "b"})
        await agent.send("NOTED", {"n": "end"})
        assert agent.context.notes == ["a", "b", "end"]


async def test_an_agent_that_was_erased_gets_no_mail_of_before(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        passing = asyncio.ensure_future(agent.send("PASSED"))
        await gate.reached()
        erasing = asyncio.ensure_future(runtime.erase("g-1"))
        await asyncio.sleep(0)
        await runtime.post("g-1", "STAMPED", {"at": "before"})
        gate.opened.set()
        await soon(asyncio.gather(passing, erasing))
        assert await runtime.mail() == []
        again = await runtime.start("gated", at="RESTING", agent_id="g-1")
        await again.send("STAMPED", {"at": "after"})
        assert again.context.stops == ["after"]
