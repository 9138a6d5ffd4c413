"""A map of graphs as Graphviz DOT: a card for each graph, and one line for all its handoffs to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gatechart.drawing.labels import Labels
from gatechart.drawing.language import Markup, Value, cell, identity, node, statement, table
from gatechart.drawing.legend import legend_table
from gatechart.drawing.palette import FONT, MEDIUM
from gatechart.drawing.shapes import HandoffRoute, Map
from gatechart.drawing.sketch import DrawingStyle

_Ports = Mapping[tuple[str, str], str]  # ports of doors, by graph and name


def write_map_dot(drawing: Map, look: DrawingStyle, **attributes: Value) -> str:
    """Return the map as DOT text. attributes: graph attributes, besides the usual ones."""
    labels = Labels(look.theme)
    doors = {(card.name, door.name): f"door{at}" for card in drawing.cards for at, door in enumerate(card.doors)}
    back = _backward(drawing)
    body = [
        *_defaults(drawing, look, labels, attributes),
        *(
            statement(
                node(identity(card.name)),
                label=labels.card(card),
                style="rounded,filled" if card.is_known else "rounded,filled,dashed",
            )
            for card in drawing.cards
        ),
        *(text for route in drawing.routes for text in _route(route, labels, doors, is_back=route in back)),
    ]
    return "\n".join(['digraph "map" {', *(f"  {line}" for line in body), "}", ""])


def _defaults(drawing: Map, look: DrawingStyle, labels: Labels, attributes: Mapping[str, Value]) -> Iterator[str]:
    theme = look.theme
    card: dict[str, Value] = {"bgcolor": theme.card, "pad": 0.2, "fontname": FONT}
    if look.has_legend:
        legend = Markup(table([cell(legend_table(drawing, labels))], padding=8))
        card |= {"label": legend, "labelloc": "t", "labeljust": "l"}
    line: dict[str, Value] = {"color": theme.plain.line, "penwidth": theme.plain.width}
    text: dict[str, Value] = {"fontname": FONT, "fontsize": MEDIUM}
    yield statement("graph", rankdir="LR", nodesep=0.35, ranksep=0.6, **card, **attributes)
    yield statement("node", shape="box", fillcolor=theme.state, margin=0, width=0, height=0, **line, **text)
    yield statement("edge", arrowsize=0.7, style="dashed", **line)


def _backward(drawing: Map) -> frozenset[HandoffRoute]:
    """Return the lines that point left: in a depth-first search from the first graph, the lines that close a cycle."""
    onward: dict[str, list[HandoffRoute]] = {}
    for route in drawing.routes:
        onward.setdefault(route.origin, []).append(route)
    back: set[HandoffRoute] = set()
    finished: set[str] = set()
    for card in drawing.cards:
        path = {} if card.name in finished else {card.name: iter(onward.get(card.name, ()))}
        while path:
            current, routes = next(reversed(path.items()))
            following = next(routes, None)
            if following is None:
                finished.add(current)
                del path[current]
            elif following.graph in path:
                back.add(following)
            elif following.graph not in finished:
                path[following.graph] = iter(onward.get(following.graph, ()))
    return frozenset(back)


def _route(route: HandoffRoute, labels: Labels, doors: _Ports, *, is_back: bool) -> Iterator[str]:
    """Yield both halves of a line through its label, from the left end to the right."""
    label = node(f"hand:{identity(route.origin)}:{identity(route.graph)}")
    tail, head = node(identity(route.origin)), node(identity(route.graph))
    if route.entry_point:  # a line to several entry points ends at the card
        head = f"{head}:{doors[route.graph, route.entry_point]}:w"
    yield statement(label, label=labels.route(route), shape="plain", style="solid")
    if route.origin == route.graph:
        yield statement(f"{tail}:e -> {label}:w", arrowhead="none")
        yield statement(f"{head} -> {label}:s", dir="back")
    elif is_back:
        yield statement(f"{head} -> {label}:w", dir="back")
        yield statement(f"{label}:e -> {tail}", arrowhead="none")
    else:
        yield statement(f"{tail} -> {label}:w", arrowhead="none")
        yield statement(f"{label}:e -> {head}")
