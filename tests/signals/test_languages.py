"""The same question, and phrases, in any language."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatechart.selection import NeedRule
from gatechart.selection.features import features
from gatechart.signals import Keywords, SameQuestion, UserAsked
from gatechart.values.profiles import Needs
from gatechart.values.texts import folded, shortened
from tests.signals.looks import found, says

QUESTIONS = {
    "English": ("When does my order arrive?", "Where do I change my address?"),
    "German": ("Wann kommt meine Bestellung an?", "Wie ändere ich meine Anschrift?"),
    "French": ("Où est ma commande, s'il vous plaît\u00a0?", "Comment changer mon adresse\u00a0?"),
    "Chinese": ("我的退款什么时候到账", "怎么修改收货地址"),
    "Chinese, short": ("订单在哪里", "怎么付款呢"),
    "Japanese": ("返金はいつ届きますか", "住所を変更したいです"),
    "Japanese, short": ("いつ届きますか", "住所変更したい"),
    "Korean": ("환불은 언제 되나요", "주소를 어떻게 바꾸나요"),
    "Thai": ("เงินคืนจะเข้าเมื่อไหร่", "เปลี่ยนที่อยู่อย่างไร"),
    "Hindi": ("मेरा रिफंड कब आएगा", "मैं अपना पता कैसे बदलूँ"),
    "Arabic": ("متى يصل المبلغ المسترد", "كيف أغير عنواني"),
    "Hebrew": ("מתי יגיע ההחזר שלי", "איך משנים את הכתובת"),
    "Russian": ("Когда придёт мой возврат?", "Как изменить адрес доставки?"),
    "Turkish": ("Iade paramı ne zaman alırım?", "Adresimi nasıl değiştiririm?"),
}
ANSWERS = (
    *("Yes please", "Ja gerne", "Oui merci", "好的谢谢", "是的", "はい、そうです", "わかりました", "네 감사합니다"),
    *("ใช่ครับ", "हाँ जी", "نعم", "כן בבקשה", "Да, верно", "Evet lütfen"),
)


def is_same(one: str, other: str) -> bool:
    return found(SameQuestion(times=2, shortest=0), says([one, other]))[-1]


@pytest.mark.parametrize("language", QUESTIONS)
def test_a_question_is_noticed_in_every_language(language: str) -> None:
    asked, _ = QUESTIONS[language]
    assert found(SameQuestion(), says([asked] * 3)) == [False, False, True]


@pytest.mark.parametrize("language", QUESTIONS)
def test_different_questions_are_different_in_every_language(language: str) -> None:
    assert not is_same(*QUESTIONS[language])


@pytest.mark.parametrize("text", ANSWERS)
def test_short_answers_are_no_questions_in_any_language(text: str) -> None:
    assert not any(found(SameQuestion(), says([text] * 9)))


@pytest.mark.parametrize("language", QUESTIONS)
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_the_encoding_of_accents_makes_no_difference(language: str, form: str) -> None:
    asked, _ = QUESTIONS[language]
    assert is_same(unicodedata.normalize(form, asked), asked)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("WO IST MEINE STRASSE?", "wo ist meine Straße"),
        ("KIRMIZI AYAKKABI NEREDE", "kırmızı ayakkabı nerede"),
        ("İADE NE ZAMAN", "iade ne zaman"),
        ("ＷＨＥＲＥ　ＩＳ　ＭＹ　ＯＲＤＥＲ", "where is my order"),
        ("ｶﾞｿﾘﾝはどこですか", "ガソリンはどこですか"),
        ("我的退款，什么时候到账？", "我的退款什么时候到账"),
        ("取消订单１００１", "取消订单 1001"),
        ("ألغ الطلب ١٠٠١", "ألغ الطلب 1001"),
        ("आदेश १००१ रद्द करें", "आदेश 1001 रद्द करें"),
        ("می\u200cخواهم سفارش را لغو کنم", "میخواهم سفارش را لغو کنم"),
        ("cancel AB-12 please", "please cancel ab12!"),
        ("주문1001을 취소해 주세요", "주문 1001을 취소해 주세요"),
        ("my order 4711, where is it", "where is it, my order 4711"),
    ],
)
def test_questions_that_differ_in_writing_alone_are_the_same(one: str, other: str) -> None:
    assert is_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cancel order 1001", "cancel order 1002"),
        ("please cancel my order AB-12 as soon as you can", "please cancel my order AC-12 as soon as you can"),
        ("book a table for 3 May at seven o'clock please", "book a table for 4 May at seven o'clock please"),
        ("refund the amount of 12.50 for the blue shirt", "refund the amount of 125.0 for the blue shirt"),
        ("is there a refund of 50 € for my last order", "is there a refund of 50 $ for my last order"),
        ("we are 2 people and want a table by the window", "we are people and want a table by the window"),
        ("我要取消订单1001，请尽快处理", "我要取消订单1002，请尽快处理"),
        ("我要取消订单一千零一，请尽快处理", "我要取消订单一千零二，请尽快处理"),
        ("我要取消订单貳拾壹，請盡快處理", "我要取消订单貳拾貳，請盡快處理"),
        ("3番窓口の注文二十一をキャンセルしてください", "3番窓口の注文二十二をキャンセルしてください"),
        ("注文番号1001をキャンセルしてください", "注文番号1002をキャンセルしてください"),
        ("ألغ الطلب ١٠٠١ من فضلك الآن", "ألغ الطلب ١٠٠٢ من فضلك الآن"),
        ("आदेश १००१ रद्द करें कृपया", "आदेश १००२ रद्द करें कृपया"),
        ("ยกเลิกคำสั่งซื้อ ๑๐๐๑ ให้หน่อย", "ยกเลิกคำสั่งซื้อ ๑๐๐๒ ให้หน่อย"),
        ("отмените заказ АБ-1001, пожалуйста", "отмените заказ АВ-1001, пожалуйста"),
        (
            "cancel order " + "and tell me about it " * 12 + "1001",
            "cancel order " + "and tell me about it " * 12 + "1002",
        ),
    ],
)
def test_questions_about_other_numbers_and_codes_are_different(one: str, other: str) -> None:
    assert not is_same(one, other)
    assert is_same(one, one)


def test_combining_marks_make_other_words() -> None:
    assert not is_same("की कि कु", "का के को")
    assert folded("रिफंड") != folded("रफड")


def test_texts_of_an_older_slot_are_read() -> None:
    """A slot of a release that kept numbers among the words, and knew no codes."""
    older = "-where is my order 4711\x1fwhen does it arrive"
    looks = says(["when does it arrive", "when does it arrive"])
    slot = SameQuestion().after(older, looks[0])
    assert [slot[0], SameQuestion().after(slot, looks[1])[0]] == ["-", "+"]


def test_many_numbers_leave_a_bounded_slot() -> None:
    asked = [f"where are my orders {' '.join(map(str, range(first, first + 90)))}" for first in (1000, 1001, 1000)]
    slot = ""
    for look in says(asked):
        slot = SameQuestion(times=2).after(slot, look)
    assert slot[0] == "+"
    assert len(slot) <= 3 * 142


@given(st.text(max_size=60))
def test_any_text_is_the_same_as_itself_in_any_form(text: str) -> None:
    detector = SameQuestion(times=2, shortest=0)
    for form in ("NFC", "NFD"):
        written = unicodedata.normalize(form, text)
        slots = detector.after("", says([text])[0]), detector.after("", says([written])[0])
        assert slots[0] == slots[1]


@given(
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.sampled_from([chr(code) for code in (0x30, 0x660, 0x966, 0xE50, 0xFF10)]),
)
def test_numbers_are_equal_in_any_digits(one: int, other: int, zero: str) -> None:
    digits = {ord("0") + number: chr(ord(zero) + number) for number in range(10)}
    written = f"cancel order {other}".translate(digits)
    assert is_same(f"cancel order {one}", written) is (one == other)


@given(st.text(max_size=30), st.integers(0, 30))
def test_a_text_is_shortened_before_a_letter_and_never_before_its_accent(text: str, length: int) -> None:
    short = shortened(text, length)
    assert text.startswith(short)
    assert len(short) <= length
    rest = text[len(short) :]
    assert not rest or not short or not unicodedata.combining(rest[0])


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("parler à … conseiller", unicodedata.normalize("NFD", "Je veux PARLER À un autre conseiller")),
        (unicodedata.normalize("NFD", "réclamation"), "une RÉCLAMATION"),
        ("insan … görüş", "İNSAN ile GÖRÜŞ"),
        ("किसी … इंसान से", "मुझे किसी भी असली इंसान से बात करनी है"),
        ("転送", "担当者に転送してください"),
        ("ﾃﾝｿｳ", "テンソウ"),
    ],
)
def test_phrases_are_found_however_they_are_written(phrase: str, text: str) -> None:
    assert found(UserAsked({"xx": phrase}), says([text])) == [True]
    assert found(Keywords({"xx": phrase}), says(["something else"])) == [False]


def test_a_phrase_with_a_gap_ends_with_a_word_and_not_before_its_marks() -> None:
    assert found(UserAsked({"hi": "किसी … इंसान"}), says(["किसी भी इंसानों"])) == [False]


@pytest.mark.parametrize(
    ("word", "text", "applies"),
    [
        ("échange", unicodedata.normalize("NFD", "Un Échange, svp"), True),
        ("iade", "İADE istiyorum", True),
        ("रिफंड", "मेरा रिफंड कब आएगा", True),
        ("टी", "रोटी चाहिए", False),  # within a word
    ],
)
def test_a_rule_knows_a_word_however_it_is_written(word: str, text: str, applies: bool) -> None:
    rule = NeedRule(Needs(domains=("x",)), mentions=(word,))
    assert rule.applies(None, text) is applies  # type: ignore[arg-type]


def test_samples_in_hindi_are_compared_by_whole_words() -> None:
    assert {name for name in features("मेरा रिफंड") if name.startswith("_")} == {"_मेरा", "_रिफंड"}
    assert features(unicodedata.normalize("NFD", "une réclamation")) == features("Une Réclamation")
