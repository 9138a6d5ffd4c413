"""What is to be drawn of a graph: its states, arrows and doors, and which of them stand out in which order. Pure."""

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
from gatechart.drawing.shapes import Arrow, Box, Door, Handing, Outline, Part
from gatechart.drawing.text import function_text
from gatechart.drawing.trail import Trail, active_states, read_trail
from gatechart.graph import (
    ROOT,
    AnyGraph,
    Best,
    Edge,
    EntryPoint,
    Handoff,
    Kind,
    Node,
    SameTarget,
    State,
    Step,
    TransferRole,
    askings,
    callable_name,
)
from gatechart.values import HistoryEntry, Snapshot, StateName, TransferCounts, delay_text

_INSTEAD: Final = (TransferRole.REPLACED, TransferRole.ENDED)  # roles of transitions in place of a choice


def outline(
    graph: AnyGraph,
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
    payloads: bool = False,
) -> Outline:
    """Return the drawing of a graph, with what is active in `highlight` and the way that `trail` took.

    payloads: whether declared events are written with the payloads that they take.
    Raises UnknownGraphError, UnknownStateError and DrawingError where these do not fit the graph.
    """
    active, counts = active_states(graph, highlight), None if highlight is None else highlight.transfers
    return _Sketch(graph, active, read_trail(graph, trail), counts, payloads=payloads).outline()


class _Sketch:
    """One graph and what its agent did, while its outline is made."""

    def __init__(
        self,
        graph: AnyGraph,
        active: frozenset[StateName],
        taken: Trail,
        counts: TransferCounts | None,
        *,
        payloads: bool,
    ) -> None:
        self.graph = graph
        self.payloads = payloads
        self.active = active
        self.taken = taken
        self.counts = counts  # of the transfers of the agent that is highlighted; None if none is
        self.titles = titles_of(graph.nodes)
        declared = (graph.signals, *(door.signals for door in graph.entry_points.values()))
        self.signals = frozenset(signal.name for some in declared if some for signal in some.signals)

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
            doors=tuple(door_of(graph, entry, self.taken) for entry in graph.entry_points.values()),
            handings=self.handings(),
            has_trail=bool(self.taken.passages or self.taken.visited),
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
            is_visited=node.name in self.taken.visited,
            is_failure=node.failed,
            defers=node.defers,
            expects="" if node.expects is None else delay_text(node.expects),
            transfers=transfers_text(node, self.counts),
            is_checkpoint=node.checkpoint,
            plan=plan_lines(node.escape, self.signals),
        )

    def arrows(self) -> tuple[Arrow, ...]:
        """Return one arrow for each two states that transitions connect, in document order."""
        parts: dict[tuple[StateName, StateName], list[Part]] = {}
        for node in self.graph.nodes.values():
            for edge in (edge for edge in node.edges if edge.role not in _INSTEAD):
                for target in _drawn_targets(self.graph, edge):
                    reenters = _reentered(self.graph, edge, target)
                    parts.setdefault((edge.source, target), []).append(self.part(node, edge, reenters))
            if node.transfers is not None:
                parts.setdefault((node.name, node.transfers.otherwise), []).append(self.otherwise(node))
            if node.kind is Kind.HISTORY and node.default:
                for target in node.default.targets:
                    parts.setdefault((node.name, target), []).append(Part("at first"))
        return tuple(_arrow(self.graph, source, target, tuple(each)) for (source, target), each in parts.items())

    def parts_inside(self, node: Node) -> tuple[Part, ...]:
        """Return the transitions that leave nothing, and lead to nothing that an arrow could point to."""
        return tuple(
            self.part(node, edge)
            for edge in node.edges
            if not edge.targets or (edge.internal and node.name in edge.targets and node.default is None)
            if edge.role is None or self.taken.along(edge.label)
        )

    def otherwise(self, node: Node) -> Part:
        """Return what follows in place of a choice: several transitions, in one word."""
        places = {place for edge in node.edges if edge.role in _INSTEAD for place in self.taken.along(edge.label)}
        return Part("otherwise", places=tuple(sorted(places)), is_transfer=True)

    def part(self, node: Node, edge: Edge, reenters: StateName | None = None) -> Part:
        """Return a transition in words. reenters: the compound state that it leaves and enters again."""
        event = event_text(node, edge, self.graph.nodes, self.titles)
        if self.payloads and edge.event is not None:
            event = with_payload(event, self.graph.event_types)
        again = None if reenters is None else self.titles[reenters]
        places, chosen = self.taken.along(edge.label), edge.role is not None
        marks = {"is_signal": is_signal(edge.event), "is_escape": is_escape(edge.event)}
        return Part(event, guard_text(node, edge), _names(edge.steps), again, places, chosen, **marks)

    def handings(self) -> tuple[Handing, ...]:
        """Return one for each state and each entry point to which it hands on, in document order."""
        words: dict[tuple[StateName, str, str], dict[str, None]] = {}
        places: dict[tuple[StateName, str, str], set[int]] = {}
        for asking in askings(self.graph.nodes):
            for name, at, way in _ways(asking.handoff):
                key = (asking.state, name, at)
                words.setdefault(key, {})[way] = None
                places.setdefault(key, set()).update(self.taken.along(asking.edge.label) if asking.edge else ())
        return tuple(Handing(*key, tuple(ways), tuple(sorted(places[key]))) for key, ways in words.items())


def _ways(handoff: Handoff) -> Iterator[tuple[str, str, str]]:
    """Graph, entry point and words of the target, then of what is tried else; of what chooses one, its own words."""
    mode = handoff.mode.value
    yield *((handoff.target, handoff.at) if handoff.best is None else best_text(handoff.best)), mode
    for step in handoff.fallbacks.steps if handoff.fallbacks else ():
        if not isinstance(step, SameTarget):
            yield *(best_text(step) if isinstance(step, Best) else (step.graph, step.at)), f"else {mode}"


def door_of(graph: AnyGraph, entry: EntryPoint, taken: Trail) -> Door:
    """Return where a door leads: the root has no box, so its door leads to the first state where the graph begins."""
    begins = graph.nodes[ROOT].default
    return Door(
        name=entry.name,
        state=begins.targets[0] if entry.state == ROOT and begins else entry.state,
        triggers=entry.opens_on,
        takes=entry.takes.__name__ if entry.takes else "",
        guard=function_text(callable_name(entry.guard)) if entry.guard else "",
        places=taken.through(entry.name),
    )


def _arrow(graph: AnyGraph, source: StateName, target: StateName, parts: tuple[Part, ...]) -> Arrow:
    around = (*((source,) if graph.nodes[source].children else ()), *graph.nodes[source].ancestors)
    line = (target, *graph.nodes[target].ancestors)
    home = next(state for state in around if state in line)
    is_inner = source != ROOT and home == source
    return Arrow(source, target, parts, home, is_inner)


def _drawn_targets(graph: AnyGraph, edge: Edge) -> tuple[StateName, ...]:
    """Return where arrows point; nowhere where nothing is left, so that the transition is written inside its state."""
    if edge.internal and edge.source in edge.targets:
        default = graph.nodes[edge.source].default
        return default.targets if default else ()  # what a compound state enters when it is not left itself
    return edge.targets


def _reentered(graph: AnyGraph, edge: Edge, target: StateName) -> StateName | None:
    """Return the compound state that an external transition between it and its inside leaves and enters again."""
    if edge.internal or edge.source == ROOT:
        return None
    source, end = graph.nodes[edge.source], graph.nodes[target]
    if source.name in (end.name, *end.ancestors):
        return source.name if source.children else None
    return end.name if end.name in source.ancestors else None


def _names(steps: Sequence[Step]) -> tuple[str, ...]:
    return tuple(function_text(step.name) for step in steps)
