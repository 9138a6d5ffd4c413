"""The Mermaid text. Mermaid itself runs in browsers only; what its grammar asks for is checked line by line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import State, StateTransitionGraph
from gatechart.drawing import to_mermaid
from tests.drawing.charts import HISTORY, SNAPSHOT, orders, snapshot, specialists, support
from tests.drawing.hostile_names import HOSTILE, strict
from tests.drawing.mermaid_checks import assert_valid, body_of


def test_the_parts_of_a_chart_are_all_there():
    lines = body_of(to_mermaid(support))
    assert (
        'door_handover>"handover<br/>on HANDED_OVER<br/>on RETURNED<br/>takes CaseFile<br/>[is_solved]"]:::door'
        in lines
    )
    assert "door_handover ==> s_READING" in lines
    assert 's_DONE[["DONE"]]:::state' in lines
    assert 'from_ANSWERING__to_READING["REJECTED [λ]"]:::label' in lines
    assert "s_ANSWERING --- from_ANSWERING__to_READING --> s_READING" in lines
    assert "initial_WORKING --> s_READING" in lines
    assert_valid(to_mermaid(support))


def test_what_is_handed_on_leads_to_the_doors_of_other_graphs():
    lines = body_of(to_mermaid(orders))
    assert 'to_specialists__at_REVIEWING>"specialists<br/>REVIEWING"]:::elsewhere' in lines
    assert 'hand_TALKING__to_specialists__at_REVIEWING["transfer<br/>else transfer"]:::label' in lines
    label = "hand_TALKING__to_specialists__at_REVIEWING"
    assert f"s_TALKING -.- {label} -.-> to_specialists__at_REVIEWING" in lines
    assert any(line.startswith("any_hand__2a__to_support__at_handover -.- ") for line in lines)
    assert_valid(to_mermaid(orders))


def test_a_map_has_each_graph_with_its_doors_and_the_handoffs_between_them():
    text = to_mermaid([orders, specialists, support])
    lines = body_of(text)
    assert 'subgraph card_orders ["orders"]' in lines
    assert 'of_orders__door_LISTENING>"LISTENING<br/>on CHAT_OPENED"]:::door' in lines
    told = "TRACKING: while active<br/>delegate to SEARCHING"
    assert f'card_orders -.->|"{told}"| of_parcels__door_SEARCHING' in lines
    assert 'of_support__door_nowhere>"nowhere"]:::elsewhere' in lines
    assert any(line.startswith("style card_parcels ") and line.endswith("stroke-dasharray:4") for line in lines)
    assert_valid(text)


def test_a_map_of_hostile_names_is_sound():
    for name in HOSTILE:
        assert_valid(to_mermaid([strict(name), support]))


def test_no_identifier_begins_with_a_word_of_mermaids_own():
    own = ("graph", "flowchart", "end", "style", "class", "default", "click", "href", "call", "interpolate")
    for text in (to_mermaid(orders), to_mermaid([orders, specialists, support])):
        words = re.findall(r"^  +(\w+)", text.partition("flowchart")[2], re.MULTILINE)
        names = [word for word in words if word not in ("classDef", "style", "end", "subgraph", "linkStyle")]
        assert [name for name in names if name.startswith(own)] == []


def test_the_way_taken_is_numbered_and_heavier():
    text = to_mermaid(support, highlight=SNAPSHOT, trail=HISTORY)
    lines = body_of(text)
    assert 'from_READING__to_ANSWERING["(4) READ [is_solved]"]:::label' in lines
    assert "s_READING === from_READING__to_ANSWERING ==> s_ANSWERING" in lines
    assert 's_READING("READING"):::visited' in lines
    assert 's_ANSWERING("ANSWERING"):::active' in lines
    assert_valid(text)


def test_each_half_of_a_line_is_counted_where_lines_are_coloured():
    lines = body_of(to_mermaid(support, trail=HISTORY))
    halves = [arrow for line in lines for arrow in re.findall(r"(?<= )(?:---|-->|===|==>)(?= )", line)]
    style = re.search(r"linkStyle ([\d,]+) ", "\n".join(lines))
    assert style
    loud = [int(number) for number in style[1].split(",")]
    assert {halves[number] for number in loud} == {"===", "==>"}
    doors = len(support.entry_points)
    assert len(loud) == sum(half in {"===", "==>"} for half in halves) - (doors - 1)  # the other door is heavy too


def test_a_compound_state_that_was_left_again_is_marked_as_visited():
    text = to_mermaid(support, highlight=snapshot(support, "WAITING"), trail=HISTORY)
    assert re.search(r"style s_WORKING fill:#\w+,stroke:#\w+,color:#\w+,stroke-width:3px", text)


def test_a_compound_state_in_which_nothing_is_done_has_no_note():
    graph = StateTransitionGraph("g", states=[State("BOX", states=["A"])], entry_points=["BOX"])
    assert "inside" not in to_mermaid(graph)
    assert "inside_WORKING" in to_mermaid(support)


def test_the_title_holds_no_markup():
    assert to_mermaid(strict("<b>")).startswith('---\ntitle: "‹b›, version ‹b›"\n')


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_stay_text(name):
    assert_valid(to_mermaid(strict(name, "end", "1. item")))


@given(st.text(min_size=1))
@settings(derandomize=True, database=None, deadline=None)
def test_any_name_stays_text(name):
    assert_valid(to_mermaid(strict(name)))
