"""Calls that fail."""

from __future__ import annotations

import pytest

from gatechart.signals import ErrorRate, RetriesOver, ToolFailures
from tests.signals.looks import Player, call, calls, evidence, found

FAILED = {"error": "TimeoutError"}


def test_two_failures_of_one_tool_are_found_with_the_last_error() -> None:
    made = [call(**FAILED), call("read"), call(error="OSError", at_s=3)]
    assert found(ToolFailures(2), calls(made)) == [False, False, True]
    told = evidence(ToolFailures(2), calls(made))
    assert told == {"failures": 2, "seconds": 3, "threshold": 2, "tool": "search", "error": "OSError"}


def test_failures_of_different_tools_are_not_counted_together() -> None:
    assert not any(found(ToolFailures(2), calls([call(**FAILED), call("read", **FAILED)])))


def test_a_success_of_the_tool_forgets_its_failures() -> None:
    made = [call(**FAILED), call(), call(**FAILED), call(**FAILED)]
    assert found(ToolFailures(2), calls(made)) == [False, False, False, True]


def test_within_a_time_successes_forget_nothing_but_time_does() -> None:
    made = [call(**FAILED), call(at_s=1), call(at_s=60, **FAILED), call(at_s=120.5, **FAILED)]
    assert found(ToolFailures(2, within=60), calls(made)) == [False, False, True, True]
    assert found(ToolFailures(3, within=60), calls(made)) == [False] * 4


def test_it_ceases_below_its_threshold_by_one() -> None:
    made = [call(at_s=at, **FAILED) for at in (0, 20, 40)] + [call(at_s=70), call(at_s=90)]
    assert found(ToolFailures(3, within=60), calls(made)) == [False, False, True, True, False]


@pytest.mark.parametrize(
    ("same", "holds"), [("tool", [0, 1, 1, 1]), ("arguments", [0, 0, 1, 1]), ("error", [0, 0, 0, 1])]
)
def test_failures_share_the_tool_and_what_is_asked_for(same: str, holds: list[int]) -> None:
    made = [call(error="A"), call(arguments="b", error="B"), call(error="C"), call(arguments="c", error="A")]
    assert found(ToolFailures(2, same=same), calls(made)) == [bool(each) for each in holds]


def test_a_success_forgets_failures_by_whatever_error() -> None:
    made = [call(error="A"), call("read", error="A"), call(arguments="b"), call(error="A"), call("read", error="A")]
    assert found(ToolFailures(2, same="error"), calls(made)) == [False, False, False, False, True]


def test_only_the_tools_that_it_is_about_count() -> None:
    made = [call(**FAILED), call(**FAILED), call("pay", **FAILED), call("pay", **FAILED)]
    assert found(ToolFailures(2, among="pay"), calls(made)) == [False, False, False, True]


@pytest.mark.parametrize("detector", [ToolFailures(1), RetriesOver(0), ErrorRate(0.1, least=1)])
def test_progress_that_the_chart_tells_of_begins_anew(detector: object) -> None:
    player = Player()
    looks = [*calls([call(**FAILED), call(attempts=2, **FAILED)], player), player.look(is_told=True, progress=True)]
    assert detector.after("", looks[0]) != ""
    assert found(detector, looks[1:])[-1] is True  # a turn without calls does not concern it
    assert detector.after("+x", looks[-1]) == ""


def test_each_attempt_after_the_first_is_a_retry_and_so_is_the_call_after_one_that_failed() -> None:
    made = [call(attempts=3, **FAILED), call(attempts=2)]
    assert found(RetriesOver(3), calls(made)) == [False, True]
    assert evidence(RetriesOver(3), calls(made)) == {"retries": 4, "threshold": 3, "tool": "search"}


def test_the_next_call_after_a_success_begins_anew() -> None:
    made = [call(attempts=3), call(attempts=3), call("read", attempts=3)]
    assert not any(found(RetriesOver(2), calls(made)))


def test_retries_of_a_task_are_those_of_all_its_calls() -> None:
    from dataclasses import replace

    made = [replace(call(tool, attempts=2), task=task) for tool, task in (("a", "1"), ("b", "1"), ("c", "2"))]
    assert found(RetriesOver(1, per="task"), calls(made)) == [False, True, False]


def test_an_error_rate_needs_enough_calls_and_ceases_with_a_margin() -> None:
    made = [call(error="E" if at % 2 else "") for at in range(10)]
    assert found(ErrorRate(0.4, least=6, last=10), calls(made)) == [False] * 5 + [True] * 5
    better = [*made, call(), call(), call(), call()]
    assert found(ErrorRate(0.4, least=6, last=10), calls(better))[10:] == [True, True, True, False]


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: ToolFailures(0), r"ToolFailures\(n=0\) notices nothing; pass a whole number of 1 or more"),
        (lambda: ToolFailures(2, within=0), "within=0"),
        (lambda: ToolFailures(2, same="moon"), "use 'tool', 'arguments', 'error'"),
        (lambda: RetriesOver(-1), "pass a whole number of 0 or more"),
        (lambda: RetriesOver(1, per="moon"), "use 'tool' or 'task'"),
        (lambda: ErrorRate(1.0), "pass a part below 1"),
        (lambda: ErrorRate(0.5, least=30), "last=20"),
    ],
)
def test_numbers_that_notice_nothing_are_refused(build: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        build()
