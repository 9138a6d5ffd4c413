"""What was measured, and functions of one's own."""

from __future__ import annotations

from types import SimpleNamespace

from gatechart.signals import Confidence, Noticed, Risk, Sentiment
from gatechart.values.trail import CALLED, Called
from tests.signals.looks import Player, call, calls, evidence, found, moves, notes, says


def test_a_low_confidence_is_found_and_ceases_with_a_margin() -> None:
    assert found(Confidence(0.5), notes([0.9, 0.49, 0.52, 0.56, 0.52])) == [False, True, True, False, False]
    told = evidence(Confidence(0.5), notes([0.4]))
    assert told == {"measure": "confidence", "number": 0.4, "threshold": 0.5}


def test_another_measure_is_not_the_confidence() -> None:
    assert found(Confidence(0.5), notes([0.1], "speed")) == [False]


def test_sentiment_is_what_a_function_makes_of_a_text() -> None:
    def judged(text: str) -> float:
        return -1.0 if "awful" in text else 0.2

    assert found(Sentiment(judged), says(["fine", "awful", "fine"])) == [False, True, False]
    assert evidence(Sentiment(judged), says(["awful"])) == {"sentiment": -1.0, "threshold": -0.5}


def test_risk_is_what_a_function_makes_of_context_and_event() -> None:
    player = Player(SimpleNamespace(limit=10))
    looks = [player.look(payload={"amount": amount}) for amount in (4, 9, 5, 1)]
    risk = Risk(lambda context, event: event.payload["amount"] / context.limit, above=0.5)
    assert found(risk, looks) == [False, True, True, False]
    assert evidence(risk, looks) == {"risk": 0.9, "threshold": 0.5}


def test_a_function_of_ones_own_is_a_detector() -> None:
    def wasted(trail: tuple[object, ...], context: object) -> dict[str, int]:
        empty = [each for each in trail if isinstance(each, Called) and not each.outcome]
        return {"calls": len(empty)} if len(empty) >= 2 else {}

    player = Player()
    nothing = Called("search", "a", True)
    looks = [*calls([nothing, call()], player), *moves("ab", player), *calls([nothing], player)]
    assert found(Noticed(wasted, CALLED), looks) == [False, False, False, False, True]
    assert evidence(Noticed(wasted, CALLED), looks) == {"calls": 2}
