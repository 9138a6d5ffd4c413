"""Escape plans as graphs declare them: what is refused, and how strategies are told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gatechart import Handoff, State, StateTransitionGraph, Transition
from gatechart.errors import InvalidGraphError
from gatechart.escape import (
    Alert,
    CutOut,
    EscapePlan,
    GiveUp,
    Nudge,
    Repair,
    Reroute,
    Restart,
    Rollback,
    Strategy,
    SwitchTool,
)
from gatechart.graph.selection import Best
from gatechart.signals import looping


def ring(*strategies: Any) -> StateTransitionGraph[Any]:
    return StateTransitionGraph(
        "ring",
        transitions=[Transition("A", "GO", "B"), Transition("B", "GO", "A")],
        entry_points=["A", "B"],
        signals=looping(),
        escape=EscapePlan({"repeats": strategies}),
    )


class Sterner(Nudge):
    """Its second words to a model."""


@pytest.mark.parametrize(
    "strategies",
    [
        (Restart("A"), Restart("B"), Restart()),
        (Rollback(), Rollback("checkpoint")),
        (SwitchTool("b"), SwitchTool(["c", "d"]), SwitchTool()),
        (CutOut(), CutOut("notes")),
        (Nudge(), Sterner("stop")),
    ],
)
def test_strategies_that_name_different_things_have_names_of_their_own(strategies: tuple[Strategy, ...]) -> None:
    assert len({each.name for each in strategies}) == len(strategies)
    assert EscapePlan({"repeats": strategies}).answers("repeats") == strategies


def test_what_a_strategy_names_is_in_its_name() -> None:
    every = (Restart("A"), Rollback("checkpoint"), SwitchTool(["c", "d"]), CutOut("notes"), Alert("ops"))
    assert [each.name for each in every] == [
        "restart_at_A",
        "rollback_to_checkpoint",
        "switch_tool_to_c_d",
        "cut_out_of_notes",
        "alert_ops",
    ]
    assert [each.name for each in (Restart(), Rollback(), SwitchTool(), CutOut(), Reroute("A"))] == [
        "restart",
        "rollback",
        "switch_tool",
        "cut_out",
        "reroute",
    ]


def brought(context: object) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(
    ("strategies", "told"),
    [
        ((Reroute("A"), Reroute("B")), "escape, repeats: 'reroute' is there 2 times, and a strategy is tried once"),
        ((Nudge(), Nudge()), "keep one of them, or let the other be a subclass with its own name"),
        ((Restart("A"), Restart("A", payload=brought)), "'restart_at_A' is there 2 times"),
        ((Restart("A", payload={"order": 7}),), r"payload=\{'order': 7\} cannot be asked; pass a plain function"),
        ((Repair("mend", then="A"),), r"does not take \(context, work\)"),
        ((Handoff(Best(needs=["refunds"])),), "needs"),
        ((Handoff(Best(scorers={"text": [1]})),), "text"),
    ],
)
def test_a_strategy_that_could_not_work_is_refused_with_what_would(strategies: Any, told: str) -> None:
    with pytest.raises(InvalidGraphError, match=told):
        ring(*strategies)


def mend(context: object, work: object) -> None:
    """Mend it."""


@pytest.mark.parametrize("flow", [mend, lambda context, work: None])
def test_a_repair_takes_a_function_as_a_state_does(flow: Callable[..., Any]) -> None:
    graph = ring(Repair(flow, then="A"))
    (added,) = [name for name in graph.nodes if name.startswith("REPAIRING_BY_")]
    assert [each.function for each in graph.nodes[added].invokes] == [flow]


def test_a_strategy_may_stand_in_the_lists_of_several_signals() -> None:
    plan = EscapePlan({"repeats": [Nudge(), GiveUp()], "same_call": [Nudge("stop"), GiveUp()]}, last=GiveUp())
    graph = StateTransitionGraph("one", states=[State("A")], entry_points=["A"], signals=looping(), escape=plan)
    assert graph.escape is plan
