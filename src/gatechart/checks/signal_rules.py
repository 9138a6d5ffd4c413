"""Rules about the signals of a graph: thresholds that cannot be reached, and signals that nobody answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gatechart.checks.analysis import Analysis
from gatechart.checks.finding import Hit, Severity, rule
from gatechart.graph import AnyGraph, EntryPoint, Signal, Signals
from gatechart.kernel import matches
from gatechart.signals import (
    Confidence,
    ErrorRate,
    Lacks,
    NoProgress,
    Repeats,
    RetriesOver,
    SameCall,
    ToolFailures,
    VisitsOver,
)
from gatechart.values import Detector

_OF_CALLS: Final = (SameCall, ToolFailures, RetriesOver, ErrorRate)
_OF_INVOKES: Final = (*_OF_CALLS, NoProgress, Confidence)


@rule("GC701", Severity.WARNING, "a signal that can never be found")
def out_of_reach(analysis: Analysis) -> Iterator[Hit]:
    """Its threshold lies beyond what is remembered, or the graph has nothing that it could be found in."""
    for place, signals in declared(analysis.graph):
        for signal in signals.signals:
            for detector in signal.when.detectors:
                hit = _never(analysis, place, signals, detector)
                if hit is not None:
                    yield f"{place}, {signal.name}", *hit


@rule("GC702", Severity.WARNING, "a signal without an answer that no transition takes")
def unanswered(analysis: Analysis) -> Iterator[Hit]:
    """It is noted in the history and changes nothing. A transition for `*` takes no signals; one for `signal` does."""
    edges = [edge for node in analysis.graph.nodes.values() for edge in node.edges]
    for place, signals in declared(analysis.graph):
        for signal in signals.signals:
            if not any(matches(edge.event, signal.event) for edge in edges):
                yield f"{place}, {signal.name}", f"nothing takes {signal.event!r}", _remedy(signal)


def _remedy(signal: Signal) -> str:
    return f"write a transition for {signal.event!r}, give it answer=, or allow it if noting it is enough"


def declared(graph: AnyGraph) -> Iterator[tuple[str, Signals]]:
    """Yield the signals of the graph and of its entry points, each with the place where they are declared."""
    if graph.signals is not None:
        yield "signals", graph.signals
    for door in graph.entry_points.values():
        if door.signals is not None:
            yield f"entry point {door.name!r}, signals", door.signals


def _never(analysis: Analysis, place: str, signals: Signals, detector: Detector) -> tuple[str, str] | None:
    """Return why a detector never finds anything, and what to do; None if it can."""
    if isinstance(detector, _OF_INVOKES) and not _has_functions(analysis.graph):
        told = f"the graph invokes no function, so {type(detector).__name__} has nothing to look at"
        return told, "drop it, or invoke what calls tools"
    match detector:
        case Repeats():
            return _never_repeats(detector)
        case SameCall(n, window) if window > signals.calls:
            told = f"the trail keeps {signals.calls} calls, fewer than the {window} in which it looks for {n}"
            return told, f"keep calls={window} at least"
        case VisitsOver(state):
            return _never_visited(analysis, state)
        case Lacks():
            return _never_lacks(analysis.graph, place, detector)
        case _:
            return None


def _never_repeats(detector: Repeats) -> tuple[str, str] | None:
    length = detector.period or 1
    times = detector.times or (2 if length > 2 else 3)  # as it is by default
    if length * times <= detector.window:
        return None
    told = f"a block of {length}, seen {times} times, does not fit in the window of {detector.window} moves"
    return told, f"pass window={length * times} at least"


def _never_visited(analysis: Analysis, state: str) -> tuple[str, str] | None:
    graph = analysis.graph
    if state not in graph.nodes or not graph.nodes[state].kind.is_leaf:
        return f"{state!r} is no state in which an agent can rest", "name a state without states inside it"
    if graph.nodes[state].is_end:
        return f"the agent ends in {state!r}, so it is visited once", "name a state in a cycle"
    ways = (target for way in analysis.ways[state] for target in way.enters)
    around = (target for outer in graph.nodes[state].ancestors for way in analysis.ways[outer] for target in way.enters)
    if any(state in analysis.reached_from(target) for target in {*ways, *around} if target in graph.nodes):
        return None
    return f"no way leads from {state!r} back to it, so it is visited once", "name a state in a cycle"


def _never_lacks(graph: AnyGraph, place: str, detector: Lacks) -> tuple[str, str] | None:
    doors = (door for door in graph.entry_points.values() if _is_watched_by(door, place))
    asked = [detector.of_entry_point(graph.profile_at(door.name)) for door in doors]
    if asked and all(each.has is None for each in asked):
        return (
            "no entry point with this signal has a profile",
            "give it one, or say with has= what it can do",
        )
    if not detector.counted or _has_functions(graph) or any(each.may_lack for each in asked):
        return None
    return f"each entry point has every {detector.what} that the rules name", "drop it, or add a rule"


def _is_watched_by(door: EntryPoint, place: str) -> bool:
    return door.signals is None if place == "signals" else place == f"entry point {door.name!r}, signals"


def _has_functions(graph: AnyGraph) -> bool:
    return any(not invoke.agent for node in graph.nodes.values() for invoke in node.invokes)
