"""Handoffs that nothing waits for, whose answers are not taken, or that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gatechart.checks.descriptors import is_taken, words_of
from gatechart.checks.finding import HANDOFF_AT_THE_END, HANDOFF_UNANSWERED, NO_SUCH_DOOR, SECOND_OWNER, Finding
from gatechart.checks.waits import Wait, begun, handles, waits_of
from gatechart.errors import suggestion
from gatechart.graph import ROOT, Asking, Edge, Handoff, Kind, StateTransitionGraph, askings
from gatechart.values import EventName, Mode, StateName


def handoff_findings(graph: StateTransitionGraph) -> Iterator[Finding]:
    """GC501 and GC502."""
    waits = tuple(waits_of(graph))
    yield from dict.fromkeys(_at_the_end(graph, wait) for wait in waits if _is_at_the_end(graph, wait))
    missing: dict[StateName, dict[EventName, Handoff]] = {}
    for wait in waits:
        for place, event in _missing(graph, wait):
            missing.setdefault(place, {}).setdefault(event, wait.asking.handoff)
    for place, events in missing.items():
        yield _unanswered(place, events)


def door_findings(graph: StateTransitionGraph, among: Sequence[StateTransitionGraph]) -> Iterator[Finding]:
    """GC503: handoffs to graphs or entry points that are not among these."""
    doors = {each.name: tuple(each.entry_points) for each in among}
    yield from dict.fromkeys(
        NO_SUCH_DOOR.at(_place(asking.state, asking.edge), *told)
        for asking in askings(graph.nodes)
        for told in _nowhere(asking, doors)
    )


def handed_over(graph: StateTransitionGraph) -> frozenset[StateName]:
    """The states in which an agent ends as its transfer is accepted."""
    return frozenset(
        leaf
        for wait in waits_of(graph)
        if wait.asking.handoff.mode is Mode.TRANSFER
        for leaf in wait.leaves
        if not handles(graph, leaf, "handoff.accepted")
    )


def owner_findings(graph: StateTransitionGraph) -> Iterator[Finding]:
    """GC504: transitions of the root that make an agent go on with work which it gave away."""
    away = frozenset(_given_away(graph))
    for edge in graph.nodes[ROOT].edges:
        left = [state for state in graph.nodes if state in away and _is_second_owner(graph, edge, state, away)]
        if left:
            problem = f"it also leaves {_listed(left)}, where the work is another agent's by then"
            remedy = "let it leave the states that have the work, instead of any"
            yield SECOND_OWNER.at(f"transition {edge.label!r}", problem, remedy)


def _given_away(graph: StateTransitionGraph) -> Iterator[StateName]:
    """The leaves to which the acceptance of a transfer leads.

    A handoff that an action offers in code is not declared; it is a transfer if the leaf waits for no result.
    """
    delegated = {leaf for wait in waits_of(graph) if wait.asking.handoff.mode is Mode.DELEGATE for leaf in wait.leaves}
    for node in graph.nodes.values():
        for edge in node.edges:
            if edge.event is None or "handoff.accepted" not in words_of(edge.event) or node.name in delegated:
                continue
            for leaf in (leaf for target in edge.targets for leaf in begun(graph, target)):
                if not _is_end(graph, leaf) and not handles(graph, leaf, "handoff.completed"):
                    yield leaf


def _is_second_owner(graph: StateTransitionGraph, edge: Edge, state: StateName, away: frozenset[StateName]) -> bool:
    """Whether the transition can take the agent from a leaf where the work is away to one where it is not."""
    if edge.event is None or all(word.split(".")[0] == "handoff" for word in words_of(edge.event)):
        return False
    leaves = [leaf for target in edge.targets for leaf in begun(graph, target)]
    if all(leaf in away or _is_end(graph, leaf) for leaf in leaves):
        return False
    inner = (
        each for name in (state, *graph.nodes[state].ancestors) if name != ROOT for each in graph.nodes[name].edges
    )
    taken = [words_of(each.event) for each in inner if each.event is not None and each.ask is None]
    return not all(any(is_taken(word, words) for words in taken) for word in words_of(edge.event))


def _place(state: StateName, edge: Edge | None) -> str:
    return f"state {state!r}" if edge is None else f"transition {edge.label!r}"


def _is_end(graph: StateTransitionGraph, leaf: StateName) -> bool:
    """Whether the agent ends in it; not, where other regions have to end as well."""
    node = graph.nodes[leaf]
    return node.kind is Kind.FINAL and (node.is_end or graph.nodes[node.parent].is_end)


def _is_at_the_end(graph: StateTransitionGraph, wait: Wait) -> bool:
    return bool(wait.leaves) and all(_is_end(graph, leaf) for leaf in wait.leaves)


def _at_the_end(graph: StateTransitionGraph, wait: Wait) -> Finding:
    ends = ", ".join(leaf for leaf in wait.leaves if _is_end(graph, leaf))
    problem = f"{wait.asking.handoff.__name__}: nothing can wait for the answer in the final state {ends}"
    remedy = "let the transition lead to a state that waits; a transfer that is accepted ends the agent by itself"
    return HANDOFF_AT_THE_END.at(_place(wait.asking.state, wait.edge), problem, remedy)


def _missing(graph: StateTransitionGraph, wait: Wait) -> Iterator[tuple[StateName, EventName]]:
    """The answers that are not taken, each with the state that waits for them."""
    leaves = [leaf for leaf in wait.leaves if not _is_end(graph, leaf)]
    for event in answers_of(wait.asking):
        for leaf in leaves:
            if not handles(graph, leaf, event):
                yield wait.home or leaf, event


def answers_of(asking: Asking) -> Iterator[EventName]:
    """The events with which a handoff may be answered, and which nobody but the chart can do anything about."""
    handoff = asking.handoff
    climbs = handoff.fallbacks is not None and bool(handoff.fallbacks.steps)
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


def _unanswered(state: StateName, events: Mapping[EventName, Handoff]) -> Finding:
    asked = ", ".join(dict.fromkeys(each.__name__ for each in events.values()))
    place = f"state {state!r}"
    problem = f"{asked} is waited for here, and no transition takes {_listed(events)}"
    return HANDOFF_UNANSWERED.at(place, problem, "add a transition for each")


def _listed(events: Iterable[EventName]) -> str:
    *others, last = map(repr, events)
    return f"{', '.join(others)} or {last}" if others else last


def _nowhere(asking: Asking, doors: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """What is wrong with each target of a handoff, those of its fallbacks too, and what would have worked."""
    handoff = asking.handoff
    steps = handoff.fallbacks.targets if handoff.fallbacks else ()
    for graph, at in ((handoff.to, handoff.at), *((step.graph, step.at) for step in steps)):
        if graph not in doors:
            yield f"there is no graph {graph!r} to hand on to", suggestion(graph, tuple(doors))
        elif at not in doors[graph]:
            yield f"{graph!r} has no entry point {at!r} to hand on to", suggestion(at, doors[graph])
