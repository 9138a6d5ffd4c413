from __future__ import annotations

import pytest

from gatechart.graph.definition import ANY, Invoke, State, Transition
from tests.checks.support import found, graph_of, places


def search(context, work):
    return None


def test_a_transition_on_an_event_that_is_not_declared_is_found():
    graph = graph_of([Transition("A", "APROVED", "B"), Transition("B", "APPROVED", "A")], events=["APPROVED"])
    assert [str(finding) for finding in found(graph, "GC207")] == [
        "GC207 warning: state 'A', event 'APROVED': 'APROVED' is not declared; did you mean 'APPROVED'?"
    ]


def test_without_declarations_nothing_is_found():
    assert places(graph_of([Transition("A", "APROVED", "B")]), "GC207") == []


@pytest.mark.parametrize("event", ["*", "error.*", "tool", "done.invoke.search", "after.30s.A", None])
def test_patterns_and_events_of_the_framework_need_no_declaration(event):
    state = State("A", invoke=Invoke(search), after={"30s": "B"})
    graph = graph_of(
        [Transition("A", event, "B"), Transition(ANY, "tool.*", "B")], states=[state], events=["tool.found"]
    )
    assert places(graph, "GC207") == []


def test_each_name_of_a_descriptor_is_looked_up():
    graph = graph_of([Transition("A", "APPROVED NOTED", "B")], events=["APPROVED"])
    assert [finding.problem for finding in found(graph, "GC207")] == ["'NOTED' is not declared"]


def test_a_declared_event_that_no_transition_takes_is_found():
    graph = graph_of([Transition("A", "tool", "B")], events=["tool.found", "APPROVED"])
    assert [str(finding) for finding in found(graph, "GC208")] == [
        "GC208 warning: event 'APPROVED': no transition waits for it; add one, or drop the declaration"
    ]
