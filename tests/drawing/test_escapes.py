"""Escape plans in drawings: what is tried, in order; ways out apart from other transitions; checkpoints marked."""

from __future__ import annotations

from gatechart import EscapePlan, Signals, State, StateTransitionGraph, Transition
from gatechart.drawing import to_dot, to_mermaid
from gatechart.drawing.legend import Sign, signs_of
from gatechart.drawing.outline import outline
from gatechart.drawing.palette import LIGHT
from gatechart.escape import GiveUp, Nudge, Reroute, Rollback, Strategy, SwitchTool, ToHuman, getting_out
from gatechart.signals import looping
from tests.drawing.test_mermaid import assert_valid

BLUE = LIGHT.escape.line


def ring(escape=None, *more, states=(), signals=looping()):  # noqa: B008  a frozen value
    ways = [Transition("A", "GO", "B"), Transition("B", "GO", "A"), *more]
    return StateTransitionGraph(
        "ring", states=["A", "B", *states], transitions=ways, entry_points=["A"], signals=signals, escape=escape
    )


def test_the_plan_of_a_graph_is_written_out_with_strategies_in_order_for_its_signals():
    escape = EscapePlan(
        {"repeats": [Nudge(), Reroute()], "same_call": [Nudge(), Reroute()], "*": GiveUp()},
        tools={"db": {"failing_tool": SwitchTool("other")}},
        last=ToHuman("desk", at="IN"),
    )
    drawn = outline(ring(escape))
    assert drawn.plan == (
        "repeats, same_call: nudge → reroute",
        "any other: give_up",
        "db · failing_tool: switch_tool_to_other",
        "last: to_human",
    )
    assert "«escape» repeats, same_call: nudge → reroute" in to_dot(ring(escape))
    assert "escape_plan[" in to_mermaid(ring(escape))
    assert_valid(to_mermaid(ring(escape), legend=True))


def test_signals_that_the_graph_does_not_have_are_left_out():
    assert outline(ring(getting_out())).plan == (
        "failing_tool: switch_tool → await_breaker → reroute → restart",
        "repeats: await_breaker → reroute → restart",
        "same_call: await_breaker → nudge → reroute → restart",
        "last: give_up",
    )
    assert outline(ring(getting_out(), signals=Signals(()))).plan == ("last: give_up",)


def test_a_state_tells_its_own_plan_and_that_it_is_a_checkpoint():
    tried = State("C", checkpoint=True, escape=EscapePlan({"repeats": [Rollback("checkpoint")]}))
    (box,) = [each for each in outline(ring(None, Transition("A", "BACK", "C"), states=[tried])).boxes if each.plan]
    assert box.notes == ("«checkpoint»", "«escape» repeats: rollback_to_checkpoint", "«escape» last: give_up")


def test_ways_out_are_marked_and_have_a_colour_of_their_own():
    escape = EscapePlan({"repeats": Reroute()}, last=ToHuman("desk", at="IN"))
    graph = ring(escape, Transition("B", "escape.reroute", "END"), states=[State("END", final=True)])
    drawn = outline(graph)
    assert {each.target: each.parts[0].event for each in drawn.arrows if each.is_escape} == {
        "END": "«escape» reroute",
        "WAITING_FOR_HUMAN": "«escape» to_human",
    }
    assert to_dot(graph).count(f'color="{BLUE}", penwidth') == 4
    assert f"stroke:{BLUE}" in to_mermaid(graph)
    assert BLUE not in to_dot(ring())
    assert_valid(to_mermaid(graph))


def test_escapes_are_explained_where_there_are_any():
    assert Sign.ESCAPE in signs_of(outline(ring(EscapePlan({"repeats": GiveUp()}))))
    assert Sign.ESCAPE in signs_of(outline(ring(None, Transition("A", "escape", "B"))))
    assert Sign.ESCAPE not in signs_of(outline(ring()))


def test_the_name_of_a_strategy_of_ones_own_is_text_and_no_markup():
    class Odd(Strategy):
        name = '<b>"&'

    escape = EscapePlan({"repeats": Odd()})
    assert "&lt;b&gt;" in to_dot(ring(escape))
    assert_valid(to_mermaid(ring(escape)))
