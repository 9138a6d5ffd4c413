"""What is tried earlier because of what was learned: only where the evidence is clear, and never the last resort."""

from hypothesis import given
from hypothesis import strategies as st

from gatechart.escape import CutOut, GiveUp, Nudge, Reroute, Restart, ToHuman
from gatechart.escape.attempts import ordered
from gatechart.escape.learning import clearly_better_first, fails_least_first, wilson
from gatechart.hosting.lessons import MOST_COUNTED, MOST_NAMES, after_lesson
from gatechart.values.frozen import replaced
from gatechart.values.lessons import NO_LESSONS, Lessons

PLAN = (Nudge(), CutOut(), Reroute(), ToHuman(), GiveUp())
TALLIES = st.tuples(st.integers(0, 60), st.integers(0, 60))


def lessons(**tallies):
    return replaced(NO_LESSONS, strategies={f"repeats {name}": tally for name, tally in tallies.items()})


def names(strategies):
    return [each.name for each in strategies]


def order(known):
    return names(ordered(PLAN, "repeats", known, PLAN[-1]))


def test_without_lessons_the_written_order_stays():
    assert order(NO_LESSONS) == names(PLAN)


def test_few_attempts_change_nothing():
    assert order(lessons(nudge=(0, 2), reroute=(2, 0))) == names(PLAN)


def test_what_is_clearly_better_is_tried_before_what_costs_less():
    known = lessons(nudge=(1, 19), cut_out=(0, 20), reroute=(18, 2))
    assert order(known)[:3] == ["reroute", "nudge", "cut_out"]


def test_what_was_never_tried_is_not_passed_over():
    assert order(lessons(nudge=(0, 30), reroute=(30, 0)))[:3] == ["nudge", "cut_out", "reroute"]


def test_another_signal_teaches_nothing_about_this_one():
    other = replaced(NO_LESSONS, strategies={"stuck nudge": (0, 30), "stuck cut_out": (30, 0)})
    assert order(other) == names(PLAN)


def test_a_person_is_not_asked_earlier_however_well_that_went():
    known = lessons(nudge=(0, 50), cut_out=(0, 50), reroute=(0, 50), to_human=(50, 0))
    assert order(known) == names(PLAN)


def test_the_last_resort_stays_with_all_after_it():
    plan = (Nudge(), Restart(), Reroute())
    known = lessons(nudge=(0, 50), restart=(0, 50), reroute=(50, 0))
    assert names(ordered(plan, "repeats", known, Restart())) == ["nudge", "restart", "reroute"]


@given(st.lists(TALLIES, max_size=8))
def test_every_strategy_stays_in_the_order_once_and_only_clear_evidence_moves_it(tallies):
    found = clearly_better_first(range(len(tallies)), tallies.__getitem__)
    assert sorted(found) == list(range(len(tallies)))
    for place, later in enumerate(found):
        for earlier in found[:place]:
            if earlier > later:  # it was written after the other
                assert wilson(tallies[earlier])[0] > wilson(tallies[later])[1] or any(
                    wilson(tallies[each])[1] < wilson(tallies[earlier])[0] for each in found[:place]
                )
    assert found == clearly_better_first(range(len(tallies)), tallies.__getitem__)


@given(TALLIES)
def test_the_bounds_enclose_the_rate_that_was_seen(tally):
    low, high = wilson(tally)
    assert 0 <= low <= high <= 1
    if sum(tally):
        assert low - 1e-9 <= tally[0] / sum(tally) <= high + 1e-9


def test_tools_are_ordered_by_what_fails_least_with_the_same_error():
    known = Lessons(
        {},
        {"slow": (10, 10), "down": (10, 10), "fine": (19, 1)},
        {"slow TimeoutError": (0, 10), "down ConnectionError": (0, 10)},
        {},
        {"map": (9, 1), "database": (10, 10), "database ConnectionError": (0, 10)},
    )
    able = {"atlas": ["map"], "copy": ["database"], "slow": ["database"]}
    new = ["copy", "unknown", "atlas"]  # by which nobody was served so far
    assert fails_least_first(new, known, "ConnectionError", able) == ["atlas", "copy", "unknown"]
    assert fails_least_first(new, known, "TimeoutError", able) == ["copy", "atlas", "unknown"]
    assert fails_least_first(["copy", "slow"], known, "ConnectionError", able) == ["slow", "copy"]
    tools = ["slow", "down", "unknown", "fine"]
    assert fails_least_first(tools, known, "TimeoutError")[0] == "fine"
    assert fails_least_first(["slow", "down"], known, "TimeoutError") == ["down", "slow"]
    assert fails_least_first(["down", "slow"], known, "ConnectionError") == ["slow", "down"]
    assert fails_least_first(tools, NO_LESSONS, "TimeoutError") == tools


@given(st.lists(st.dictionaries(st.text(max_size=3), st.tuples(st.integers(0, 9), st.integers(0, 9))), max_size=8))
def test_what_is_kept_is_bounded(told):
    kept = {}
    for lesson in told:
        kept = after_lesson(kept, {name: list(counts) for name, counts in lesson.items()})
    assert len(kept) <= MOST_NAMES
    assert all(sum(counts) <= MOST_COUNTED for counts in kept.values())


def test_what_is_new_weighs_more_and_what_was_not_heard_of_for_long_is_forgotten():
    kept = {}
    for _ in range(MOST_COUNTED + 10):
        kept = after_lesson(kept, {"nudge": [1, 0]})
    assert MOST_COUNTED / 2 <= kept["nudge"][0] < MOST_COUNTED
    for number in range(MOST_NAMES):
        kept = after_lesson(kept, {str(number): [1, 0]})
    assert "nudge" not in kept
    assert len(kept) == MOST_NAMES
