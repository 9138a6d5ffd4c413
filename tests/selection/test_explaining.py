"""Explanations as JSON: the same afterwards, and never large."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart.results import Explanation, Judged
from gatechart.selection.explaining import MOST_BYTES, explanation_json, explanation_of
from gatechart.values.profiles import Needs

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
some_texts = st.lists(texts, max_size=3).map(tuple)
needs = st.builds(Needs, some_texts, some_texts, st.integers(0, 5), some_texts, st.booleans())
scores = st.lists(st.tuples(texts, st.floats(0, 1)), max_size=3).map(tuple)
judged = st.lists(st.builds(Judged, texts, st.floats(-9, 9), scores, texts), max_size=5).map(tuple)
explanations = st.builds(Explanation, needs, judged, st.integers(0, 9), texts, some_texts, texts)


@settings(deadline=None, derandomize=True, database=None)
@given(explanations)
def test_an_explanation_survives_json_exactly(explanation: Explanation) -> None:
    assert explanation_of(json.loads(json.dumps(explanation_json(explanation)))) == explanation


def test_a_long_explanation_tells_of_fewer_candidates_and_counts_the_rest() -> None:
    many = tuple(Judged(f"{'x' * 1000}{n}", fell="open: closed") for n in range(100))
    plain = explanation_json(Explanation(Needs(tier=2), many, left_out=7))
    told = explanation_of(plain)
    assert len(json.dumps(plain)) <= MOST_BYTES
    assert told.judged == many[: len(told.judged)]
    assert len(told.judged) + told.left_out == 107


def test_not_even_endless_needs_make_it_larger() -> None:
    endless = Needs(capabilities=("y" * MOST_BYTES,), tier=3)
    plain = explanation_json(Explanation(endless, (Judged("a.A"),), seed="s" * MOST_BYTES))
    assert len(json.dumps(plain)) <= MOST_BYTES
    assert explanation_of(plain).needs == Needs(tier=3)


def test_unknown_keys_of_a_newer_release_are_ignored() -> None:
    assert explanation_of({"needs": {}, "judged": [], "mood": "fine"}) == Explanation(Needs(), ())
