"""Plans of microsteps: exits, actions and entries. Pure; each plan is computed once and cached.

Source: W3C SCXML, Appendix D, https://www.w3.org/TR/scxml/: `removeConflictingTransitions`, `exitStates`,
`enterStates`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from gatechart.graph.callables import ActionCall
from gatechart.graph.compile import ROOT, Edge, Kind
from gatechart.graph.definition import Recall
from gatechart.graph.graph import AnyGraph
from gatechart.kernel.entry import Entry, entry_of
from gatechart.kernel.select import Configuration
from gatechart.kernel.tree import Tree
from gatechart.values.frozen import value
from gatechart.values.names import EventName, Memory, StateName


@value
class Block:
    """A block of actions: when one raises, the rest of its block is skipped."""

    place: str
    steps: tuple[ActionCall, ...]
    active: frozenset[StateName]  # the active states while it runs, without the root


@value
class Done:
    """The event to raise when a state ends."""

    event: EventName
    data: ActionCall | None
    active: frozenset[StateName] = frozenset()  # the active states while the data function runs


Deed: TypeAlias = Block | Done


@value
class Plan:
    """Everything that a microstep does, in order."""

    taken: tuple[Edge, ...]  # without preempted transitions
    labels: tuple[str, ...]  # labels of the taken transitions
    exits: tuple[StateName, ...]  # inner states first
    entries: tuple[StateName, ...]  # outer states first
    deeds: tuple[Deed, ...]  # exits, transitions, entries; blocks without actions left out
    configuration: Configuration  # the active leaves after it
    memory: Memory  # memory of the history states after it
    is_final: bool  # the agent has ended after it
    has_eventless: bool  # active states have eventless transitions after it
    left: tuple[StateName, ...]  # exited states with timers or invokes, which end
    attended: tuple[StateName, ...]  # entered states with timers or invokes, which start


def plan_microstep(graph: AnyGraph, configuration: Configuration, memory: Memory, enabled: tuple[Edge, ...]) -> Plan:
    """Return the plan for taking the enabled transitions together, without conflicting ones."""
    key = (configuration, memory, enabled)
    remembered: Plan | None = graph.memo.get(key)
    if remembered is None:
        remembered = _plan(Tree(graph.nodes, memory), configuration, enabled)
        graph.memo[key] = remembered
    return remembered


def plan_entry(graph: AnyGraph, targets: Sequence[StateName]) -> Plan:
    """Return the plan for starting: enter the targets with their ancestors and initial descendants."""
    key = (tuple(targets),)
    remembered: Plan | None = graph.memo.get(key)
    if remembered is None:
        tree = Tree(graph.nodes, ())
        remembered = _assemble(tree, frozenset(), (), (), entry_of(tree, [(*key, ROOT)], frozenset({ROOT})))
        graph.memo[key] = remembered
    return remembered


def _plan(tree: Tree, configuration: Configuration, enabled: Sequence[Edge]) -> Plan:
    active = tree.with_ancestors(configuration) - {ROOT}
    taken = _without_conflicts(tree, active, enabled)
    exits = sorted(
        {state for edge in taken for state in _exit_set(tree, active, edge)}, key=tree.order_of, reverse=True
    )
    # A history state entered in this microstep already recalls the states that it exits.
    tree = Tree(tree.nodes, _remember(tree, active, exits))
    entry = entry_of(tree, _aims(tree, taken), (active | {ROOT}) - set(exits))
    return _assemble(tree, active, taken, exits, entry)


def _aims(tree: Tree, taken: Sequence[Edge]) -> Iterator[tuple[tuple[StateName, ...], StateName]]:
    """Yield the targets of each transition with its domain.

    Skip internal transitions from a leaf to itself: they enter nothing, even if another region exits the leaf in the
    same microstep.
    """
    for edge in taken:
        if edge.targets and not tree.nodes[domain := tree.domain(edge)].kind.is_leaf:
            yield edge.targets, domain


def _without_conflicts(tree: Tree, active: frozenset[StateName], enabled: Sequence[Edge]) -> tuple[Edge, ...]:
    """Drop one of two transitions that would exit the same state: the inner source wins, else the one enabled first."""
    kept: list[Edge] = []
    for edge in dict.fromkeys(enabled):
        exits = _exit_set(tree, active, edge)
        conflicting = [other for other in kept if not exits.isdisjoint(_exit_set(tree, active, other))]
        if all(tree.is_inside(edge.source, other.source) for other in conflicting):
            kept = [other for other in kept if other not in conflicting] + [edge]
    return tuple(kept)


def _exit_set(tree: Tree, active: frozenset[StateName], edge: Edge) -> frozenset[StateName]:
    if not edge.targets:
        return frozenset()
    domain = tree.domain(edge)
    return frozenset(state for state in active if tree.is_inside(state, domain))


def _assemble(
    tree: Tree, active: frozenset[StateName], taken: Sequence[Edge], exits: Sequence[StateName], entry: Entry
) -> Plan:
    stays = active - set(exits)
    after = stays | set(entry.states)
    leaves = tuple(sorted((state for state in after if tree.nodes[state].kind.is_leaf), key=tree.order_of))
    end = tree.end_among(after)
    deeds = (
        *_exit_blocks(tree, active, exits),
        *(Block(f"transition {edge.label}", edge.steps, stays) for edge in taken),
        *_entry_deeds(tree, stays, entry),
        *_end_blocks(tree, after, end),
    )
    return Plan(
        taken=tuple(taken),
        labels=tuple(edge.label for edge in taken),
        exits=tuple(exits),
        entries=entry.states,
        deeds=tuple(deed for deed in deeds if isinstance(deed, Done) or deed.steps),
        configuration=leaves,
        memory=tree.memory,
        is_final=end is not None,
        has_eventless=any(edge.event is None for state in after | {ROOT} for edge in tree.nodes[state].edges),
        left=tuple(state for state in exits if tree.nodes[state].is_attended),
        attended=tuple(state for state in entry.states if tree.nodes[state].is_attended),
    )


def _exit_blocks(tree: Tree, active: frozenset[StateName], exits: Sequence[StateName]) -> Iterator[Block]:
    for state in exits:
        yield Block(f"on_exit of {state}", tree.nodes[state].on_exit, active)
        active -= {state}


def _end_blocks(tree: Tree, active: frozenset[StateName], end: StateName | None) -> Iterator[Block]:
    """Yield the exit blocks of a state that ends the agent. A final leaf is not exited."""
    if end is not None and not tree.nodes[end].kind.is_leaf:
        yield from _exit_blocks(tree, active, sorted(active - {ROOT}, key=tree.order_of, reverse=True))


def _entry_deeds(tree: Tree, active: frozenset[StateName], entry: Entry) -> Iterator[Deed]:
    if ROOT in entry.by_default:
        yield from _default_blocks(tree, active, ROOT, entry)
    for state in entry.states:
        active |= {state}
        node = tree.nodes[state]
        yield Block(f"on_entry of {state}", node.on_entry, active)
        yield from _default_blocks(tree, active, state, entry)
        if node.kind is Kind.FINAL and node.parent != ROOT:
            yield from _done(tree, active, state)


def _default_blocks(tree: Tree, active: frozenset[StateName], state: StateName, entry: Entry) -> Iterator[Block]:
    """Yield the default blocks of a state, and of its history states without memory."""
    node = tree.nodes[state]
    if state in entry.by_default and node.default:
        yield Block(f"initial of {state}", node.default.steps, active)
    for history in entry.unremembered:
        default = tree.nodes[history].default
        if tree.nodes[history].parent == state and default:
            yield Block(f"default of {history}", default.steps, active)


def _done(tree: Tree, active: frozenset[StateName], final: StateName) -> Iterator[Done]:
    """Yield the ends caused by entering a final state: of its parent, then of the parallel states around the parent."""
    parent = tree.nodes[tree.nodes[final].parent]
    yield Done(f"done.state.{parent.name}", tree.nodes[final].data, active)
    for outer in parent.ancestors:
        if tree.nodes[outer].kind is not Kind.PARALLEL or not tree.is_done(outer, active):
            return
        yield Done(f"done.state.{outer}", None)


def _remember(tree: Tree, active: frozenset[StateName], exits: Sequence[StateName]) -> Memory:
    """Return the memory, updated with the active states inside each exited state that has history states."""
    memory = dict(tree.memory)
    for state in exits:
        for history in tree.nodes[state].histories:
            deep = tree.nodes[history].recall is Recall.DEEP
            inside = tree.leaves_inside(state, active) if deep else tree.children_active(state, active)
            memory[history] = tuple(sorted(inside, key=tree.order_of))
    return tuple(sorted(memory.items(), key=lambda item: tree.order_of(item[0])))
