"""What people say."""

from __future__ import annotations

import pytest

from gatechart.signals import Keywords, SameQuestion, UserAsked
from tests.signals.looks import Player, asked, call, calls, evidence, found, says

ASKING = (
    "I want to speak to a human",
    "Could I please talk to a real person?",
    "Can you connect me with an agent",
    "let me speak with your manager!",
    "Put me through to someone",
    "I\u2019d like to talk to a customer service representative.",
    "No, I want to talk to a human",
    "This does not work, can I talk to a person?",
    "我要转人工",
    "帮我换个客服",
    "请找真人客服",
    "不行，转人工",
    "能不能转人工",
    "可不可以换个客服",
    "有没有人工客服",
    "没有人工客服吗",
    "再不给我转人工我就走了",
    "为什么不给我转人工",
    "没用，转人工",
    "请帮我转接人工",
    "You are useless, real person please",
    "you are no help so give me a human",
    "It is not working and I want to talk to a human",
)
NOT_ASKING = (
    "I don't need a real person",
    "Are you a real person or a robot?",
    "Am I talking to a real person?",
    "how do I know that you are a human being",
    "I do not want to talk to a human",
    "no need to talk to an agent",
    "I\u2019d rather not speak to a person",
    "不用转人工",
    "不需要人工客服",
    "别转人工",
    "我没说要转人工",
    "请不要把我转人工",
    "没有要求转人工",
    "不想换个客服",
    "暂时不需要人工服务",
    "Find me a personal trainer, the agent said it is near",
    "What is a humane way to do it?",
    "Transfer 500 dollars to my mother",
)


@pytest.mark.parametrize("text", ASKING)
def test_who_asks_for_a_person_is_understood(text: str) -> None:
    assert found(UserAsked(), says([text])) == [True]


@pytest.mark.parametrize("text", NOT_ASKING)
def test_who_does_not_ask_for_a_person_is_understood_too(text: str) -> None:
    assert found(UserAsked(), says([text])) == [False]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "I want to file a complaint",
            "This is an EMERGENCY",
            "我要投诉你们",
            "很紧急",
            "非常紧急",
            "这个问题无法解决",
        ),
        *("再不处理就投诉", "不能再等了，紧急"),
    ],
)
def test_words_of_trouble_are_found(text: str) -> None:
    assert found(Keywords(), says([text])) == [True]


@pytest.mark.parametrize(
    "text",
    [
        *("It is not an emergency", "I have no complaint", "Book a table for two"),
        *("不紧急", "不是很紧急", "没那么紧急", "没有投诉", "我不想投诉", "没打算投诉", "不打算投诉"),
    ],
)
def test_words_of_trouble_that_are_denied_are_not(text: str) -> None:
    assert found(Keywords(), says([text])) == [False]


def test_it_ceases_when_something_else_is_said() -> None:
    assert found(UserAsked(), says(["转人工", "hello", "real person"])) == [True, False, True]


def test_the_evidence_has_the_phrase_and_its_language() -> None:
    assert evidence(UserAsked(), says(["请转人工"])) == {"phrase": "转人工", "language": "zh"}


def test_phrases_are_replaced_or_added() -> None:
    french = {"fr": ["parler à … conseiller"]}
    assert found(UserAsked(french), says(["Je veux parler à un autre conseiller", "转人工"])) == [True, False]
    assert found(UserAsked(also=french), says(["Je veux parler à un conseiller", "转人工"])) == [True, True]


def test_detectors_with_the_same_phrases_are_equal() -> None:
    assert UserAsked() == UserAsked()
    assert UserAsked() != UserAsked({"en": "help"})
    assert len({UserAsked(), UserAsked(), Keywords()}) == 2


def test_no_phrases_are_refused() -> None:
    with pytest.raises(ValueError, match=r"UserAsked\(\) has no phrases"):
        UserAsked({})


def test_nearly_the_same_question_three_times_is_found() -> None:
    asked = ["Where is my order 4711?", "Thanks", "where is my order 4711", "A blue one", "my order 4711, where is it?"]
    assert found(SameQuestion(0.8), says(asked)) == [False, False, False, False, True]
    told = evidence(SameQuestion(0.8), says(asked))
    assert told == {"times": 3, "threshold": 3, "text": "my order 4711, where is it?"}


def test_short_answers_are_no_questions() -> None:
    assert not any(found(SameQuestion(), says(["Yes please"] * 9)))


def test_other_questions_are_not_the_same() -> None:
    asked = ["Where is my order 4711?", "How much is the red shirt?", "When will the blue one arrive?"]
    assert not any(found(SameQuestion(), says(asked)))


def test_texts_of_any_length_leave_a_bounded_slot() -> None:
    slot = ""
    for look in says([f"{number} " + "long text " * 50 for number in range(20)]):
        slot = SameQuestion(last=5).after(slot, look)
    assert len(slot) <= 5 * 142


def test_what_was_said_is_told_though_another_detector_was_waited_for() -> None:
    player, text = Player(), "I want to talk to a human"
    looks = [*says([text, text], player), *calls([call(error="E")], player)]
    for detector, told in (
        (UserAsked(), {"phrase": "talk to … human", "language": "en"}),
        (SameQuestion(times=2), {"times": 2, "threshold": 2, "text": text}),
    ):
        slot = ""
        for look in looks:
            slot = asked(detector, look, slot)
        assert detector.evidence(slot, looks[-1]) == told


@pytest.mark.parametrize("build", [lambda: SameQuestion(1.5), lambda: SameQuestion(0), lambda: SameQuestion(last=2)])
def test_numbers_that_notice_nothing_are_refused(build: object) -> None:
    with pytest.raises(ValueError, match="notices nothing; pass"):
        build()
