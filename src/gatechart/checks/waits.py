"""Where an agent waits for the answer to a handoff that the graph declares, as far as the graph alone tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gatechart.checks.descriptors import is_taken, words_of
from gatechart.checks.events import is_together
from gatechart.graph import ROOT, Asking, Edge, Kind, StateTransitionGraph, askings
from gatechart.values import EventName, StateName


@dataclass(frozen=True, slots=True)
class Wait:
    """What follows on the asking: the leaves in one of which the agent comes to rest."""

    asking: Asking
    edge: Edge | None  # the transition on whose way it stands; None where it is another one each time
    leaves: tuple[StateName, ...]
    home: StateName = ""  # the state in which the agent stays, wherever it is inside it


def waits_of(graph: StateTransitionGraph) -> Iterator[Wait]:
    """A wait for each declared handoff; where it is done on leaving a state, one for each transition that leaves it."""
    for asking in askings(graph.nodes):
        if asking.edge is not None:
            yield _on_the_way(graph, asking, asking.edge)
        elif asking.is_left:
            yield from (_on_the_way(graph, asking, edge) for edge in _leaving(graph, asking.state))
        else:
            yield Wait(asking, None, _rests(graph, _entered_with(graph, asking.state)))


def handles(graph: StateTransitionGraph, leaf: StateName, event: EventName) -> bool:
    """Whether a transition takes the event from a state that can be active together with the leaf."""
    return any(
        edge.event is not None and is_taken(event, words_of(edge.event)) and is_together(graph, node.name, leaf)
        for node in graph.nodes.values()
        for edge in node.edges
    )


def _on_the_way(graph: StateTransitionGraph, asking: Asking, edge: Edge) -> Wait:
    if edge.targets:
        return Wait(asking, edge, _rests(graph, (leaf for each in edge.targets for leaf in begun(graph, each))))
    stays = (
        name for name, node in graph.nodes.items() if node.kind is Kind.ATOMIC and _is_in(graph, name, edge.source)
    )
    return Wait(asking, edge, tuple(stays), home=edge.source)


def _is_in(graph: StateTransitionGraph, state: StateName, outer: StateName) -> bool:
    return outer in (state, *graph.nodes[state].ancestors)


def _leaving(graph: StateTransitionGraph, left: StateName) -> Iterator[Edge]:
    """The transitions that leave a state."""
    for node in graph.nodes.values():
        for edge in node.edges:
            if edge.targets and _is_left(graph, edge, left):
                yield edge


def _is_left(graph: StateTransitionGraph, edge: Edge, left: StateName) -> bool:
    if edge.source == left:
        return not edge.internal or not all(_is_in(graph, each, left) for each in edge.targets)
    if _is_in(graph, edge.source, left):
        return any(each == left or not _is_in(graph, each, left) for each in edge.targets)
    return _is_in(graph, left, edge.source)


def _entered_with(graph: StateTransitionGraph, state: StateName) -> Iterator[StateName]:
    """The leaves that can be active once the state is entered."""
    yield from begun(graph, state)
    aims = [each for node in graph.nodes.values() for edge in node.edges for each in _aims(graph, edge, state)]
    aims += [door.state for door in graph.entry_points.values()]
    for aim in dict.fromkeys(aims):
        if aim != state and _is_in(graph, aim, state):
            yield from begun(graph, aim)


def _aims(graph: StateTransitionGraph, edge: Edge, state: StateName) -> tuple[StateName, ...]:
    """The targets, where the transition enters the state."""
    stays = _is_in(graph, edge.source, state) and (edge.internal or edge.source != state)
    return () if stays else edge.targets


def begun(graph: StateTransitionGraph, state: StateName) -> Iterator[StateName]:
    """The leaves in which a state begins."""
    node = graph.nodes[state]
    if node.kind.is_leaf:
        yield state
        return
    inside = node.children if node.kind is Kind.PARALLEL else node.default.targets if node.default else ()
    for each in inside:
        yield from begun(graph, each)


def _rests(graph: StateTransitionGraph, leaves: Iterable[StateName]) -> tuple[StateName, ...]:
    """Where the turn ends that comes to these leaves: what follows of itself is followed, whatever guards say."""
    found: dict[StateName, bool] = {}
    ahead = list(leaves)
    while ahead:
        leaf = ahead.pop(0)
        if leaf not in found:
            onward = list(_onward(graph, leaf))
            found[leaf] = all(edge.ask is not None for edge in onward)
            ahead += [each for edge in onward for target in edge.targets for each in begun(graph, target)]
    return tuple(leaf for leaf, rests in found.items() if rests)


def _onward(graph: StateTransitionGraph, leaf: StateName) -> Iterator[Edge]:
    """The transitions that are taken within the turn: those without an event, and those on the end of a state."""
    node = graph.nodes[leaf]
    done = f"done.state.{node.parent}" if node.kind is Kind.FINAL and node.parent != ROOT else None
    for name in (leaf, *node.ancestors):
        for edge in graph.nodes[name].edges:
            if edge.event is None or (done is not None and is_taken(done, words_of(edge.event))):
                yield edge
