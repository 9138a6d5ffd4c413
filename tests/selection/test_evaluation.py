"""Whether an evaluation of recorded choices says what is so: here what every candidate is worth is known."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from gatechart.selection.evaluation import Comparison, Recorded, evaluate
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.observations import Observation, packed

START = datetime(2030, 1, 1, tzinfo=UTC)
WORTH = {"a": 0.6, "b": 0.75, "c": 0.3}
SCORES = {"a": 0.9, "b": 0.5, "c": 0.2}


AMONG_ALL = Exploring(0.2, 3)


def records(count=3_000, seed=1, exploring=AMONG_ALL):
    source = Random(seed)
    made = []
    for number in range(count):
        drawn = exploring.draw(SCORES, f"{seed} {number}")
        reward = float(source.random() < WORTH[drawn.candidate])
        observation = Observation(
            f"h{number}", drawn.candidate, START + timedelta(seconds=number), 1.0, reward, packed({"x": 1.0})
        )
        made.append(Recorded(observation, tuple(exploring.probabilities(SCORES).items()), tuple(SCORES.items())))
    return made


def always(candidate):
    return lambda record: {candidate: 1.0}


def expected(record):
    return {"a": 0.55, "b": 0.6, "c": 0.4}  # not quite right


@pytest.mark.parametrize(
    ("candidate", "verdict"), [("b", Comparison.BETTER), ("c", Comparison.WORSE), ("a", Comparison.UNKNOWN)]
)
def test_better_is_told_from_worse_and_from_the_same(candidate, verdict):
    found = evaluate(records(), always(candidate), always("a"), expected=expected)
    assert found.verdict is verdict, found
    difference = WORTH[candidate] - WORTH["a"]
    for each in (found.propensity, found.normalised, found.robust):
        assert each.low <= each.estimate <= each.high
        assert each.estimate == pytest.approx(difference, abs=0.12)


def test_without_another_way_it_is_compared_with_how_choices_were_made():
    found = evaluate(records(), always("b"), expected=expected)
    recorded_worth = 0.8 * 0.6 + 0.2 / 3 * sum(WORTH.values())
    assert found.robust.low < 0.75 - recorded_worth < found.robust.high


def test_an_evaluation_is_the_same_when_it_is_repeated():
    assert evaluate(records(), always("b"), seed=3) == evaluate(records(), always("b"), seed=3)


def test_nothing_is_told_of_choices_that_were_never_drawn():
    found = evaluate(records(exploring=BEST), always("b"), always("a"), expected=expected)
    assert (found.verdict, found.overlap) == (Comparison.UNKNOWN, 0.0)
    assert "explore" in found.details


def test_nothing_is_told_from_few_choices_or_none():
    assert evaluate(records(40), always("b"), always("a")).verdict is Comparison.UNKNOWN
    none = evaluate([], always("b"))
    assert (none.verdict, none.choices) == (Comparison.UNKNOWN, 0)


def test_what_is_not_known_to_be_worth_anything_counts_as_nothing():
    """A model's expectation alone, of a candidate that was never drawn, never makes a way better."""
    found = evaluate(records(exploring=Exploring(0.2, 2)), always("c"), always("a"), expected=lambda _: {"c": 1.0})
    assert found.verdict is Comparison.UNKNOWN


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Of 40 intervals at 95 %, at least 35 hold the truth, and no way that is the same is said to be better often."""
    held = wrong = 0
    for seed in range(40):
        found = evaluate(records(400, seed), always("b"), always("a"), expected=expected)
        held += found.robust.low <= WORTH["b"] - WORTH["a"] <= found.robust.high
        same = evaluate(records(400, seed), lambda _: {"a": 0.5, "b": 0.25, "c": 0.25})
        wrong += same.verdict is Comparison.BETTER
    assert held >= 35
    assert wrong <= 3


def test_a_draw_is_the_same_for_the_same_seed_and_as_probable_as_it_says():
    exploring = Exploring(0.3, 3)
    assert exploring.draw(SCORES, "h1") == exploring.draw(dict(reversed(SCORES.items())), "h1")
    drawn = [exploring.draw(SCORES, f"h{number}").candidate for number in range(3_000)]
    for each, chance in exploring.probabilities(SCORES).items():
        assert drawn.count(each) / 3_000 == pytest.approx(chance, abs=0.03)


def test_the_best_is_chosen_where_nothing_is_explored():
    assert BEST.probabilities({"b": 0.5, "a": 0.5, "c": 0.1}) == {"a": 1.0}
    with pytest.raises(ValueError, match="no candidates"):
        BEST.draw({}, "h1")
