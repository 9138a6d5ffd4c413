"""Ways back over calls that must not be repeated: closed, or taken back first, and keys that stay, on every home."""

import asyncio
from collections import Counter

import pytest

from gatechart import ANY, Runtime, Transition
from gatechart.alerts import Alerts
from gatechart.api.codec import SNAPSHOT
from gatechart.escape import Alert, CutOut, GiveUp, Reroute, Restart, Rollback
from gatechart.hosting.lessons import keeper_of, lessons_kept
from gatechart.hosting.limits import Limits
from gatechart.testing import VirtualClock
from gatechart.values.escapes import CameTo
from gatechart.values.fired_signals import Reaction
from gatechart.values.handoffs import Reason
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus
from tests.runtime.handovers import rest
from tests.runtime.rings import NOON, Sink
from tests.runtime.support import eventually
from tests.runtime.trip_agents import (
    HALF_WAY,
    PIN,
    Desk,
    attempts,
    book_two,
    check_half_way,
    half_way,
    taking_back,
    trip,
)


async def pay_two(context, work):
    return [(await work.call("pay", amount=5)).unwrap() for _ in range(2)]


async def test_calls_are_taken_back_the_newest_first_before_the_agent_begins_anew(place):
    desk = Desk()
    async with Runtime.open(place, graphs=trip(book_two, Restart()), services=desk) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("DONE", timeout=30)
        assert desk.deeds == [
            "book 1A",
            "book 1B",
            "cancel B-1B pin-0815",
            "cancel B-1A pin-0815",
            "book 1A",
            "book 1B",
        ]
        first, second = await attempts(agent)
        assert (first.event.name, first.target) == ("escape.restart", ("UNDOING",))
        assert (second.event.name, second.target) == ("escape.restart", ("BUYING",))
        assert [(each.strategy, each.came_to) for each in agent.snapshot.trail.escapes.tried] == [
            ("restart", CameTo.PROGRESS)
        ]
        assert "pin-0815" not in str(await agent.history())
        assert "pin-0815" not in str(agent.snapshot.trail)


async def test_one_attempt_is_learned_of_and_alerts_once_though_calls_are_taken_back_first(place):
    sink, graph = Sink(), trip(book_two, Alert("ops", "it fails"), Restart())
    with_sink = {"alerts": Alerts({"ops": sink}), "clock": VirtualClock(NOON)}
    async with Runtime.open(place, graphs=graph, services=Desk(), **with_sink) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("DONE", timeout=30)
        await rest(runtime)
        known = lessons_kept(await runtime.read(keeper_of("trip")))
    assert sink.got.qsize() == 1
    assert known.tools["check"] == (0, 3)
    assert known.strategies == {"failing restart": (1, 0)}


@pytest.mark.parametrize("if_undo_fails", [(), Reroute("READY")])
async def test_an_attempt_whose_calls_cannot_be_taken_back_alerts_and_is_learned_of_once(place, if_undo_fails):
    sink, graph = (
        Sink(),
        trip(book_two, Alert("ops", "it fails"), Restart(), Reroute("READY"), if_undo_fails=if_undo_fails),
    )
    with_sink = {"alerts": Alerts({"ops": sink}), "clock": VirtualClock(NOON)}
    async with Runtime.open(place, graphs=graph, services=Desk(breaks=True), **with_sink) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("READY", timeout=30)
        await rest(runtime)
        assert [each.event for each in await runtime.mail() if each.status is MailStatus.REFUSED] == []
        known = lessons_kept(await runtime.read(keeper_of("trip")))
    assert sink.got.qsize() == 1
    assert known.tools["check"] == (0, 3)


async def test_a_call_that_cannot_be_taken_back_leads_to_the_next_strategy(place):
    desk = Desk(breaks=True)
    async with Runtime.open(place, graphs=trip(book_two, Restart(), last=GiveUp()), services=desk) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("GAVE_UP", timeout=30)
        assert desk.deeds == ["book 1A", "book 1B"]
        _, last = await attempts(agent)
        [passed] = last.event.payload["passed"]
        assert passed["strategy"] == "restart"
        assert passed["why"].startswith("cancel could not undo a call: ")
        [failed] = await undo_failures(agent)
        assert (failed.reason, failed.reaction) == (Reason.TOOL_FAILURE, Reaction.ESCAPING)
        [evidence] = failed.evidence
        assert (evidence["tool"], evidence["error"], evidence["strategy"]) == ("cancel", "ConnectionError", "restart")
        assert evidence["undone"] == []


async def undo_failures(agent):
    """The signals of calls that could not be taken back."""
    return [turn.fired for turn in await agent.history() if turn.fired and turn.fired.signal == "undo_failed"]


@pytest.mark.sample_on_restate
@pytest.mark.parametrize(
    ("strategy", "failures", "tried"),
    [(Reroute("READY"), 1, ("undo_failed", "reroute")), (Restart("READY"), 2, ("undo_failed", "give_up"))],
)
async def test_a_plan_may_say_what_is_tried_if_a_call_cannot_be_taken_back(place, strategy, failures, tried):
    graph = trip(book_two, Restart(), if_undo_fails=strategy, cooldown="0s")
    async with Runtime.open(place, graphs=graph, services=Desk(breaks=True)) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("GAVE_UP", "READY", timeout=30)
        assert len(await undo_failures(agent)) == failures
        assert [(each.signal, each.strategy) for each in agent.snapshot.trail.escapes.tried] == [tried]


@pytest.mark.sample_on_restate
async def test_a_chart_may_answer_that_a_call_cannot_be_taken_back_and_then_no_way_out_is_due(place):
    answer = Transition(ANY, "signal.undo_failed", "READY")
    async with Runtime.open(
        place, graphs=trip(book_two, Restart(), answers=[answer]), services=Desk(breaks=True)
    ) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("READY", timeout=30)
        [failed] = await undo_failures(agent)
        assert failed.reaction is Reaction.TAKEN
        await agent.send("GO")
        await agent.until("CHECKING", timeout=30)
        escapes = agent.snapshot.trail.escapes
        assert (escapes.count, escapes.is_due, escapes.undoing, escapes.then) == (0, False, (), None)


async def test_a_way_back_over_a_call_that_must_not_be_repeated_is_closed_and_says_which(place):
    desk = Desk(undo="")
    async with Runtime.open(place, graphs=trip(book_two, Rollback(), Restart()), services=desk) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("GAVE_UP", timeout=30)
        assert desk.deeds == ["book 1A", "book 1B"]
        [last] = await attempts(agent)
        assert {"strategy": "restart", "why": "book was called, and must not be called again"} in (
            last.event.payload["passed"]
        )


async def test_a_plan_may_allow_a_way_back_over_calls_by_the_name_of_their_tool(place):
    desk = Desk(undo="")
    async with Runtime.open(place, graphs=trip(book_two, Restart(allow="book")), services=desk) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("DONE", timeout=30)
        assert Counter(desk.deeds) == {"book 1A": 2, "book 1B": 2}


@pytest.mark.parametrize("strategy", [Restart(), Rollback()])
async def test_calls_that_are_made_again_after_a_way_back_keep_their_keys(place, strategy):
    desk = Desk()
    async with Runtime.open(place, graphs=trip(pay_two, strategy), services=desk) as runtime:
        agent = await runtime.start("trip", at="READY" if isinstance(strategy, Rollback) else "BUYING")
        if agent.snapshot.configuration == ("READY",):
            await agent.send("GO")
        await agent.until("DONE", timeout=30)
        first, second, *again = desk.keys
        assert first != second
        assert again == [first, second]
        await eventually(lambda: agent.snapshot.trail.escapes.keys == ())


async def pay_and_book(context, work):
    await work.call("pay", amount=5)
    return await book_two(context, work)


def keep_seats(context, event):
    context.seats = event.payload["result"]


async def test_calls_over_which_a_closed_way_led_keep_no_keys_by_the_way_after_it(place):
    desk = Desk(undo="")
    graph = trip(pay_and_book, Restart(), CutOut("seats"), paid=keep_seats)
    async with Runtime.open(place, graphs=graph, services=desk) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("DONE", timeout=30)
        [cut] = await attempts(agent)
        assert (cut.event.name, agent.context.seats) == ("escape.cut_out_of_seats", [])
        assert agent.snapshot.trail.escapes.keys == ()


@pytest.mark.parametrize("cancels", HALF_WAY)
async def test_calls_are_taken_back_to_the_end_in_a_backup_that_is_restored(backup, cancels):
    graph = trip(book_two, Restart())
    old, new = (Desk(opened=asyncio.Event(), shut_after=1, cancels=cancels), Desk(fails=0, cancels=cancels))
    async with Runtime.open(backup.url, graphs=graph, services=old, limits=Limits(close_s=0.1)) as runtime:
        await half_way(runtime, old)
        backup.take()
    async with Runtime.open(backup.restored_url, graphs=graph, services=new, role=Role.TAKE_OVER) as runtime:
        await check_half_way(await runtime.resume("a"), old, new, cancels)


@pytest.mark.sample_on_restate
async def test_secret_arguments_are_shown_nowhere_while_calls_are_taken_back(place, caplog):
    caplog.set_level("DEBUG")
    opened = asyncio.Event()
    async with Runtime.open(place, graphs=trip(book_two, Restart()), services=Desk(opened=opened)) as runtime:
        agent = await taking_back(runtime)
        snapshot, turns, mail = await runtime.read("a"), await agent.history(), await runtime.mail()
        assert [each.tool for each in snapshot.trail.escapes.undoing] == ["cancel", "cancel"]
        for each in (snapshot, snapshot.trail.escapes, *snapshot.trail.escapes.undoing, agent, turns, mail):
            assert PIN not in f"{each!r} {each}"
        assert PIN not in SNAPSHOT.write(snapshot).decode()
        assert PIN not in str(SNAPSHOT.plain(snapshot))
        opened.set()
        await agent.until("DONE", timeout=30)
    assert PIN not in caplog.text
