"""Which events a configuration defers, and which transitions that hides."""

from __future__ import annotations

import pytest

from gatechart.graph.definition import ANY, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.kernel.select import candidates, defers, passes_over

graph = StateTransitionGraph(
    "desk",
    states=[
        State("BUSY", defer=["ASKED", "mail.*"], states=[State("DEEP", defer="*"), "SHALLOW"]),
        State("BOTH", parallel=True, states=[State("LEFT", states=[State("L", defer="ASKED")]), State("R")]),
    ],
    transitions=[
        Transition("SHALLOW", "ASKED", "DEEP"),
        Transition("BUSY", "NOTED", "IDLE"),
        Transition("R", "ASKED", "IDLE"),
        Transition("BOTH", "ASKED", "BUSY"),
        Transition(ANY, "ASKED", "IDLE"),
        Transition(ANY, "mail.read", "IDLE"),
    ],
    entry_points=["BUSY", "BOTH", "IDLE"],
)


def labels(leaf, event, **raised):
    return [edge.label for edges in candidates(graph, leaf, event, **raised) for edge in edges]


@pytest.mark.parametrize(
    ("leaves", "event", "asked", "deferred"),
    [
        (("IDLE",), "ASKED", ["* --ASKED--> IDLE"], False),
        (("SHALLOW",), "ASKED", ["SHALLOW --ASKED--> DEEP"], True),
        (("DEEP",), "ASKED", [], True),
        (("DEEP",), "NOTED", [], True),
        (("SHALLOW",), "NOTED", ["BUSY --NOTED--> IDLE"], False),
        (("SHALLOW",), "mail.read", [], True),
        (("DEEP",), "done.invoke.scan", [], False),
        (("L", "R"), "ASKED", ["R --ASKED--> IDLE"], True),
    ],
)
def test_a_deferral_hides_the_transitions_of_the_states_around_it(leaves, event, asked, deferred):
    assert labels(leaves, event) == asked
    assert defers(graph, leaves, event) is deferred
    assert passes_over(graph, leaves, event) is (deferred and not asked)


def test_nothing_defers_an_event_that_was_raised_in_the_turn():
    assert labels(("L", "R"), "ASKED", is_raised=True) == [
        "BOTH --ASKED--> BUSY",
        "* --ASKED--> IDLE",
        "R --ASKED--> IDLE",
        "BOTH --ASKED--> BUSY",
        "* --ASKED--> IDLE",
    ]
    assert labels(("L", "R"), "ASKED") == ["R --ASKED--> IDLE"]
