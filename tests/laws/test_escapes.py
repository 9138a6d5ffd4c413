"""What no agent's record of escapes ever does: it counts back in nothing, and allows no more than its plan says."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import EscapePlan, Runtime, State, Transition
from gatechart.errors import EventError
from gatechart.escape import GiveUp, Nudge, Reroute, Restart, Rollback, Scene, Strategy, Tactic
from gatechart.escape.attempts import after_try, judged, next_tries, with_asked, without_way
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.migration import Migration
from gatechart.graph.signals import Signal
from gatechart.signals import Repeats
from gatechart.stores.memory import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.values.agents import Event, Status
from gatechart.values.escapes import MOST_TRIED, NO_ESCAPES, CameTo, Tried
from gatechart.values.signal_reports import SignalReport
from tests.support import NOW, at_once, started

pytestmark = pytest.mark.long

lawful = settings(max_examples=200, deadline=None, derandomize=True, database=None)
GIVE_UP = GiveUp()


@dataclass(frozen=True, slots=True)
class Named(Strategy):
    """A strategy that does nothing, with a name of its own."""

    called: str

    @property
    def name(self):
        return self.called


STRATEGIES = tuple(map(Named, "abcd"))
SIGNALS = ("loop", "fail")
plans = st.builds(
    lambda cooldown, most, turns, last_at, some: EscapePlan(
        {"*": [*some[:last_at], GIVE_UP, *some[last_at:]] if last_at < len(some) else some},
        cooldown=f"{cooldown}s",
        most_a_day=most,
        turns=turns,
    ),
    st.sampled_from([1, 120, 40_000, 90_000]),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 9),
    st.permutations(STRATEGIES),
)
happenings = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([1, 100, 3_000, 50_000])),
    st.tuples(st.just("found"), st.sampled_from(SIGNALS)),
    st.tuples(st.just("try"), st.integers(0, 5)),
    st.tuples(st.just("moved"), st.booleans()),
)


@cache
def idle():
    return at_once(started(StateTransitionGraph("idle", states=["HERE"], entry_points=["HERE"]), "HERE")).snapshot


class Record:
    """A record of escapes, and beside it everything that was ever tried, of which a record keeps but the newest."""

    def __init__(self, plan):
        self.plan, self.escapes, self.now = plan, NO_ESCAPES, NOW
        self.tried: list[Tried] = []

    def happens(self, what, how):
        before = self.escapes
        match what:
            case "wait":
                self.now += timedelta(seconds=how)
            case "found":
                self.escapes, _ = with_asked(before, how)
            case "try" if before.is_due:
                self.attempt(next(each for each in before.open if each.is_due), how)
            case "moved":
                self.escapes = judged(before, is_move=True, is_progress=how)
        self.check(before)

    def attempt(self, finding, closed):
        """Try what is next but for so many strategies that lead nowhere now."""
        tactic = Tactic(self.plan, self.plan.answers(finding.signal), self.plan.last)
        event = Event("escape.due", {}, self.now)
        scene = Scene(None, idle(), None, event, finding, {}, SignalReport(), {})
        looked_at, open_ones = [], []
        for each in next_tries(tactic, scene, self.escapes):
            looked_at.append(each.strategy)
            if not each.why:
                open_ones.append(each.strategy)
                if len(open_ones) > closed:
                    break
        else:
            self.escapes = without_way(self.escapes, finding)
            return
        taken = looked_at[-1]
        self.check_allowed(finding, taken)
        self.escapes = after_try(self.escapes, self.plan, finding, looked_at, "", self.now)
        self.tried.append(self.escapes.newest)

    def check_allowed(self, finding, taken):
        if taken == self.plan.last:
            return
        mine = [each for each in self.tried if each.strategy == taken.name]
        assert all(each.finding != finding.number for each in mine)
        assert all((self.now - each.time).total_seconds() >= self.plan.cooldown_s for each in mine)
        assert Counter(each.time.date() for each in self.tried)[self.now.date()] < self.plan.most_a_day

    def check(self, before):
        after = self.escapes
        assert after.count == len(self.tried) >= before.count
        assert after.findings >= before.findings
        assert after.tried_on(self.now) == Counter(each.time.date() for each in self.tried)[self.now.date()]
        assert [each.number for each in after.tried] == sorted({each.number for each in after.tried})
        assert len(after.tried) <= MOST_TRIED
        assert len({each.signal for each in after.open}) == len(after.open)
        for each in after.open:
            known = before.finding(each.number)
            assert known is None or set(known.tried) <= set(each.tried)
        known = {each.number: each.came_to for each in before.tried}
        for each in after.tried:  # what was judged stays so
            assert known.get(each.number, CameTo.PENDING) in (CameTo.PENDING, each.came_to)


@lawful
@given(plans, st.lists(happenings, max_size=150))
def test_a_record_counts_up_and_allows_each_strategy_once_and_no_more_than_the_plan(plan, happened):
    record = Record(plan)
    for what, how in happened:
        record.happens(what, how)


def test_a_cooldown_holds_although_the_last_resort_was_taken_more_often_than_the_record_keeps():
    record = Record(EscapePlan({"*": [Named("a")]}, cooldown="1h", most_a_day=99))
    for _ in range(MOST_TRIED + 5):
        record.happens("found", "loop")
        record.happens("try", 0)
        record.happens("moved", True)
    assert [each.strategy for each in record.escapes.tried] == ["a", *["give_up"] * (MOST_TRIED - 1)]
    record.happens("found", "loop")
    record.happens("try", 0)
    assert record.tried[-1].strategy == "give_up"


def test_a_clock_that_is_put_back_over_midnight_begins_no_new_day():
    record = Record(EscapePlan({"*": [Named("a"), Named("b")]}, most_a_day=1))
    record.happens("found", "loop")
    record.happens("try", 0)
    record.now -= timedelta(days=1)
    assert record.escapes.tried_on(record.now) == 1
    record.escapes, finding = with_asked(record.escapes, "loop")
    record.escapes = after_try(record.escapes, record.plan, finding, [Named("b")], "", record.now)
    assert (record.escapes.day, record.escapes.today) == (NOW.date().isoformat(), 2)


def test_a_clock_that_was_ahead_once_makes_no_day_of_the_month_between():
    record = Record(EscapePlan({"*": [Named("a"), Named("b")]}, most_a_day=1))
    record.now += timedelta(days=30)
    record.happens("found", "loop")
    record.happens("try", 0)
    record.now -= timedelta(days=30)
    assert record.escapes.tried_on(record.now) == 0


# Whole agents, with all that can be done to them.

COOLDOWN_S, MOST_A_DAY = 600, 4
PLAN = EscapePlan(
    {"repeats": [Nudge(), Reroute(), Rollback(), Restart(), GIVE_UP]},
    cooldown=f"{COOLDOWN_S}s",
    most_a_day=MOST_A_DAY,
    turns=3,
)
MOST_GOES = 150


def ring(version):
    """Agents that go round in circles, and get on by ON alone. Every third version has no signals, and so no plan."""
    noticing = {} if version % 3 == 2 else {"signals": Signal(Repeats()), "escape": PLAN}
    return StateTransitionGraph(
        "ring",
        version=str(version),
        states=[State("DONE", final=True), State("GAVE_UP", final=True, failed=True)],
        transitions=[
            Transition("A", "GO", "B"),
            Transition("B", "GO", "A"),
            Transition("A", "ON", "C"),
            Transition("B", "ON", "C"),
            Transition("C", "GO", "A"),
            Transition("C", "ON", "E"),
            Transition("E", "GO", "B"),
            Transition("E", "END", "DONE"),
        ],
        entry_points=["A", "E"],
        migrations=[Migration(str(each), str(each + 1), lambda stored: stored) for each in range(1, version)],
        **noticing,
    )


deeds = st.lists(
    st.one_of(
        st.just(("GO", 0)),
        st.tuples(st.just("circles"), st.integers(1, 3)),
        st.just(("ON", 0)),
        st.tuples(st.just("wait"), st.sampled_from([1, 500, 30_000])),
        st.tuples(st.just("back"), st.integers(1, 12)),
        st.tuples(st.just("fork"), st.integers(1, 12)),
        st.just(("migrate", 0)),
    ),
    min_size=4,
    max_size=25,
)


class Life:
    """The life of an agent, whose record is looked at after each deed."""

    def __init__(self):
        self.store, self.clock, self.version = MemoryStore(), VirtualClock(datetime(2030, 1, 1, 20, tzinfo=UTC)), 1
        self.seen = NO_ESCAPES

    async def live(self, deeds):
        while True:
            async with Runtime.open(self.store, graphs=[ring(self.version)], clock=self.clock) as runtime:
                async for each in runtime.migrate():
                    assert each.problem is None
                agent = await runtime.start_or_resume("ring", at="A", agent_id="r-1")
                while deeds:
                    what, how = deeds.pop(0)
                    if what == "migrate":
                        self.version += 1
                        break
                    with suppress(EventError):
                        await self.do(runtime, agent, what, how)
                    await self.check(agent)
                else:
                    await self.ends(agent)
                    return

    async def do(self, runtime, agent, what, how):
        match what:
            case "wait":
                self.clock.advance(how)
            case "back":
                await agent.rollback(how, reason="to see")
            case "fork":
                other = await runtime.fork(agent.id, how)
                assert other.snapshot.trail.escapes == NO_ESCAPES
                assert other.snapshot.configuration == (await agent.snapshot_at(how)).configuration
            case "circles":
                for _ in range(6 * how):
                    await agent.send("GO")
            case _:
                await agent.send(what)

    async def check(self, agent):
        escapes, before = agent.snapshot.trail.escapes, self.seen
        self.seen = escapes
        assert escapes.count >= before.count
        assert escapes.findings >= before.findings
        assert escapes.day >= before.day
        assert escapes.day != before.day or escapes.today >= before.today
        history = await agent.history()
        turns = [turn for turn in history if turn.event.name.startswith("escape.")]
        attempts = [turn for turn in turns if turn.event.name != "escape.none"]
        assert escapes.count == len(attempts)
        check_allowed([turn for turn in attempts if turn.event.name != "escape.give_up"])

    async def ends(self, agent):
        """Check that the agent comes to its end, or is told of nothing that it may try, within its bound."""
        if ring(self.version).has_escapes:
            for _ in range(MOST_GOES):
                if agent.snapshot.status is Status.ACTIVE:
                    await agent.send("GO")
            assert agent.snapshot.status is not Status.ACTIVE
        await self.check(agent)


def check_allowed(attempts):
    """Check what the plan allows: once for a finding, after the cooldown, and so often on a day."""
    tried = [(turn.event.payload["finding"], turn.event.name) for turn in attempts]
    assert len(tried) == len(set(tried))
    assert all(number <= MOST_A_DAY for number in Counter(turn.event.time.date() for turn in attempts).values())
    last = {}
    for turn in attempts:
        name, now = turn.event.name, turn.event.time
        assert name not in last or (now - last[name]).total_seconds() >= COOLDOWN_S
        last[name] = now


@settings(lawful, max_examples=100)
@given(deeds)
def test_whatever_is_done_to_an_agent_its_record_counts_up_and_it_ends_within_its_bound(given):
    asyncio.run(Life().live([*given]))
