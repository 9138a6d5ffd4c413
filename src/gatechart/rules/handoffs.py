"""Rules about handoffs: states that wait for answers, transitions for each answer, targets, and owners of the work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gatechart.errors.root import suggestion
from gatechart.graph.compile import ROOT, DeclaredHandoff, Edge, askings
from gatechart.graph.descriptors import words_of
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import Handoff
from gatechart.graph.selection import Best
from gatechart.rules.analysis import Analysis, Wait, begun, handles, is_end, is_taken
from gatechart.rules.finding import Hit, Severity, rule
from gatechart.values.handoffs import Mode
from gatechart.values.names import EventName, StateName


@rule("GC501", Severity.ERROR, "a handoff on the way to a final state, where nothing can wait")
def handoff_at_the_end(analysis: Analysis) -> Iterator[Hit]:
    """An agent that has ended cannot receive the answer. An accepted transfer ends the agent by itself."""
    for wait in analysis.waits:
        if wait.leaves and all(is_end(analysis.graph, leaf) for leaf in wait.leaves):
            ends = ", ".join(wait.leaves)
            problem = f"{wait.asking.handoff.__name__}: nothing can wait for the answer in the final state {ends}"
            remedy = "let the transition lead to a state that waits; an accepted transfer ends the agent by itself"
            yield place_of(wait.asking.state, wait.edge), problem, remedy


@rule("GC502", Severity.WARNING, "a state that waits for a handoff, but not for each answer")
def unanswered(analysis: Analysis) -> Iterator[Hit]:
    """Each answer that does not end the agent needs a transition, in the state or in one active at the same time."""
    missing: dict[StateName, dict[EventName, Handoff]] = {}
    for wait in analysis.waits:
        for state, event in _missing(analysis.graph, wait):
            missing.setdefault(state, {}).setdefault(event, wait.asking.handoff)
    for state, events in missing.items():
        asked = ", ".join(dict.fromkeys(handoff.__name__ for handoff in events.values()))
        problem = f"{asked} is waited for here, and no transition takes {_listed(events)}"
        yield f"state {state!r}", problem, "add a transition for each"


def _missing(graph: AnyGraph, wait: Wait) -> Iterator[tuple[StateName, EventName]]:
    """Yield the answers without a transition, each with the state that waits for it."""
    leaves = [leaf for leaf in wait.leaves if not is_end(graph, leaf)]
    for event in answers_of(wait.asking):
        for leaf in leaves:
            if not handles(graph, leaf, event):
                yield wait.home or leaf, event


def answers_of(asking: DeclaredHandoff) -> Iterator[EventName]:
    """Yield the events of answers to a handoff that only the chart can handle."""
    handoff = asking.handoff
    climbs = bool(handoff.selections or (handoff.fallbacks and handoff.fallbacks.steps))
    if asking.invoke:
        yield f"error.invoke.{asking.invoke}"
        return
    if not climbs:
        yield "handoff.rejected"
    if climbs or handoff.mode is Mode.DELEGATE:
        yield "handoff.failed"
    if handoff.mode is Mode.DELEGATE:
        yield "handoff.completed"
    if handoff.deadline is not None:
        yield "handoff.expired"


@rule("GC503", Severity.ERROR, "a handoff to a graph or an entry point that does not exist")
def no_such_target(analysis: Analysis) -> Iterator[Hit]:
    """Only if the graphs of the application are known: by `check_all`, `report(among=)`, `gatechart check`."""
    if analysis.among is None:
        return
    doors = {graph.name: tuple(graph.entry_points) for graph in analysis.among}
    for candidate in analysis.registered:  # perhaps at a graph of another program
        doors[candidate.graph] = (*doors.get(candidate.graph, ()), candidate.entry_point)
    for asking in askings(analysis.graph.nodes):
        for problem, remedy in _unknown_targets(asking, doors):
            yield place_of(asking.state, asking.edge), problem, remedy


def _unknown_targets(asking: DeclaredHandoff, doors: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Yield problem and remedy for each unknown target of a handoff and of its fallbacks."""
    handoff = asking.handoff
    own = [] if isinstance(handoff.to, Best) else [(handoff.to, handoff.at)]
    steps = handoff.fallbacks.targets if handoff.fallbacks else ()
    for graph, at in (*own, *((step.graph, step.at) for step in steps)):
        if graph not in doors:
            yield f"unknown graph {graph!r}", suggestion(graph, tuple(doors))
        elif at not in doors[graph]:
            yield f"{graph!r} has no entry point {at!r} to hand on to", suggestion(at, doors[graph])


@rule("GC504", Severity.WARNING, "a transition of an outer state that also leaves a state after a transfer")
def second_owner(analysis: Analysis) -> Iterator[Hit]:
    """The agent would continue with work that already belongs to another agent.

    A state after `handoff.accepted` counts as one after a transfer, unless it waits for `handoff.completed`.
    Transitions to a final state are left alone, and transitions on `handoff.offered.…`, which return the work.
    """
    graph = analysis.graph
    away = frozenset(_leaves_after_transfer(analysis))
    for node in graph.nodes.values():
        inside = [state for state in graph.nodes if state in away and node.name in graph.nodes[state].ancestors]
        for edge in node.edges if inside else ():
            left = [state for state in inside if _is_second_owner(graph, edge, state, away)]
            if left:
                problem = f"it also leaves {_listed(left)}, where the work is another agent's by then"
                remedy = f"let it leave the states that have the work, instead of {_whole(edge)}"
                yield f"transition {edge.label!r}", problem, remedy


def _leaves_after_transfer(analysis: Analysis) -> Iterator[StateName]:
    """Yield the leaves that an accepted transfer leads to.

    A handoff that an action offers in code is not declared. It counts as a transfer if the leaf waits for no result.
    """
    graph = analysis.graph
    delegated = {leaf for wait in analysis.waits if wait.asking.handoff.mode is Mode.DELEGATE for leaf in wait.leaves}
    for node in graph.nodes.values():
        for edge in node.edges:
            if edge.event is None or "handoff.accepted" not in words_of(edge.event) or node.name in delegated:
                continue
            for leaf in (leaf for target in edge.targets for leaf in begun(graph, target)):
                if not is_end(graph, leaf) and not handles(graph, leaf, "handoff.completed"):
                    yield leaf


def _is_second_owner(graph: AnyGraph, edge: Edge, state: StateName, away: frozenset[StateName]) -> bool:
    """Return whether the transition can lead from a leaf after a transfer to a leaf where the agent has the work."""
    if edge.event is None or all(word.split(".")[0] == "handoff" for word in words_of(edge.event)):
        return False
    leaves = [leaf for target in edge.targets for leaf in begun(graph, target)]
    if all(leaf in away or is_end(graph, leaf) for leaf in leaves):
        return False
    # Inner states come first: an event that one of them takes without a guard never reaches the outer state.
    line = (state, *graph.nodes[state].ancestors)
    inner_edges = [inner for name in line[: line.index(edge.source)] for inner in graph.nodes[name].edges]
    inner_words = [words_of(inner.event) for inner in inner_edges if inner.event is not None and inner.ask is None]
    return not all(any(is_taken(word, words) for words in inner_words) for word in words_of(edge.event))


def _whole(edge: Edge) -> str:
    return "any" if edge.source == ROOT else f"all of {edge.source!r}"


def place_of(state: StateName, edge: Edge | None) -> str:
    """Return the place of a handoff's declaration, for findings."""
    return f"state {state!r}" if edge is None else f"transition {edge.label!r}"


def _listed(names: Iterable[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last
