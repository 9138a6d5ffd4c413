import json
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from gatechart.hosting.kept_choices import KeptChoice
from gatechart.selection import lessons as lessons_module
from gatechart.selection import observations as observations_module
from gatechart.selection.evaluation import Comparison
from gatechart.selection.exploration import Exploring
from gatechart.selection.learned import Learned, departs, rival_of
from gatechart.selection.observations import BUCKETS, Observation, Observations, packed, unpacked
from gatechart.selection.promises import BELIEVED, promised
from gatechart.selection.regression import SHARED
from gatechart.selection.rehearsal import evaluate_learned
from gatechart.values.directory import Ended
from gatechart.values.frozen import replaced

np = pytest.importorskip("numpy", reason="NOT TESTED on learning of choices: the extra gatechart[learning] is missing")

START = datetime(2030, 1, 1, tzinfo=UTC)
CANDIDATES = ("orders.TAKING", "refunds.REVIEWING", "people.HELPING")
TEXT_SCORES = {"orders.TAKING": 0.5, "refunds.REVIEWING": 0.4, "people.HELPING": 0.1}


def observed(number, *, owner=None, candidate=None, reward=None, prior=None, leaves=None, rival=""):
    source = Random(number)
    words = {source.choice("abcdefgh") * 3: source.uniform(0.2, 1) for _ in range(5)}
    return Observation(
        f"h{number}",
        candidate or source.choice(CANDIDATES),
        START + timedelta(seconds=number),
        source.choice((1.0, 0.5)) if prior is None else prior,
        source.random() if reward is None else reward,
        packed(words),
        source.random() < 0.5 if leaves is None else leaves,
        owners=(owner or f"user{number % 7}", "orders-1"),
        rival=rival,
    )


def told(model, features=None, scores=TEXT_SCORES):
    return model.scores(features or packed({"aaa": 1.0, "bbb": 1.0, "ccc": 0.3}), scores)


def same(some, others):
    for each in some:
        assert some[each].prior == others[each].prior
        assert some[each].learned == pytest.approx(others[each].learned, abs=1e-9)
        assert some[each].bonus == pytest.approx(others[each].bonus, abs=1e-7)


def one_by_one(learned, each_observed):
    model = learned.model()
    for each in each_observed:
        model = model.after(each)
    return model


LEARNED = Learned(exploration=0.5, loss=1.0, deficit=1.0)
ORACLE = Learned(exploration=2.0, loss=1.0, deficit=1.0, ridge=1.0)
SOME = [observed(number) for number in range(120)]
RIVALS = [observed(number, candidate="orders.TAKING", rival="people.HELPING") for number in range(120, 160)]


def test_a_model_that_saw_nothing_chooses_as_the_text_scores_do():
    found = told(LEARNED.model())
    assert max(found, key=lambda each: found[each].total) == "orders.TAKING"
    assert [found[each].prior for each in CANDIDATES] == pytest.approx([BELIEVED * each / 42 for each in (25, 16, 1)])
    assert {each.learned for each in found.values()} == {0.0}


def test_scores_say_prior_learned_part_and_bonus_that_add_up():
    for each in told(LEARNED.model(Observations().added(*SOME))).values():
        assert each.total == each.prior + each.learned + each.bonus


def test_what_was_learned_one_by_one_is_what_is_learned_at_once():
    everything = [*SOME, *RIVALS]
    same(told(one_by_one(LEARNED, everything)), told(LEARNED.model(Observations().added(*everything))))


def test_the_order_of_observations_does_not_matter():
    mixed = Random(1).sample(SOME, len(SOME))
    assert one_by_one(LEARNED, mixed).observations == one_by_one(LEARNED, SOME).observations
    same(told(one_by_one(LEARNED, mixed)), told(one_by_one(LEARNED, SOME)))


def test_what_is_erased_was_never_seen():
    erased = one_by_one(LEARNED, SOME).observations.without("user3")
    never = Observations().added(*(each for each in SOME if "user3" not in each.owners))
    assert erased == never
    assert told(LEARNED.model(erased)) == told(LEARNED.model(never))
    same(told(one_by_one(LEARNED, SOME).over(erased)), told(LEARNED.model(never)))


def test_the_observations_of_an_agent_are_erased_with_it():
    assert Observations().added(*SOME).without("orders-1") == Observations()


def test_observations_go_to_json_and_back_exactly():
    everything = Observations().added(*SOME, *RIVALS)
    back = Observations.read(json.loads(json.dumps(everything.as_json())))
    assert back == everything
    assert told(LEARNED.model(back)) == told(LEARNED.model(everything))


def test_observations_that_each_candidate_keeps_by_itself_make_one_model():
    parts = Observations().added(*SOME).by_learner().values()
    assert Observations.read(*(Observations(each).as_json() for each in parts)) == Observations().added(*SOME)


def test_a_handoff_counts_once():
    rated_again = observed(200, reward=0.25), observed(200, reward=1.0)
    assert Observations().added(*rated_again) == Observations().added(*reversed(rated_again))
    assert len(Observations().added(*rated_again).items) == 1


def test_what_one_earned_takes_back_what_was_learned_for_the_next_and_not_its_promise():
    text, other = packed({"parcel": 1.0}), packed({"parcel": 1.0, "fridge": 1.0})
    learned_too_much = observed(1, candidate="refunds.REVIEWING", reward=1.0, prior=0.1)
    model = LEARNED.model().after(replaced(learned_too_much, features=other))
    before = model.scores(text, TEXT_SCORES)
    rival = rival_of("orders.TAKING", before.totals)
    earned = [observed(number, candidate="orders.TAKING", reward=1.0, prior=0.4, rival=rival) for number in range(2, 9)]
    found = model.after(*(replaced(each, features=text) for each in earned)).scores(text, TEXT_SCORES)
    assert rival == "refunds.REVIEWING"
    assert 0 < found[rival].learned < before[rival].learned / 2
    assert found[rival].prior == before[rival].prior > found["people.HELPING"].total


def test_what_failed_takes_nothing_back_of_what_was_learned_for_the_next():
    text = packed({"parcel": 1.0})
    model = LEARNED.model().after(
        replaced(observed(1, candidate="people.HELPING", reward=1.0, prior=0.1), features=text)
    )
    for reward, is_the_same in ((0.0, True), (0.4, True), (0.5, False)):
        other = replaced(observed(2, candidate="orders.TAKING", reward=reward, rival="people.HELPING"), features=text)
        before, after = (each.scores(text, TEXT_SCORES)["people.HELPING"] for each in (model, model.after(other)))
        assert (after.learned == before.learned) is is_the_same


@pytest.mark.parametrize("all_at_once", [True, False])
def test_outcomes_of_their_own_leave_less_room_for_those_as_a_rival(monkeypatch, all_at_once):
    monkeypatch.setattr(lessons_module, "MOST", 50)
    monkeypatch.setattr(lessons_module, "MOST_IN_ALL", 165)
    everything = [*RIVALS, *(observed(number, reward=1.0) for number in range(160, 280))]
    model = LEARNED.model().after(*everything) if all_at_once else one_by_one(LEARNED, everything)
    lessons = model.regressions.lessons
    assert np.count_nonzero(lessons.is_taught) == 165
    numbers = lessons.numbers_of(lessons.groups.numbers["people.HELPING"])
    sources = [lessons.sources[number >> 1] for number in numbers]
    newest = [source.id for source in sources if source in RIVALS]
    assert newest == [each.id for each in RIVALS if each.reward >= 0.5][-len(newest) :] != []
    same(told(model), told(LEARNED.model(model.observations)))


@pytest.mark.parametrize("all_at_once", [True, False])
def test_only_the_newest_are_kept(monkeypatch, all_at_once):
    monkeypatch.setattr(observations_module, "MOST", 10)
    monkeypatch.setattr(observations_module, "MOST_IN_ALL", 25)
    model = LEARNED.model().after(*SOME) if all_at_once else one_by_one(LEARNED, SOME)
    counts = {each: len(own) for each, own in model.observations.by_learner().items()}
    assert sum(counts.values()) == 25
    assert max(counts.values()) <= 10
    same(told(model), told(LEARNED.model(model.observations)))


def test_a_set_that_is_full_is_bounded_in_bytes():
    text = packed({f"feature {number}": 1.0 for number in range(1_000)})
    assert len(text) <= 512
    assert len(unpacked(text)) <= observations_module.MOST_FEATURES


def test_features_of_something_else_are_refused():
    with pytest.raises(ValueError, match="packed"):
        unpacked("?")


def test_a_text_without_features_is_scored():
    assert LEARNED.model(Observations().added(*SOME)).scores(packed({}), TEXT_SCORES)["orders.TAKING"].learned == 0.0


def test_no_candidates_have_no_scores():
    assert told(LEARNED.model(), scores={}) == {}
    assert promised({"a": 0.0, "b": -1.0}) == {"a": 0.0, "b": 0.0}


def dense(features):
    row = np.zeros(BUCKETS)
    for place, weight in unpacked(features):
        row[place] = weight
    return row / np.linalg.norm(row)


def test_it_is_linucb_as_ridge_regression_in_closed_form_says():
    """The oracle: the regression over features, solved as textbooks write it."""
    everything = Observations().added(*SOME)
    own = everything.by_learner()["orders.TAKING"]
    question = packed({"aaa": 1.0, "bbb": 1.0, "ccc": 0.3})
    used = np.flatnonzero(sum(abs(dense(each.features)) for each in own) + abs(dense(question)))
    rows = np.array([dense(each.features)[used] for each in own])
    matrix = rows.T @ rows + np.eye(len(used))
    theta = np.linalg.solve(matrix, rows.T @ np.array([each.reward - each.prior for each in own]))
    text = dense(question)[used]
    found = ORACLE.model(everything).scores(question, {"orders.TAKING": 1.0})
    assert found["orders.TAKING"].learned == pytest.approx(float(theta @ text))
    assert found["orders.TAKING"].bonus == pytest.approx(2.0 * float(text @ np.linalg.solve(matrix, text)) ** 0.5)


def test_a_group_has_coefficients_of_its_own_and_some_for_each_candidate():
    """The oracle: the same regression over features that come twice, for the group and for the candidate."""
    groups = dict.fromkeys(CANDIDATES, "house")
    everything = [replaced(each, group="house") for each in SOME]
    question, scores = packed({"aaa": 1.0, "bbb": 1.0, "ccc": 0.3}), {"refunds.REVIEWING": 1.0, "orders.TAKING": 0.5}
    used = np.flatnonzero(sum(abs(dense(each.features)) for each in everything) + abs(dense(question)))

    def row(features, candidate):
        own = [(1 - SHARED) ** 0.5 * (each == candidate) * dense(features)[used] for each in CANDIDATES]
        return np.concatenate([SHARED**0.5 * dense(features)[used], *own])

    rows = np.array([row(each.features, each.candidate) for each in everything])
    matrix = rows.T @ rows + np.eye(rows.shape[1])
    theta = np.linalg.solve(matrix, rows.T @ np.array([each.reward - each.prior for each in everything]))
    text = row(question, "refunds.REVIEWING")
    for model in (one_by_one(ORACLE, everything), ORACLE.model(Observations().added(*everything))):
        found = model.scores(question, scores, groups)
        assert found["refunds.REVIEWING"].learned == pytest.approx(float(theta @ text))
        assert found["orders.TAKING"].learned == found["refunds.REVIEWING"].learned
        assert found["refunds.REVIEWING"].bonus == pytest.approx(2 * float(text @ np.linalg.solve(matrix, text)) ** 0.5)


def test_it_predicts_what_the_bayesian_regression_of_river_does():
    """The oracle: another implementation, whose arms of LinUCB are these regressions, told of one outcome at a time."""
    linear_model = pytest.importorskip("river.linear_model", reason="NOT TESTED against another LinUCB: no river here")
    arms = {each: linear_model.BayesianLinearRegression(alpha=1, beta=1) for each in CANDIDATES}
    for each in SOME:
        arms[each.candidate].learn_one(named(each.features), each.reward - each.prior)
    model = one_by_one(Learned(exploration=100.0, loss=1.0, deficit=1.0, ridge=1.0), SOME)
    for question in (packed({"aaa": 1.0, "bbb": 1.0, "ccc": 0.3}), SOME[7].features, packed({"unheard of": 1.0})):
        found = told(model, question)
        for candidate, arm in arms.items():
            predicted = arm.predict_one(named(question), with_dist=True)  # its variance has that of the noise, 1
            assert found[candidate].learned == pytest.approx(predicted.mu)
            assert found[candidate].bonus == pytest.approx(100.0 * (predicted.sigma**2 - 1) ** 0.5)


def named(features):
    """The features by name, as river takes them."""
    return {place: weight for place, weight in enumerate(dense(features)) if weight}


def test_what_fails_for_a_text_is_passed_over_for_it_and_not_for_others():
    failing, other = packed({"fridge": 1.0}), packed({"parcel": 1.0})
    wrong = [
        Observation(f"h{each}", "orders.TAKING", START + timedelta(seconds=each), 1.0, 0.0, failing)
        for each in range(5)
    ]
    model = Learned().model().after(*wrong)
    best = [max(found, key=lambda each: found[each].total) for found in (told(model, failing), told(model, other))]
    assert best == ["refunds.REVIEWING", "orders.TAKING"]


def lost(count):
    return [observed(each, leaves=True, reward=0.0) for each in range(count)]


def test_text_scores_alone_decide_once_the_loss_that_is_allowed_is_reached():
    learned = Learned(loss=0.02, deficit=1.0)
    assert not learned.model().after(*lost(19)).is_held_back
    held = learned.model().after(*lost(20))
    assert held.is_held_back
    assert {each.learned for each in told(held).values()} | {each.bonus for each in told(held).values()} == {0.0}


def test_text_scores_alone_decide_once_what_departs_from_them_fails_more_often_than_it_succeeds():
    succeeded = [observed(each, leaves=True, reward=1.0) for each in range(30)]
    failed = [observed(each, leaves=True, reward=0.0) for each in range(30, 65)]
    model = Learned(deficit=0.005).model().after(*succeeded, *failed[:-1])
    assert not model.is_held_back
    assert model.after(failed[-1]).is_held_back
    followed = (observed(each, leaves=False, reward=1.0) for each in range(65, 1_065))
    assert not model.after(failed[-1], *followed).is_held_back


def test_choices_whose_outcome_is_not_known_count_as_lost():
    model = Learned(loss=0.02, deficit=1.0).model().after(*lost(15))
    assert told(model)["refunds.REVIEWING"].bonus + abs(told(model)["refunds.REVIEWING"].learned) > 0
    held = model.scores(packed({"aaa": 1.0}), TEXT_SCORES, undecided=5)
    assert {(each.learned, each.bonus) for each in held.values()} == {(0.0, 0.0)}


def test_what_text_scores_themselves_lost_does_not_hold_learning_back():
    failed = [observed(each, leaves=False, reward=0.0) for each in range(200)]
    assert not Learned(loss=0.02, deficit=1.0).model().after(*failed).is_held_back


def test_whatever_happens_no_more_is_lost_in_a_window_than_allowed():
    """The outcomes are the worst there are: text scores are right each time, and nothing else ever is."""
    model, hits, source = Learned(exploration=3.0, loss=0.005, deficit=1.0).model(), [], Random(3)
    for number in range(1_020):
        scores = {each: source.random() for each in CANDIDATES}
        found = model.scores(observed(number).features, scores)
        chosen = max(found, key=lambda each: found[each].total)
        leaves = departs(chosen, scores)
        hits.append(float(not leaves))
        model = model.after(
            observed(number, candidate=chosen, prior=found[chosen].prior, reward=hits[-1], leaves=leaves)
        )
    least = min(sum(hits[at : at + 1_000]) for at in range(21))
    assert 0 < 1_000 - least <= 5


def test_the_entry_points_of_a_graph_learn_together():
    groups = {"orders.TAKING": "orders", "orders.CANCELLING": "orders"}
    scores = {"orders.TAKING": 0.5, "orders.CANCELLING": 0.45, "refunds.REVIEWING": 0.4}
    text = packed({"fridge": 1.0})
    failed = Observation("h1", "orders.TAKING", START, 0.6, 0.0, text, group="orders")
    found = Learned().model().after(failed).scores(text, scores, groups)
    assert found["orders.TAKING"].learned == found["orders.CANCELLING"].learned < 0
    assert found["orders.TAKING"].total > found["orders.CANCELLING"].total
    assert max(found, key=lambda each: found[each].total) == "refunds.REVIEWING"


def test_a_choice_departs_if_the_text_scores_alone_would_have_chosen_another_group():
    groups = {"orders.TAKING": "orders", "orders.CANCELLING": "orders"}
    scores = {"orders.TAKING": 0.5, "orders.CANCELLING": 0.45, "refunds.REVIEWING": 0.4}
    assert [departs(each, scores, groups) for each in scores] == [False, False, True]
    assert [departs(each, scores) for each in scores] == [False, True, True]


def test_learning_is_better_in_hindsight_though_most_draws_failed():
    """Text scores are right for one kind of text and wrong for another; what is drawn beside them fails oftener."""
    exploring, scores, kept = Exploring(0.2, 3), {"a": 0.9, "b": 0.5, "c": 0.2}, []
    for number in range(1_500):
        kind = "b" if number % 4 == 0 else "a"
        chosen = exploring.draw(scores, str(number)).candidate
        chances = exploring.probabilities(scores)
        ranked = tuple(
            (each, "", scores[each], chances[each]) for each in sorted(scores, key=lambda each: each != chosen)
        )
        known = KeptChoice(f"h{number}", START, packed({kind: 1.0}), ranked, promised(scores)[chosen])
        ended = Ended.COMPLETED if chosen == kind else Ended.FAILED
        at = START + timedelta(seconds=number)
        kept.append(replaced(known, departs=departs(chosen, scores), ended=ended, ended_at=at))
    drawn = [each.ended for each in kept[-1_000:] if each.departs]
    assert drawn.count(Ended.FAILED) - drawn.count(Ended.COMPLETED) > 5
    records = [each.recorded() for each in kept]
    assert evaluate_learned(Learned(), records).verdict is Comparison.BETTER
