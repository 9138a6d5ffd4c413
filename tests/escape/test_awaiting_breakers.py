"""When a plan waits for circuit breakers, when it does not, and for how long calls wait."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import StateTransitionGraph, Transition
from gatechart.errors import BreakerOpenError, InvalidGraphError
from gatechart.escape import (
    AwaitBreaker,
    EscapePlan,
    GiveUp,
    Reroute,
    Scene,
    SwitchTool,
    Tactic,
    ToolFacts,
    getting_out,
)
from gatechart.escape.attempts import next_tries
from gatechart.graph.escape import EVERY_SIGNAL
from gatechart.graph.signals import Signal
from gatechart.hosting.breaker_waits import MOST_SPREAD_S, SPREAD_S, wait_for_breakers
from gatechart.signals import ToolRefusals, looping
from gatechart.turn.watch import watch_of
from gatechart.values.agents import Event
from gatechart.values.breakers import BreakerState
from gatechart.values.escapes import NO_ESCAPES, AwaitBreakers, BreakerWait, NoWay, SignalFinding, Tried
from gatechart.values.frozen import replaced
from gatechart.values.signal_reports import signal_report
from gatechart.values.trail import REFUSED, Called, text_of
from tests.support import at_once, started

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
OPEN = ToolFacts("safe", breaker=BreakerState.OPEN, open_since=NOW, retry_at=NOW + timedelta(seconds=30))
REFUSALS = {"signal": "refused_tool", "evidence": [{"tool": "look"}]}
CIRCLE = {"signal": "repeats", "evidence": [{"block": [{"states": ["A"], "event": "GO"}]}]}


def graph(escape=None, signals=None):
    return StateTransitionGraph(
        "g",
        transitions=[Transition("A", "GO", "B")],
        entry_points=["A"],
        signals=looping() if signals is None else signals,
        escape=escape,
    )


def scene(evidence=REFUSALS, escapes=NO_ESCAPES, trail=(), at=NOW, **tools):
    snapshot = at_once(started(graph())).snapshot
    kept = replaced(snapshot.trail, escapes=escapes, text=text_of(trail))
    finding = SignalFinding(1, evidence["signal"], is_due=True)
    event = Event("escape.due", evidence, at)
    return Scene(graph(), replace(snapshot, trail=kept), None, event, finding, evidence, signal_report(evidence), tools)


def ways(scene, strategy=AwaitBreaker()):  # noqa: B008  a frozen value
    return list(strategy.ways(scene))


def why(scene, strategy=AwaitBreaker()):  # noqa: B008
    [way] = ways(scene, strategy)
    assert isinstance(way, NoWay)
    return way.why


def awaited(since=NOW, hours=8):
    return replaced(NO_ESCAPES, awaited=(BreakerWait("look", since, since + timedelta(hours=hours), 1800),))


def test_calls_of_a_tool_whose_breaker_is_open_wait():
    [way] = ways(scene(look=OPEN), AwaitBreaker("2h", down="10m"))
    assert way == AwaitBreakers((BreakerWait("look", NOW, NOW + timedelta(hours=2), 600),))


def test_tools_of_which_calls_were_refused_lately_count_whatever_the_signal_names():
    refused = [Called("look", "a", ok=False, error=REFUSED, attempts=0), Called("read", "a", ok=False, error="OSError")]
    [way] = ways(scene(CIRCLE, trail=refused, look=OPEN, read=OPEN))
    assert [each.tool for each in way.awaited] == ["look"]
    assert why(scene(CIRCLE, look=OPEN)) == "no tool is named, and no call was refused"


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ({"look": ToolFacts("safe")}, "the breaker of look lets calls through"),
        ({}, "there is no tool 'look'"),
        (
            {"look": replaced(OPEN, breaker=BreakerState.ISOLATED, retry_at=None)},
            "the breaker of look is isolated until an operator closes it",
        ),
        (
            {"look": replaced(OPEN, open_since=NOW - timedelta(minutes=30))},
            "the breaker of look has been open since 2030-01-01 11:30:00 UTC without closing",
        ),
        (
            {"look": replaced(OPEN, retry_at=NOW + timedelta(hours=1))},
            "the breaker of look lets no call through before 2030-01-01 13:00:00 UTC",
        ),
    ],
)
def test_what_waiting_does_not_help_is_passed_over_with_the_reason(tools, expected):
    assert why(scene(**tools)) == expected


def test_calls_of_one_tool_wait_once_within_a_day():
    later = replaced(OPEN, open_since=NOW + timedelta(hours=9), retry_at=NOW + timedelta(hours=9, seconds=30))
    at = NOW + timedelta(hours=9)
    assert why(scene(escapes=awaited(), at=at, look=later)).startswith("calls of look wait for its breaker since")
    next_day = NOW + timedelta(hours=25)
    [way] = ways(scene(escapes=awaited(), at=next_day, look=ToolFacts("safe", breaker=BreakerState.HALF_OPEN)))
    assert [each.since for each in way.awaited] == [next_day]


def test_another_tool_is_waited_for_at_once_though_the_strategy_was_tried_just_now():
    tried = Tried(1, 1, "refused_tool", "await_breaker", NOW)
    escapes = replaced(
        awaited().with_attempt(tried), open=(SignalFinding(1, "refused_tool", ("await_breaker",), True),)
    )
    plan = EscapePlan({"refused_tool": [AwaitBreaker(), Reroute()]})
    at = scene({"signal": "refused_tool", "evidence": [{"tool": "read"}]}, escapes, read=OPEN)
    tries = next_tries(Tactic(plan, plan.answers("refused_tool"), plan.last), at, escapes)
    first = next(tries)
    assert (first.strategy, first.why) == (AwaitBreaker(), "")


@pytest.mark.parametrize(
    ("plan", "answer"),
    [
        (EscapePlan({"refused_tool": Reroute(), "failing_tool": AwaitBreaker()}), (Reroute(),)),
        (EscapePlan({"failing_tool": [SwitchTool(), AwaitBreaker()]}), (SwitchTool(), AwaitBreaker())),
        (EscapePlan({EVERY_SIGNAL: [AwaitBreaker(), GiveUp()]}), (AwaitBreaker(), GiveUp())),
        (EscapePlan({EVERY_SIGNAL: GiveUp()}), ()),
        (EscapePlan({"failing_tool": SwitchTool()}), ()),
    ],
)
def test_refusals_are_answered_by_their_list_or_the_first_that_waits(plan, answer):
    assert plan.answers("refused_tool") == answer
    noticed = [each.name for each in watch_of(graph(plan), "A").signals]
    assert ("refused_tool" in noticed) == bool(answer)


def test_a_signal_of_that_name_that_the_graph_declares_is_the_only_one():
    signals = (*looping(), Signal(ToolRefusals(4), "refused_tool"))
    watch = watch_of(graph(EscapePlan({"refused_tool": AwaitBreaker()}), signals), "A")
    assert [each.when for each in watch.signals if each.name == "refused_tool"] == [ToolRefusals(4)]


def test_a_graph_without_plans_notices_no_refusals():
    assert "refused_tool" not in [each.name for each in watch_of(graph(), "A").signals]


def test_the_usual_plan_waits_after_another_tool_and_before_another_way():
    plan = getting_out(human="human_desk")
    for signal in ("refused_tool", "failing_tool"):
        assert [each.name for each in plan.answers(signal)] == ["switch_tool", "await_breaker", "reroute"]
    assert plan.answers("repeats")[0] == plan.answers("no_progress")[0] == AwaitBreaker()


@pytest.mark.parametrize("wrong", [{"most": "soon"}, {"most": 0}, {"down": "later"}])
def test_what_is_no_duration_is_a_fault_of_the_graph(wrong):
    with pytest.raises(InvalidGraphError, match='write one above 0, such as "8h"'):
        graph(EscapePlan({"refused_tool": AwaitBreaker(**wrong)}))


def refusal(retry_s=30, open_s=0, refused=1):
    retry_at = None if retry_s is None else NOW + timedelta(seconds=retry_s)
    return BreakerOpenError("look", "OPEN", retry_at, "503", NOW - timedelta(seconds=open_s), refused)


def wait(*refusals, until_s=3600, down_s=1800, draw=0.5):
    return wait_for_breakers(refusals, NOW + timedelta(seconds=until_s), down_s, NOW, draw)


def test_a_call_waits_for_the_break_and_a_part_of_a_time_that_grows_with_those_refused():
    assert wait(refusal(), draw=0.0) == 30
    assert wait(refusal(), draw=1.0) == 30 + SPREAD_S
    assert wait(refusal(refused=10)) == 30 + 5 * SPREAD_S
    assert wait(refusal(refused=10**6)) == 30 + MOST_SPREAD_S / 2
    assert wait(refusal(retry_s=-5), draw=0.0) == 0


def test_of_several_breakers_the_first_that_lets_a_call_through_counts():
    assert wait(refusal(300), refusal(40), refusal(None), draw=0.0) == 40
    assert wait(refusal(60, open_s=1790), refusal(90), draw=0.0) == 60


def test_a_call_waits_no_longer_than_it_may():
    assert wait(refusal(refused=10**6), until_s=100) == 100
    assert wait(refusal(refused=10**6, open_s=1740), draw=1.0) == 60 + 180
    assert wait(refusal(), until_s=30) is None
    assert wait(refusal(), until_s=0) is None
    assert wait(refusal(open_s=1800)) is None
    assert wait(refusal(retry_s=1900)) is None
    assert wait(refusal(None)) is None
