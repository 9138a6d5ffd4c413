"""Selections in drawings: what they ask for, and on a map whom they may find and how much work that has."""

from __future__ import annotations

import pytest

from gatechart.drawing import to_dot, to_mermaid
from gatechart.drawing.graph_map import map_of
from gatechart.drawing.naming import best_text
from gatechart.drawing.outline import outline
from gatechart.graph.definition import EntryPoint, Transition
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.graph.handoff import Fallbacks, Handoff, Human, SameTarget
from gatechart.graph.selection import Best, NeedRule
from gatechart.signals import UserAsked, answered, handing_on, looping
from gatechart.values.profiles import Needs, Profile

RULES = [
    NeedRule(Needs(domains=("refunds",)), mentions="refund"),
    NeedRule(Needs(capabilities=("query_order", "modify_order")), mentions="order"),
]


def needed(packet: object) -> Needs:
    return Needs()


def asking(best: Best, fallbacks: Fallbacks | None = None) -> AnyGraph:
    asked = Transition("TALKING", "ASKED", "WAITING", actions=Handoff(best, fallbacks=fallbacks))
    return StateTransitionGraph(
        "desk", transitions=[asked, Transition("WAITING", "handoff", "TALKING")], entry_points=["TALKING"]
    )


def target(name: str, profile: Profile | None) -> AnyGraph:
    return StateTransitionGraph(name, states=["WORKING"], entry_points=[EntryPoint("WORKING", profile=profile)])


REFUNDS = target("refunds", Profile(domains=("refunds",), tier=2))
ORDERS = target("orders", Profile(capabilities=("query_order",)))
OTHERS = target("others", None)


@pytest.mark.parametrize(
    ("best", "told"),
    [
        (Best(), ("best of", "any")),
        (Best(filters="person"), ("best of", "people")),
        (Best(entries=("anna", "refunds.WORKING")), ("best of", "anna · refunds.WORKING")),
        (Best(Needs(domains=("refunds",)), filters="person"), ("best of", "people: refunds")),
        (Best(Needs(domains=("refunds",), tier=2)), ("best of", "refunds, tier 2")),
        (Best(rules=RULES, name="expert"), ("expert: best of", "refunds · query_order or modify_order")),
        (Best(Needs(tier=2), rules=RULES[:1]), ("best of", "refunds, tier 2")),
        (Best(needed), ("best of", "what needed says")),
        (
            Best(rules=[NeedRule(Needs(tier=tier), mentions=str(tier)) for tier in range(1, 8)]),
            ("best of", "tier 1 · tier 2 · tier 3 · tier 4 · 3 more"),
        ),
        (Best(Needs(domains=("a\nb",))), ("best of", "a\\nb")),
    ],
)
def test_a_selection_is_called_after_what_work_needs(best: Best, told: tuple[str, str]) -> None:
    assert best_text(best) == told


def test_work_is_handed_on_to_what_is_chosen_and_to_what_is_chosen_instead() -> None:
    graph = asking(Best(rules=RULES), Fallbacks(SameTarget(), Best(Needs(tier=3)), Human("people", at="CASES")))
    assert [(each.graph, each.entry_point, each.words) for each in outline(graph).handings] == [
        ("best of", "refunds · query_order or modify_order", ("transfer",)),
        ("best of", "tier 3", ("else transfer",)),
        ("people", "CASES", ("else transfer",)),
    ]
    assert "best of" in to_dot(graph)
    assert "refunds · query_order or modify_order" in to_mermaid(graph)


def test_a_map_leads_to_every_entry_point_whose_profile_may_fit() -> None:
    drawn = map_of([asking(Best(rules=RULES), Fallbacks(Best(Needs(tier=2)))), REFUNDS, ORDERS, OTHERS])
    ways = {each.graph: [way.purpose for way in each.ways] for each in drawn.routes}
    assert ways == {
        "refunds": [
            "transfer to WORKING, best of refunds",
            "transfer to WORKING, if not best, best of tier 2",
        ],
        "orders": ["transfer to WORKING, best of query_order or modify_order"],
    }


def test_a_selection_that_leaves_it_open_leads_to_all_that_have_profiles() -> None:
    drawn = map_of([asking(Best()), REFUNDS, ORDERS, OTHERS])
    assert [each.graph for each in drawn.routes] == ["refunds", "orders"]


def test_a_selection_that_nobody_fits_leads_to_a_card_of_its_own() -> None:
    drawn = map_of([asking(Best(Needs(domains=("taxes",)))), REFUNDS])
    assert [(card.name, card.is_known) for card in drawn.cards] == [
        ("desk", True),
        ("refunds", True),
        ("best of", False),
    ]


def test_a_selection_by_name_leads_to_whoever_is_named() -> None:
    drawn = map_of([asking(Best(entries="refunds.WORKING")), REFUNDS, ORDERS])
    assert [each.graph for each in drawn.routes] == ["refunds"]
    drawn = map_of([asking(Best(entries="anna")), REFUNDS, ORDERS])
    assert [(each.graph, each.ways[0].entry_point) for each in drawn.routes] == [("best of", "anna")]


def test_a_selection_of_people_leads_to_no_entry_point_of_a_graph() -> None:
    drawn = map_of([asking(Best(filters="person")), REFUNDS, ORDERS])
    assert [(each.graph, each.ways[0].entry_point) for each in drawn.routes] == [("best of", "people")]


def test_a_map_tells_the_work_that_entry_points_have() -> None:
    loads = {"refunds.WORKING": "3 of 10 places"}
    graphs = [asking(Best()), REFUNDS, ORDERS]
    assert [door.load for card in map_of(graphs, loads).cards for door in card.doors] == ["", "3 of 10 places", ""]
    for text in (to_dot(graphs, loads=loads), to_mermaid(graphs, loads=loads)):
        assert text.count("3 of 10 places") == 1


def test_on_a_map_answers_to_many_signals_are_one_way_and_hide_no_selection() -> None:
    people = target("people", Profile(domains=("refunds",)))
    to_people = Handoff("people", at="WORKING")
    front = StateTransitionGraph(
        "front",
        transitions=[
            Transition("TALKING", "ASKED", "WAITING", actions=Handoff(Best(Needs(domains=("refunds",))))),
            Transition("WAITING", "handoff", "TALKING"),
            Transition("TALKING", "SAID", "TALKING"),
        ],
        entry_points=["TALKING"],
        signals=answered(handing_on() + looping(), to_people, otherwise="TALKING"),
    )
    (route,) = map_of([front, people]).routes
    assert [(way.occasion, way.purpose) for way in route.ways] == [
        (
            "any state: «signal» user_asked, keywords, tool_failures, no_progress, confidence, failing_tool, repeats, "
            "same_call",
            "transfer to WORKING",
        ),
        ("TALKING", "transfer to WORKING, best of refunds"),
    ]


def test_on_a_map_the_answer_to_one_signal_keeps_its_reason() -> None:
    front = StateTransitionGraph(
        "front",
        transitions=[Transition("TALKING", "SAID", "TALKING")],
        entry_points=["TALKING"],
        signals=answered(UserAsked(), Handoff("refunds", at="WORKING"), otherwise="TALKING"),
    )
    (route,) = map_of([front, REFUNDS]).routes
    assert [way.purpose for way in route.ways] == ["transfer to WORKING, user escalation"]
