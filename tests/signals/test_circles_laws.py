"""Laws of circles, against what a reader would write who keeps whole lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart.signals import ErrorRate, Repeats, SameCall, ToolFailures, VisitsOver
from gatechart.values.trail import Called, Moved, digest_of
from tests.signals.looks import Player, call, calls, found, moves

JITTER = st.integers(0, 10**9)
WINDOW = 20


def stamped(state: str, number: int, stamp: int) -> Moved:
    """A move by an event that is known by its payload, which says when it happened, too."""
    payload = {"number": number, "at": stamp, "items": [{"id": stamp, "kind": state}]}
    return Moved((state,), f"CAME_{digest_of(payload, ['at', 'id'])}")


@given(st.integers(1, 10), st.integers(0, 40), st.data())
@settings(max_examples=60, deadline=None)
def test_a_planted_block_of_moves_is_found_exactly_when_it_is_complete(length: int, before: int, data: object) -> None:
    times = 2 if length >= 3 else 3
    numbers = [*range(before), *[*range(100, 100 + length)] * times, *range(200, 210)]
    player = Player()
    looks = [player.look(stamped(f"S{each}", each, data.draw(JITTER))) for each in numbers]
    assert found(Repeats(), looks).index(True) == before + length * times - 1


@given(st.integers(1, 10), st.integers(0, 15), st.data())
@settings(max_examples=60, deadline=None)
def test_a_planted_block_of_calls_is_found_when_it_is_complete(length: int, before: int, data: object) -> None:
    def made(number: int) -> Called:
        arguments = digest_of({"query": number, "at": data.draw(JITTER)}, ["at"])
        return call("search", arguments)

    times = 2 if length >= 3 else 3
    numbers = [*range(before), *[*range(100, 100 + length)] * times, *range(200, 210)]
    complete = length * times - 1 if length >= 3 else length * 2  # where a call is made for the third time
    assert found(SameCall(), calls(map(made, numbers))).index(True) == before + complete


@given(st.lists(st.integers(), unique=True, max_size=200))
@settings(max_examples=60, deadline=None)
def test_what_never_comes_back_never_alarms(numbers: list[int]) -> None:
    assert not any(found(Repeats(), moves(map(str, numbers))))
    assert not any(found(SameCall(), calls(call(arguments=str(each)) for each in numbers)))


@given(st.text("abcd", max_size=80), st.sampled_from([None, 1, 2, 3, 5]), st.sampled_from([None, 2, 3, 4]))
@settings(max_examples=60, deadline=None)
def test_repeats_are_those_that_a_search_of_the_whole_list_finds(
    states: str, period: int | None, times: int | None
) -> None:
    holds, expected = False, []
    for end in range(1, len(states) + 1):
        recent = states[max(end - WINDOW, 0) : end]
        margin = 2 if holds else 0
        holds = any(ends_in_repeat(recent[: len(recent) - ago], period, times) for ago in range(margin + 1))
        expected.append(holds)
    assert found(Repeats(period, times), moves(states)) == expected


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 30)), max_size=60))
@settings(max_examples=60, deadline=None)
def test_failures_are_those_that_a_search_of_all_calls_finds(made: list[tuple[str, bool, int]]) -> None:
    clock, timed = 0, []
    for tool, ok, later_s in made:
        clock += later_s
        timed.append(call("x" if tool == "c" else tool, error="" if ok else "E", at_s=clock))
    for detector in (ToolFailures(3, within=60), ToolFailures(2)):
        holds, expected = False, []
        for end in range(1, len(timed) + 1):
            least = detector.n - 1 if holds else detector.n
            holds = most_failures(timed[:end], detector.within) >= least
            expected.append(holds)
        assert found(detector, calls(timed)) == expected


@given(st.lists(st.booleans(), max_size=80))
@settings(max_examples=60, deadline=None)
def test_the_rate_of_errors_is_that_of_the_last_calls(failed: list[bool]) -> None:
    holds, expected = False, []
    for end in range(1, len(failed) + 1):
        last = failed[max(end - 10, 0) : end]
        holds = len(last) >= 5 and sum(last) / len(last) > (0.4 if holds else 0.5)
        expected.append(holds)
    made = calls(call(error="E" if each else "") for each in failed)
    assert found(ErrorRate(0.5, least=5, last=10), made) == expected


@given(st.text("abc", max_size=60))
def test_visits_are_those_of_the_whole_list(states: str) -> None:
    expected = [states[: end + 1].count("a") > 3 for end in range(len(states))]
    assert found(VisitsOver("a", 3), moves(states)) == expected


@given(st.text("abc", max_size=60), st.integers(1, 3))
def test_other_calls_between_make_moves_others(states: str, size: int) -> None:
    player = Player()
    looks = []
    for number, state in enumerate(states):
        looks += moves(state, player)
        looks += calls([replace(call(), arguments=str(number * size))], player)
    alarms = found(Repeats(window=100), looks)
    plain = found(Repeats(window=100), moves(states))
    assert not any(alarms[at] for at in range(1, len(alarms), 2) if not plain[at // 2])


def ends_in_repeat(states: Sequence[str], period: int | None, times: int | None) -> bool:
    for length in [period] if period else range(1, len(states) + 1):
        least = times or (2 if length >= 3 else 3)
        if len(states) >= length * least:
            blocks = [states[len(states) - length * (at + 1) : len(states) - length * at] for at in range(least)]
            if len({tuple(each) for each in blocks}) == 1:
                return True
    return False


def most_failures(made: Sequence[Called], within: float | None) -> int:
    most = 0
    for tool in {each.tool for each in made}:
        of_tool = [each for each in made if each.tool == tool]
        if within is None:
            after_success = max((at + 1 for at, each in enumerate(of_tool) if each.ok), default=0)
            counted = of_tool[after_success:]
        else:
            counted = [each for each in of_tool if not each.ok and made[-1].time_ms - each.time_ms <= within * 1000]
        most = max(most, len(counted))
    return most
