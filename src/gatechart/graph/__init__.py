"""The definition of a graph, its validation and its compiled form."""

from gatechart.graph.allowances import Allow
from gatechart.graph.callables import Ask, Step
from gatechart.graph.compile import ROOT, Default, Edge, Kind, Node, steps_of
from gatechart.graph.definition import (
    ANY,
    Action,
    Data,
    EntryPoint,
    Guard,
    Initial,
    Invoke,
    OnRefusal,
    Recall,
    State,
    Then,
    Transition,
    callable_name,
)
from gatechart.graph.delays import Delay, seconds_of
from gatechart.graph.fallbacks import Fallbacks, Human, OtherGraph, SameTarget
from gatechart.graph.graph import AnyGraph, StateTransitionGraph, graph_name
from gatechart.graph.handoff import Accepts, Asking, Handoff, askings
from gatechart.graph.migration import Migration, way

__all__ = [
    "ANY",
    "ROOT",
    "Accepts",
    "Action",
    "Allow",
    "AnyGraph",
    "Ask",
    "Asking",
    "Data",
    "Default",
    "Delay",
    "Edge",
    "EntryPoint",
    "Fallbacks",
    "Guard",
    "Handoff",
    "Human",
    "Initial",
    "Invoke",
    "Kind",
    "Migration",
    "Node",
    "OnRefusal",
    "OtherGraph",
    "Recall",
    "SameTarget",
    "State",
    "StateTransitionGraph",
    "Step",
    "Then",
    "Transition",
    "askings",
    "callable_name",
    "graph_name",
    "seconds_of",
    "steps_of",
    "way",
]
