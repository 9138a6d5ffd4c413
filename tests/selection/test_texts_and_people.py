"""Texts against what people really said: whom it is for among many, and whether it is for anyone.

Thresholds are a little below what was measured on sentences that are not among the samples.
"""

from __future__ import annotations

from statistics import mean

import pytest

from gatechart.selection.texts import TextIndex, index_of
from tests.selection.sentences import auroc, clinc, sgd


def found(index, text):
    scores = index.scores(text)
    best = max(scores, key=scores.get)
    return best, scores[best]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_right_agent_of_ten_is_found_by_ten_sentences_for_each_entry_point(seed):
    sentences = clinc()
    index = TextIndex(sentences.samples(seed))
    asked = [(sentences.agents[intent], *found(index, text)) for text, intent in sentences.asked[seed % 2 :: 2]]
    foreign = [found(index, text)[1] for text in sentences.foreign]
    own = [score for _, _, score in asked]
    assert mean(agent == sentences.agents[best] for agent, best, _ in asked) > 0.89
    assert auroc(own, foreign) > 0.91
    assert mean(score < index.least.sampled for score in own) < 0.07
    assert mean(score < index.least.sampled for score in foreign) > 0.4


def test_the_service_that_a_user_turns_to_is_found_by_what_its_entry_points_say_of_themselves():
    candidates, said = sgd()
    services = {each.id: each.graph for each in candidates}
    index = index_of(candidates)
    asked = [(service, *found(index, text)) for text, service in said[::2]]
    assert mean(service == services[best] for service, best, _ in asked) > 0.74
    assert mean(score < index.least.described for _, _, score in asked) < 0.09
