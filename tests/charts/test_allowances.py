"""Findings that a chart allows, each at its place with a reason."""

from __future__ import annotations

import pytest

from gatechart.charts import dump, load
from gatechart.checks import check, report
from gatechart.graph.definition import Allow, EntryPoint
from tests.charts.support import chart, faults

TRAP = """
id: trap
entry_points: {OPEN: {description: Somebody comes by.}}
states:
  OPEN: {on: {FELL: CAUGHT}}
  CAUGHT:
"""
ALLOWED = TRAP + "allow:\n  - {code: GC102, place: state 'CAUGHT', reason: 'A keeper, and no event, frees it.'}\n"
REASON = "A keeper, and no event, frees it."


def test_what_a_chart_allows_is_left_out_and_told_with_its_reason():
    assert [finding.code for finding in check(load(TRAP))] == ["GC102"]
    graph = load(ALLOWED)
    assert graph.allow == (Allow("GC102", "state 'CAUGHT'", REASON),)
    assert check(graph) == ()
    (allowed,) = report(graph).allowed
    assert (allowed.finding, allowed.reason) == (*check(load(TRAP)), REASON)


def test_what_a_chart_allows_does_not_change_its_fingerprint():
    assert load(ALLOWED).fingerprint == load(TRAP).fingerprint


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_a_chart_allows_is_kept(form):
    graph = load(ALLOWED)
    again = load(dump(graph, format=form))
    assert (again.allow, again.fingerprint) == (graph.allow, graph.fingerprint)
    assert dump(again, format=form) == dump(graph, format=form)
    assert "allow" not in dump(load(TRAP))


def test_the_xstate_dialect_has_allowances_too():
    graph = load(ALLOWED, dialect="xstate")
    assert (check(graph), len(graph.allow)) == ((), 1)


def test_an_allowance_for_what_is_not_found_is_a_finding():
    (found,) = check(load(ALLOWED.replace("CAUGHT:\n", "CAUGHT: {type: final}\n")))
    assert (found.code, found.place) == ("GC401", "allowance of GC102 at state 'CAUGHT'")


@pytest.mark.parametrize(
    ("allow", "told"),
    [
        ("{code: GC120, place: state 'B', reason: x}", "4:12 allow[0].code: unknown code 'GC120'; did you"),
        ("{code: [], place: state 'B', reason: x}", "4:12 allow[0].code: expected a text, found a list"),
        ("{code: XYZ, place: state 'B', reason: x}", "unknown code 'XYZ'; there are 'GC101', 'GC102'"),
        (
            "{code: GC102, place: state 'BOX', reason: x}",
            "4:26 allow[0].place: unknown place \"state 'BOX'\"; did you mean state 'B'",
        ),
        ("{code: GC102, place: X, reason: x}", "4:26 allow[0].place: unknown place 'X'; write it as `check` does"),
        ("{code: GC102, place: state 'B'}", "4:5 allow[0]: 'reason' is missing; say why it is meant to be so"),
        ("{code: GC102, place: state 'B', reason: ' '}", "4:45 allow[0].reason: it gives no reason; say why"),
        ("{code: GC102, place: state 'B', reason: }", "4:44 allow[0].reason: expected a text, found nothing"),
        ("{place: state 'B', reason: x}", "4:5 allow[0]: 'code' is missing; name the finding's code"),
        ("{code: GC102, reason: x}", "4:5 allow[0]: 'place' is missing; say where"),
        (
            "{code: GC102, place: state 'B', reason: x, resaon: y}",
            "4:48 allow[0].resaon: unknown key 'resaon'; did you mean 'reason'?",
        ),
        ("GC102", "4:5 allow[0]: expected keys with values, found 'GC102'"),
    ],
)
def test_a_wrong_allowance_is_one_fault_at_its_place(allow, told):
    (fault,) = faults(f"id: x\nentry_points: [A]\nallow:\n  - {allow}\nstates:\n  A: {{on: {{GO: B}}}}\n  B:\n")
    assert told in fault


def test_all_wrong_allowances_are_told_together_with_all_else():
    text = (
        "id: x\nentry_points: [A]\nstates: {A: {on: {GO: C}}}\nallow:\n  - {code: GC9, place: state 'Q', reason: ''}\n"
    )
    assert [fault.partition(":")[0] for fault in faults(text)] == ["3", "5", "5", "5"]
    assert faults("id: x\nentry_points: [A]\nstates: {A: }\nallow: GC102\n") == [
        "4:8 allow: expected a list, found 'GC102'; write `- code: GC102` and such"
    ]


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("GC201", "\"transition 'A --GO--> B #2'\""),
        ("GC204", "\"state 'A', event 'done.state.B'\""),
        ("GC205", "state 'B'"),
        ("GC302", "entry point 'here'"),
    ],
)
def test_every_kind_of_place_can_be_named(code, place):
    graph = chart(f"""
        id: x
        entry_points: [{{state: A, name: here}}]
        states:
          A: {{on: {{GO: [B, B], done.state.B: B}}}}
          B: {{on: {{BACK: A}}, after: {{1s: {{actions: [], target: A}}}}}}
        allow: [{{code: {code}, place: {place}, reason: so it is}}]
    """)
    assert len(graph.allow) == 1


def test_what_is_allowed_at_an_entry_point_goes_with_it():
    text = TRAP + "allow: [{code: GC302, place: entry point 'OPEN', reason: x}]\n"
    assert len(load(text, entry_points=["OPEN"]).allow) == 1
    assert load(text, entry_points=[EntryPoint("OPEN", "other")]).allow == ()
