"""Findings about escape plans: strategies that lead nowhere, signals that never come to them, events nobody raises."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from gatechart.checks import check, check_all
from gatechart.errors import InvalidGraphError
from gatechart.escape import (
    AwaitBreaker,
    EscapePlan,
    GiveUp,
    HandOn,
    Nudge,
    Repair,
    Reroute,
    Restart,
    Rollback,
    SwitchTool,
    ToHuman,
    getting_out,
)
from gatechart.graph.definition import ANY, Allow, EntryPoint, Invoke, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Handoff
from gatechart.graph.signals import Signal, answered
from gatechart.signals import NoProgress, Repeats, handing_on, looping


class Order(BaseModel):
    number: str


def call(context: object, work: object) -> None: ...


def ring(escape: Any, *more: Transition, states: Any = (), **parts: Any) -> StateTransitionGraph[Any]:
    """A and B in a circle; E is an entry point that leads to the end."""
    given: dict[str, Any] = {"entry_points": ["A", "E"], "signals": looping()}
    transitions = [
        Transition("A", "done.invoke.call", "B"),
        Transition("A", "error.invoke.call", "B"),
        Transition("B", "GO", "A"),
        Transition("E", "GO", "END"),
    ]
    return StateTransitionGraph(
        "ring",
        states=[State("A", invoke=call), *states, "B", "E", State("END", final=True)],
        transitions=[*transitions, *more],
        escape=escape,
        **given | parts,
    )


def found(graph: StateTransitionGraph[Any], *codes: str) -> list[tuple[str, str]]:
    return [(each.code, each.place) for each in check(graph) if each.code.startswith(codes or ("GC9",))]


def plan(*strategies: Any, **more: Any) -> EscapePlan:
    return EscapePlan({"repeats": strategies, "failing_tool": GiveUp(), "same_call": GiveUp()}, **more)


@pytest.mark.parametrize("escape", [getting_out(), getting_out("desk", at="IN"), getting_out(restart="A")])
def test_the_usual_plan_has_no_findings_nor_has_what_it_adds(escape: EscapePlan) -> None:
    graph = ring(escape, signals=handing_on() + looping())
    allowed = ("GC702", "GC302")  # without a person a wish for one is only noted
    assert [each for each in check(graph) if each.code not in allowed] == []


def test_what_other_strategies_add_has_no_findings_either() -> None:
    handed = HandOn(Handoff("desk", at="IN"), "B")
    escape = plan(Nudge(), handed, Repair(Invoke(call, "mend"), "A"), Rollback(), last=ToHuman("desk", at="IN"))
    assert [each for each in check(ring(escape)) if each.code != "GC302"] == []


def test_a_reroute_that_no_entry_point_and_no_transition_leads_away() -> None:
    assert found(ring(plan(Reroute()), entry_points=["A"])) == [("GC901", "escape, reroute")]
    out = Transition("B", "escape.reroute", "END")
    assert found(ring(plan(Reroute()), out, entry_points=["A"])) == []
    taking = [EntryPoint("A"), EntryPoint("E", takes=Order, maps=lambda order: {})]
    assert found(ring(plan(Reroute()), entry_points=taking)) == [("GC901", "escape, reroute")]
    assert found(ring(plan(Reroute("E")), entry_points=taking)) == [("GC901", "escape, reroute")]
    assert found(ring(plan(Reroute(payload=lambda context: {"number": "1"})), entry_points=taking)) == []


def test_a_rollback_to_a_checkpoint_that_no_state_is() -> None:
    assert found(ring(plan(Rollback("checkpoint")))) == [("GC901", "escape, rollback_to_checkpoint")]
    assert found(ring(plan(Rollback("checkpoint")), states=[State("S", checkpoint=True)])) == []


def test_a_restart_at_an_entry_point_whose_payload_nothing_brings() -> None:
    taking = [EntryPoint("A"), EntryPoint("E", takes=Order, maps=lambda order: {})]
    assert found(ring(plan(Restart("E")), entry_points=taking)) == [("GC901", "escape, restart_at_E")]
    assert found(ring(plan(Restart("A")), entry_points=taking)) == []
    assert found(ring(plan(Restart()), entry_points=taking)) == []


def test_a_switch_of_tools_for_a_signal_that_never_names_one() -> None:
    escape = EscapePlan({"no_progress": [SwitchTool(), GiveUp()]})
    assert found(ring(escape, signals=NoProgress(3))) == [("GC901", "escape, no_progress")]
    assert found(ring(EscapePlan({"failing_tool": SwitchTool()}))) == []


def test_a_plan_that_answers_refusals_alone_needs_no_signal_of_that_name() -> None:
    assert found(ring(EscapePlan({"refused_tool": [SwitchTool(), AwaitBreaker()]}))) == []


def test_a_plan_for_a_signal_that_a_transition_or_an_answer_always_takes() -> None:
    taken = Transition(ANY, "signal.repeats", "END")
    assert found(ring(plan(GiveUp()), taken)) == [("GC902", "escape, repeats")]
    assert found(ring(plan(GiveUp()), Transition("A", "signal.repeats", "END"))) == []
    assert found(ring(plan(GiveUp()), Transition(ANY, "signal.repeats", "END", guard=lambda c, e: True))) == []
    signals = answered([Signal(Repeats())], Handoff("desk", at="IN"), otherwise="B")
    assert found(ring(EscapePlan({"repeats": GiveUp()}), signals=signals)) == [("GC902", "escape, repeats")]
    assert found(ring(getting_out(), taken)) == []


def test_a_plan_of_a_state_is_asked_in_that_state() -> None:
    taken = Transition("S", "signal.repeats", "END")
    inner = State("S", escape=EscapePlan({"repeats": GiveUp()}))
    assert found(ring(None, taken, states=[inner])) == [("GC902", "state 'S', escape, repeats")]


@pytest.mark.parametrize("escape", [EscapePlan({"*": GiveUp()}), EscapePlan({}), getting_out()])
def test_a_plan_that_nothing_asks(escape: EscapePlan) -> None:
    assert ("GC903", "escape") in found(ring(escape, signals=None))


def test_a_transition_for_an_escape_that_no_strategy_tries() -> None:
    mistaken = ring(plan(Nudge()), Transition("B", "escape.nuge", "END"))
    (finding,) = [each for each in check(mistaken) if each.code == "GC204"]
    assert (finding.place, finding.remedy) == ("state 'B', event 'escape.nuge'", "did you mean 'escape.nudge'?")
    assert found(ring(plan(Nudge()), Transition("B", "escape.nudge", "END")), "GC2") == []
    assert found(ring(plan(Nudge()), Transition("B", "escape", "END")), "GC2") == []
    (other,) = [each for each in check(ring(None, Transition("B", "escape.nudge", "END"))) if each.code == "GC204"]
    assert other.remedy == "name a strategy of an escape plan, such as 'escape.reroute' for Reroute()"


def test_a_signal_that_a_plan_answers_is_answered() -> None:
    assert found(ring(plan(GiveUp())), "GC702") == []
    assert len(found(ring(None), "GC702")) == 3


def test_an_escape_to_a_graph_that_is_not_loaded() -> None:
    graph = ring(plan(last=ToHuman("desk", at="IN")))
    assert [(each.code, each.place) for each in check_all([graph])["ring"] if each.code == "GC503"] == [
        ("GC503", "transition '* --escape.to_human--> WAITING_FOR_HUMAN'")
    ]


def test_a_finding_about_a_plan_can_be_allowed() -> None:
    allow = Allow("GC901", "escape, rollback_to_checkpoint", "checkpoints come with the next version")
    assert found(ring(plan(Rollback("checkpoint")), allow=allow)) == []


def test_a_plan_for_calls_that_cannot_be_taken_back_needs_no_signal_of_the_graph() -> None:
    escape = EscapePlan({"repeats": Rollback(), "undo_failed": ToHuman("desk", at="IN")})
    assert found(ring(escape)) == []


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"states": [State("UNDOING")]}, "in that state calls are taken back"),
        ({"signals": [Signal(Repeats(), "repeats"), Signal(Repeats(), "undo_failed")]}, "is the signal of a call"),
    ],
)
def test_the_names_of_what_plans_add_for_taking_calls_back_are_theirs(more: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidGraphError, match=fault):
        ring(EscapePlan({"repeats": Rollback()}), **more)
