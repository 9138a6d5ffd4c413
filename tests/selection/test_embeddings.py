"""Which candidates a text fits by vectors of a function of the user's, and by a static model in a folder."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatechart.errors import EmbeddingError
from gatechart.selection.embeddings import LEAST_EMBEDDED, EmbeddingIndex, static_embeddings
from gatechart.selection.texts import Least

KNOWN = {"orders": ["parcel", "package order"], "refunds": ["refund", "money back"], "silent": [], "blank": [" "]}
TOPICS = {"parcel": 0, "package": 0, "order": 0, "refund": 1, "money": 1, "back": 1, "delivery": 0, "fridge": 2}


def embed(texts):
    """Count words by topic; what is like what is known to the function alone."""
    return [[sum(TOPICS.get(word) == topic for word in text.split()) for topic in range(3)] for text in texts]


class Asked:
    """The same, and what it was asked."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts.append(list(texts))
        return embed(texts)


def best(index, text):
    scores = index.scores(text)
    return max(scores, key=scores.get)


def test_a_text_fits_by_its_vector_though_it_shares_no_word():
    index = EmbeddingIndex(KNOWN, embed)
    assert best(index, "delivery") == "orders"
    assert index.scores("delivery") == pytest.approx({"blank": 0, "orders": 1, "refunds": 0, "silent": 0})


def test_a_text_about_something_else_fits_nobody():
    assert set(EmbeddingIndex(KNOWN, embed).scores("fridge").values()) == {0.0}


def test_a_blank_text_is_not_embedded():
    asked = Asked()
    index = EmbeddingIndex(KNOWN, asked)
    assert set(index.scores(" \n").values()) == {0.0}
    assert len(asked.texts) == 1


def test_texts_of_candidates_are_embedded_once_and_at_once():
    asked = Asked()
    index = EmbeddingIndex(KNOWN, asked)
    index.scores("refund")
    index.scores("delivery")
    assert asked.texts == [["money back", "package order", "parcel", "refund"], ["delivery"]]


def test_another_index_embeds_only_texts_that_the_earlier_one_did_not_know():
    earlier = EmbeddingIndex(KNOWN, embed)
    asked = Asked()
    later = EmbeddingIndex({**KNOWN, "repairs": ["fridge"], "orders": ["parcel"]}, asked, known=earlier.vectors)
    assert asked.texts == [["fridge"]]
    assert sorted(later.vectors) == ["fridge", "money back", "parcel", "refund"]


def test_opposite_vectors_fit_no_less_than_not_at_all():
    index = EmbeddingIndex({"a": ["for"]}, lambda texts: [[1.0] if each == "for" else [-1.0] for each in texts])
    assert index.scores("against") == {"a": 0.0}


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ([], "4 texts were embedded as 0 vectors"),
        ([[1.0]] * 3 + [[1.0, 2.0]], "as 1 numbers and as 2"),
        ([[1.0]] * 3 + [[math.nan]], "not finite"),
        ([["a"]] * 4, "values that are not numbers"),
        ([[10**400]] * 4, "values that are not numbers"),
        ([None] * 4, "values that are not numbers"),
        (None, "values that are not numbers"),
    ],
)
def test_what_are_no_vectors_is_refused_with_the_reason(returned, told):
    with pytest.raises(EmbeddingError, match=told):
        EmbeddingIndex(KNOWN, lambda texts: returned)


def test_a_text_with_a_vector_of_another_length_is_refused():
    index = EmbeddingIndex({"a": ["one"]}, lambda texts: [[1.0] * len(each) for each in texts])
    with pytest.raises(EmbeddingError, match="as 5 numbers, others as 3"):
        index.scores("three")


def test_what_the_function_raises_is_not_hidden():
    def broken(texts):
        raise ConnectionError("away")

    with pytest.raises(ConnectionError, match="away"):
        EmbeddingIndex(KNOWN, broken)


def test_the_threshold_is_reached_by_nearly_all_texts_of_the_candidates_themselves():
    known = {f"c{each}": [f"{each} {word}" for word in range(10)] for each in range(10)}

    def near(texts):
        pairs = [tuple(map(int, each.split())) for each in texts]
        return [[float(each == at) for at in range(10)] + [0.1 * word] for each, word in pairs]

    index = EmbeddingIndex(known, near)
    assert 0.5 < index.least.sampled < 1
    assert EmbeddingIndex(KNOWN, embed).least == Least.alike(LEAST_EMBEDDED)
    assert EmbeddingIndex(known, near, least=0.7).least == Least.alike(0.7)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=2, max_size=6))
def test_scores_are_from_0_to_1_whatever_the_numbers_are(vectors):
    made = dict(zip("abcdef", vectors, strict=False))
    index = EmbeddingIndex({each: [each] for each in list(made)[1:]}, lambda texts: [made[each] for each in texts])
    assert all(0 <= each <= 1 for each in index.scores("a").values())


def test_neither_the_order_of_candidates_nor_that_of_their_texts_matters():
    turned = {name: texts[::-1] for name, texts in reversed(KNOWN.items())}
    assert EmbeddingIndex(turned, embed).scores("order refund") == EmbeddingIndex(KNOWN, embed).scores("order refund")


@pytest.fixture
def folder(tmp_path):
    """A static model of a few words, as model2vec saves one."""
    model2vec = pytest.importorskip("model2vec")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = ["[UNK]", *TOPICS]
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    import numpy

    vectors = numpy.array([[float(TOPICS.get(word) == topic) for topic in range(3)] for word in words])
    model2vec.StaticModel(vectors=vectors, tokenizer=tokenizer).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_a_static_model_in_a_folder_compares_texts(folder):
    index = EmbeddingIndex(KNOWN, static_embeddings(folder))
    assert best(index, "delivery") == "orders"
    assert best(index, "money") == "refunds"
    assert set(index.scores("fridge").values()) == {0.0}


def test_a_folder_without_a_static_model_is_refused_and_nothing_is_downloaded(tmp_path):
    pytest.importorskip("model2vec")
    with pytest.raises(EmbeddingError, match=r"there is no static model in .*; pass a folder"):
        static_embeddings(tmp_path)


def test_a_damaged_static_model_is_refused(folder):
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(EmbeddingError, match="cannot be read"):
        static_embeddings(folder)
