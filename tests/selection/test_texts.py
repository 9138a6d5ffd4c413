"""Which candidates a text fits: by their samples and descriptions, in any language, whatever is in the texts."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import HandoffPacket
from gatechart.graph.selection import Best
from gatechart.selection import choose, terms_of
from gatechart.selection.features import LONGEST, features
from gatechart.selection.texts import LEAST, NEAR, TextIndex, index_of, texts_of
from gatechart.values.profiles import Candidate, Profile

SHOP = {
    "orders": ["where is my parcel", "track my order", "when does my package arrive"],
    "refunds": ["I want my money back", "please refund my purchase", "how do I return this"],
    "accounts": ["reset my password", "I cannot log in", "change my e-mail address"],
}
SHOP_IN_CHINESE = {
    "订单": ["我的包裹在哪里", "查询订单状态", "什么时候发货"],
    "退款": ["我要退款", "退货政策是什么", "钱什么时候退回来"],
    "账户": ["重置密码", "无法登录", "修改邮箱地址"],
}

texts = st.text(max_size=60) | st.sampled_from([each for known in SHOP.values() for each in known])
known_texts = st.dictionaries(st.text(min_size=1, max_size=5), st.lists(texts, max_size=4), max_size=6)


def best(index, text):
    scores = index.scores(text)
    return max(scores, key=scores.get)


@pytest.mark.parametrize(
    ("text", "candidate"),
    [
        ("has my parcel been sent?", "orders"),
        ("REFUND", "refunds"),
        ("i forgot the passwrod", "accounts"),
        ("MoneyBack", "refunds"),
        ("change_address", "accounts"),
    ],
)
def test_what_people_say_finds_whom_it_is_for(text, candidate):
    assert best(TextIndex(SHOP), text) == candidate


@pytest.mark.parametrize(
    ("text", "candidate"),
    [("退款", "退款"), ("包裹", "订单"), ("我登录不了", "账户"), ("想把钱退回来", "退款"), ("ＩＤ重置", "账户")],
)
def test_chinese_is_understood_though_it_writes_no_spaces(text, candidate):
    assert best(TextIndex(SHOP_IN_CHINESE), text) == candidate


def test_a_text_in_another_script_fits_nobody():
    assert set(TextIndex(SHOP).scores("冰箱坏了").values()) == {0.0}


@pytest.mark.parametrize("text", ["", "  \n", "?!… —", "\0", "🙂"])
def test_a_text_that_says_nothing_fits_nobody(text):
    assert TextIndex(SHOP).scores(text) == dict.fromkeys(SHOP, 0.0)


def test_a_candidate_of_whom_nothing_is_known_is_never_the_best():
    scores = TextIndex({**SHOP, "silent": [], "blank": ["", "…"]}).scores("track my order")
    assert (scores["silent"], scores["blank"]) == (0.0, 0.0)


def test_nobody_to_choose_from_is_no_error():
    assert TextIndex({}).scores("track my order") == {}
    assert index_of([]).scores("") == {}


def test_a_sample_scores_highest_for_its_own_candidate():
    index = TextIndex(SHOP)
    for candidate, known in SHOP.items():
        assert [best(index, each) for each in known] == [candidate] * len(known)


def test_a_foreign_text_scores_below_the_threshold_and_one_of_ours_above():
    index = TextIndex(SHOP)
    assert max(index.scores("my fridge makes a strange noise").values()) < index.least.sampled
    assert max(index.scores("where is the parcel?").values()) > index.least.sampled


def test_case_width_and_punctuation_do_not_count():
    assert features("ＴＲＡＣＫ my Order!") == features("track, my (order)")


def test_what_follows_a_long_text_does_not_count():
    assert features("a" * LONGEST + " refund") == features("a" * LONGEST)


def test_candidates_are_known_by_samples_text_and_the_names_of_what_they_do():
    profile = Profile(capabilities=("query_order",), domains=("订单管理",), samples=("where is it",))
    candidate = Candidate("orders.ASK", "orders", "ASK", profile=profile, text="Finds orders.\nBy number.")
    assert texts_of(candidate) == ("where is it", "Finds orders.", "By number.", "query order 订单管理")
    assert index_of([candidate]).scores("订单")["orders.ASK"] > 0


def test_the_threshold_is_lower_for_a_candidate_with_descriptions_alone_whoever_else_is_there():
    described = Candidate("a", "a", "A", text="Finds orders.")
    sampled = Candidate("b", "b", "B", profile=Profile(samples=("where is it",)))
    everybody = [sampled, described, *(Candidate(f"c{n}", "c", "C", text="people") for n in range(9))]
    for score, fit in ((LEAST.described - 0.01, set()), (LEAST.described, {"a"}), (LEAST.sampled, {"a", "b"})):
        index = index_of(everybody)
        choice = choose(
            HandoffPacket(),
            terms_of(Best(), HandoffPacket()),
            everybody,
            now=datetime(2026, 3, 30, tzinfo=UTC),
            seed="s",
            scores={"text": {"a": score, "b": score}},
            least=index.least,
        )
        assert {each.id for each in choice.explanation.judged if not each.fell} == fit


def test_the_nearest_among_many_is_found_by_one_of_its_texts():
    many = {f"c{each:03}": [f"thing number {each}", f"matter {each * 7}"] for each in range(NEAR * 4)}
    index = TextIndex(many)
    assert [best(index, texts[0]) for texts in many.values()] == list(many)


@given(known_texts, texts)
@settings(deadline=None)
def test_scores_are_from_0_to_1_for_each_candidate(known, text):
    scores = TextIndex(known).scores(text)
    assert scores.keys() == known.keys()
    assert all(0 <= each <= 1 for each in scores.values())


@given(known_texts, texts, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_neither_the_order_of_candidates_nor_that_of_their_texts_matters(known, text, random):
    mixed = list(known.items())
    random.shuffle(mixed)
    others = TextIndex({name: random.sample(each, len(each)) for name, each in mixed})
    assert others.scores(text) == TextIndex(known).scores(text)


@given(st.lists(texts, min_size=1, max_size=6, unique_by=lambda text: tuple(sorted(features(text)))))
@settings(deadline=None)
def test_no_text_is_more_like_a_text_than_itself(known):
    index = TextIndex({str(place): [each] for place, each in enumerate(known)})
    for place, text in enumerate(known):
        scores = index.scores(text)
        assert not features(text) or scores[str(place)] == pytest.approx(1, abs=1e-3)
        assert max(scores.values()) <= scores[str(place)] + 1e-3


@given(texts)
def test_features_have_a_length_of_1_or_there_are_none(text):
    found = features(text)
    length = math.fsum(each * each for each in found.values())
    assert length == pytest.approx(1) if found else not length
    assert all(each > 0 for each in found.values())


def test_another_candidate_leaves_the_order_of_the_others_and_nearly_their_scores():
    before = TextIndex(SHOP).scores("please refund my order")
    after = TextIndex({**SHOP, "hotels": ["book a room for two nights"]}).scores("please refund my order")
    assert sorted(before, key=before.get) == sorted(before, key=after.get)
    assert all(after[each] == pytest.approx(before[each], abs=0.03) for each in before)


def test_damaged_texts_are_texts_too():
    damaged = ["\ud800 refund \udfff", "\x00\x01refund", "ﬁ" * 50, "a\u0301" * 5_000, "refund " * 10_000]
    index = TextIndex({"refunds": damaged, "orders": ["parcel"]})
    assert all(best(index, f"{each} refund") == "refunds" for each in damaged)


def test_a_long_text_takes_no_longer_than_its_first_part():
    index = TextIndex(SHOP)
    begun = time.thread_time()
    index.scores("refund my purchase " * 200_000)
    assert time.thread_time() - begun < 0.5
