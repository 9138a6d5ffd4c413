"""What detectors, presets and signals refuse: each error names the parameter, and what would have worked."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import inf, nan
from typing import Any

import pytest

from gatechart import AgentContext, Handoff, Signals, StateTransitionGraph, Transition
from gatechart.errors import InvalidGraphError
from gatechart.signals import (
    CALLED,
    SAID,
    Confidence,
    ErrorRate,
    GoesInCircles,
    Keywords,
    Lacks,
    NoProgress,
    Noticed,
    Repeats,
    RetriesOver,
    Risk,
    SameCall,
    SameQuestion,
    Sentiment,
    Signal,
    ToolFailures,
    UserAsked,
    VisitsOver,
    answered,
    handing_on,
    looping,
)

WHOLE = "pass a whole number of"
NUMBERS: list[tuple[Callable[[Any], object], str]] = [
    (lambda given: Repeats(given), WHOLE),
    (lambda given: Repeats(times=given), WHOLE),
    (lambda given: Repeats(window=given), WHOLE),
    (lambda given: SameCall(given), WHOLE),
    (lambda given: SameCall(window=given), WHOLE),
    (lambda given: ToolFailures(given), WHOLE),
    (lambda given: RetriesOver(given), WHOLE),
    (lambda given: ErrorRate(least=given), WHOLE),
    (lambda given: ErrorRate(last=given), WHOLE),
    (lambda given: NoProgress(given), WHOLE),
    (lambda given: VisitsOver("HERE", given), WHOLE),
    (lambda given: SameQuestion(times=given), WHOLE),
    (lambda given: SameQuestion(last=given), WHOLE),
    (lambda given: SameQuestion(shortest=given), WHOLE),
    (lambda given: Noticed(found_nothing, given), WHOLE),
    (lambda given: handing_on(given), WHOLE),
    (lambda given: looping(given), WHOLE),
]
MEASURES: list[tuple[Callable[[Any], object], str]] = [
    (lambda given: Confidence(given), "pass a number"),
    (lambda given: Confidence(margin=given), "pass 0 or more"),
    (lambda given: Sentiment(judged, below=given), "pass a number"),
    (lambda given: Sentiment(judged, margin=given), "pass 0 or more"),
    (lambda given: Risk(judged, above=given), "pass a number"),
    (lambda given: Risk(judged, margin=given), "pass 0 or more"),
    (lambda given: SameQuestion(given), "pass 0.01 or more"),
    (lambda given: ErrorRate(given), "pass 0 or more"),
    (lambda given: NoProgress(seconds=given), "pass seconds, from 0.001 to"),
    (lambda given: ToolFailures(2, given), "pass seconds, from 0.001 to"),
    (lambda given: handing_on(confidence=given), "pass a number"),
    (lambda given: looping(within=given), "pass seconds, from 0.001 to"),
]


class Case(AgentContext):
    """A case."""


class Place(Enum):
    """A state by an Enum."""

    HERE = "HERE"


def judged(*_: Any) -> float:
    return 0


def found_nothing(*_: Any) -> bool:
    return False


async def asks(*_: Any) -> float:
    return 0


@pytest.mark.parametrize("given", [2.5, "3", inf, nan, 10**400, True, -1, [3]], ids=str)
@pytest.mark.parametrize(("build", "remedy"), NUMBERS)
def test_counts_are_whole(build: Callable[[Any], object], remedy: str, given: Any) -> None:
    with pytest.raises(ValueError, match=remedy):
        build(given)


@pytest.mark.parametrize("given", ["15s", inf, nan, 10**400, True, [3]], ids=str)
@pytest.mark.parametrize(("build", "remedy"), MEASURES)
def test_measures_are_numbers(build: Callable[[Any], object], remedy: str, given: Any) -> None:
    with pytest.raises(ValueError, match=remedy):
        build(given)


@pytest.mark.parametrize("build", [lambda given: NoProgress(seconds=given), lambda given: ToolFailures(2, given)])
def test_seconds_end_within_the_calendar(build: Callable[[float], object]) -> None:
    build(36525 * 86400)
    with pytest.raises(ValueError, match=r"pass seconds, from 0\.001 to 3155760000"):
        build(36525 * 86400 + 1)


@pytest.mark.parametrize(
    "build",
    [
        lambda given: Repeats(window=given),
        lambda given: SameCall(window=given),
        lambda given: ToolFailures(given),
        lambda given: looping(given),
    ],
)
def test_what_a_slot_would_have_to_remember_is_bounded(build: Callable[[int], object]) -> None:
    build(200)
    with pytest.raises(ValueError, match=r"(window|n)=201\) is too long; pass 200 at most"):
        build(201)


def test_entries_that_there_are_not_are_waited_for_by_nothing() -> None:
    assert Noticed(found_nothing, CALLED | SAID).sees == CALLED | SAID
    with pytest.raises(
        ValueError, match=r"Noticed\(kinds=1000\) .*; pass kinds of entries joined by |, such as CALLED"
    ):
        Noticed(found_nothing, 1000)


def test_a_chance_that_no_step_can_have_is_refused() -> None:
    GoesInCircles(0.96)
    with pytest.raises(ValueError, match=r"GoesInCircles\(threshold=0\.99\) notices nothing; pass 0\.96 at most"):
        GoesInCircles(0.99)


@pytest.mark.parametrize("given", [None, "judged", 3], ids=repr)
@pytest.mark.parametrize("kind", [Sentiment, Risk, Noticed])
def test_what_cannot_be_called_is_no_function(kind: Callable[[Any], object], given: Any) -> None:
    with pytest.raises(TypeError, match="cannot be called; pass a function"):
        kind(given)


@pytest.mark.parametrize("kind", [Sentiment, Risk, Noticed])
def test_an_async_function_belongs_into_an_invoke(kind: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match=r"is async; await it in an invoke, and hand its number in by work\.note\(\)"):
        kind(asks)


@pytest.mark.parametrize("kind", [UserAsked, Keywords])
@pytest.mark.parametrize("parameter", ["phrases", "also"])
@pytest.mark.parametrize("given", ["help", ["help"], ("help",)], ids=repr)
def test_phrases_say_their_language(kind: Any, parameter: str, given: Any) -> None:
    with pytest.raises(TypeError, match=r"does not say the language; pass phrases by language, such as {'en'"):
        kind(**{parameter: given})


@pytest.mark.parametrize("kind", [UserAsked, Keywords])
@pytest.mark.parametrize("phrase", ["", " ", "…", 3, None], ids=repr)
def test_a_phrase_has_a_word(kind: Any, phrase: Any) -> None:
    with pytest.raises(ValueError, match="is not a phrase; pass texts by language"):
        kind({"en": ["help", phrase]})


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: ToolFailures(among=[judged]), "names no tools; pass their names"),
        (lambda: VisitsOver(""), "pass a text"),
        (lambda: VisitsOver(3), "pass a text"),
        (lambda: Confidence(measure=""), "pass a text"),
        (lambda: NoProgress(3, measure=5), "pass a text"),
        (lambda: SameQuestion(shortest=101), "pass 100 at most"),
        (lambda: Lacks("domain", has=[3]), "names no domains; pass their names"),
        (lambda: Signal(Repeats(), reason="loop"), "'loop' is no reason; use 'knowledge gap', 'out of scope', "),
    ],
)
def test_names_are_texts(build: Callable[[], object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        build()


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: Lacks("domain", ["refunds"]), "'refunds' is no rule; pass NeedRule"),
        (lambda: handing_on(rules="refunds"), "'refunds' is no rule; pass NeedRule"),
        (lambda: Signal(Repeats(), answer="desk"), "'desk' is not an answer; use a handoff"),
        (lambda: answered(looping(), "desk"), "'desk' is not an answer; use a handoff"),
    ],
)
def test_rules_and_answers_are_what_they_are_called(build: Callable[[], object], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        build()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"said": ["SAID"]}, "write it as {'SAID': 'text'}"),
        ({"said": "SAID"}, "write it as {'SAID': 'text'}"),
        ({"said": {"SAID": 3}}, "write it as {'SAID': 'text'}"),
        ({"ignore": 3}, "ignore=(3,) does not name fields"),
    ],
)
def test_a_graph_is_told_what_names_no_fields(given: dict[str, Any], told: str) -> None:
    transitions = [Transition("HERE", "SAID", "THERE")]
    with pytest.raises(InvalidGraphError) as caught:
        StateTransitionGraph("odd", context=Case, transitions=transitions, signals=Signals(Repeats(), **given))
    assert told in str(caught.value)


def test_states_and_tools_may_be_members_of_an_enum() -> None:
    assert VisitsOver(Place.HERE) == VisitsOver("HERE")
    assert ToolFailures(among=Place.HERE) == ToolFailures(among="HERE")


def test_a_detector_alone_can_be_answered() -> None:
    ask = Handoff("desk", at="HELPING")
    assert answered(Repeats(), ask, otherwise="HERE") == (Signal(Repeats(), answer=ask, otherwise="HERE"),)
