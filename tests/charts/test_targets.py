"""Which state a target means."""

from __future__ import annotations

from tests.charts.support import chart, faults

CHART = """
    id: m
    entry_points: [a.b]
    on: {{ROOT: {root}}}
    states:
      a:
        id: first
        on: {{OUTER: {outer}}}
        states:
          b:
            on: {{INNER: {inner}}}
          c: {{states: {{d: , e.f: , '#g': }}}}
      x:
"""


def target(inner="x", outer="x", root="x"):
    graph = chart(CHART.format(inner=inner, outer=outer, root=root))
    return {each.event: each.targets[0] for each in graph.transitions}


def test_a_plain_target_is_a_sibling_or_a_path_from_one():
    assert target(inner="c")["INNER"] == "c"
    assert target(inner="c.d")["INNER"] == "d"
    assert target(outer="a.c.e.f")["OUTER"] == "e.f"
    assert target(root="a.c.d")["ROOT"] == "d"


def test_a_plain_target_that_is_no_sibling_is_any_state_of_that_name():
    assert target(inner="d", outer="e.f", root="d") == {"ROOT": "d", "OUTER": "e.f", "INNER": "d"}


def test_a_dot_looks_among_the_children():
    assert target(outer=".c.d")["OUTER"] == "d"
    assert target(root=".x")["ROOT"] == "x"


def test_a_hash_names_an_id_a_state_or_the_chart_with_a_path_below():
    for reference in ("#d", "#first.c.d", "#m.a.c.d", "#c.d"):
        assert target(inner=f"'{reference}'")["INNER"] == "d"
    assert target(inner="'#first'")["INNER"] == "a"
    assert target(inner="'##g'")["INNER"] == "#g"


def test_a_target_that_means_no_state_is_told_with_its_like():
    assert faults(CHART.format(inner="xx", outer=".y", root="'#m.a.z'")) == [
        "4:12 on.ROOT: unknown state '#m.a.z'; there are 'a', 'b', 'c', 'd', 'e.f', '#g', 'x'",
        "8:17 states.a.on.OUTER: unknown state '.y'; there are 'a', 'b', 'c', 'd', 'e.f', '#g', 'x'",
        "11:21 states.a.states.b.on.INNER: unknown state 'xx'; did you mean 'x'? "
        "There are 'a', 'b', 'c', 'd', 'e.f', '#g', 'x'",
    ]
    assert "unknown state '#nothing.a'" in faults(CHART.format(inner="'#nothing.a'", outer="x", root="x"))[0]


def test_an_id_can_be_given_once():
    text = "id: m\nentry_points: [a]\nstates: {a: {id: x}, b: {id: x}}\n"
    assert faults(text) == ["3:30 states.b.id: the id 'x' occurs twice; give each state a unique id"]
