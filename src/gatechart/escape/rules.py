"""Rules about escape plans: strategies that can never apply, and plans that are never used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gatechart.escape import routes
from gatechart.escape.strategies import Reroute, Restart, Rollback, SwitchTool
from gatechart.graph.compile import ROOT
from gatechart.graph.definition import EntryPoint
from gatechart.graph.escape import EVERY_SIGNAL, REFUSED_TOOL, EscapePlan, Strategy
from gatechart.graph.graph import AnyGraph
from gatechart.graph.signals import Signal
from gatechart.kernel.select import matches
from gatechart.rules.analysis import Analysis, declared_signals
from gatechart.rules.finding import Hit, Severity, rule
from gatechart.signals.circles import GoesInCircles
from gatechart.signals.lacking import Lacks
from gatechart.signals.measures import Confidence, Risk, Sentiment
from gatechart.signals.no_progress import NoProgress, VisitsOver
from gatechart.signals.questions import SameQuestion
from gatechart.signals.said import Keywords, UserAsked
from gatechart.values.names import StateName

_WITHOUT_TOOL: Final = (
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
_MOST_LEAVES: Final = 50  # limit of the search for routes; a larger chart is left alone


@dataclass(frozen=True, slots=True)
class Declared:
    """An escape plan, its place, and the leaves where it applies."""

    place: str
    plan: EscapePlan
    leaves: tuple[StateName, ...]


@rule("GC901", Severity.WARNING, "a strategy that can never apply")
def leads_nowhere(analysis: Analysis) -> Iterator[Hit]:
    """The agent skips it each time.

    A Reroute without a transition for it and without an entry point that leads away, by a search in charts of up to 50
    leaves; a Rollback to a checkpoint in a chart without checkpoints; a Restart or a Reroute at an entry point whose
    required payload is missing; a SwitchTool for signals that never name a tool.
    """
    graph = analysis.graph
    for declared in plans_of(graph):
        for strategy in declared.plan.every:
            hit = _never_applies(graph, declared, strategy)
            if hit is not None:
                yield f"{declared.place}, {strategy.name}", *hit
        for signal, strategies in declared.plan.strategies:
            if any(isinstance(strategy, SwitchTool) for strategy in strategies) and _names_no_tool(graph, signal):
                problem = f"{signal!r} never names a tool that failed, so there is none to switch"
                yield f"{declared.place}, {signal}", problem, "drop SwitchTool there"


@rule("GC902", Severity.WARNING, "a plan for a signal that a transition always takes first")
def never_asked(analysis: Analysis) -> Iterator[Hit]:
    """Transitions and answers take precedence over plans. Plans that several graphs share are left alone."""
    graph = analysis.graph
    for declared in plans_of(graph):
        for name in () if declared.plan.shared else declared.plan.signals:
            signals = [signal for signal in _signals(graph) if signal.name == name]
            if signals and all(_is_taken(graph, leaf, signal) for leaf in declared.leaves for signal in signals):
                problem = f"a transition without a guard takes {signals[0].event!r} wherever the plan could be asked"
                yield f"{declared.place}, {name}", problem, "drop the strategies, or the transition or answer"


@rule("GC903", Severity.WARNING, "an escape plan that answers none of the graph's signals")
def answers_nothing(analysis: Analysis) -> Iterator[Hit]:
    """The graph has no signals, or the plan has strategies only for other signals."""
    names = [signal.name for signal in _signals(analysis.graph)]
    for declared in plans_of(analysis.graph):
        always = (EVERY_SIGNAL, REFUSED_TOOL) if names else ()
        answered = {name for name in declared.plan.signals if name in (*names, *always)}
        if not answered:
            remedy = f"there are {', '.join(map(repr, names))}" if names else "write signals=looping() + handing_on()"
            yield declared.place, "no signal ever asks it for a way out", remedy


def plans_of(graph: AnyGraph) -> Iterator[Declared]:
    """Yield the plans of the graph and of its states, with the places of their declarations."""
    if graph.escape is not None:
        leaves = (node.name for node in graph.nodes.values() if node.kind.is_leaf and not node.is_end)
        yield Declared("escape", graph.escape, tuple(leaf for leaf in leaves if leaf not in graph.escape_states))
    for node in graph.nodes.values():
        if node.escape is not None:
            yield Declared(f"state {node.name!r}, escape", node.escape, graph.leaves(node.name))


def _never_applies(graph: AnyGraph, declared: Declared, strategy: Strategy) -> tuple[str, str] | None:
    """Return problem and remedy of a strategy that never applies; None if it may."""
    match strategy:
        case Reroute():
            return _no_route(graph, declared, strategy)
        case Rollback(to="checkpoint") if not any(node.checkpoint for node in graph.nodes.values()):
            return "no state is a checkpoint", "write checkpoint=True at a state, or go back to the block"
        case Restart(at=at, payload=None) if at and len(graph.entry_points) > 1:
            return _missing_payload([graph.entry_points[at]])
        case _:
            return None


def _no_route(graph: AnyGraph, declared: Declared, strategy: Reroute) -> tuple[str, str] | None:
    if any(edge.event and matches(edge.event, strategy.event) for node in graph.nodes.values() for edge in node.edges):
        return None
    if strategy.at:
        doors = [graph.entry_points[name] for name in strategy.at]
        return None if strategy.payload is not None else _missing_payload(doors)
    if len(declared.leaves) > _MOST_LEAVES:
        return None
    for leaf in declared.leaves:
        doors_away = (graph.entry_points[name] for name in routes(graph, (leaf,), (leaf,)))
        if any(strategy.payload is not None or not _needs_payload(door) for door in doors_away):
            return None
    problem = "no entry point leads away from any state that may fail, and no transition takes 'escape.reroute'"
    return problem, "add one of them, or drop it"


def _missing_payload(doors: list[EntryPoint]) -> tuple[str, str] | None:
    """Return problem and remedy if all of the entry points require a payload that the strategy does not provide."""
    if not all(map(_needs_payload, doors)):
        return None
    names = " and ".join(repr(door.name) for door in doors)
    return f"nothing brings what {names} takes", "say with payload= what it takes, as a function of the context"


def _needs_payload(door: EntryPoint) -> bool:
    return door.takes is not None and any(field.is_required() for field in door.takes.model_fields.values())


def _names_no_tool(graph: AnyGraph, name: str) -> bool:
    detectors = [detector for signal in _signals(graph) if signal.name == name for detector in signal.when.detectors]
    return bool(detectors) and all(isinstance(detector, _WITHOUT_TOOL) for detector in detectors)


def _signals(graph: AnyGraph) -> Iterator[Signal]:
    for _, declared in declared_signals(graph):
        yield from declared.signals


def _is_taken(graph: AnyGraph, leaf: StateName, signal: Signal) -> bool:
    """Return whether an unguarded transition takes a signal in a leaf."""
    around = (leaf, *graph.nodes[leaf].ancestors)
    names = around if ROOT in around else (*around, ROOT)
    edges = (edge for name in names for edge in graph.nodes[name].edges)
    return any(edge.ask is None and edge.event is not None and matches(edge.event, signal.event) for edge in edges)
