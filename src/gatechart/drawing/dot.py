"""A graph, or a map of graphs, as Graphviz DOT: the same text for the same graph, on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gatechart.drawing.labels import Labels
from gatechart.drawing.language import Value, edge, identity, node, statement, tooltip
from gatechart.drawing.layout import Line, leaves_of, lines_of
from gatechart.drawing.legend import legend_table
from gatechart.drawing.map_dot import write_map_dot
from gatechart.drawing.palette import FONT, MEDIUM, Theme, Tone
from gatechart.drawing.shapes import Arrow, Box, Door, Handing, Map, Outline, TransitionLabel
from gatechart.drawing.sketch import DrawingStyle, look_of, sketch
from gatechart.graph.compile import ROOT, Kind
from gatechart.graph.definition import Recall
from gatechart.graph.graph import AnyGraph
from gatechart.values.agents import Snapshot
from gatechart.values.names import StateName
from gatechart.values.queries import HistoryEntry

# Edge weights: how hard Graphviz works to draw a line short and straight. A label stays near the source of a long line.
_FAR_HALF = 1
_NEAR_HALF = 2
_DIRECT = 5
_INITIAL = 20


def to_dot(
    graph: AnyGraph | Sequence[AnyGraph],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
    theme: str = "light",
    legend: bool = False,
    payloads: bool = False,
    loads: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the drawing of a graph as DOT text for Graphviz's `dot`; for several graphs, the map of their handoffs.

    highlight: its active states stand out. trail: turns, oldest first, whose transitions stand out and are numbered.
    theme: "light" or "dark". legend: whether to explain the signs that occur.
    payloads: whether to write declared events with their payloads.
    loads: texts for entry points on a map, such as their current work, by "graph.ENTRY_POINT".
    Raises UnknownGraphError, UnknownStateError and DrawingError if these do not fit the graph.
    """
    drawing = sketch(graph, highlight=highlight, trail=trail, payloads=payloads, loads=loads)
    return write_dot(drawing, look_of(theme, legend=legend))


def write_dot(drawing: Outline | Map, look: DrawingStyle = DrawingStyle(), **attributes: Value) -> str:  # noqa: B008  it is frozen
    """Return an outline, or a map, as DOT text. attributes: graph attributes, besides the usual ones."""
    if isinstance(drawing, Map):
        return write_map_dot(drawing, look, **attributes)
    boxes = {box.name: box for box in drawing.every_box()}
    return _outline(_Sheet(drawing, boxes, lines_of(drawing), look), attributes)


def _outline(sheet: _Sheet, attributes: Mapping[str, Value]) -> str:
    drawing = sheet.drawing
    body = [
        *_defaults(sheet, attributes),
        *(text for door in drawing.doors for text in _door(sheet, door)),
        *(text for box in drawing.boxes for text in _box(sheet, box, depth=0)),
        *_anywhere(sheet),
        *_labels(sheet, ROOT),
        *(_elsewhere(sheet, *target) for target in drawing.targets),
        *(text for line in sheet.lines for text in _line(sheet, line)),
        *(text for handing in drawing.handings for text in _handing(sheet, handing)),
    ]
    return "\n".join([f"digraph {node(identity(drawing.name))} {{", *_indented(body), "}", ""])


@dataclass(frozen=True, slots=True)
class _Sheet:
    drawing: Outline
    boxes: Mapping[StateName, Box]
    lines: Sequence[Line]
    look: DrawingStyle

    @property
    def theme(self) -> Theme:
        return self.look.theme

    @property
    def labels(self) -> Labels:
        return Labels(self.look.theme)

    def tone(self, *, marked: bool) -> Tone:
        return self.theme.tone_of(marked=marked, among_marked=self.drawing.has_trail)

    def is_region(self, box: Box) -> bool:
        return any(box in outer.boxes for outer in self.boxes.values() if outer.kind is Kind.PARALLEL)

    def box_tone(self, box: Box) -> Tone:
        if box.is_active:
            return self.theme.around if box.boxes else self.theme.alive
        return self.tone(marked=box.is_visited)


@dataclass(frozen=True, slots=True)
class _LineEnd:
    """The end of a line: at a node, or at the border of a cluster around the node."""

    node: str
    cluster: str = ""

    def entered(self) -> dict[str, Value]:
        """Return the attributes for the head of an edge; a border needs more room than a node."""
        return {"lhead": self.cluster, "minlen": 2} if self.cluster else {}

    def left(self) -> dict[str, Value]:
        """Return the attributes for the tail of an edge."""
        return {"ltail": self.cluster} if self.cluster else {}


def _defaults(sheet: _Sheet, attributes: Mapping[str, Value]) -> Iterator[str]:
    theme = sheet.theme
    legend = [legend_table(sheet.drawing, sheet.labels)] if sheet.look.has_legend else []
    card: dict[str, Value] = {"bgcolor": theme.card, "pad": 0.2, "fontname": FONT}
    title: dict[str, Value] = {"label": sheet.labels.title(sheet.drawing, legend), "labelloc": "t", "labeljust": "l"}
    layout: dict[str, Value] = {"nodesep": 0.22, "ranksep": 0.17, "mclimit": 4, "compound": "true", "newrank": "true"}
    yield statement("graph", **title, **card, **layout, **attributes)
    line: dict[str, Value] = {"color": theme.plain.line, "penwidth": theme.plain.width}
    text: dict[str, Value] = {"fontname": FONT, "fontsize": MEDIUM}
    size: dict[str, Value] = {"margin": 0, "width": 0, "height": 0}  # a node is as large as its label
    yield statement("node", shape="box", style="rounded,filled", fillcolor=theme.state, **line, **text, **size)
    yield statement("edge", arrowsize=0.7, **line)


def _door(sheet: _Sheet, door: Door) -> Iterator[str]:
    """Yield a door and its line: solid, but in a drawing with a trail only if the trail enters there."""
    name, end = f"door:{identity(door.name)}", _entry(sheet, sheet.boxes[door.state])
    is_solid = bool(door.places) or not sheet.drawing.has_trail
    theme = sheet.theme
    ink, fill, width = (theme.door_ink, theme.door, 2.5) if is_solid else (theme.door, theme.state, theme.plain.width)
    yield statement(node(name), label=sheet.labels.door(door, ink), style="filled", fillcolor=fill, color=theme.door)
    yield statement(edge(name, end.node), color=theme.door, penwidth=width, weight=_DIRECT, **end.entered())


def _box(sheet: _Sheet, box: Box, *, depth: int) -> Iterator[str]:
    if box.boxes:
        return _cluster(sheet, box, depth=depth)
    return _leaf(sheet, box) if box.recall is None else _history(sheet, box, box.recall)


def _history(sheet: _Sheet, box: Box, recall: Recall) -> Iterator[str]:
    """Yield a circle with an H in it, as in UML, or H* for deep history."""
    tone, text = sheet.box_tone(box), "H*" if recall is Recall.DEEP else "H"
    look: dict[str, Value] = {"color": tone.line, "fontcolor": tone.ink, "penwidth": tone.width}
    hint = tooltip(f"{box.name}: {box.description}" if box.description else box.name)
    yield statement(
        node(identity(box.name)), label=text, shape="circle", width=0.3, fixedsize="true", tooltip=hint, **look
    )


def _leaf(sheet: _Sheet, box: Box) -> Iterator[str]:
    active: dict[str, Value] = {"fillcolor": sheet.theme.active} if box.is_active else {}
    final: dict[str, Value] = {"peripheries": 2} if box.kind is Kind.FINAL else {}
    yield statement(node(identity(box.name)), **_look(sheet, box), **active, **final)


def _look(sheet: _Sheet, box: Box) -> dict[str, Value]:
    tone = sheet.box_tone(box)
    hint = f"{box.name}: {box.description}" if box.description else box.name
    return {
        "label": sheet.labels.state(box, tone),
        "tooltip": tooltip(hint),
        "color": tone.line,
        "penwidth": tone.width,
    }


def _cluster(sheet: _Sheet, box: Box, *, depth: int) -> Iterator[str]:
    """Yield a cluster with everything inside it. Regions of a parallel state have dashed borders, as in UML."""
    fills = sheet.theme.clusters
    fill = sheet.theme.active_cluster if box.is_active else fills[depth % len(fills)]
    style = "rounded,filled,dashed" if sheet.is_region(box) else "rounded,filled"
    yield f"subgraph {node(_entry(sheet, box).cluster)} {{"
    yield from _indented(
        [
            statement("graph", style=style, fillcolor=fill, **_look(sheet, box)),
            *_beginning(sheet, box),
            *(text for child in box.boxes for text in _box(sheet, child, depth=depth + 1)),
            *_labels(sheet, box.name),
            *_ending(sheet, box),
            *_side_by_side(sheet, box),
        ]
    )
    yield "}"


def _side_by_side(sheet: _Sheet, box: Box) -> Iterator[str]:
    """Align the tops and the bottoms of the regions of a parallel state."""
    regions = [region for region in box.boxes if region.recall is None] if box.kind is Kind.PARALLEL else []
    if regions:
        yield f"{{ rank=same; {' '.join(node(_entry(sheet, region).node) for region in regions)} }}"
    ends = [_end_of(region) for region in regions if region.boxes]
    if len(ends) > 1:
        yield f"{{ rank=same; {' '.join(map(node, ends))} }}"


def _ending(sheet: _Sheet, box: Box) -> Iterator[str]:
    """Yield an invisible node at the bottom of a region, so that it ends where the longest region does."""
    if not sheet.is_region(box):
        return
    yield statement(node(_end_of(box)), label="", shape="point", style="invis", width=0, height=0)
    leaves = leaves_of(box)
    left = {line.source for line in sheet.lines if not line.runs_up and line.arrow.target in leaves}
    for leaf in leaves:
        if leaf not in left:
            yield statement(edge(identity(leaf), _end_of(box)), style="invis", weight=0)


def _end_of(region: Box) -> str:
    return f"end:{identity(region.name)}"


def _beginning(sheet: _Sheet, box: Box) -> Iterator[str]:
    """Yield the initial dot of a compound state, with a line to each initial state."""
    if not box.initial:
        return
    dot, ink = _entry(sheet, box).node, sheet.tone(marked=box.is_visited).ink
    yield statement(node(dot), label="", shape="circle", width=0.1, fixedsize="true", fillcolor=ink, color=ink)
    for initial in box.initial:
        end = _entry(sheet, sheet.boxes[initial])
        yield statement(edge(dot, end.node), color=ink, weight=_INITIAL, **end.entered())


def _anywhere(sheet: _Sheet) -> Iterator[str]:
    """Yield the node for transitions that are taken in any state without leaving it."""
    parts = sheet.drawing.parts
    if parts:
        yield _roaming(sheet, "any:", "any state", parts, _tone(sheet, parts))


def _labels(sheet: _Sheet, home: StateName) -> Iterator[str]:
    """Yield the labels that lie directly in a state, each a node in the middle of its line."""
    for arrow in (line.arrow for line in sheet.lines if line.arrow.home == home):
        name, tone = _label(arrow), _tone(sheet, arrow.parts)
        yield statement(node(name), label=sheet.labels.transitions(arrow.parts, tone), shape="plain", style="solid")
        if arrow.is_roaming:
            yield _roaming(
                sheet, f"any:{name}", "any state" if home == ROOT else f"any in {sheet.boxes[home].title}", (), tone
            )


def _roaming(sheet: _Sheet, name: str, words: str, parts: Sequence[TransitionLabel], tone: Tone) -> str:
    label = sheet.labels.anywhere(words, parts, tone)
    return statement(node(name), label=label, style="rounded,dashed", color=tone.line, margin="0.06,0.01")


def _line(sheet: _Sheet, line: Line) -> Iterator[str]:
    """Yield both halves of a line through its label, from the upper end to the lower."""
    arrow, label, tone = line.arrow, _label(line.arrow), _tone(sheet, line.arrow.parts)
    if tone is sheet.theme.plain:
        tone = sheet.theme.kind(arrow) or tone
    near: dict[str, Value] = {"color": tone.line, "penwidth": tone.width, "arrowhead": "none"}
    far: dict[str, Value] = {"color": tone.line, "penwidth": tone.width}
    if arrow.is_transfer:
        near["style"] = far["style"] = "dotted"
    near["weight"], far["weight"] = (_DIRECT, _DIRECT) if line.is_direct else (_NEAR_HALF, _FAR_HALF)
    tail, head = _tail(sheet, line), _head(sheet, arrow)
    if arrow.is_loop:
        yield statement(edge(tail.node, label), headport="w", **near)
        yield statement(edge(head.node, label), headport="e", dir="back", **far)
    elif line.runs_up:
        yield statement(edge(head.node, label), headport="n", dir="back", **far, **head.left())
        yield statement(edge(label, tail.node), tailport="s", **near, **tail.entered())
    else:
        yield statement(edge(tail.node, label), headport="n", **near, **tail.left())
        yield statement(edge(label, head.node), tailport="s", **far, **head.entered())


def _tail(sheet: _Sheet, line: Line) -> _LineEnd:
    if line.arrow.is_roaming:
        return _LineEnd(f"any:{_label(line.arrow)}")
    border = _entry(sheet, sheet.boxes[line.arrow.source])
    return border if line.runs_up else _LineEnd(identity(line.source), border.cluster)


def _head(sheet: _Sheet, arrow: Arrow) -> _LineEnd:
    """Return the head of an arrow. A line from inside a cluster to its initial state crosses no border."""
    end = _entry(sheet, sheet.boxes[arrow.target])
    return _LineEnd(end.node) if arrow.home == arrow.target else end


def _entry(sheet: _Sheet, box: Box) -> _LineEnd:
    """Return where lines enter a state: a compound one at its initial dot, a parallel one at its border."""
    name = identity(box.name)
    if box.initial:
        return _LineEnd(f"initial:{name}", f"cluster:{name}")
    return _LineEnd(_entry(sheet, box.boxes[0]).node, f"cluster:{name}") if box.boxes else _LineEnd(name)


def _elsewhere(sheet: _Sheet, graph: str, entry_point: str) -> str:
    """Return the door of another graph, with a dashed border."""
    handings = (
        handing for handing in sheet.drawing.handings if (handing.graph, handing.entry_point) == (graph, entry_point)
    )
    width = sheet.tone(marked=any(handing.places for handing in handings)).width
    look: dict[str, Value] = {"style": "filled,dashed", "color": sheet.theme.door, "penwidth": width}
    return statement(node(_target(graph, entry_point)), label=sheet.labels.elsewhere(graph, entry_point), **look)


def _handing(sheet: _Sheet, handing: Handing) -> Iterator[str]:
    """Yield both halves of the line to another graph's door, through its label. It always runs down."""
    tone, target = sheet.tone(marked=bool(handing.places)), _target(handing.graph, handing.entry_point)
    label = f"hand:{identity(handing.source)}:{target}"
    yield statement(
        node(label), label=sheet.labels.handing(handing.words, handing.places, tone), shape="plain", style="solid"
    )
    if handing.is_roaming:
        yield _roaming(sheet, f"any:{label}", "any state", (), tone)
        tail = _LineEnd(f"any:{label}")
    else:
        box = sheet.boxes[handing.source]
        tail = _LineEnd(identity(leaves_of(box)[-1]), _entry(sheet, box).cluster)
    look: dict[str, Value] = {"style": "dashed", "color": tone.line, "penwidth": tone.width}
    yield statement(edge(tail.node, label), headport="n", arrowhead="none", weight=_NEAR_HALF, **look, **tail.left())
    yield statement(edge(label, target), tailport="s", weight=_FAR_HALF, **look)


def _target(graph: str, entry_point: str) -> str:
    return f"to:{identity(graph)}:{identity(entry_point)}"


def _label(arrow: Arrow) -> str:
    return f"way:{identity(arrow.source)}:{identity(arrow.target)}"


def _tone(sheet: _Sheet, parts: Iterable[TransitionLabel]) -> Tone:
    return sheet.tone(marked=any(part.places for part in parts))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
