"""A graph, or a map of graphs, as DOT for a plainer layout: rows of boxes and straight arrows, for large charts.

Graphviz's `osage` packs the boxes in document order and ignores the arrows; thousands of states take it a second.
The label of an arrow becomes its tooltip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gatechart.drawing.labels import Labels
from gatechart.drawing.language import Markup, Value, cell, edge, font, identity, node, statement, table, tooltip
from gatechart.drawing.palette import FONT, MEDIUM, SMALL, Theme, Tone
from gatechart.drawing.shapes import Arrow, Box, Door, HandoffRoute, Map, Outline
from gatechart.drawing.sketch import DrawingStyle
from gatechart.graph.compile import ROOT, Kind
from gatechart.values.names import StateName

ENGINE: Final = "osage"
NOTE: Final = "too large for a full layout: arrows are straight, and what is written on them is their tooltip"


def write_plain_dot(drawing: Outline, look: DrawingStyle, **attributes: Value) -> str:
    """Return the outline as DOT text for `osage`. attributes: graph attributes, besides the usual ones."""
    boxes = {box.name: box for box in drawing.every_box()}
    order = {name: 2 * (at + 1) for at, name in enumerate(boxes)}
    page = _Page(drawing, boxes, order, look.theme)
    body = [
        *page.defaults(attributes),
        *(text for box in drawing.boxes for text in page.box(box, depth=0)),
        *page.anywhere(),
        *map(page.door_line, drawing.doors),
        *map(page.arrow, drawing.arrows),
    ]
    return "\n".join([f"digraph {node(identity(drawing.name))} {{", *(f"  {line}" for line in body), "}", ""])


def write_plain_map(drawing: Map, look: DrawingStyle, **attributes: Value) -> str:
    """Return the map as DOT text for `osage`, in rows. attributes: graph attributes, besides the usual ones."""
    theme, labels = look.theme, Labels(look.theme)
    note = Markup(table([cell(font(NOTE, SMALL, theme.plain.soft_ink))], padding=8))
    body = [
        statement(
            "graph",
            label=note,
            fontname=FONT,
            labelloc="t",
            labeljust="l",
            bgcolor=theme.card,
            pad=0.2,
            **_LAYOUT,
            **attributes,
        ),
        statement("node", shape="box", fillcolor=theme.state, color=theme.plain.line, fontname=FONT, margin=0),
        statement("edge", arrowsize=0.7, style="dashed", color=theme.plain.line, penwidth=theme.plain.width),
        *(
            statement(
                node(identity(card.name)),
                label=labels.card(card),
                style="rounded,filled" if card.is_known else "rounded,filled,dashed",
                sortv=number,
            )
            for number, card in enumerate(drawing.cards, 1)
        ),
        *map(_plain_route, drawing.routes),
    ]
    return "\n".join(['digraph "map" {', *(f"  {line}" for line in body), "}", ""])


def _plain_route(route: HandoffRoute) -> str:
    label = tooltip("; ".join(f"{way.occasion}, {way.purpose}" for way in route.ways))
    return statement(edge(identity(route.origin), identity(route.graph)), tooltip=label)


_LAYOUT: Final[Mapping[str, Value]] = {
    "pack": 12,
    "packmode": "array_u",
    "splines": "line",
    "outputorder": "edgesfirst",
}


@dataclass(frozen=True, slots=True)
class _Page:
    drawing: Outline
    boxes: Mapping[StateName, Box]
    order: Mapping[StateName, int]  # sort keys for `osage`; a door comes just before its state
    theme: Theme

    def defaults(self, attributes: Mapping[str, Value]) -> Iterator[str]:
        """Yield the default attributes and the title."""
        theme = self.theme
        note = font(NOTE, SMALL, theme.plain.soft_ink)
        line: dict[str, Value] = {"color": theme.plain.line, "penwidth": theme.plain.width}
        text: dict[str, Value] = {"fontname": FONT, "fontsize": MEDIUM, "fontcolor": theme.plain.ink}
        title: dict[str, Value] = {
            "label": Labels(theme).title(self.drawing, [note]),
            "labelloc": "t",
            "labeljust": "l",
        }
        yield statement("graph", **title, bgcolor=theme.card, pad=0.2, **text, **_LAYOUT, **attributes)
        yield statement("node", shape="box", style="rounded,filled", fillcolor=theme.state, height=0.3, **line, **text)
        yield statement("edge", arrowsize=0.5, color=theme.faint.line, penwidth=theme.faint.width)

    def tone(self, box: Box) -> Tone:
        """Return the tone of a state."""
        theme = self.theme
        if box.is_active:
            return theme.around if box.boxes else theme.alive
        return theme.tone_of(marked=box.is_visited, among_marked=self.drawing.has_trail)

    def door(self, door: Door, box: Box) -> str:
        """Return the node of an entry point, drawn beside the state that it leads to."""
        theme = self.theme
        label = Labels(theme).door(door, theme.door_ink)
        look: dict[str, Value] = {"style": "filled", "fillcolor": theme.door, "color": theme.door}
        return statement(
            node(f"door:{identity(door.name)}"), label=label, margin=0, width=0, sortv=self.order[box.name] - 1, **look
        )

    def door_line(self, door: Door) -> str:
        """Return the line from an entry point to its state."""
        tail, head = f"door:{identity(door.name)}", self.leaf_of(door.state)
        return statement(edge(tail, head), color=self.theme.door, penwidth=2)

    def box(self, box: Box, *, depth: int, is_region: bool = False) -> Iterator[str]:
        """Yield a state with everything inside it."""
        tone, theme = self.tone(box), self.theme
        look: dict[str, Value] = {
            "color": tone.line,
            "penwidth": tone.width,
            "tooltip": tooltip(box.name),
            "sortv": self.order[box.name],
        }
        title = Markup(font(box.title, MEDIUM, tone.ink))
        if not box.boxes:
            identifier = identity(box.name)
            yield from (self.door(door, box) for door in self.drawing.doors if self.leaf_of(door.state) == identifier)
            fill = theme.active if box.is_active else theme.state
            final: dict[str, Value] = {"peripheries": 2} if box.kind is Kind.FINAL else {}
            yield statement(node(identifier), label=title, fillcolor=fill, **look, **final)
            return
        fill = theme.active_cluster if box.is_active else theme.clusters[depth % len(theme.clusters)]
        style = "rounded,filled,dashed" if is_region else "rounded,filled"
        yield f"subgraph {node(f'cluster:{identity(box.name)}')} {{"
        yield statement("graph", label=title, style=style, fillcolor=fill, **look)
        for child in box.boxes:
            yield from self.box(child, depth=depth + 1, is_region=box.kind is Kind.PARALLEL)
        yield "}"

    def anywhere(self) -> Iterator[str]:
        """Yield the source node of arrows that are taken in any state."""
        if any(arrow.source == ROOT for arrow in self.drawing.arrows):
            yield statement(node("any:"), label="any state", style="rounded,dashed", sortv=0)

    def arrow(self, arrow: Arrow) -> str:
        """Return a straight arrow from state to state."""
        label = tooltip("; ".join(" ".join([part.event, *part.details]) for part in arrow.parts))
        loud: dict[str, Value] = {}
        if arrow.places:
            loud = {"color": self.theme.loud.line, "penwidth": self.theme.loud.width}
        tail = "any:" if arrow.source == ROOT else self.leaf_of(arrow.source)
        return statement(edge(tail, self.leaf_of(arrow.target)), tooltip=label, **loud)

    def leaf_of(self, state: StateName) -> str:
        """Return the node of the first leaf in a state."""
        box = self.boxes[state]
        return self.leaf_of(box.boxes[0].name) if box.boxes else identity(box.name)
