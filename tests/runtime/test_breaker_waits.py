"""Agents whose escape plan waits for circuit breakers, on every home."""

import asyncio
import logging
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import EscapePlan, Limits, Runtime, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.escape import AwaitBreaker, GiveUp, getting_out
from gatechart.graph.definition import ANY, Invoke
from gatechart.hosting import breaker_waits
from gatechart.hosting.lessons import keeper_of, lessons_kept
from gatechart.signals import NoProgress, looping
from gatechart.testing import VirtualClock
from gatechart.tools import ToolPolicies
from gatechart.values.agents import Status
from gatechart.values.breakers import BreakerPolicy, BreakerState
from gatechart.values.delays import Retry
from gatechart.values.findings import FindingKind
from gatechart.values.trail import Called, Waited, entries_in, wait_under_way
from gatechart.watchdog import Watchdog, WatchdogTerms
from statecharts.hurry import hurried
from tests.runtime.busy_agents import Task, note, noted, opened
from tests.runtime.support import at_rest, eventually

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
BREAK_S = 30
AWAITS = EscapePlan({"refused_tool": AwaitBreaker()}, last=GiveUp())


@pytest.fixture(autouse=True)
def _quiet():
    """What fails on purpose is not logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


class Shop:
    """Services with a tool that is down for a number of uses, or until a moment."""

    def __init__(self, downs=1, *, clock=None, recovers_at=None, break_s=BREAK_S, **policies):
        self.uses = []
        policy = BreakerPolicy(failures_in_a_row=1, break_s=break_s)

        @tool(repeat="safe", policies=ToolPolicies(breaker=policy, **{"retry": "off", **policies}))
        async def look(order: int) -> str:
            self.uses.append(order)
            if recovers_at is not None and clock.now() < recovers_at:
                raise ConnectionError("503")
            if recovers_at is None and len(self.uses) <= downs:
                raise ConnectionError("503")
            return f"order {order}"

        self.tools = ToolBox([look])


def asking(times=6, escape=AWAITS, signals=None, **of_state):
    async def look(context, work):
        found = []
        for order in range(times):
            result = await work.call("look", order=order)
            found.append("ok" if result.ok else result.failure.type or result.failure.kind.value)
        return found

    return StateTransitionGraph(
        "asking",
        context=Task,
        states=[State("ASKING", invoke=Invoke(look, id="f"), **of_state), State("DONE", final=True)],
        transitions=[
            *(Transition(ANY, f"{kind}.invoke.f", actions=note) for kind in ("done", "error")),
            Transition("ASKING", "ENDED", "DONE"),
        ],
        entry_points=["ASKING"],
        signals=looping() if signals is None else signals,
        escape=escape,
    )


@asynccontextmanager
async def running(store, graph, shop, clock):
    """A runtime whose clock moves on whenever all its work waits."""
    async with opened(store, graph, shop, clock) as runtime, hurried(clock, runtime):
        yield runtime


async def outcomes(runtime, agent_id="a"):
    agent = await runtime.start("asking", at="ASKING", agent_id=agent_id)
    [[_, payload]] = await noted(agent, 1)
    return agent, payload["result"]


async def attempts(agent):
    return [turn.event.name for turn in await agent.history() if turn.event.name.startswith("escape.")]


async def test_calls_wait_until_the_breaker_lets_them_through(place, monkeypatch):
    monkeypatch.setattr(breaker_waits, "SPREAD_S", 0.05)
    async with Runtime.open(place, graphs=[asking()], services=Shop(break_s=3)) as runtime:
        agent, found = await outcomes(runtime)
        assert found == ["ConnectionError", "breaker open", "breaker open", "ok", "ok", "ok"]
        assert await attempts(agent) == ["escape.await_breaker"]
        [awaited] = agent.snapshot.trail.escapes.awaited
        assert (awaited.tool, awaited.until - awaited.since) == ("look", timedelta(hours=8))


async def test_the_trail_tells_refusals_from_failures_and_shows_the_wait(clock):
    entries = []
    async with running("memory:", asking(5), Shop(), clock) as runtime:
        agent, _ = await outcomes(runtime)
        entries = entries_in(agent.snapshot.trail.text)
        told = [turn.event for turn in await agent.history() if turn.event.name == "trail.call"]
    assert [(type(each), getattr(each, "ok", None)) for each in entries] == [
        (Waited, None),
        (Called, True),
        (Called, True),
    ]
    refused = told[1].payload
    assert (refused["error"], refused["attempts"]) == ("breaker open", 0)
    assert refused["until_ms"] == (NOON.timestamp() + BREAK_S) * 1000
    assert "until_ms" not in told[0].payload


async def test_a_tool_that_is_down_for_ten_minutes_is_waited_for(clock):
    shop = Shop(clock=clock, recovers_at=NOON + timedelta(minutes=10))
    async with running("memory:", asking(30), shop, clock) as runtime:
        _, found = await outcomes(runtime)
        assert found[-1] == "ok"
        assert shop.uses[0] == 0
        assert timedelta(minutes=10) < clock.now() - NOON < timedelta(minutes=12)


async def test_a_tool_that_never_recovers_is_given_up_in_bounded_time(clock):
    plan = EscapePlan({"refused_tool": AwaitBreaker(down="10m")}, last=GiveUp())
    async with running("memory:", asking(60, plan), Shop(10**6), clock) as runtime:
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await agent.until(ended=True)
        assert agent.snapshot.status is Status.FAILED
        assert timedelta(minutes=9) <= clock.now() - NOON <= timedelta(minutes=11)


async def test_no_call_waits_beyond_the_time_of_the_plan(clock):
    plan = EscapePlan({"refused_tool": AwaitBreaker("100s", down="1d")}, last=GiveUp())
    async with running("memory:", asking(40, plan), Shop(10**6), clock) as runtime:
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await agent.until(ended=True)
        assert clock.now() - NOON <= timedelta(seconds=100)
        assert await attempts(agent) == ["escape.await_breaker", "escape.give_up"]


async def test_a_breaker_that_an_operator_isolated_is_not_waited_for(clock):
    async with running("memory:", asking(), Shop(0), clock) as runtime:
        await runtime.isolate_breaker("look", reason="maintenance")
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await agent.until(ended=True)
        [turn] = [turn for turn in await agent.history() if turn.event.name == "escape.give_up"]
        [passed] = turn.event.payload["passed"]
        assert passed["why"] == "the breaker of look is isolated until an operator closes it"


async def test_a_call_that_waits_ends_with_the_limit_of_the_whole_call(clock):
    async with running("memory:", asking(4), Shop(10**6, total_s=20), clock) as runtime:
        _, found = await outcomes(runtime)
        assert found == ["ConnectionError", "breaker open", "breaker open", "breaker open"]
        assert clock.now() == NOON


async def test_waits_cost_no_attempts_and_add_none(clock):
    shop = Shop(10**6, retry=Retry(attempts=2, first_s=1))
    async with running("memory:", asking(3), shop, clock) as runtime:
        _, found = await outcomes(runtime)
        assert found == ["breaker open", "breaker open", "ConnectionError"]
        assert shop.uses == [0, 2, 2]


async def test_a_wait_is_no_time_without_progress(clock):
    signals = (*looping(), NoProgress(seconds=15))
    escape = EscapePlan({"refused_tool": AwaitBreaker(), "no_progress": GiveUp()})
    async with running("memory:", asking(5, escape, signals), Shop(), clock) as runtime:
        agent, found = await outcomes(runtime)
        assert (found[-1], agent.snapshot.status) == ("ok", Status.ACTIVE)
        assert clock.now() - NOON >= timedelta(seconds=BREAK_S)


async def test_the_usual_plan_waits_before_it_hands_the_work_to_a_person(clock):
    async with running("memory:", asking(6, getting_out()), Shop(), clock) as runtime:
        agent, found = await outcomes(runtime)
        assert found[-1] == "ok"
        assert await attempts(agent) == ["escape.await_breaker"]


async def test_of_many_calls_that_wait_only_the_permits_are_trials(clock):
    shop, limits = Shop(clock=clock, recovers_at=NOON + timedelta(minutes=5)), Limits(invokes=40)
    async with opened("memory:", asking(12), shop, clock, limits=limits) as runtime:
        agents = [await runtime.start("asking", at="ASKING", agent_id=f"a-{number}") for number in range(40)]
        async with hurried(clock, runtime):
            await eventually(lambda: all(each.context.notes for each in agents))
        assert await runtime.breakers() == []
    found = [each.context.notes[0][1]["result"] for each in agents]
    assert all(each[-1] == "ok" for each in found)
    # The first calls began together, before the breaker opened; since then one trial failed after each break.
    assert sum(each[1:].count("ConnectionError") for each in found) <= 5 * 60 / BREAK_S


@pytest.mark.parametrize("kind", ["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.processes)])
async def test_after_a_restart_the_wait_ends_at_the_same_moment(request, kind, clock):
    url, graph, shop = request.getfixturevalue(kind), asking(4), Shop()
    async with opened(url, graph, shop, clock) as runtime:
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await eventually(lambda: agent.snapshot.trail.escapes.awaited)
        await at_rest(runtime, clock)
        await eventually(lambda: clock.next_due is not None)
        ends = clock.next_due
    later = VirtualClock(NOON + timedelta(seconds=7))
    async with opened(url, graph, shop, later) as runtime:
        agent = await runtime.resume("a")
        await at_rest(runtime, later)
        await eventually(lambda: later.next_due is not None)
        assert later.next_due == ends
        async with hurried(later, runtime):
            [[_, payload]] = await noted(agent, 1)
        assert payload["result"] == ["ConnectionError", "breaker open", "breaker open", "ok"]
        assert shop.uses == [0, 3]
        assert [turn.event.name for turn in await agent.history()].count("trail.wait") == 1


async def test_a_rollback_makes_the_call_wait_again_on_the_same_terms(clock):
    async with opened("memory:", asking(4), Shop(), clock) as runtime:
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await eventually(lambda: agent.snapshot.trail.escapes.awaited)
        await at_rest(runtime, clock)
        before = agent.snapshot.trail.escapes.awaited
        await agent.rollback(1, reason="to see")
        assert agent.snapshot.trail.escapes.awaited == before
        async with hurried(clock, runtime):
            [[_, payload]] = await noted(agent, 1)
        assert payload["result"] == ["ok"] * 4  # the first call waits now, too


async def test_a_state_that_is_left_ends_the_wait(clock):
    async with opened("memory:", asking(4), Shop(), clock) as runtime:
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await eventually(lambda: agent.snapshot.trail.escapes.awaited)
        await agent.send("ENDED")
        assert agent.configuration == ("DONE",)
        await asyncio.sleep(0)
        [breaker] = await runtime.breakers()
        assert breaker.state is BreakerState.OPEN


async def test_a_call_of_which_one_tool_failed_is_no_refusal_and_does_not_wait(clock):
    policy = BreakerPolicy(failures_in_a_row=1, break_s=BREAK_S)

    class Two:
        def __init__(self):
            @tool(repeat="safe", policies=ToolPolicies(breaker="off", retry="off", alternatives=["spare"]))
            async def look(order: int) -> str:
                raise LookupError("gone")

            @tool(repeat="safe", policies=ToolPolicies(breaker=policy, retry="off"))
            async def spare(order: int) -> str:
                raise ConnectionError("503")

            self.tools = ToolBox([look, spare])

    async with running("memory:", asking(2), Two(), clock) as runtime:
        agent, found = await outcomes(runtime)
        assert found == ["ConnectionError", "breaker open"]
        calls = [each for each in entries_in(agent.snapshot.trail.text) if isinstance(each, Called)]
        assert [(each.is_refused, each.has_failed) for each in calls] == [(False, True)] * 2
        assert clock.now() == NOON


async def test_refusals_teach_nothing_about_the_tool(clock):
    async with running("memory:", asking(5), Shop(), clock) as runtime:
        await outcomes(runtime)
        known = lessons_kept(await runtime.read(keeper_of("asking")))
    assert known.tools == {"look": (0, 1)}
    assert known.errors == {"look ConnectionError": (0, 1)}


async def test_an_agent_whose_call_waits_is_not_stuck(clock):
    terms = WatchdogTerms(learns=False)
    graph = asking(5, EscapePlan({"refused_tool": AwaitBreaker(down="2h")}), expects="1m")
    shop, watchdog = Shop(break_s=3600), Watchdog(terms=terms, every="100d")
    async with opened("memory:", graph, shop, clock, watchdog=watchdog) as runtime:
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await eventually(lambda: agent.snapshot.trail.escapes.awaited)
        await eventually(lambda: wait_under_way(agent.snapshot.trail.text))
        clock.advance("30m")
        assert [each.kind for each in await runtime.findings()] == [FindingKind.BREAKER]


async def test_a_retry_of_the_invoke_waits_for_the_breaker_that_refused_the_last_attempt(clock):
    async def look(context, work):
        return (await work.call("look", order=1)).unwrap()

    retry = Retry(attempts=3, first_s=1, factor=1, jitter=0)
    graph = StateTransitionGraph(
        "plain",
        context=Task,
        states=[State("ASKING", invoke=Invoke(look, id="f", retry=retry))],
        transitions=[Transition(ANY, f"{kind}.invoke.f", actions=note) for kind in ("done", "error")],
        entry_points=["ASKING"],
    )
    shop = Shop()
    async with running("memory:", graph, shop, clock) as runtime:
        agent = await runtime.start("plain", at="ASKING", agent_id="a")
        [[event, _]] = await noted(agent, 1)
        assert (event, len(shop.uses)) == ("done.invoke.f", 2)
        assert clock.now() - NOON == timedelta(seconds=BREAK_S + 1)
