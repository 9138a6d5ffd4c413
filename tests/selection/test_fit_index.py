"""Choices among many, whose regressions are asked together, against the plain form, which asks one after the other."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from gatechart.selection import fit_index
from gatechart.selection.learned import Learned
from gatechart.selection.observations import Observation, Observations, packed
from gatechart.selection.promises import promised

pytest.importorskip("numpy", reason="NOT TESTED on learning of choices: the extra gatechart[learning] is missing")
from gatechart.selection.regression import Row

START = datetime(2030, 1, 1, tzinfo=UTC)
GRAPHS = {f"graph{number // 3}.E{number % 3}": f"graph{number // 3}" for number in range(60)}
CANDIDATES = (*GRAPHS, *(f"person{number}" for number in range(20)))
LEARNED = Learned(exploration=0.2, loss=1.0, deficit=1.0)
WORDS = [f"word{number}" for number in range(40)]


def text(source):
    return packed({source.choice(WORDS): source.uniform(0.1, 1.0) for _ in range(8)})


def observed(number, candidate=None):
    source = Random(number)
    chosen, rival = source.sample(CANDIDATES, 2)
    chosen = candidate or chosen
    at, owners = START + timedelta(seconds=number), (f"user{number % 5}",)
    known = text(source), False, GRAPHS.get(chosen, ""), owners, rival, GRAPHS.get(rival, "")
    return Observation(f"h{number}", chosen, at, source.random(), source.random(), *known)


def plainly(model, features, text_scores, groups):
    """What is learned of each candidate, and its bonus: one regression after the other, with its own rows."""
    priors, row, most = promised(text_scores, groups), Row(features), model.terms.exploration
    firsts = {}
    for each in sorted(priors, key=lambda each: (-priors[each], each)):
        firsts.setdefault(groups.get(each, each), each)
    views = {group: model._fits[group].view(row, each) for group, each in firsts.items() if group in model._fits}
    learned = {group: views[group][0] if group in views else 0.0 for group in firsts}
    reach = max(priors[firsts[group]] + learned[group] for group in firsts) - most
    bonuses = {
        group: 0.0
        if priors[each] + learned[group] < reach
        else most * (model._fits[group].deviation(views[group][1]) if group in views else 1.0)
        for group, each in firsts.items()
    }
    return {
        each: (prior, learned[groups.get(each, each)], bonuses[groups.get(each, each)])
        for each, prior in priors.items()
    }


def check(model, source, candidates=CANDIDATES):
    features, text_scores = text(source), {each: source.choice((0.0, 0.2, source.random())) for each in candidates}
    found = model.scores(features, text_scores, GRAPHS)
    expected = plainly(model, features, text_scores, GRAPHS)
    assert list(found) == list(expected)
    for each, (prior, learned, bonus) in expected.items():
        assert found[each].prior == prior
        assert found[each].learned == pytest.approx(learned, abs=1e-12)
        assert found[each].bonus == pytest.approx(bonus, abs=1e-9)
        assert found.totals[each] == found[each].total
        assert found.scores[each] == found[each].score


MANY = [observed(number) for number in range(600)]


@pytest.mark.parametrize("alone", [0, 1_000, 1_000_000])
def test_candidates_score_as_if_their_regressions_were_asked_one_after_the_other(monkeypatch, alone):
    monkeypatch.setattr(fit_index, "_ALONE", alone)
    source, model = Random(1), LEARNED.model(Observations().added(*MANY[:500]))
    check(model, source)
    indices = {id(model._index)}
    for each in MANY[500:540]:
        model = model.after(each)
        indices.add(id(model._index))
        check(model, source)
    assert (len(indices) == 1) is (alone == 1_000_000)


def test_candidates_that_come_and_go_between_choices_score_as_if_they_were_asked_alone():
    source, model = Random(2), LEARNED.model(Observations().added(*MANY))
    for _ in range(20):
        check(model, source, source.sample(CANDIDATES, source.randint(1, 80)))


def test_what_is_erased_says_nothing_any_more_though_most_stays_as_it_was():
    source, model = Random(3), LEARNED.model(Observations().added(*MANY))
    check(model, source)
    forgotten = tuple(each for each in MANY if each.learner not in ("person3", "graph7"))
    erased = model.over(Observations(forgotten))
    assert model._index is erased._index
    check(erased, source)


def test_a_text_that_nobody_has_heard_of_is_scored():
    model = LEARNED.model(Observations().added(*MANY))
    found = model.scores(packed({"unheard of": 1.0}), dict.fromkeys(CANDIDATES, 0.5), GRAPHS)
    assert {each.learned for each in found.values()} == {0.0}
    assert {each.bonus for each in found.values()} == {0.2}
