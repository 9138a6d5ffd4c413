"""Circles in reasoning: steps that are worded differently, and get nowhere."""

from __future__ import annotations

import random
from statistics import median

import pytest

from gatechart.signals import GoesInCircles
from gatechart.signals.circles import likeness
from gatechart.values.trail import Progressed, Reasoned
from tests.signals.looks import Player, call, calls, evidence, found, reasons
from tests.signals.regression import auc, recall_at, score, threshold_at, weights_of
from tests.signals.whowhen import Ledger, ledgers

ROUND = [
    ("Find the opening hours of the museum.", "I typed 'museum opening hours' into the search bar."),
    ("Look for the opening hours on the museum's site.", "I scrolled down one page in the browser."),
    ("Find the opening hours on the museum's site again.", "I scrolled down one page in the browser."),
    ("Find the specific opening hours on the museum's site.", "I scrolled down one page in the browser."),
    ("Find the specific opening hours on the site again.", "I scrolled down one page in the browser."),
]
FORWARD = [
    ("Find the opening hours of the museum.", "I typed 'museum opening hours' into the search bar."),
    ("Open its page about visits.", "Visits - City Museum. Tuesday to Sunday, ten to six."),
    ("How much is a ticket for two adults?", "Two adults pay 24 euros at the counter."),
    ("Book the tickets for Sunday.", "Booked: order 4711, two adults."),
    ("Tell the customer.", "Sent a message with the order to the customer."),
]
FOLDS = 5
DIVISIONS = 6


def test_asking_again_in_other_words_with_the_same_result_is_a_circle() -> None:
    assert found(GoesInCircles(), reasons(ROUND)) == [False, False, True, True, True]


def test_steps_that_lead_somewhere_are_none() -> None:
    assert not any(found(GoesInCircles(), reasons(FORWARD)))


def test_the_same_step_over_and_over_is_a_circle() -> None:
    assert found(GoesInCircles(), reasons([ROUND[1]] * 5))[-1]


def test_questions_without_an_answer_are_part_of_a_circle() -> None:
    asked = [(action, "") for action, _ in ROUND]
    assert found(GoesInCircles(), reasons(asked))[-1]
    assert likeness([Reasoned(*each) for each in asked]).silent


def test_it_ceases_once_a_step_is_unlike_the_others() -> None:
    assert found(GoesInCircles(), reasons(ROUND + FORWARD[2:]))[-1] is False


def test_a_higher_threshold_notices_later() -> None:
    assert found(GoesInCircles(0.8), reasons(ROUND)).index(True) > found(GoesInCircles(), reasons(ROUND)).index(True)


def test_told_progress_begins_anew_so_that_steps_before_it_no_longer_count() -> None:
    player = Player()
    looks = [*reasons(ROUND, player), player.look(Progressed("ticket"), is_told=True)]
    looks += reasons(ROUND[:2], player)
    assert found(GoesInCircles(), looks)[-4:] == [True, False, False, False]


def test_several_steps_of_one_turn_are_judged_one_after_the_other() -> None:
    together = [Player().look(*(Reasoned(*each) for each in ROUND))]
    assert found(GoesInCircles(), together) == found(GoesInCircles(), reasons(ROUND))[-1:]


def test_the_evidence_names_the_step_and_the_most_similar_ones_before_it() -> None:
    told = evidence(GoesInCircles(), reasons(ROUND)) or {}
    assert told["step"] == {"action": ROUND[2][0], "outcome": ROUND[2][1], "worker": ""}
    assert [each["action"] for each in told["similar"]] == [ROUND[1][0], ROUND[0][0]]
    assert told["chance"] >= told["threshold"] == 0.4
    assert (told["same_beginnings"], told["actions_alike"], told["insisting_words"]) == (1, 2, 1)


def test_an_agent_that_only_calls_tools_has_an_empty_slot() -> None:
    detector = GoesInCircles()
    looks = calls([call("search", "a")] * 9)
    assert not any(look.kinds & detector.sees for look in looks)


@pytest.mark.parametrize("threshold", [0, 1, -0.2, 40, "high"])
def test_a_threshold_that_is_no_chance_is_refused(threshold: object) -> None:
    with pytest.raises(ValueError, match="pass a number between 0 and 1"):
        GoesInCircles(threshold)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shown", "area", "recall"), [("steps", 0.76, 0.45), ("turns", 0.73, 0.38)])
def test_real_circles_are_found_in_runs_that_the_weights_have_not_seen(shown: str, area: float, recall: float) -> None:
    """Weights are fitted to the other runs; the numbers that they weigh were chosen with all runs in view."""
    told = ledgers()
    measured = [_held_out(told, shown, division) for division in range(DIVISIONS)]
    assert sum(each for each, _ in measured) / DIVISIONS >= area
    assert sum(each for _, each in measured) / DIVISIONS >= recall


def test_a_threshold_chosen_on_half_of_the_runs_serves_the_other_half() -> None:
    told = ledgers()
    measured = [_on_the_other_half(told, division) for division in range(20)]
    assert median(precision for precision, _ in measured) >= 0.5
    assert median(recall for _, recall in measured) >= 0.45


def test_the_weights_and_the_threshold_are_what_the_runs_yield() -> None:
    told = ledgers()
    alarms = [bool(each.steps) and likeness(each.steps).chance >= GoesInCircles().threshold for each in told]
    right = sum(alarm and each.in_circle for alarm, each in zip(alarms, told, strict=True))
    assert right / sum(alarms) >= 0.6
    assert right / sum(each.in_circle for each in told) >= 0.45
    assert _fitted(told) == pytest.approx([-4.3, 1.4, 0.55, 0.75, 0.8, 1.3], abs=0.25)


def test_equal_steps_find_hardly_any_of_the_real_circles() -> None:
    circles = [each.steps for each in ledgers() if each.in_circle]
    equal = sum(len(steps) >= 3 and len({each.action for each in steps[-3:]}) == 1 for steps in circles)
    assert equal / len(circles) < 0.05


def _held_out(told: list[Ledger], shown: str, division: int) -> tuple[float, float]:
    """AUC, and recall at a precision of 0.6, of scores that come from the other runs."""
    runs = sorted({each.run for each in told})
    random.Random(division).shuffle(runs)
    scores: dict[int, float] = {}
    for fold in range(FOLDS):
        out = set(runs[fold::FOLDS])
        weights = _fitted([each for each in told if each.run not in out])
        scores |= {i: score(weights, _row(getattr(each, shown))) for i, each in enumerate(told) if each.run in out}
    ordered = [scores[i] for i in range(len(told))]
    labels = [each.in_circle for each in told]
    return auc(ordered, labels), recall_at(0.6, ordered, labels)


def _on_the_other_half(told: list[Ledger], division: int) -> tuple[float, float]:
    """Precision and recall on half of the runs, of weights and a threshold for 0.6 that come from the other half."""
    runs = sorted({each.run for each in told})
    out = set(random.Random(division).sample(runs, len(runs) // 2))
    known = [each for each in told if each.run not in out]
    weights = _fitted(known)
    scores = [score(weights, _row(each.steps)) for each in known]
    threshold = threshold_at(0.6, scores, [each.in_circle for each in known])
    alarms = [each for each in told if each.run in out and score(weights, _row(each.steps)) >= threshold]
    right = sum(each.in_circle for each in alarms)
    return right / max(len(alarms), 1), right / sum(each.in_circle for each in told if each.run in out)


def _fitted(told: list[Ledger]) -> list[float]:
    """Weights that serve actions with what came of them as well as outcomes with what they led to."""
    rows = [_row(each.steps) for each in told] + [_row(each.turns) for each in told]
    return weights_of(rows, [each.in_circle for each in told] * 2, held_small=6)


def _row(steps: tuple[Reasoned, ...]) -> tuple[float, ...]:
    if not steps:
        return (0, 0, 0, 0, 0)
    found_in = likeness(steps)
    return (found_in.outcome, found_in.beginnings, found_in.actions, found_in.words, found_in.silent)
