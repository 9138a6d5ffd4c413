"""Every record of a turn that a test makes is looked at, so that no test commits an illegal configuration unnoticed."""

from __future__ import annotations

from dataclasses import replace

from gatechart.graph.definition import State
from gatechart.graph.graph import StateTransitionGraph
from gatechart.values.commits import TurnRecord
from tests import legality

from .support import start


def test_an_illegal_record_is_noticed():
    regions = [State("L", states=["L1", "L2"]), State("R", states=["R1", "R2"])]
    graph = StateTransitionGraph("g", states=[State("P", parallel=True, states=regions)], entry_points=["P"])
    snapshot = start(graph, "P")
    assert legality.found() == []
    for leaves in (("L1", "R1", "R2"), ("L1",), ("L1", "R2")):
        TurnRecord(None, replace(snapshot, configuration=leaves), None, (), 0)
    told = legality.found()
    assert [each.partition(": ")[2] for each in told] == ["R has ['R1', 'R2'] active", "P has ['L'] active"]
