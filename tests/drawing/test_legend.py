"""The legend explains the signs that occur in a drawing, and no others."""

from __future__ import annotations

import pytest

from gatechart import State, StateTransitionGraph
from gatechart.drawing import to_dot, to_mermaid
from gatechart.drawing.graph_map import map_of
from gatechart.drawing.legend import Sign, signs_of
from gatechart.drawing.outline import outline
from tests.drawing.charts import HISTORY, SNAPSHOT, needs_dot, orders, specialists, support, svg_of, words_of
from tests.drawing.mermaid_checks import assert_valid


def test_only_signs_that_occur_are_explained():
    lamp = StateTransitionGraph("lamp", states=["OFF"], entry_points=["OFF"])
    assert signs_of(outline(lamp)) == (Sign.ENTRY_POINT,)
    past = State("PAST", history="deep", initial="A")
    both = State("BOTH", parallel=True, states=[State("LEFT", states=["A", past]), State("RIGHT", states=["B"])])
    assert signs_of(outline(StateTransitionGraph("g", states=[both], entry_points=["BOTH"]))) == (
        Sign.ENTRY_POINT,
        Sign.INITIAL,
        Sign.REGION,
        Sign.DEEP_HISTORY,
        Sign.TRANSITION,
    )


def test_what_an_agent_did_is_explained_where_it_is_drawn():
    signs = signs_of(outline(support, highlight=SNAPSHOT, trail=HISTORY))
    assert {Sign.ACTIVE, Sign.TRAIL} <= set(signs)
    assert {Sign.ACTIVE, Sign.TRAIL}.isdisjoint(signs_of(outline(support)))


def test_a_map_explains_what_is_handed_on():
    assert signs_of(map_of([orders, specialists, support])) == (Sign.ENTRY_POINT, Sign.ELSEWHERE, Sign.HANDOFF)
    assert signs_of(map_of([support])) == (Sign.ENTRY_POINT,)


@needs_dot
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("drawn", [support, orders, [orders, specialists]], ids=["support", "orders", "map"])
def test_the_legend_is_drawn_on_wish(drawn, theme):
    words = words_of(svg_of(to_dot(drawn, theme=theme, legend=True)))
    assert "anagentmaybeginhere" in words
    assert "anagentmaybeginhere" not in words_of(svg_of(to_dot(drawn, theme=theme)))


@needs_dot
def test_every_sign_can_be_drawn():
    past, deep = State("PAST", history="shallow", initial="A"), State("DEEP", history="deep", initial="A")
    both = State("BOTH", parallel=True, states=[State("LEFT", states=["A", past, deep]), State("RIGHT", states=["B"])])
    graph = StateTransitionGraph("g", states=[both], entry_points=["BOTH"])
    words = words_of(svg_of(to_dot(graph, legend=True)))
    for sign in (Sign.REGION, Sign.HISTORY, Sign.DEEP_HISTORY, Sign.INITIAL):
        assert sign.value.replace(" ", "") in words


def test_a_flowchart_has_its_legend_in_a_box():
    text = to_mermaid(support, highlight=SNAPSHOT, trail=HISTORY, legend=True)
    assert 'legend_active("active state"):::active' in text
    assert_valid(text)
    assert_valid(to_mermaid([orders, specialists], legend=True))
    assert "legend" not in to_mermaid(support)
