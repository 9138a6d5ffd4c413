"""The Mermaid text. Mermaid itself runs in browsers only; what its grammar asks for is checked line by line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import State, StateTransitionGraph
from gatechart.drawing import to_mermaid
from tests.drawing.charts import HISTORY, SNAPSHOT, snapshot, support
from tests.drawing.test_dot import HOSTILE, strict

ID = r"[a-z]+_\w+"
TEXT = r'"(?:[^"#<>&`\\%$*;{}|]|\#\d+;|<br/>)*"'
LINES = re.compile(
    rf"""
    classDef\ \w+\ [\w:\#,-]+
  | {ID}(?: \({TEXT}\) | \(\({TEXT}\)\) | \(\[{TEXT}\]\) | \[{TEXT}\] | \[\[{TEXT}\]\] | >{TEXT}\] ):::[a-z]+
  | subgraph\ {ID}\ \[{TEXT}\] | end
  | style\ {ID}\ [\w:\#,-]+
  | {ID}\ ==>\ {ID} | {ID}\ -->\ {ID} | {ID}\ ---\ {ID}\ -->\ {ID} | {ID}\ ===\ {ID}\ ==>\ {ID}
  | linkStyle\ [\d,]+\ [\w:\#,-]+
    """,
    re.VERBOSE,
)


def body_of(text: str) -> list[str]:
    head, _, body = text.partition("flowchart TB\n")
    assert head.startswith('---\ntitle: "')
    return [line.strip() for line in body.splitlines()]


def assert_valid(text: str) -> None:
    lines = body_of(text)
    assert [line for line in lines if not LINES.fullmatch(line)] == []
    opened = sum(line.startswith("subgraph") for line in lines)
    assert opened == lines.count("end")
    assert re.search(r"^  theme: base$", text, re.MULTILINE)


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
