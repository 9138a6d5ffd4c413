"""Circles in moves and in calls."""

from __future__ import annotations

import pytest

from gatechart.signals import Repeats, SameCall
from tests.signals.looks import call, calls, evidence, found, moves


@pytest.mark.parametrize(("states", "complete"), [("aaa", 3), ("ababab", 6), ("abcabc", 6), ("xyabcdabcd", 10)])
def test_a_block_of_moves_is_found_when_its_repeat_is_complete(states: str, complete: int) -> None:
    assert found(Repeats(), moves(states)) == [at + 1 == complete for at in range(len(states))]


@pytest.mark.parametrize("states", ["aa", "abab", "abcde", "abcabd"])
def test_what_was_not_seen_often_enough_is_no_repeat(states: str) -> None:
    assert not any(found(Repeats(), moves(states)))


def test_a_circle_is_left_after_two_other_moves() -> None:
    assert found(Repeats(), moves("abcabcxabcyz"))[5:] == [True, True, True, False, False, False, False]


def test_the_evidence_has_the_whole_block() -> None:
    told = evidence(Repeats(), moves("xabcabc"))
    block = [{"states": [state], "event": f"TO_{state}"} for state in "abc"]
    assert told == {"period": 3, "times": 2, "block": block}


def test_the_same_call_three_times_is_found_though_others_are_between() -> None:
    made = [call(), call("read"), call(), call("write"), call()]
    assert found(SameCall(), calls(made)) == [False, False, False, False, True]
    told = evidence(SameCall(), calls(made))
    assert told == {"times": 3, "block": [{"tool": "search", "arguments": "a", "ok": True, "error": ""}]}


def test_the_same_tool_with_other_arguments_is_another_call() -> None:
    assert not any(found(SameCall(), calls(call(arguments=f"{number}") for number in range(50))))
