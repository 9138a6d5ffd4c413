"""What is to be drawn of a graph: its states, arrows and doors, and which of them stand out in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gatechart.drawing.shapes import Arrow, Box, Card, Door, Handing, Map, Outline, Part
from gatechart.drawing.text import function_text
from gatechart.errors import DrawingError, UnknownGraphError, UnknownStateError
from gatechart.graph import (
    ROOT,
    AnyGraph,
    Edge,
    EntryPoint,
    Handoff,
    Kind,
    Node,
    State,
    StateTransitionGraph,
    Step,
    askings,
    callable_name,
)
from gatechart.kernel import Plan, plan_entry, plan_microstep
from gatechart.kernel.select import Configuration
from gatechart.values import HistoryEntry, Memory, Snapshot, StateName


@dataclass(frozen=True, slots=True)
class Passage:
    """One stretch of a way: through an entry point, or along a transition. The other of the two is empty."""

    place: int  # in the trail, counted from 1
    entry_point: str
    transition: str  # its label


@dataclass(frozen=True, slots=True)
class Trail:
    """The way that an agent took."""

    passages: tuple[Passage, ...] = ()
    visited: frozenset[StateName] = frozenset()

    def through(self, entry_point: str) -> tuple[int, ...]:
        """Return the places at which the agent came in here."""
        return tuple(passage.place for passage in self.passages if passage.entry_point == entry_point)

    def along(self, transition: str) -> tuple[int, ...]:
        """Return the places at which a transition with this label was taken."""
        return tuple(passage.place for passage in self.passages if passage.transition == transition)


def active_states(graph: AnyGraph, snapshot: Snapshot | None) -> frozenset[StateName]:
    """Return the active leaves and their ancestors; none without a snapshot.

    Raises DrawingError for what is no snapshot, UnknownGraphError for another graph's snapshot, UnknownStateError for a
    state that is not in the graph.
    """
    if snapshot is None:
        return frozenset()
    if not isinstance(snapshot, Snapshot):
        raise DrawingError(f"highlight is {snapshot!r}, which is not a Snapshot; pass an agent's `snapshot`")
    if snapshot.graph != graph.name:
        raise UnknownGraphError(snapshot.graph, (graph.name,))
    return _with_ancestors(graph, snapshot.configuration)


def read_trail(graph: AnyGraph, history: Sequence[HistoryEntry]) -> Trail:
    """Return the way that the turns of a history took, oldest first.

    Raises UnknownStateError and DrawingError where it tells of a state, an entry point or a transition that is not
    there.
    """
    labelled = _labelled(graph)
    passages: list[Passage] = []
    visited: frozenset[StateName] = frozenset()
    walk = _Walk(graph)
    place = 0
    for entry in history:
        visited |= _with_ancestors(graph, (*entry.source, *entry.target))
        if entry.entry_point:
            if entry.entry_point not in graph.entry_points:
                raise DrawingError(_unknown(graph, entry, f"came in at {entry.entry_point!r}"))
            place += 1
            passages.append(Passage(place, entry.entry_point, ""))
        walk.begin(entry)
        for label in entry.taken:
            edge = labelled.get(label)
            if edge is None:
                raise DrawingError(_unknown(graph, entry, f"took {label!r}"))
            place += 1
            passages.append(Passage(place, "", edge.label))
            walk.take(edge)
    return Trail(tuple(passages), visited | walk.passed)


def _labelled(graph: AnyGraph) -> dict[str, Edge]:
    """Return the transitions by their labels; older histories write the arrow of one without an event as `---->`."""
    edges = [edge for node in graph.nodes.values() for edge in node.edges]
    eventless = [edge for edge in edges if edge.event is None and edge.targets]
    older = {f"{edge.source} --{edge.label.removeprefix(f'{edge.source} ')}": edge for edge in eventless}
    return older | {edge.label: edge for edge in edges}


class _Walk:
    """The turns of an agent, taken again in the graph, for the states that it entered and left within one."""

    def __init__(self, graph: AnyGraph) -> None:
        self.passed: frozenset[StateName] = frozenset()
        self._graph = graph
        self._leaves: Configuration = ()
        self._memory: Memory = ()

    def begin(self, entry: HistoryEntry) -> None:
        """Begins a turn where the history says that it began."""
        self._leaves = entry.source
        if entry.entry_point:
            self._go(plan_entry(self._graph, (self._graph.entry_points[entry.entry_point].state,)))
        elif not entry.taken and entry.source != entry.target:
            self._memory = ()  # a rollback, or a migration, after which history states remember something else

    def take(self, edge: Edge) -> None:
        """Goes along a transition, unless the trail does not tell where a history state on the way leads."""
        self.passed |= frozenset({edge.source}) - {ROOT}
        nodes, known = self._graph.nodes, dict(self._memory)
        strange = any(nodes[target].kind is Kind.HISTORY and target not in known for target in edge.targets)
        if strange or edge.source not in {ROOT, *_with_ancestors(self._graph, self._leaves)}:
            self._leaves = ()
        else:
            self._go(plan_microstep(self._graph, self._leaves, self._memory, (edge,)))

    def _go(self, plan: Plan) -> None:
        self.passed |= frozenset(plan.entries) - {ROOT}
        self._leaves, self._memory = plan.configuration, plan.memory


def _with_ancestors(graph: AnyGraph, leaves: Sequence[StateName]) -> frozenset[StateName]:
    for leaf in leaves:
        if leaf == ROOT or leaf not in graph.nodes:
            raise UnknownStateError(graph.name, leaf, graph.states)
    return frozenset(state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors))


def _unknown(graph: AnyGraph, entry: HistoryEntry, way: str) -> str:
    return (
        f"agent {entry.agent_id!r} {way}, which {graph.name!r} version {graph.version!r} does not have; "
        "draw its history with the graph that it ran with"
    )


ELSE: Final = "else"
"""The guard of a transition that has none, but is asked after guarded ones on the same event."""


def outline(graph: AnyGraph, *, highlight: Snapshot | None = None, trail: Sequence[HistoryEntry] = ()) -> Outline:
    """Return the drawing of a graph, with what is active in `highlight` and the way that `trail` took.

    Raises UnknownGraphError, UnknownStateError and DrawingError where these do not fit the graph.
    """
    active, taken = active_states(graph, highlight), read_trail(graph, trail)
    return Outline(
        name=graph.name,
        version=graph.version,
        description=graph.description,
        boxes=tuple(_box(graph, state, active, taken) for state in graph.tree),
        parts=_parts_inside(graph.nodes[ROOT], taken),
        arrows=_arrows(graph, taken),
        doors=tuple(_door(graph, entry, taken) for entry in graph.entry_points.values()),
        handings=_handings(graph, taken),
        has_trail=bool(trail),
    )


def sketch(
    graph: AnyGraph | Sequence[AnyGraph],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
) -> Outline | Map:
    """Return the drawing of a graph, or the map of several. Raises what `outline` raises; a map shows no agent."""
    if isinstance(graph, StateTransitionGraph):
        return outline(graph, highlight=highlight, trail=trail)
    if highlight is not None or trail:
        raise DrawingError("a map of graphs shows no agent; draw the agent's graph alone")
    if not graph:
        raise DrawingError("no graph to draw; give one, or several for their map")
    return chart_map(graph)


def chart_map(graphs: Sequence[AnyGraph]) -> Map:
    """Return the map of several graphs; what is handed on to others leads to cards on which only the door stands."""
    known = {graph.name: graph for graph in graphs}
    handings = tuple(each for graph in known.values() for each in _handings(graph, read_trail(graph, ())))
    others = dict.fromkeys(each.graph for each in handings if each.graph not in known)
    cards = (_card(graph, handings) for graph in known.values())
    return Map((*cards, *(_strange_card(name, handings) for name in others)), handings)


def _card(graph: AnyGraph, handings: Sequence[Handing]) -> Card:
    nothing = read_trail(graph, ())
    doors = tuple(_door(graph, entry, nothing) for entry in graph.entry_points.values())
    missing = (each for each in _aimed_at(graph.name, handings) if each not in graph.entry_points)
    sources = dict.fromkeys(each.source for each in handings if each.origin == graph.name)
    strange = tuple(map(_strange_door, missing))
    return Card(graph.name, graph.version, graph.description, (*doors, *strange), tuple(sources))


def _strange_card(name: str, handings: Sequence[Handing]) -> Card:
    doors = tuple(map(_strange_door, _aimed_at(name, handings)))
    return Card(name, "", "", doors, (), is_known=False)


def _strange_door(name: str) -> Door:
    return Door(name, name, (), "", "", (), is_known=False)


def _aimed_at(graph: str, handings: Sequence[Handing]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.entry_point for each in handings if each.graph == graph))


def _handings(graph: AnyGraph, taken: Trail) -> tuple[Handing, ...]:
    """Return one for each state and each entry point to which it hands on, in document order."""
    words: dict[tuple[StateName, str, str], dict[str, None]] = {}
    places: dict[tuple[StateName, str, str], set[int]] = {}
    for asking in askings(graph.nodes):
        for name, at, way in _ways(asking.handoff):
            key = (asking.state, name, at)
            words.setdefault(key, {})[way] = None
            places.setdefault(key, set()).update(taken.along(asking.edge.label) if asking.edge else ())
    return tuple(Handing(graph.name, *key, tuple(ways), tuple(sorted(places[key]))) for key, ways in words.items())


def _ways(handoff: Handoff) -> Iterator[tuple[str, str, str]]:
    """Graph, entry point and words of the target, then of what is tried else."""
    yield handoff.to, handoff.at, handoff.mode.value
    for step in handoff.fallbacks.targets if handoff.fallbacks else ():
        yield step.graph, step.at, f"else {handoff.mode.value}"


def _box(graph: AnyGraph, state: State[Any], active: frozenset[StateName], taken: Trail) -> Box:
    node = graph.nodes[state.name]
    return Box(
        name=node.name,
        kind=node.kind,
        description=state.description,
        on_entry=_names(node.on_entry),
        on_exit=_names(node.on_exit),
        does=tuple(function_text(invoke.id) for invoke in node.invokes),
        parts=_parts_inside(node, taken),
        initial=node.default.targets if node.default and node.kind is Kind.COMPOUND else (),
        recall=node.recall,
        boxes=tuple(_box(graph, child, active, taken) for child in state.states),
        is_active=node.name in active,
        is_visited=node.name in taken.visited,
        is_failure=node.failed,
    )


def _door(graph: AnyGraph, entry: EntryPoint, taken: Trail) -> Door:
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


def _arrows(graph: AnyGraph, taken: Trail) -> tuple[Arrow, ...]:
    """Return one arrow for each two states that transitions connect, in document order."""
    parts: dict[tuple[StateName, StateName], list[Part]] = {}
    for node in graph.nodes.values():
        for edge in node.edges:
            for target in _drawn_targets(graph, edge):
                reenters = _reentered(graph, edge, target)
                parts.setdefault((edge.source, target), []).append(_part(node, edge, taken, reenters))
        if node.kind is Kind.HISTORY and node.default:
            for target in node.default.targets:
                parts.setdefault((node.name, target), []).append(Part("at first"))
    return tuple(_arrow(graph, source, target, tuple(several)) for (source, target), several in parts.items())


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


def _parts_inside(node: Node, taken: Trail) -> tuple[Part, ...]:
    """Return the transitions that leave nothing, and lead to nothing that an arrow could point to."""
    return tuple(
        _part(node, edge, taken)
        for edge in node.edges
        if not edge.targets or (edge.internal and node.name in edge.targets and node.default is None)
    )


def _part(node: Node, edge: Edge, taken: Trail, reenters: StateName | None = None) -> Part:
    guard = function_text(edge.ask.name) if edge.ask else _implied_guard(node, edge)
    return Part(_event_text(node, edge), guard, _names(edge.steps), reenters, taken.along(edge.label))


def _implied_guard(node: Node, edge: Edge) -> str:
    """Return `else` where guarded transitions on the same event are asked before."""
    earlier = node.edges[: node.edges.index(edge)]
    return ELSE if any(other.ask and other.event == edge.event for other in earlier) else ""


def _event_text(node: Node, edge: Edge) -> str:
    """Return the event in words: a delay as `after 30s`, the lack of an event as `always`."""
    if edge.event in dict(node.timers):
        return f"after {edge.event.removeprefix('after.').removesuffix(f'.{node.name}')}"
    return edge.event or "always"


def _names(steps: Sequence[Step]) -> tuple[str, ...]:
    return tuple(function_text(step.name) for step in steps)
