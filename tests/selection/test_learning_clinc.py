"""Learning on sentences of CLINC150, with the text scores that are shipped. Thresholds are below what was measured."""

from statistics import fmean

import pytest

from benchmarks.learning import DATA, Clinc, evaluated, last, learned_hits, text_hits, worst
from gatechart.selection.evaluation import Comparison
from gatechart.selection.learned import Learned
from tests.skipped import LOUD

pytest.importorskip("numpy", reason=f"{LOUD}learning of choices: the extra gatechart[learning] is missing")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.exists(), reason=f"{LOUD}CLINC150: there is no data at {DATA}"),
]

CHOICES = 4_500
SPLITS = (3, 4, 5, 6)  # a gain in 1,000 choices differs by about 0.006 from one to the other


@pytest.mark.parametrize(("wrong", "gain"), [(0.0, 0.035), (0.2, 0.15)])
def test_what_was_learned_is_better_and_never_much_worse_on_the_way(wrong, gain):
    gains = []
    for split in SPLITS:
        said = Clinc().drawn(split, CHOICES, wrong)
        base, (hits, model) = text_hits(said), learned_hits(said, Learned())
        gains.append(last(hits) - last(base))
        assert worst(hits, base) >= -0.01
        assert len(model.observations.items) <= CHOICES
    assert fmean(gains) >= gain


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_recorded_choices_say_that_learning_is_better_before_it_is_switched_on(wrong):
    assert evaluated(Clinc().drawn(SPLITS[0], CHOICES, wrong), seed=1).verdict is Comparison.BETTER
