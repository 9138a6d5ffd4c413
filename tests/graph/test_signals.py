"""Signals as graphs declare them: what is wrong with them, and what their answers add to the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from gatechart import AgentContext, EntryPoint, Handoff, State, StateTransitionGraph
from gatechart.errors import InvalidGraphError
from gatechart.graph.definition import Transition
from gatechart.graph.signals import Signal, Signals
from gatechart.handoff import Reason
from gatechart.kernel.select import candidates
from gatechart.signals import answered, looping
from gatechart.values.detectors import AnyOf, Detector, Evidence, Inverted, Look, Symptom
from gatechart.values.names import StateName


@dataclass(frozen=True)
class Always(Detector):
    """Something that always holds."""

    number: int = 0

    def after(self, slot: str, look: Look) -> str:
        """Hold."""
        return "+"

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the number."""
        return {"number": self.number}


class Order(AgentContext):
    """An order."""

    order: str = ""


ASK = Handoff("desk", at="HELPING")


def graph(**parts: Any) -> StateTransitionGraph[Order]:
    given: dict[str, Any] = {"transitions": [Transition("WORKING", "DONE", "ENDED")], "entry_points": ["WORKING"]}
    return StateTransitionGraph("shop", context=Order, **given | parts)


def faults(**parts: Any) -> list[str]:
    with pytest.raises(InvalidGraphError) as caught:
        graph(**parts)
    return [str(fault) for fault in caught.value.faults]


def test_a_detector_alone_is_a_signal_named_after_it() -> None:
    (signal,) = Signals(Always()).signals
    assert (signal.name, signal.event, signal.reason) == ("always", "signal.always", Reason.OTHER)


def test_a_signal_without_anything_to_notice_is_refused_with_what_would_be_one() -> None:
    with pytest.raises(TypeError, match=r"use a detector, such as Repeats\(\)"):
        Signal("repeats")  # type: ignore[arg-type]


def test_a_preset_that_is_not_called_is_told_to_be_called() -> None:
    with pytest.raises(
        TypeError, match=r"is nothing to notice; write looping\(\) if it makes detectors, or Noticed\(loo"
    ):
        graph(signals=looping)


@pytest.mark.parametrize("least", [0, -1, 3, 1.5, "2", True, Always()], ids=repr)
def test_a_number_of_symptoms_that_cannot_hold_is_refused_when_they_are_joined(least: Any) -> None:
    with pytest.raises(ValueError, match="pass a whole number from 1 to 2, then the symptoms"):
        AnyOf(least, Always(), Always(2))


def test_nothing_joined_is_refused() -> None:
    with pytest.raises(ValueError, match="list symptoms after it"):
        AnyOf(1)


@pytest.mark.parametrize("other", ["always", None, Always, [Always()], Signal(Always())], ids=repr)
@pytest.mark.parametrize(
    "join",
    [
        lambda other: Always() & other,
        lambda other: Always() | other,
        lambda other: AnyOf(1, other),
        lambda other: Inverted(other),
    ],
    ids=["and", "or", "any of", "not"],
)
def test_only_what_notices_something_can_be_joined(join: Callable[[Any], Symptom], other: Any) -> None:
    with pytest.raises(
        TypeError, match=r"is nothing to notice; (use a detector, such as Repeats\(\)|write Always\(\.\.\.\))"
    ):
        join(other)


@dataclass(frozen=True)
class Listing(Always):
    """A detector that cannot be told from others."""

    listed: list[str] = field(default_factory=list)


def test_a_detector_without_a_hash_is_refused_with_how_one_is_written() -> None:
    with pytest.raises(TypeError, match=r"Listing has no hash .*; make its class a @dataclass\(frozen=True\)"):
        Signal(Always() & Listing())


def test_agents_have_the_signals_of_their_entry_point_and_those_of_the_graph_where_it_has_none() -> None:
    own, general = Signals(Always(1)), Signals(Always(2))
    doors = [EntryPoint("WORKING", "own", signals=own), EntryPoint("WORKING", "off", signals=[]), "WORKING"]
    shop = graph(signals=general, entry_points=doors)
    assert [shop.signals_at(each) for each in ("own", "off", "WORKING", "gone")] == [own, None, general, general]


def test_a_graph_without_signals_has_none() -> None:
    assert graph().signals_at("WORKING") is None


def test_an_answer_adds_a_transition_from_anywhere_that_is_asked_last_and_a_state_that_waits() -> None:
    shop = graph(signals=Signal(Always(), answer=ASK, otherwise="WORKING", reason="loop detected"))
    ((edge,),) = candidates(shop, ("WORKING",), "signal.always")
    assert (edge.label, edge.steps[0].function.reason) == ("* --signal.always--> ASKING_desk", Reason.LOOP_DETECTED)
    assert [each.label for (each,) in candidates(shop, ("ASKING_desk",), "handoff.rejected")] == [
        "ASKING_desk --handoff.rejected--> WORKING"
    ]


def test_a_transition_of_the_chart_goes_before_the_answer() -> None:
    own = Transition("WORKING", "signal.always", "ENDED")
    shop = graph(signals=Signal(Always(), answer=ASK, otherwise="WORKING"), transitions=[own])
    assert candidates(shop, ("WORKING",), "signal.always")[0][0].label == own.label


def test_a_transition_for_every_event_takes_no_signal() -> None:
    shop = graph(signals=Always(), transitions=[Transition("WORKING", "*", "ENDED")])
    assert candidates(shop, ("WORKING",), "signal.always") == ()


def test_signals_alone_are_no_part_of_the_fingerprint_but_their_answers_are() -> None:
    answered = graph(signals=Signal(Always(), answer=ASK, otherwise="WORKING"))
    assert graph(signals=Always()).fingerprint == graph().fingerprint != answered.fingerprint


def test_every_fault_of_signals_is_told_at_once() -> None:
    signals = Signals(
        [
            Signal(Always(), answer=ASK),
            Signal(Always(1), waits="WORKING"),
            Signal(Always(2), "two words"),
            Signal(Always(3), "unknown", answer=ASK, otherwise="NOWHERE"),
            Signal(Always(4), "both", answer=ASK, otherwise="WORKING", waits="WORKING"),
        ],
        task="ordre",
        window=60,
    )
    assert faults(signals=signals) == [
        "signals: window=60 is longer than the trail, which keeps states=50; shorten the window, or keep more states",
        "signals: Order has no field 'ordre' for the task; did you mean 'order'? There are 'order'",
        "signals, always: the name occurs twice; give one of them another with name=",
        "signals, always: it does not say what follows if nobody takes the work; "
        "name the state with otherwise=, or one that waits with waits=",
        "signals, always: it has waits=, but no answer=; name who takes the work, or drop waits=",
        "signals, two words: no event can have the name 'two words': it has spaces; use a word, such as tool_failures",
        "signals, unknown, otherwise: unknown state 'NOWHERE'; there are 'WORKING', 'ENDED', 'ASKING_desk'",
        "signals, both: it has waits= and otherwise=; "
        "let the state that waits say what follows a rejection, and drop otherwise=",
    ]


@pytest.mark.parametrize("bound", ["states", "calls", "window", "most_bytes"])
def test_a_bound_of_the_trail_is_a_whole_number_above_0(bound: str) -> None:
    assert f"{bound}=0 is not a bound" in faults(signals=Signals(Always(), **{bound: 0}))[0]  # type: ignore[arg-type]


def test_a_trail_on_which_nothing_has_room_is_a_fault() -> None:
    (fault,) = faults(signals=Signals(Always(), most_bytes=10))
    assert fault == "signals: most_bytes=10 leaves no room for what the agent did; pass 256 or more"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("*", "'*' stands for any signal"),
        ("tool.*", "'*' stands for any signal"),
        ("tool.", "a part before or after a dot is empty"),
    ],
)
def test_a_name_that_transitions_could_not_take_alone_is_a_fault(name: str, why: str) -> None:
    (fault,) = faults(signals=Signal(Always(), name))
    assert fault == f"signals, {name}: no event can have the name {name!r}: {why}; use a word, such as tool_failures"


def test_two_answers_to_one_signal_are_a_fault() -> None:
    def signal(to: str) -> Signal:
        return Signal(Always(), answer=Handoff(to, at="IN"), otherwise="WORKING")

    doors = [EntryPoint("WORKING", "a", signals=signal("desk")), EntryPoint("WORKING", "b", signals=signal("experts"))]
    (fault,) = faults(entry_points=doors)
    assert "it has several answers" in fault


def test_a_state_that_is_named_like_the_added_one_waits_itself() -> None:
    shop = graph(
        states=[State("ASKING_desk", description="waits")],
        signals=Signal(Always(), answer=ASK, otherwise="WORKING"),
    )
    assert shop.states.count("ASKING_desk") == 1


def test_signals_that_wait_in_one_state_leave_it_by_one_transition_for_each_event() -> None:
    signals = answered((Signal(Always(1), "first"), Signal(Always(2), "second")), ASK, otherwise="WORKING")
    leaving = [edge.label for edge in graph(signals=signals).nodes[StateName("ASKING_desk")].edges]
    assert leaving == [f"ASKING_desk --handoff.{event}--> WORKING" for event in ("rejected", "expired")]
