from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from gatechart.selection import history
from gatechart.selection.history import HistoryIndex
from gatechart.selection.observations import Observation, Observations, packed
from gatechart.values.frozen import replaced

START = datetime(2030, 1, 1, tzinfo=UTC)
WORDS = [f"word{number}" for number in range(12)]


def observed(number):
    source = Random(number)
    text = packed({source.choice(WORDS): source.uniform(0.1, 1.0) for _ in range(4)})
    at, owners = START + timedelta(seconds=number), (f"user{number % 4}",)
    return Observation(f"h{number}", source.choice("abc"), at, 0.5, source.random(), text, owners=owners)


def scores_of(index):
    return [index.scores(packed({word: 1.0})) for word in WORDS]


@pytest.mark.parametrize("newest", [3, 100])
def test_an_index_that_follows_scores_as_one_that_is_built_anew(monkeypatch, newest):
    monkeypatch.setattr(history, "NEWEST", newest)
    source, index, known = Random(newest), HistoryIndex(), Observations()
    for number in range(400):
        step = source.choice(["one", "one", "one", "late", "forgotten", "rated", "gone"])
        if step == "one" or not known.items:
            known = known.added(observed(number))
        elif step == "late":
            known = known.added(replaced(observed(number), at=START - timedelta(seconds=number)))
        elif step == "rated":
            known = known.added(replaced(source.choice(known.items), reward=source.random()))
        elif step == "gone":
            known = Observations(known.items[1:]).added(observed(number))
        elif number % 20 == 0:
            known = known.without("user1")
        index = index.following(known.items)
        assert scores_of(index) == [pytest.approx(scores) for scores in scores_of(HistoryIndex(known.items))]
