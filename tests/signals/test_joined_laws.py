"""Laws of joined symptoms, in the turns of an agent, against what a reader would write who keeps whole lists."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import ANY, AgentContext, State, StateTransitionGraph, Transition
from gatechart.signals import AnyOf, Confidence, SameQuestion, Signal, ToolFailures, UserAsked
from gatechart.turn.mail import take_mail
from gatechart.values.agents import Event
from gatechart.values.commits import TurnRecord
from gatechart.values.detectors import Detector, Inverted, Symptom
from gatechart.values.fired_signals import FiredSignal
from tests.noticing import call_payload
from tests.support import NOW, started

DETECTORS: dict[str, Detector] = {
    "unsure": Confidence(0.5, margin=0.05),
    "failing": ToolFailures(2),
    "asked": UserAsked(),
    "again": SameQuestion(times=2),
}
SYMPTOMS = st.recursive(
    st.sampled_from([*DETECTORS.values()]),
    lambda parts: st.one_of(
        parts.map(lambda part: ~part),
        st.tuples(parts, parts).map(lambda both: both[0] & both[1]),
        st.tuples(parts, parts).map(lambda both: both[0] | both[1]),
        st.tuples(st.integers(1, 3), parts, parts, parts).map(lambda several: AnyOf(*several)),
    ),
    max_leaves=5,
)
STEPS = st.one_of(
    st.tuples(st.just("note"), st.sampled_from([0.1, 0.49, 0.52, 0.56, 0.9])),
    st.tuples(st.just("call"), st.booleans()),
    st.tuples(st.just("say"), st.sampled_from(["I want a human agent", "Where is my parcel?", "Thank you very much"])),
    st.just(("go on", None)),
)
Step: TypeAlias = tuple[str, Any]


@dataclass
class Reader:
    """Which detectors hold, by all that happened since the last progress."""

    holds: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(DETECTORS, False))
    failures: int = 0
    texts: list[str] = field(default_factory=list)

    def reads(self, kind: str, told: Any) -> dict[str, bool]:
        """Read a step. Return what held before, without what is found anew by it."""
        before, held = {**self.holds}, self.holds
        if kind == "note":
            held["unsure"] = told < (0.55 if held["unsure"] else 0.5)
        elif kind == "call":
            self.failures = 0 if told else self.failures + 1
            held["failing"] = self.failures >= (1 if held["failing"] else 2)
        elif kind == "say":
            self.texts = [*self.texts, told][-5:]
            held["again"] = self.texts.count(told) >= (1 if held["again"] else 2)
            held["asked"], before["asked"] = "human" in told, before["asked"] and "human" not in told
        else:
            self.failures, self.texts = 0, []
            held["failing"] = held["again"] = False
        return before


def is_so(symptom: Symptom, holds: dict[str, bool]) -> bool:
    match symptom:
        case AnyOf(least, parts):
            return sum(is_so(each, holds) for each in parts) >= least
        case Inverted(part):
            return not is_so(part, holds)
        case _:
            return next(holds[name] for name, each in DETECTORS.items() if each == symptom)


def event_of(number: int, kind: str, told: Any) -> Event:
    name, payload = {
        "note": ("trail.note", {"measure": "confidence", "number": told}),
        "call": ("trail.call", call_payload(ok=bool(told), arguments=f"{number}")),
        "say": ("SAID", {"text": told}),
        "go on": ("WENT_ON", {}),
    }[kind]
    return Event(name, payload, NOW + timedelta(seconds=number))


async def fired_by(symptom: Symptom, steps: list[Step]) -> list[FiredSignal | None]:
    graph = StateTransitionGraph(
        "joined",
        context=AgentContext,
        states=["HERE", State("FURTHER", progress=True)],
        transitions=[Transition("HERE", "SAID"), Transition("FURTHER", "SAID"), Transition(ANY, "WENT_ON", "FURTHER")],
        entry_points=["HERE"],
        signals=Signal(symptom, "joined"),
    )
    record = await started(graph, "HERE")
    fired = []
    for number, step in enumerate(steps):
        taken = await take_mail(graph, record.snapshot, event_of(number, *step))
        assert isinstance(taken, TurnRecord)
        record = taken
        fired.append(record.fired)
    return fired


@given(SYMPTOMS, st.lists(STEPS, max_size=20))
@settings(max_examples=100, deadline=None)
def test_a_joined_signal_fires_whenever_it_comes_to_hold_with_what_holds_as_its_evidence(
    symptom: Symptom, steps: list[Step]
) -> None:
    reader, among = Reader(), {type(each).__name__ for each in symptom.detectors}
    for step, fired in zip(steps, asyncio.run(fired_by(symptom, steps)), strict=True):
        before = reader.reads(*step)
        assert (fired is not None) == (is_so(symptom, reader.holds) and not is_so(symptom, before))
        if fired is not None:
            held = {type(DETECTORS[name]).__name__ for name, holds in reader.holds.items() if holds}
            assert {each["detector"] for each in fired.evidence} == held & among
            assert all(len(each) > 1 and "problem" not in each for each in fired.evidence)
