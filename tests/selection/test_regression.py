"""Models that follow observations as they come and go, against an oracle that solves each regression from scratch."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart.selection import inverse, lessons, observations, regression, text_rows
from gatechart.selection.learned import Learned
from gatechart.selection.observations import Observation, Observations, difference, packed, unpacked
from gatechart.selection.promises import promised
from gatechart.selection.regression import SHARED
from gatechart.values.frozen import replaced

np = pytest.importorskip("numpy", reason="NOT TESTED on learning of choices: the extra gatechart[learning] is missing")

START = datetime(2030, 1, 1, tzinfo=UTC)
GRAPHS = {f"graph{number // 3}.E{number % 3}": f"graph{number // 3}" for number in range(60)}
CANDIDATES = (*GRAPHS, *(f"person{number}" for number in range(20)))
FEW = (*list(GRAPHS)[:6], "person0", "person1")
LEARNED = Learned(exploration=0.2, loss=1e9, deficit=1e9)
WORDS = [f"word{number}" for number in range(40)]
EXACT = 1e-8


def text(source):
    return packed({source.choice(WORDS): source.uniform(0.1, 1.0) for _ in range(source.choice((0, 3, 8)))})


def observed(number, candidates=CANDIDATES, at=None, reward=None):
    source = Random(number)
    chosen, rival = source.sample(candidates, 2)
    ended = START + timedelta(seconds=number if at is None else at)
    known = text(source), False, GRAPHS.get(chosen, ""), (f"user{number % 5}",), rival, GRAPHS.get(rival, "")
    return Observation(
        f"h{number}", chosen, ended, source.random(), source.random() if reward is None else reward, *known
    )


BUCKETS = {unpacked(packed({word: 1.0}))[0][0]: index for index, word in enumerate(WORDS)}


@cache
def dense(features):
    row = np.zeros(len(BUCKETS))
    for bucket, weight in unpacked(features):
        row[BUCKETS[bucket]] = weight
    length = float(np.sqrt(row @ row))
    return row / length if length else row


def taught(model):
    """Return what each group is taught, as the docstring of learning says it: the newest first, while there is room."""
    items = model.observations.items
    counts, room = Counter(item.learner for item in items), lessons.MOST_IN_ALL - len(items)
    groups = defaultdict(list)
    for item in reversed(items):
        groups[item.learner].append((item.features, item.candidate, item.reward - item.prior))
        rival = item.rival_group or item.rival
        if rival and item.reward >= 0.5 and room > 0 and counts[rival] < lessons.MOST:
            groups[rival].append((item.features, item.rival, 0.0))
            counts[rival] += 1
            room -= 1
    return groups


def solved(rows, features, candidate):
    """Return what the regression of a group predicts for a text, and the standard deviation of that."""
    if not rows:
        return 0.0, 1.0
    matrix = np.array([dense(row) for row, _, _ in rows])
    alike = np.array([[1.0 if one == other else SHARED for _, other, _ in rows] for _, one, _ in rows])
    gram = (matrix @ matrix.T) * alike + LEARNED.ridge * np.eye(len(rows))
    likeness = matrix @ dense(features) * [1.0 if one == candidate else SHARED for _, one, _ in rows]
    surprises = np.array([surprise for _, _, surprise in rows])
    known = float(likeness @ np.linalg.solve(gram, likeness))
    return float(likeness @ np.linalg.solve(gram, surprises)), max(1.0 - known, 0.0) ** 0.5


def check(model, source, candidates=CANDIDATES):
    features, scores = text(source), {name: source.choice((0.0, 0.2, source.random())) for name in candidates}
    scored, priors, most = model.scores(features, scores, GRAPHS), promised(scores, GRAPHS), LEARNED.exploration
    firsts = {}
    for name in sorted(priors, key=lambda name: (-priors[name], name)):
        firsts.setdefault(GRAPHS.get(name, name), name)
    groups = taught(model)
    learned = {group: solved(groups[group], features, first) for group, first in firsts.items()}
    reach = max(priors[first] + learned[group][0] for group, first in firsts.items()) - most
    assert list(scored) == list(priors)
    for name, prior in priors.items():
        group = GRAPHS.get(name, name)
        predicted, deviation = learned[group]
        reached = priors[firsts[group]] + predicted
        assert scored[name].prior == prior
        assert scored[name].learned == pytest.approx(predicted, rel=EXACT, abs=1e-12)
        if abs(reached - reach) > 1e-9:
            bonus = most * deviation if reached > reach else 0.0
            assert scored[name].bonus ** 2 == pytest.approx(bonus**2, rel=EXACT, abs=1e-12)
        assert scored.totals[name] == scored[name].total
        assert scored.scores[name] == scored[name].score


MANY = [observed(number) for number in range(600)]


@pytest.mark.parametrize("most_recent", [0, 10, 1_000])
def test_candidates_score_as_if_their_regressions_were_solved_one_after_the_other(monkeypatch, most_recent):
    monkeypatch.setattr(text_rows, "MOST_RECENT", most_recent)
    source, model = Random(1), LEARNED.model(Observations().added(*MANY[:500]))
    check(model, source)
    for more in MANY[500:540]:
        model = model.after(more)
        check(model, source)
    assert model.regressions.lessons.texts.count == 540


def test_candidates_that_come_and_go_between_choices_score_as_if_they_were_asked_alone():
    source, model = Random(2), LEARNED.model(Observations().added(*MANY))
    for _ in range(20):
        check(model, source, source.sample(CANDIDATES, source.randint(1, 80)))


def test_a_text_that_nobody_has_heard_of_is_scored():
    model = LEARNED.model(Observations().added(*MANY))
    scored = model.scores(packed({"unheard of": 1.0}), dict.fromkeys(CANDIDATES, 0.5), GRAPHS)
    assert {one.learned for one in scored.values()} == {0.0}
    assert {one.bonus for one in scored.values()} == {0.2}


def changed(model, step):
    """Return the model after a step: some outcomes, a late one, another rating, a user who is forgotten, or others."""
    kind, number = step
    items = model.observations.items
    match kind:
        case "one":
            return model.after(observed(number, FEW, at=1_000 + len(items) + number))
        case "some":
            return model.after(*(observed(number + more, FEW) for more in range(number % 9)))
        case "late":
            return model.after(observed(number, FEW, at=-number))
        case "rated" if items:
            rated = items[number % len(items)]
            return model.over(model.observations.added(replaced(rated, reward=number % 3 / 2)))
        case "forgotten":
            return model.over(model.observations.without(f"user{number % 5}"))
        case "gone" if items:
            index = number % len(items)
            return model.over(Observations((*items[:index], *items[index + 1 :])))
        case "others":
            return model.over(Observations().added(*(observed(number + more, FEW) for more in range(30))))
    return model


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["one", "one", "one", "some", "late", "rated", "forgotten", "gone", "others"]),
        st.integers(0, 300),
    ),
    max_size=40,
)


@pytest.mark.parametrize(
    ("most", "in_all", "terms", "changes"), [(1_000, 10_000, 32, 10_000), (8, 40, 3, 10_000), (15, 60, 1, 20)]
)
@settings(max_examples=60, deadline=None)
@given(steps=STEPS, seed=st.integers(0, 100))
def test_whatever_comes_and_goes_the_model_is_the_one_that_is_solved_from_scratch(
    most, in_all, terms, changes, steps, seed
):
    with pytest.MonkeyPatch.context() as patched:
        for module in (observations, lessons):
            patched.setattr(module, "MOST", most)
            patched.setattr(module, "MOST_IN_ALL", in_all)
        patched.setattr(inverse, "MOST_TERMS", terms)
        patched.setattr(regression, "MOST_CHANGES", changes)
        patched.setattr(regression, "FEW_CHANGES", 1_000)  # so that whole groups are followed, too
        source, model = Random(seed), LEARNED.model()
        for step in steps:
            before, known = model.observations, model
            model = changed(model, step)
            assert known.observations is before
        check(model, source, FEW)


def test_what_is_followed_for_long_is_as_exact_as_what_is_solved_anew(monkeypatch):
    for module in (observations, lessons):
        monkeypatch.setattr(module, "MOST", 60)
    model = LEARNED.model()
    for number in range(3_000):
        model = model.after(observed(number, FEW[:4]))
    anew = LEARNED.model(model.observations)
    source = Random(5)
    for _ in range(20):
        features, scores = text(source), dict.fromkeys(FEW, 0.3)
        followed, exact = model.scores(features, scores, GRAPHS), anew.scores(features, scores, GRAPHS)
        for name in FEW:
            assert followed[name].learned == pytest.approx(exact[name].learned, rel=EXACT, abs=1e-12)
            assert followed[name].bonus == pytest.approx(exact[name].bonus, rel=EXACT, abs=1e-9)


def test_models_that_go_two_ways_from_one_do_not_touch_each_other():
    common = LEARNED.model(Observations().added(*MANY[:100]))
    one, other = common, common
    for number in range(100, 140):
        one, other = one.after(MANY[number]), other.after(MANY[number + 100])
    for model in (common, one, other):
        check(model, Random(6))


def test_nothing_is_kept_of_texts_that_are_erased():
    model = LEARNED.model(Observations().added(*MANY))
    for more in range(20):
        model = model.after(observed(1_000 + more))
    erased = model.over(model.observations.without("user3"))
    kept = erased.regressions.lessons
    assert kept.texts.count == len(kept.sources) == len(erased.observations.items) < len(model.observations.items)
    assert all("user3" not in source.owners for source in kept.sources)
    check(erased, Random(7))


def test_groups_that_come_and_go_leave_nothing_behind(monkeypatch):
    monkeypatch.setattr(observations, "MOST_IN_ALL", 50)
    monkeypatch.setattr(text_rows, "MOST_RECENT", 30)
    model = LEARNED.model()
    for number in range(1_500):
        alone = replaced(observed(number), candidate=f"new{number}", group="", rival="", rival_group="")
        model = model.after(alone)
    kept = model.regressions
    assert len(kept.fits) <= 120
    assert max(len(kept.table), len(kept.lessons.groups), len(kept.lessons.sources)) <= 500


def test_a_difference_names_what_left_and_what_came():
    before = tuple(MANY[:300])
    assert difference(before, (*before[:10], *before[12:], *MANY[300:303])) == ([*before[10:12]], tuple(MANY[300:303]))
    assert difference(before, before) == ([], ())
    rated = replaced(before[7], reward=0.25)
    left, came = difference(before, (*before[:7], rated, *before[8:]))
    assert (list(left), list(came)) == ([before[7]], [rated])
