"""Recurring timers: set again by the turn that handles them, ended with their state, durable on every home."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from gatechart import Every, Runtime, State, StateTransitionGraph, Transition
from gatechart.checks import check
from gatechart.drawing import to_dot
from gatechart.errors import InvalidGraphError, StoreBusyError
from gatechart.graph.definition import Then
from gatechart.stores import open_store
from gatechart.testing import VirtualClock, rehearse
from tests.runtime.ledgers import Ledger
from tests.runtime.support import WrappedStore, at_rest, eventually, soon

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def remind(context, event):
    context.notes.append(event.payload["due"])


def is_short(context, event):
    return len(context.notes) < 2


def waiting(name="waiting", **every):
    return StateTransitionGraph(
        name,
        context=Ledger,
        states=[State("WAITING", every=every["every"]), "LEFT", State("ENDED", final=True)],
        transitions=[
            Transition("WAITING", "LEAVE", "LEFT"),
            Transition("LEFT", "RETURN", "WAITING"),
            Transition("WAITING", "AGAIN", "WAITING"),
            Transition("LEFT", "END", "ENDED"),
        ],
        entry_points=["WAITING"],
    )


DAILY = waiting(every={"1d": remind})


def dues(*days, after=NOON):
    return [(after + each * DAY).isoformat() for each in days]


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.mark.needs("takes_a_clock")
async def test_an_action_recurs_as_long_as_its_state_is_active(place, clock):
    async with Runtime.open(place, graphs=[DAILY], clock=clock) as runtime:
        agent = await runtime.start("waiting", at="WAITING")
        for day in (1, 2, 3):
            clock.at = NOON + day * DAY
            await eventually(lambda day=day: agent.context.notes == dues(*range(1, day + 1)))
        await agent.send("LEAVE")
        clock.at = NOON + 9 * DAY
        await at_rest(runtime, clock)
        assert agent.context.notes == dues(1, 2, 3)
        await agent.send("RETURN")
        clock.at = NOON + 10 * DAY
        await eventually(lambda: agent.context.notes == dues(1, 2, 3, 10))


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_outlives_its_runtime_and_does_not_drift(place, clock):
    async with Runtime.open(place, graphs=[DAILY], clock=clock) as runtime:
        await runtime.start("waiting", at="WAITING", agent_id="a")
    clock.at = NOON + 1.25 * DAY
    async with Runtime.open(place, graphs=[DAILY], clock=clock) as runtime:
        agent = await runtime.resume("a")
        await eventually(lambda: agent.context.notes == dues(1))
        clock.at = NOON + 2 * DAY
        await eventually(lambda: agent.context.notes == dues(1, 2))


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize(
    ("missed", "made_up"), [("one", (1,)), ("each", (1, 2, 3)), ("none", ())], ids=["one", "each", "none"]
)
async def test_missed_moments_are_made_up_for_as_the_timer_says(place, clock, missed, made_up):
    graph = waiting(every={Every("1d", missed=missed): remind})
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        await runtime.start("waiting", at="WAITING", agent_id="a")
    clock.at = NOON + 3.5 * DAY
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.resume("a")
        await eventually(lambda: agent.context.notes == dues(*made_up))
        await at_rest(runtime, clock)
        clock.at = NOON + 4 * DAY
        await eventually(lambda: agent.context.notes == dues(*made_up, 4))


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_the_next_timer_is_set_in_the_commit_that_handles_the_last(sqlite_url, clock, moment):
    """Whichever side of the commit the process dies on, one timer is left, and each moment is handled once."""

    async def die(_):
        raise StoreBusyError("the process dies here")

    async with open_store(sqlite_url) as kept:
        store = WrappedStore(kept)
        async with Runtime.open(store, graphs=[DAILY], clock=clock) as runtime:
            await runtime.start("waiting", at="WAITING", agent_id="a")
            setattr(store, moment, die)
            clock.at = NOON + DAY
            await eventually(lambda: len(store.groups) > 1)
    async with Runtime.open(sqlite_url, graphs=[DAILY], clock=clock) as runtime:
        agent = await runtime.resume("a")
        await eventually(lambda: agent.context.notes == dues(1))
        (timer,) = await runtime.mail()
        assert (timer.due, timer.state) == (NOON + 2 * DAY, "WAITING")
        clock.at = NOON + 2 * DAY
        await eventually(lambda: agent.context.notes == dues(1, 2))


def has_enough(context, event):
    return len(context.notes) == 3


@pytest.mark.sample_on_restate
async def test_a_timer_recurs_on_every_home(place):
    graph = waiting("brief", every={Every("100ms", missed="each"): [Then("LEFT", guard=has_enough), remind]})
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("brief", at="WAITING")
        await soon(agent.until("LEFT"))
        events = [entry.event.name for entry in await agent.history()]
        assert events[1:] == 4 * ["every.100ms.WAITING"]
        times = [datetime.fromisoformat(due) for due in agent.context.notes]
        assert {later - earlier for earlier, later in pairwise(times)} == {timedelta(milliseconds=100)}


async def test_a_state_that_is_entered_again_begins_its_timer_anew():
    async with rehearse(DAILY, "WAITING", clock=VirtualClock(NOON)) as rehearsal:
        await rehearsal.advance("12h")
        await rehearsal.send("AGAIN")
        await rehearsal.advance("2d")
        assert rehearsal.context.notes == dues(1.5, 2.5)


async def test_a_timer_goes_on_though_no_guard_agrees():
    graph = waiting(every={"1d": Then(guard=is_short, actions=remind)})
    async with rehearse(graph, "WAITING", clock=VirtualClock(NOON)) as rehearsal:
        await rehearsal.advance("5d")
        assert rehearsal.context.notes == dues(1, 2)
        assert [entry.event.name for entry in await rehearsal.agent.history()][1:] == 5 * ["every.1d.WAITING"]


async def test_a_timer_that_leads_to_a_state_ends_with_the_one_it_leaves():
    async with rehearse(waiting(every={"1d": "LEFT"}), "WAITING", clock=VirtualClock(NOON)) as rehearsal:
        await rehearsal.advance("5d")
        assert rehearsal.leaves == ("LEFT",)
        assert rehearsal.snapshot.version == 2


async def test_a_cron_expression_follows_the_clocks_of_its_zone():
    pytest.importorskip("cronsim", reason="NOT TESTED on cron expressions: `make test` installs cronsim")
    morning = Every(cron="0 9 * * MON-FRI", zone="Europe/Berlin")
    friday = datetime(2030, 3, 29, 12, tzinfo=UTC)  # the clocks go forward on Sunday
    async with rehearse(waiting(every={morning: remind}), "WAITING", clock=VirtualClock(friday)) as rehearsal:
        await rehearsal.advance("4d")
        assert rehearsal.context.notes == ["2030-04-01T07:00:00+00:00", "2030-04-02T07:00:00+00:00"]


def test_what_recurs_is_drawn_and_found_to_be_awaited():
    assert "every 1d" in to_dot(DAILY)
    assert [each.code for each in check(DAILY) if each.code in ("GC204", "GC205")] == []
    assert DAILY.fingerprint != waiting(every={"2d": remind}).fingerprint
    assert DAILY.fingerprint != waiting(every={Every("1d", missed="each"): remind}).fingerprint


def test_the_faults_of_recurring_timers_are_told_with_the_others():
    with pytest.raises(InvalidGraphError) as told:
        waiting(every={"soon": remind, Every("1d"): remind, "1d": remind})
    assert [str(fault) for fault in told.value.faults][:2] == [
        "state 'WAITING': every soon: 'soon' is not a duration; "
        "write '500ms', '30s', '1h30m', '2d' or 'PT1H30M', or seconds",
        "state 'WAITING': every 1d occurs twice; put what follows into one",
    ]
