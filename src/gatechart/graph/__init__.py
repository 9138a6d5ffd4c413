"""The definition of a graph, its validation and its compiled form."""

from gatechart.graph.callables import Ask, Step, callable_name
from gatechart.graph.compile import ROOT, Asking, Default, Edge, Kind, Node, askings, steps_of
from gatechart.graph.definition import (
    ANY,
    Action,
    Allow,
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
)
from gatechart.graph.escape import (
    EVERY_SIGNAL,
    GAVE_UP,
    Adds,
    EscapePlan,
    GiveUp,
    HandOn,
    Nameable,
    Strategy,
    ToHuman,
)
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph, StateTransitionGraph, graph_name
from gatechart.graph.handoff import Accepts, Fallbacks, Handoff, Human, OtherGraph, SameTarget
from gatechart.graph.migration import Migration, way
from gatechart.graph.payload_schema import JsonSchema
from gatechart.graph.selection import WEIGHTS, Best, Filter, Needed, NeedRule, Scorer
from gatechart.graph.signals import SIGNAL, Signal, Signals, answered
from gatechart.graph.transfer_edges import TransferRole
from gatechart.graph.transfers import To, Transfers

__all__ = [
    "ANY",
    "EVERY_SIGNAL",
    "GAVE_UP",
    "ROOT",
    "SIGNAL",
    "WEIGHTS",
    "Accepts",
    "Action",
    "Adds",
    "Allow",
    "AnyGraph",
    "Ask",
    "Asking",
    "Best",
    "Data",
    "Default",
    "Edge",
    "EntryPoint",
    "EscapePlan",
    "EventType",
    "Fallbacks",
    "Filter",
    "GiveUp",
    "Guard",
    "HandOn",
    "Handoff",
    "Human",
    "Initial",
    "Invoke",
    "JsonSchema",
    "Kind",
    "Migration",
    "Nameable",
    "NeedRule",
    "Needed",
    "Node",
    "OnRefusal",
    "OtherGraph",
    "Recall",
    "SameTarget",
    "Scorer",
    "Signal",
    "Signals",
    "State",
    "StateTransitionGraph",
    "Step",
    "Strategy",
    "Then",
    "To",
    "ToHuman",
    "TransferRole",
    "Transfers",
    "Transition",
    "answered",
    "askings",
    "callable_name",
    "graph_name",
    "steps_of",
    "way",
]
