"""Calls that circuit breakers refuse: no failures of their tools, no repeats; a detector of their own notices them."""

from __future__ import annotations

import pytest

from gatechart.signals import ErrorRate, NoProgress, Repeats, RetriesOver, SameCall, ToolFailures, ToolRefusals
from gatechart.values.trail import REFUSED, Called, Moved, Waited
from tests.signals.looks import START, Player, call, calls, evidence, found

LATER_MS = round((START.timestamp() + 30) * 1000)
FAILED = {"error": "TimeoutError"}


def refused(tool: str = "search", *, until_ms: int = LATER_MS) -> Called:
    """A refused call. until_ms: 0 as an isolated breaker refuses it, and as all refusals were told once."""
    return Called(tool, "a", ok=False, outcome="e", error=REFUSED, attempts=0, until_ms=until_ms)


@pytest.mark.parametrize("until_ms", [LATER_MS, 0])
@pytest.mark.parametrize(
    "detector",
    [
        ToolFailures(1),
        ToolFailures(1, within=60),
        ToolFailures(1, same="error"),
        RetriesOver(0),
        RetriesOver(0, per="task"),
        ErrorRate(0.1, least=1),
    ],
)
def test_they_are_no_failures_of_the_tool(detector: object, until_ms: int) -> None:
    assert not any(found(detector, calls([refused(until_ms=until_ms)] * 9)))


def test_a_call_that_failed_before_a_breaker_refused_its_next_attempt_is_a_failure_of_its_tool() -> None:
    made = Called("search", "a", ok=False, outcome="e", error=REFUSED, attempts=1, until_ms=LATER_MS)
    assert found(ToolFailures(2), calls([made, refused(), made])) == [False, False, True]


def test_they_neither_add_to_failures_nor_forget_them() -> None:
    made = [call(**FAILED), refused(), refused(), call(**FAILED)]
    assert found(ToolFailures(2), calls(made)) == [False, False, False, True]
    told = evidence(ToolFailures(2), calls(made))
    assert told is not None
    assert (told["failures"], told["error"]) == (2, "TimeoutError")


def test_the_same_call_that_is_refused_until_a_moment_is_no_repeat() -> None:
    assert not any(found(SameCall(3), calls([refused()] * 9)))
    assert found(SameCall(3), calls([refused(until_ms=0)] * 3)) == [False, False, True]
    assert found(SameCall(3), calls([call(), refused(), call(), refused(), call()]))[-1]


def circle(*, until_ms: int) -> list[object]:
    player = Player()
    return [
        look
        for _ in range(6)
        for state in "AC"
        for look in (player.look(Moved((state,), "GO")), player.look(refused(until_ms=until_ms), event="trail.call"))
    ]


def test_moves_between_refusals_until_a_moment_are_no_repeat() -> None:
    assert not any(found(Repeats(), circle(until_ms=LATER_MS)))
    assert any(found(Repeats(), circle(until_ms=0)))


def test_refusals_of_one_tool_are_noticed_with_the_moment_until_which_they_hold() -> None:
    made = [refused(), refused("read"), refused()]
    assert found(ToolRefusals(2), calls(made)) == [False, False, True]
    assert evidence(ToolRefusals(2), calls(made)) == {
        "refusals": 2,
        "threshold": 2,
        "tool": "search",
        "error": "breaker open",
        "until": "2026-03-01T00:00:30+00:00",
    }


@pytest.mark.parametrize("through", [call(), call(**FAILED)])
def test_a_call_that_is_let_through_forgets_the_refusals_of_its_tool(through: Called) -> None:
    made = [refused(), through, refused(), refused("read"), refused()]
    assert found(ToolRefusals(2), calls(made)) == [False] * 4 + [True]


def test_only_the_tools_that_are_named_count() -> None:
    made = [refused(), refused(), refused("pay"), refused("pay")]
    assert found(ToolRefusals(2, among="pay"), calls(made)) == [False, False, False, True]


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": True}, {"n": 10**6}, {"among": [3]}])
def test_what_would_notice_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="ToolRefusals"):
        ToolRefusals(**wrong)  # type: ignore[arg-type]


def at_work(player: Player, *entries: object, at_s: float, event: str = "trail.call") -> object:
    return player.look(*entries, at_s=at_s, event=event, was_working=True, is_working=True)  # type: ignore[arg-type]


def test_seconds_in_which_a_call_waits_are_no_work() -> None:
    player = Player()
    looks = [
        at_work(player, at_s=0, event="X"),
        at_work(player, Waited("search", LATER_MS), at_s=5, event="trail.wait"),
        at_work(player, at_s=600, event="trail.due"),
        at_work(player, call(), at_s=1000),
        at_work(player, at_s=1009, event="trail.due"),
        at_work(player, at_s=1010, event="trail.due"),
    ]
    assert found(NoProgress(seconds=15), looks) == [False] * 5 + [True]


def test_no_timer_is_needed_while_a_call_waits() -> None:
    player, detector, slot = Player(), NoProgress(seconds=15), ""
    slot = detector.after(slot, at_work(player, Waited("search", LATER_MS), at_s=0, event="trail.wait"))  # type: ignore[arg-type]
    assert detector.remaining_s(slot) is None
    slot = detector.after(slot, at_work(player, call(), at_s=100))  # type: ignore[arg-type]
    assert detector.remaining_s(slot) == 15


def test_a_turn_in_which_a_call_was_refused_is_no_turn_of_work() -> None:
    player = Player()
    looks = [
        at_work(player, *entries, at_s=0, event=event)
        for made in (refused(), refused(), call(), refused(), call())
        for entries, event in (((made,), "trail.call"), ((), "done.invoke.look"))
    ]
    assert found(NoProgress(turns=2), looks) == [False] * 9 + [True]
