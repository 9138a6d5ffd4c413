"""Rules about escape plans: what can never lead anywhere, what is never asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gatechart.checks.analysis import Analysis
from gatechart.checks.finding import Hit, Severity, rule
from gatechart.escape import Reroute, Restart, Rollback, SwitchTool, routes
from gatechart.graph import EVERY_SIGNAL, REFUSED_TOOL, ROOT, AnyGraph, EntryPoint, EscapePlan, Signal, Strategy
from gatechart.kernel import matches
from gatechart.signals import (
    Confidence,
    GoesInCircles,
    Keywords,
    Lacks,
    NoProgress,
    Risk,
    SameQuestion,
    Sentiment,
    UserAsked,
    VisitsOver,
)
from gatechart.values import StateName

_OF_NO_TOOL: Final = (
    Confidence,
    GoesInCircles,
    Keywords,
    Lacks,
    NoProgress,
    Risk,
    SameQuestion,
    Sentiment,
    UserAsked,
    VisitsOver,
)
_MOST_LEAVES: Final = 50  # from which routes are searched; a larger chart is left alone


@dataclass(frozen=True, slots=True)
class Declared:
    """A plan, and where agents are for which it is asked."""

    place: str
    plan: EscapePlan
    leaves: tuple[StateName, ...]


@rule("GC901", Severity.WARNING, "a strategy that can never lead anywhere")
def leads_nowhere(analysis: Analysis) -> Iterator[Hit]:
    """It is passed over each time.

    A Reroute without a transition for it and without an entry point that leads away, by search in charts of up to 50
    leaves; a Rollback to a checkpoint, of which there is none; a Restart or a Reroute at an entry point whose payload
    nothing brings; a SwitchTool for signals that never name a tool.
    """
    graph = analysis.graph
    for declared in plans_of(graph):
        for strategy in declared.plan.every:
            hit = _nowhere(graph, declared, strategy)
            if hit is not None:
                yield f"{declared.place}, {strategy.name}", *hit
        for signal, strategies in declared.plan.strategies:
            if any(isinstance(each, SwitchTool) for each in strategies) and _names_no_tool(graph, signal):
                told = f"{signal!r} never names a tool that failed, so there is none to switch"
                yield f"{declared.place}, {signal}", told, "drop SwitchTool there"


@rule("GC902", Severity.WARNING, "a plan for a signal that a transition always takes first")
def never_asked(analysis: Analysis) -> Iterator[Hit]:
    """Transitions and answers come before plans. Plans that several graphs share are left alone."""
    graph = analysis.graph
    for declared in plans_of(graph):
        for name in () if declared.plan.shared else declared.plan.signals:
            signals = [signal for signal in _signals(graph) if signal.name == name]
            if signals and all(_is_taken(graph, leaf, each) for leaf in declared.leaves for each in signals):
                told = f"a transition without a guard takes {signals[0].event!r} wherever the plan could be asked"
                yield f"{declared.place}, {name}", told, "drop the strategies, or the transition or answer"


@rule("GC903", Severity.WARNING, "an escape plan that answers none of the graph's signals")
def answers_nothing(analysis: Analysis) -> Iterator[Hit]:
    """The graph has no signals, or the plan has strategies for others only."""
    names = [signal.name for signal in _signals(analysis.graph)]
    for declared in plans_of(analysis.graph):
        always = (EVERY_SIGNAL, REFUSED_TOOL) if names else ()
        answered = {name for name in declared.plan.signals if name in (*names, *always)}
        if not answered:
            remedy = f"there are {', '.join(map(repr, names))}" if names else "write signals=looping() + handing_on()"
            yield declared.place, "no signal ever asks it for a way out", remedy


def plans_of(graph: AnyGraph) -> Iterator[Declared]:
    """Yield the plans of the graph and of its states, with the places where they are declared."""
    if graph.escape is not None:
        leaves = (node.name for node in graph.nodes.values() if node.kind.is_leaf and not node.is_end)
        yield Declared("escape", graph.escape, tuple(each for each in leaves if each not in graph.escape_states))
    for node in graph.nodes.values():
        if node.escape is not None:
            yield Declared(f"state {node.name!r}, escape", node.escape, graph.leaves(node.name))


def _nowhere(graph: AnyGraph, declared: Declared, strategy: Strategy) -> tuple[str, str] | None:
    """Return why a strategy never leads anywhere, and what to do; None if it may."""
    match strategy:
        case Reroute():
            return _no_way(graph, declared, strategy)
        case Rollback(to="checkpoint") if not any(node.checkpoint for node in graph.nodes.values()):
            return "no state is a checkpoint", "write checkpoint=True at a state, or go back to the block"
        case Restart(at=at, payload=None) if at and len(graph.entry_points) > 1:
            return _unbrought([graph.entry_points[at]])
        case _:
            return None


def _no_way(graph: AnyGraph, declared: Declared, strategy: Reroute) -> tuple[str, str] | None:
    if any(edge.event and matches(edge.event, strategy.event) for node in graph.nodes.values() for edge in node.edges):
        return None
    if strategy.at:
        doors = [graph.entry_points[name] for name in strategy.at]
        return None if strategy.payload is not None else _unbrought(doors)
    if len(declared.leaves) > _MOST_LEAVES:
        return None
    for leaf in declared.leaves:
        found = (graph.entry_points[name] for name in routes(graph, (leaf,), (leaf,)))
        if any(strategy.payload is not None or not _needs_payload(door) for door in found):
            return None
    told = "no entry point leads away from any state that may fail, and no transition takes 'escape.reroute'"
    return told, "add one of them, or drop it"


def _unbrought(doors: list[EntryPoint]) -> tuple[str, str] | None:
    """Return what is wrong if all of some entry points take something that nothing brings."""
    if not all(map(_needs_payload, doors)):
        return None
    names = " and ".join(repr(door.name) for door in doors)
    return f"nothing brings what {names} takes", "say with payload= what it takes, as a function of the context"


def _needs_payload(door: EntryPoint) -> bool:
    return door.takes is not None and any(field.is_required() for field in door.takes.model_fields.values())


def _names_no_tool(graph: AnyGraph, name: str) -> bool:
    detectors = [each for signal in _signals(graph) if signal.name == name for each in signal.when.detectors]
    return bool(detectors) and all(isinstance(each, _OF_NO_TOOL) for each in detectors)


def _signals(graph: AnyGraph) -> Iterator[Signal]:
    for declared in (graph.signals, *(door.signals for door in graph.entry_points.values())):
        yield from () if declared is None else declared.signals


def _is_taken(graph: AnyGraph, leaf: StateName, signal: Signal) -> bool:
    """Whether a transition takes a signal for certain in a leaf."""
    around = (leaf, *graph.nodes[leaf].ancestors)
    names = around if ROOT in around else (*around, ROOT)
    edges = (edge for name in names for edge in graph.nodes[name].edges)
    return any(edge.ask is None and edge.event is not None and matches(edge.event, signal.event) for edge in edges)
