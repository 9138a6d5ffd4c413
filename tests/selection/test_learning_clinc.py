"""Learning on sentences of CLINC150, with the text scores that are shipped. Thresholds are below what was measured."""

import pytest

from benchmarks.learning import DATA, Clinc, last, learned_hits, text_hits, worst
from gatechart.selection.learned import Learned

pytest.importorskip("numpy", reason="NOT TESTED on learning of choices: the extra gatechart[learning] is missing")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.exists(), reason="NOT TESTED on CLINC150: its data is missing"),
]


@pytest.mark.parametrize(("wrong", "gain"), [(0.0, 0.015), (0.2, 0.10)])
def test_what_was_learned_is_better_and_never_much_worse_on_the_way(wrong, gain):
    said = Clinc().drawn(3, 4_500, wrong)
    base, (hits, model) = text_hits(said), learned_hits(said, Learned())
    assert last(hits) >= last(base) + gain
    assert worst(hits, base) >= -0.08
    assert len(model.observations.items) <= 4_500
