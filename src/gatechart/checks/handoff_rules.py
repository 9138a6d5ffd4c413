"""Rules about handoffs: who waits for the answer, which answers are taken, where they lead, who owns the work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gatechart.checks.analysis import Analysis, Wait, begun, handles, is_end, is_taken
from gatechart.checks.finding import Hit, Severity, rule
from gatechart.errors import suggestion
from gatechart.graph import ROOT, AnyGraph, Asking, Best, Edge, Handoff, askings
from gatechart.graph.descriptors import words_of
from gatechart.values import EventName, Mode, StateName


@rule("GC501", Severity.ERROR, "a handoff on the way to a final state, where nothing can wait")
def handoff_at_the_end(analysis: Analysis) -> Iterator[Hit]:
    """An agent that has ended cannot hear the answer. A transfer that is accepted ends the agent by itself."""
    for wait in analysis.waits:
        if wait.leaves and all(is_end(analysis.graph, leaf) for leaf in wait.leaves):
            ends = ", ".join(wait.leaves)
            problem = f"{wait.asking.handoff.__name__}: nothing can wait for the answer in the final state {ends}"
            remedy = "let the transition lead to a state that waits; an accepted transfer ends the agent by itself"
            yield place_of(wait.asking.state, wait.edge), problem, remedy


@rule("GC502", Severity.WARNING, "a state that waits for a handoff, but not for each answer")
def unanswered(analysis: Analysis) -> Iterator[Hit]:
    """Each answer that leaves the agent where it is should be taken, by the state or by one active at the same time."""
    missing: dict[StateName, dict[EventName, Handoff]] = {}
    for wait in analysis.waits:
        for state, event in _missing(analysis.graph, wait):
            missing.setdefault(state, {}).setdefault(event, wait.asking.handoff)
    for state, events in missing.items():
        asked = ", ".join(dict.fromkeys(each.__name__ for each in events.values()))
        problem = f"{asked} is waited for here, and no transition takes {_listed(events)}"
        yield f"state {state!r}", problem, "add a transition for each"


def _missing(graph: AnyGraph, wait: Wait) -> Iterator[tuple[StateName, EventName]]:
    """Yield the answers that are not taken, each with the state that waits for it."""
    leaves = [leaf for leaf in wait.leaves if not is_end(graph, leaf)]
    for event in answers_of(wait.asking):
        for leaf in leaves:
            if not handles(graph, leaf, event):
                yield wait.home or leaf, event


def answers_of(asking: Asking) -> Iterator[EventName]:
    """Yield the events with which a handoff may be answered and about which only the chart can do anything."""
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
    doors = {each.name: tuple(each.entry_points) for each in analysis.among}
    for each in analysis.registered:  # perhaps at a graph of another program
        doors[each.graph] = (*doors.get(each.graph, ()), each.entry_point)
    for asking in askings(analysis.graph.nodes):
        for problem, remedy in _nowhere(asking, doors):
            yield place_of(asking.state, asking.edge), problem, remedy


def _nowhere(asking: Asking, doors: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with each target of a handoff and of its fallbacks, and what would have worked."""
    handoff = asking.handoff
    own = [] if isinstance(handoff.to, Best) else [(handoff.to, handoff.at)]
    steps = handoff.fallbacks.targets if handoff.fallbacks else ()
    for graph, at in (*own, *((step.graph, step.at) for step in steps)):
        if graph not in doors:
            yield f"unknown graph {graph!r}", suggestion(graph, tuple(doors))
        elif at not in doors[graph]:
            yield f"{graph!r} has no entry point {at!r} to hand on to", suggestion(at, doors[graph])


@rule("GC504", Severity.WARNING, "a transition of an outer state that also leaves one in which the work was given away")
def second_owner(analysis: Analysis) -> Iterator[Hit]:
    """The agent would go on with work that belongs to another agent by then.

    What `handoff.accepted` leads to counts as given away unless it waits for `handoff.completed`. Transitions to a
    final state, and those on `handoff.offered.…`, by which the work comes back, are left alone.
    """
    graph = analysis.graph
    away = frozenset(_given_away(analysis))
    for node in graph.nodes.values():
        inside = [state for state in graph.nodes if state in away and node.name in graph.nodes[state].ancestors]
        for edge in node.edges if inside else ():
            left = [state for state in inside if _is_second_owner(graph, edge, state, away)]
            if left:
                problem = f"it also leaves {_listed(left)}, where the work is another agent's by then"
                remedy = f"let it leave the states that have the work, instead of {_whole(edge)}"
                yield f"transition {edge.label!r}", problem, remedy


def _given_away(analysis: Analysis) -> Iterator[StateName]:
    """Yield the leaves to which the acceptance of a transfer leads.

    A handoff that an action offers in code is not declared; it is a transfer if the leaf waits for no result.
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
    """Whether the transition can take the agent from a leaf where the work is away to one where it is not."""
    if edge.event is None or all(word.split(".")[0] == "handoff" for word in words_of(edge.event)):
        return False
    leaves = [leaf for target in edge.targets for leaf in begun(graph, target)]
    if all(leaf in away or is_end(graph, leaf) for leaf in leaves):
        return False
    # Inner states are asked first: what they take without a guard never comes to the outer one.
    line = (state, *graph.nodes[state].ancestors)
    inner = [each for name in line[: line.index(edge.source)] for each in graph.nodes[name].edges]
    taken = [words_of(each.event) for each in inner if each.event is not None and each.ask is None]
    return not all(any(is_taken(word, words) for words in taken) for word in words_of(edge.event))


def _whole(edge: Edge) -> str:
    return "any" if edge.source == ROOT else f"all of {edge.source!r}"


def place_of(state: StateName, edge: Edge | None) -> str:
    """Return where a handoff is declared, as findings name it."""
    return f"state {state!r}" if edge is None else f"transition {edge.label!r}"


def _listed(names: Iterable[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last
