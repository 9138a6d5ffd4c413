"""Deferred events in drawings, as UML writes them."""

from __future__ import annotations

import pytest

from gatechart.drawing import to_dot, to_mermaid
from gatechart.graph.definition import State, Transition
from gatechart.graph.graph import StateTransitionGraph


@pytest.mark.parametrize("write", [to_dot, to_mermaid])
def test_what_a_state_defers_is_written_inside_it(write):
    graph = StateTransitionGraph(
        "desk",
        states=[State("THINKING", defer=["ASKED", "TOLD"])],
        transitions=[Transition("THINKING", "ANSWERED", "IDLE")],
        entry_points=["THINKING"],
    )
    text = write(graph)
    assert "ASKED / defer" in text
    assert "TOLD / defer" in text
