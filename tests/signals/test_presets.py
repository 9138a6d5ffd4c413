"""Signals ready for use, and thresholds of entry points."""

from __future__ import annotations

from typing import Any

import pytest

from gatechart import AgentContext, EntryPoint, Invoke, State, StateTransitionGraph, Transition
from gatechart.signals import Keywords, Noticed, SameQuestion, Signal, handing_on, looping
from gatechart.turn.mail import take_mail
from gatechart.values.agents import Event
from gatechart.values.commits import TurnRecord
from gatechart.values.detectors import walk
from gatechart.values.handoffs import Reason
from tests.noticing import call_payload
from tests.signals.looks import Player, asked, call, calls, says
from tests.support import NOW, started


async def work(context: AgentContext, work: object) -> None:
    """Never called: the events say what came of it."""


def orders() -> StateTransitionGraph[AgentContext]:
    """Simple orders are handed on early, advanced ones late."""
    return StateTransitionGraph(
        "orders",
        context=AgentContext,
        states=[State("TAKING", invoke=Invoke(work)), State("ADVANCING", invoke=Invoke(work)), State("HANDED_ON")],
        transitions=[
            Transition("TAKING", "done.invoke.work", "TAKING"),
            Transition("ADVANCING", "done.invoke.work", "ADVANCING"),
            Transition("TAKING", "signal", "HANDED_ON"),
            Transition("ADVANCING", "signal", "HANDED_ON"),
        ],
        entry_points=[
            EntryPoint("TAKING", signals=handing_on(failures=2, turns=2)),
            EntryPoint("ADVANCING", signals=handing_on(failures=5, turns=5)),
        ],
    )


@pytest.mark.parametrize(("at", "threshold"), [("TAKING", 2), ("ADVANCING", 5)])
@pytest.mark.parametrize(("event", "signal"), [("trail.call", "tool_failures"), ("done.invoke.work", "no_progress")])
async def test_each_entry_point_has_thresholds_of_its_own(at: str, threshold: int, event: str, signal: str) -> None:
    graph = orders()
    record = await started(graph, at)
    for number in range(1, threshold + 1):
        payload = call_payload(ok=False, arguments=f"{number}") if event == "trail.call" else {}
        taken = await take_mail(graph, record.snapshot, Event(event, payload, NOW))
        assert isinstance(taken, TurnRecord)
        record = taken
        assert (record.fired is not None) == (number == threshold)
    assert record.fired is not None
    assert record.fired.signal == signal
    assert record.snapshot.configuration == ("HANDED_ON",)


def test_the_presets_name_their_signals_and_reasons() -> None:
    told = {each.name: each.reason for each in handing_on() + looping()}
    assert told == {
        "user_asked": Reason.USER_ESCALATION,
        "keywords": Reason.USER_ESCALATION,
        "tool_failures": Reason.TOOL_FAILURE,
        "no_progress": Reason.COMPLEXITY_EXCEEDED,
        "confidence": Reason.LOW_CONFIDENCE,
        "failing_tool": Reason.TOOL_FAILURE,
        "repeats": Reason.LOOP_DETECTED,
        "same_call": Reason.LOOP_DETECTED,
    }


OFF: list[tuple[Any, dict[str, Any], set[str]]] = [
    (handing_on, {"asked": None}, {"user_asked"}),
    (handing_on, {"keywords": None}, {"keywords"}),
    (handing_on, {"failures": None}, {"tool_failures"}),
    (handing_on, {"turns": None, "seconds": None}, {"no_progress"}),
    (handing_on, {"turns": None}, set()),
    (handing_on, {"confidence": None}, {"confidence"}),
    (looping, {"window": None}, {"repeats"}),
    (looping, {"calls": None}, {"same_call"}),
    (looping, {"failures": None}, {"failing_tool"}),
]


@pytest.mark.parametrize(("preset", "parts", "gone"), OFF)
def test_each_part_of_a_preset_can_be_left_out(preset: Any, parts: dict[str, Any], gone: set[str]) -> None:
    assert {each.name for each in preset()} - {each.name for each in preset(**parts)} == gone


def test_other_phrases_are_taken_in_their_place() -> None:
    (keywords,) = (each for each in handing_on(keywords=Keywords({"fr": "urgence"})) if each.name == "keywords")
    assert keywords.when == Keywords({"fr": "urgence"})


def test_a_detector_of_ones_own_and_the_same_question_join_the_presets() -> None:
    mine = (Signal(Noticed(lambda trail, context: len(trail) > 9), "long"), Signal(SameQuestion()))
    assert [each.name for each in mine + looping()][:2] == ["long", "same_question"]


def test_the_presets_remember_less_than_500_bytes() -> None:
    player = Player()
    looks = [
        *(player.look(event=f"E{at}", move=chr(0x10000 + at), was_working=True, is_working=True) for at in range(30)),
        *calls((call(f"tool {at % 7}", arguments=f"{at}", error="E", at_s=at) for at in range(60)), player),
        *says(["real person, it is urgent"] * 3, player),
    ]
    slots = dict.fromkeys(walk([each.when for each in handing_on() + looping()]), "")
    most = 0
    for look in looks:
        slots = {each: asked(each, look, slot) for each, slot in slots.items()}
        most = max(most, sum(len(slot.encode()) for slot in slots.values()))
    assert 300 < most < 500
