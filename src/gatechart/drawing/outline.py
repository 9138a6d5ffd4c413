"""The outline of a graph for drawing: its states, arrows and doors, with the active states and the trail. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from gatechart.drawing.naming import (
    best_text,
    event_text,
    guard_text,
    invoke_text,
    is_escape,
    is_signal,
    plan_lines,
    titles_of,
    transfers_text,
    with_payload,
)
from gatechart.drawing.shapes import Arrow, Box, Door, Handing, Outline, TransitionLabel
from gatechart.drawing.text import function_text
from gatechart.drawing.trail import DrawnTrail, active_states, read_trail
from gatechart.graph.callables import ActionCall, callable_name
from gatechart.graph.compile import ROOT, Edge, Kind, Node, askings
from gatechart.graph.definition import EntryPoint, State
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import Handoff, SameTarget
from gatechart.graph.selection import Best
from gatechart.graph.transfer_edges import TransferRole
from gatechart.values.agents import Snapshot
from gatechart.values.delays import delay_text
from gatechart.values.names import StateName
from gatechart.values.queries import HistoryEntry
from gatechart.values.transfers import TransferCounts

_INSTEAD: Final = (TransferRole.REPLACED, TransferRole.ENDED)  # roles of transitions taken in place of a choice


def outline(
    graph: AnyGraph,
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
    payloads: bool = False,
) -> Outline:
    """Return the outline of a graph, with the active states of `highlight` and the transitions taken in `trail`.

    payloads: whether declared events are written with the payloads that they take.
    Raises UnknownGraphError, UnknownStateError and DrawingError where these do not fit the graph.
    """
    active, counts = active_states(graph, highlight), None if highlight is None else highlight.transfers
    return _OutlineBuilder(graph, active, read_trail(graph, trail), counts, payloads=payloads).outline()


class _OutlineBuilder:
    """Builds the outline of one graph, with the past of an agent."""

    def __init__(
        self,
        graph: AnyGraph,
        active: frozenset[StateName],
        trail: DrawnTrail,
        counts: TransferCounts | None,
        *,
        payloads: bool,
    ) -> None:
        self.graph = graph
        self.payloads = payloads
        self.active = active
        self.trail = trail
        self.counts = counts  # transfers of the highlighted agent; None without one
        self.titles = titles_of(graph.nodes)
        declared = (graph.signals, *(door.signals for door in graph.entry_points.values()))
        self.signals = frozenset(signal.name for signals in declared if signals for signal in signals.signals)

    def outline(self) -> Outline:
        """Return the whole drawing."""
        graph = self.graph
        return Outline(
            name=graph.name,
            version=graph.version,
            description=graph.description,
            boxes=tuple(map(self.box, graph.tree)),
            parts=self.parts_inside(graph.nodes[ROOT]),
            arrows=self.arrows(),
            doors=tuple(door_of(graph, entry, self.trail) for entry in graph.entry_points.values()),
            handings=self.handings(),
            has_trail=bool(self.trail.passages or self.trail.visited),
            plan=plan_lines(graph.escape, self.signals),
        )

    def box(self, state: State[Any]) -> Box:
        """Return a state with everything inside it."""
        node = self.graph.nodes[state.name]
        return Box(
            name=node.name,
            title=self.titles[node.name],
            kind=node.kind,
            description=state.description,
            on_entry=_names(node.on_entry),
            on_exit=_names(node.on_exit),
            does=tuple(invoke_text(invoke, node) for invoke in node.invokes),
            parts=self.parts_inside(node),
            initial=node.default.targets if node.default and node.kind is Kind.COMPOUND else (),
            recall=node.recall,
            boxes=tuple(map(self.box, state.states)),
            is_active=node.name in self.active,
            is_visited=node.name in self.trail.visited,
            is_failure=node.failed,
            defers=node.defers,
            expects="" if node.expects is None else delay_text(node.expects),
            transfers=transfers_text(node, self.counts),
            is_checkpoint=node.checkpoint,
            plan=plan_lines(node.escape, self.signals),
        )

    def arrows(self) -> tuple[Arrow, ...]:
        """Return one arrow for each two states that transitions connect, in document order."""
        parts: dict[tuple[StateName, StateName], list[TransitionLabel]] = {}
        for node in self.graph.nodes.values():
            for edge in (edge for edge in node.edges if edge.role not in _INSTEAD):
                for target in _drawn_targets(self.graph, edge):
                    reenters = _reentered(self.graph, edge, target)
                    parts.setdefault((edge.source, target), []).append(self.part(node, edge, reenters))
            if node.transfers is not None:
                parts.setdefault((node.name, node.transfers.otherwise), []).append(self.otherwise(node))
            if node.kind is Kind.HISTORY and node.default:
                for target in node.default.targets:
                    parts.setdefault((node.name, target), []).append(TransitionLabel("at first"))
        return tuple(_arrow(self.graph, source, target, tuple(grouped)) for (source, target), grouped in parts.items())

    def parts_inside(self, node: Node) -> tuple[TransitionLabel, ...]:
        """Return the transitions that leave no state and enter none that an arrow could point to."""
        return tuple(
            self.part(node, edge)
            for edge in node.edges
            if not edge.targets or (edge.internal and node.name in edge.targets and node.default is None)
            if edge.role is None or self.trail.along(edge.label)
        )

    def otherwise(self, node: Node) -> TransitionLabel:
        """Return one part for all transitions that are taken in place of a choice."""
        places = {place for edge in node.edges if edge.role in _INSTEAD for place in self.trail.along(edge.label)}
        return TransitionLabel("otherwise", places=tuple(sorted(places)), is_transfer=True)

    def part(self, node: Node, edge: Edge, reenters: StateName | None = None) -> TransitionLabel:
        """Return a transition in words. reenters: the compound state that it leaves and enters again."""
        event = event_text(node, edge, self.graph.nodes, self.titles)
        if self.payloads and edge.event is not None:
            event = with_payload(event, self.graph.event_types)
        again = None if reenters is None else self.titles[reenters]
        places, chosen = self.trail.along(edge.label), edge.role is not None
        marks = {"is_signal": is_signal(edge.event), "is_escape": is_escape(edge.event)}
        return TransitionLabel(event, guard_text(node, edge), _names(edge.steps), again, places, chosen, **marks)

    def handings(self) -> tuple[Handing, ...]:
        """Return one handing for each pair of state and target entry point, in document order."""
        words: dict[tuple[StateName, str, str], dict[str, None]] = {}
        places: dict[tuple[StateName, str, str], set[int]] = {}
        for asking in askings(self.graph.nodes):
            for name, at, way in _ways(asking.handoff):
                key = (asking.state, name, at)
                words.setdefault(key, {})[way] = None
                places.setdefault(key, set()).update(self.trail.along(asking.edge.label) if asking.edge else ())
        return tuple(Handing(*key, tuple(ways), tuple(sorted(places[key]))) for key, ways in words.items())


def _ways(handoff: Handoff) -> Iterator[tuple[str, str, str]]:
    """Yield graph, entry point and words of the target, then of its fallbacks; a selection has its title and needs."""
    mode = handoff.mode.value
    yield *((handoff.target, handoff.at) if handoff.best is None else best_text(handoff.best)), mode
    for step in handoff.fallbacks.steps if handoff.fallbacks else ():
        if not isinstance(step, SameTarget):
            yield *(best_text(step) if isinstance(step, Best) else (step.graph, step.at)), f"else {mode}"


def door_of(graph: AnyGraph, entry: EntryPoint, trail: DrawnTrail) -> Door:
    """Return the door of an entry point. The root has no box, so its door leads to the graph's first initial state."""
    begins = graph.nodes[ROOT].default
    return Door(
        name=entry.name,
        state=begins.targets[0] if entry.state == ROOT and begins else entry.state,
        triggers=entry.opens_on,
        takes=entry.takes.__name__ if entry.takes else "",
        guard=function_text(callable_name(entry.guard)) if entry.guard else "",
        places=trail.through(entry.name),
    )


def _arrow(graph: AnyGraph, source: StateName, target: StateName, parts: tuple[TransitionLabel, ...]) -> Arrow:
    around = (*((source,) if graph.nodes[source].children else ()), *graph.nodes[source].ancestors)
    line = (target, *graph.nodes[target].ancestors)
    home = next(state for state in around if state in line)
    is_inner = source != ROOT and home == source
    return Arrow(source, target, parts, home, is_inner)


def _drawn_targets(graph: AnyGraph, edge: Edge) -> tuple[StateName, ...]:
    """Return the states that arrows point to. None for a transition that leaves no state: its box shows it."""
    if edge.internal and edge.source in edge.targets:
        default = graph.nodes[edge.source].default
        return default.targets if default else ()  # entered by a compound state that is not left itself
    return edge.targets


def _reentered(graph: AnyGraph, edge: Edge, target: StateName) -> StateName | None:
    """Return the compound state that an external transition between it and its inside leaves and enters again."""
    if edge.internal or edge.source == ROOT:
        return None
    source, end = graph.nodes[edge.source], graph.nodes[target]
    if source.name in (end.name, *end.ancestors):
        return source.name if source.children else None
    return end.name if end.name in source.ancestors else None


def _names(steps: Sequence[ActionCall]) -> tuple[str, ...]:
    return tuple(function_text(step.name) for step in steps)
