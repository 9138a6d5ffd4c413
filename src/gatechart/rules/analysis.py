"""Facts about a graph for the rules: targets of transitions, events that take them, and waits for handoffs.

All facts hold for any result of the guards, and any memory of the history states.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from gatechart.graph.compile import ROOT, DeclaredHandoff, Edge, Kind, Node, askings
from gatechart.graph.definition import Allow, EntryPoint, Precedence, Recall
from gatechart.graph.descriptors import prefixes_of, words_of
from gatechart.graph.graph import AnyGraph
from gatechart.graph.precedence import broader
from gatechart.graph.signals import Signals
from gatechart.kernel.entry import entry_of
from gatechart.kernel.tree import Tree
from gatechart.values.handoffs import Mode
from gatechart.values.names import EventName, StateName
from gatechart.values.profiles import Candidate


@dataclass(frozen=True, slots=True)
class TransitionPath:
    """A transition with the states that it leaves and enters."""

    edge: Edge
    domain: StateName | None  # the innermost state that stays active around all states left; None if none is left
    enters: frozenset[StateName]  # without memory; includes the history states among its targets

    def stays_in(self, state: StateName) -> bool:
        """Whether the transition's source stays active, without being left and entered again."""
        return self.domain is None or self.domain == state


Ways: TypeAlias = Mapping[StateName, tuple[TransitionPath, ...]]  # by source


@dataclass(frozen=True, slots=True)
class Wait:
    """The leaves where an agent waits for the answer to a handoff: its turn ends in one of them."""

    asking: DeclaredHandoff
    edge: Edge | None  # the transition that requests the handoff; None for a handoff on entry, or by an invoke
    leaves: tuple[StateName, ...]
    home: StateName = ""  # the state that the agent does not leave, if the transition has no targets


@dataclass(frozen=True)
class Analysis:
    """A graph with the facts that several rules need, computed once.

    among: the graphs that may receive handoffs; None if unknown.
    registered: other candidates in the directory.
    allow, findings: the allowances of the graph, and code and place of the other rules' findings, for the rules about
    allowances.
    """

    graph: AnyGraph
    among: Sequence[AnyGraph] | None = None
    registered: tuple[Candidate, ...] = ()
    allow: tuple[Allow, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()

    @cached_property
    def ways(self) -> Ways:
        """All transitions that can be taken, by source."""
        return {node.name: _ways(self.graph, node) for node in self.graph.nodes.values()}

    @cached_property
    def reached(self) -> Mapping[str, frozenset[StateName]]:
        """The states that each entry point leads to, by its name; see `reach`."""
        entries = self.graph.entry_points
        # Entry points into the same state lead to the same states, so each state is searched once.
        by_state = {state: self._follow(state) for state in {entry.state for entry in entries.values()}}
        return {name: by_state[entry.state] for name, entry in entries.items()}

    @cached_property
    def doors(self) -> tuple[tuple[AnyGraph, EntryPoint], ...]:
        """The entry points of all known graphs, each with its graph; empty if the graphs are unknown."""
        return tuple((graph, entry) for graph in self.among or () for entry in graph.entry_points.values())

    @cached_property
    def waits(self) -> tuple[Wait, ...]:
        """One wait for each declared handoff; for a handoff on exit, one for each transition that leaves the state."""
        return tuple(_waits(self.graph))

    @cached_property
    def handed_over(self) -> frozenset[StateName]:
        """The leaves where an agent ends when its transfer is accepted."""
        return frozenset(
            leaf
            for wait in self.waits
            if wait.asking.handoff.mode is Mode.TRANSFER
            for leaf in wait.leaves
            if not handles(self.graph, leaf, "handoff.accepted")
        )

    def reached_from(self, state: StateName, avoiding: Set[StateName] = frozenset()) -> frozenset[StateName]:
        """Return the states that are reachable from a state, including the state itself; see `reach`.

        avoiding: states that no transition of the path may enter.
        """
        return self._follow(state, avoiding)

    def may_avoid(self, avoiding: Set[StateName], step: Set[StateName]) -> bool:
        """Return whether a step can avoid entering any of the given states.

        step: the states that it enters. A history state among them may enter other states instead.
        """
        return step.isdisjoint(avoiding) or any(self.graph.nodes[name].kind is Kind.HISTORY for name in step)

    def _follow(self, first: StateName, avoiding: Set[StateName] = frozenset()) -> frozenset[StateName]:
        seen = {ROOT, *entered(self.graph, (first,), ROOT)}
        waiting = list(seen)
        while waiting:
            state = waiting.pop()
            for step in (*(way.enters for way in self.ways[state]), *_recalled(self.graph, state, seen)):
                if self.may_avoid(avoiding, step):
                    waiting += step - seen
                    seen |= step
        return frozenset(seen - {ROOT})


def reach(graph: AnyGraph) -> Mapping[str, tuple[StateName, ...]]:
    """Return the reachable states of each entry point, by its name, in document order.

    History states are included if a transition targets them. Guards are assumed to hold and events to arrive, and the
    search follows single states rather than configurations. So a missing state is never active. A listed state may
    still be unreachable, if it needs two regions in states that are never active together.
    Cost: linear in the transitions for each entry point.
    """
    reached = Analysis(graph).reached
    names = {door: tuple(name for name in graph.nodes if name in states) for door, states in reached.items()}
    return MappingProxyType(names)


# Events


def is_taken(name: EventName, words: Collection[EventName]) -> bool:
    """Return whether one of the words matches the event, or every event that `name` matches as a descriptor.

    The cost is one look-up for each word of the name, for any number of words.

    >>> is_taken("error.tool", {"error"}), is_taken("errors", {"error"}), is_taken("errors", {"*"})
    (True, False, True)
    """
    return any(prefix in words for prefix in prefixes_of(name))


def handles(graph: AnyGraph, leaf: StateName, event: EventName) -> bool:
    """Return whether a state that can be active together with the leaf has a transition for the event."""
    return any(
        edge.event is not None and is_taken(event, words_of(edge.event)) and is_together(graph, node.name, leaf)
        for node in graph.nodes.values()
        for edge in node.edges
    )


# States


def is_together(graph: AnyGraph, state: StateName, other: StateName) -> bool:
    """Return whether two states can be active at once: one contains the other, or they are in different regions."""
    line, other_line = ((name, *graph.nodes[name].ancestors) for name in (state, other))
    common = next(name for name in line if name in other_line)
    return common in (state, other) or graph.nodes[common].kind is Kind.PARALLEL


def is_in(graph: AnyGraph, state: StateName, outer: StateName) -> bool:
    """Return whether the state is the outer one or inside it."""
    return outer in (state, *graph.nodes[state].ancestors)


def is_end(graph: AnyGraph, leaf: StateName) -> bool:
    """Return whether the agent ends in the leaf; False if other regions must end as well."""
    node = graph.nodes[leaf]
    return node.kind is Kind.FINAL and (node.is_end or graph.nodes[node.parent].is_end)


def has_part_in_an_end(graph: AnyGraph, leaf: StateName) -> bool:
    """Return whether the leaf is a final state that ends the agent, alone or together with other regions."""
    node = graph.nodes[leaf]
    return node.kind is Kind.FINAL and any(graph.nodes[name].is_end for name in (leaf, *node.ancestors))


def begun(graph: AnyGraph, state: StateName) -> Iterator[StateName]:
    """Yield the initial leaves of a state."""
    node = graph.nodes[state]
    if node.kind.is_leaf:
        yield state
        return
    inside = node.children if node.kind is Kind.PARALLEL else node.default.targets if node.default else ()
    for child in inside:
        yield from begun(graph, child)


def entered(graph: AnyGraph, targets: tuple[StateName, ...], domain: StateName) -> frozenset[StateName]:
    """Return the states entered for the targets inside the domain, if history states have no memory."""
    stays = frozenset((domain, *graph.nodes[domain].ancestors))
    entry = entry_of(Tree(graph.nodes, ()), [(targets, domain)], stays)
    return frozenset((*entry.states, *entry.unremembered))


def _recalled(graph: AnyGraph, state: StateName, seen: set[StateName]) -> Iterator[frozenset[StateName]]:
    """Yield the states entered through a shallow history state and a state that it may remember, once both are seen.

    A deep history state remembers leaves that were active together with their ancestors, so it adds no state.
    """
    node = graph.nodes[state]
    if node.kind is Kind.HISTORY:
        if node.recall is Recall.SHALLOW:
            for child in graph.nodes[node.parent].children:
                if child in seen:
                    yield entered(graph, (child,), node.parent)
    elif node.ancestors:
        histories = graph.nodes[node.parent].histories
        if any(name in seen and graph.nodes[name].recall is Recall.SHALLOW for name in histories):
            yield entered(graph, (state,), node.parent)


# Transitions


def shadowed(graph: AnyGraph, node: Node) -> Iterator[tuple[Edge, Edge]]:
    """Yield each transition of the state that is never taken, with an earlier one that always pre-empts it.

    A transition of an outer state for the same event is not shadowed: it serves the other states inside. Cost: linear.
    """
    is_in_order = graph.precedence is Precedence.DOCUMENT
    always: dict[EventName, Edge] = {}  # "" for no event; an exact spelling ends with a space
    for edge in sorted(node.edges, key=lambda edge: not is_in_order and edge.is_fallback):
        before = [_first(always, edge, word, is_in_order=is_in_order) for word in _spellings(edge)]
        if before[0] is not None and all(before):
            yield edge, before[0]
        elif edge.ask is None:
            for word in _spellings(edge):
                always.setdefault(word, edge)
                always.setdefault(word.rstrip(), edge)


def _spellings(edge: Edge) -> tuple[EventName, ...]:
    """Return the words of the descriptor. Words without `.*` match the exact event first, so they end with a space."""
    if edge.event is None:
        return ("",)
    if edge.is_exact:
        return (f"{edge.event} ",)
    return tuple(
        f"{word} " if word == spelled else word
        for word, spelled in zip(words_of(edge.event), edge.event.split(), strict=True)
    )


def _first(always: Mapping[EventName, Edge], edge: Edge, word: EventName, *, is_in_order: bool) -> Edge | None:
    """Return an unguarded transition that comes before this one for every event that the word matches."""
    if not word:
        return always.get("")
    same = word.rstrip()
    if is_in_order:
        return next((always[match] for match in broader(same) if match in always), None)
    if word in always:
        return always[word]
    if not edge.is_fallback:
        return None
    return next((always[match] for match in broader(same) if match in always and not always[match].is_fallback), None)


def _ways(graph: AnyGraph, node: Node) -> tuple[TransitionPath, ...]:
    never = {edge for edge, _ in shadowed(graph, node)}
    return tuple(_way(graph, edge) for edge in node.edges if edge not in never)


def _way(graph: AnyGraph, edge: Edge) -> TransitionPath:
    if not edge.targets:
        return TransitionPath(edge, None, frozenset())
    domain = outermost_domain(graph, edge)
    return TransitionPath(edge, domain, entered(graph, edge.targets, domain))


def outermost_domain(graph: AnyGraph, edge: Edge) -> StateName:
    """Return a state that contains the transition's domain for any memory of its history states.

    A history state represents states beside it or inside them. So a state that contains it contains all of them.
    """
    themselves = tuple((name, (name,)) for name in edge.targets if graph.nodes[name].kind is Kind.HISTORY)
    return Tree(graph.nodes, themselves).domain(edge)


# Handoffs


def _waits(graph: AnyGraph) -> Iterator[Wait]:
    for asking in askings(graph.nodes):
        if asking.edge is not None:
            yield _wait_after(graph, asking, asking.edge)
        elif asking.is_left:
            yield from (_wait_after(graph, asking, edge) for edge in _leaving(graph, asking.state))
        else:
            yield Wait(asking, None, _rests(graph, _entered_with(graph, asking.state)))


def _wait_after(graph: AnyGraph, asking: DeclaredHandoff, edge: Edge) -> Wait:
    if edge.targets:
        return Wait(asking, edge, _rests(graph, (leaf for target in edge.targets for leaf in begun(graph, target))))
    stays = (name for name, node in graph.nodes.items() if node.kind is Kind.ATOMIC and is_in(graph, name, edge.source))
    return Wait(asking, edge, tuple(stays), home=edge.source)


def _leaving(graph: AnyGraph, left: StateName) -> Iterator[Edge]:
    """Yield the transitions that leave a state."""
    for node in graph.nodes.values():
        for edge in node.edges:
            if edge.targets and _is_left(graph, edge, left):
                yield edge


def _is_left(graph: AnyGraph, edge: Edge, left: StateName) -> bool:
    if edge.source == left:
        return not edge.internal or not all(is_in(graph, target, left) for target in edge.targets)
    if is_in(graph, edge.source, left):
        return any(target == left or not is_in(graph, target, left) for target in edge.targets)
    return is_in(graph, left, edge.source)


def _entered_with(graph: AnyGraph, state: StateName) -> Iterator[StateName]:
    """Yield the leaves that can be active after the state is entered."""
    yield from begun(graph, state)
    aims = [target for node in graph.nodes.values() for edge in node.edges for target in _aims(graph, edge, state)]
    aims += [door.state for door in graph.entry_points.values()]
    for aim in dict.fromkeys(aims):
        if aim != state and is_in(graph, aim, state):
            yield from begun(graph, aim)


def _aims(graph: AnyGraph, edge: Edge, state: StateName) -> tuple[StateName, ...]:
    """Return the transition's targets if it may enter the state; else an empty tuple."""
    stays = is_in(graph, edge.source, state) and (edge.internal or edge.source != state)
    return () if stays else edge.targets


def _rests(graph: AnyGraph, leaves: Iterable[StateName]) -> tuple[StateName, ...]:
    """Return the leaves where a turn that reaches the given leaves can end, after transitions within the turn."""
    can_rest: dict[StateName, bool] = {}
    ahead = list(leaves)
    while ahead:
        leaf = ahead.pop(0)
        if leaf not in can_rest:
            onward = list(_onward(graph, leaf))
            can_rest[leaf] = all(edge.ask is not None for edge in onward)
            ahead += [initial for edge in onward for target in edge.targets for initial in begun(graph, target)]
    return tuple(leaf for leaf, rests in can_rest.items() if rests)


def _onward(graph: AnyGraph, leaf: StateName) -> Iterator[Edge]:
    """Yield the transitions taken within the turn: eventless ones, and ones on the completion of a state."""
    node = graph.nodes[leaf]
    done = f"done.state.{node.parent}" if node.kind is Kind.FINAL and node.parent != ROOT else None
    for name in (leaf, *node.ancestors):
        for edge in graph.nodes[name].edges:
            if edge.event is None or (done is not None and is_taken(done, words_of(edge.event))):
                yield edge


def declared_signals(graph: AnyGraph) -> Iterator[tuple[str, Signals]]:
    """Yield the signals of the graph and of its entry points, with the places of their declarations."""
    if graph.signals is not None:
        yield "signals", graph.signals
    for door in graph.entry_points.values():
        if door.signals is not None:
            yield f"entry point {door.name!r}, signals", door.signals
