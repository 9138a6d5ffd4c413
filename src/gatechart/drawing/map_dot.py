"""A map of graphs as Graphviz DOT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gatechart.drawing import labels
from gatechart.drawing.palette import CARD, FONT, MEDIUM, PLAIN, STATE
from gatechart.drawing.shapes import Handing, Map
from gatechart.drawing.syntax import Value, identity, node, statement

_Ports = Mapping[tuple[str, str], str]  # of doors or states, by graph and name


def write_map_dot(drawing: Map, **attributes: Value) -> str:
    """Each graph as a card, and the ways from the states on it to the doors on others."""
    doors = {(card.name, door.name): f"door{at}" for card in drawing.cards for at, door in enumerate(card.doors)}
    states = {(card.name, name): f"state{at}" for card in drawing.cards for at, name in enumerate(card.sources)}
    back = _backward(drawing)
    body = [
        *_defaults(attributes),
        *(
            statement(
                node(identity(card.name)),
                label=labels.card(card),
                style="rounded,filled" if card.is_known else "rounded,filled,dashed",
            )
            for card in drawing.cards
        ),
        *(text for each in drawing.handings for text in _handing(each, states, doors, is_back=each in back)),
    ]
    return "\n".join(['digraph "map" {', *(f"  {line}" for line in body), "}", ""])


def _defaults(attributes: Mapping[str, Value]) -> tuple[str, ...]:
    card: dict[str, Value] = {"bgcolor": CARD, "pad": 0.2, "fontname": FONT}
    line: dict[str, Value] = {"color": PLAIN.line, "penwidth": PLAIN.width, "fontname": FONT, "fontsize": MEDIUM}
    return (
        statement("graph", rankdir="LR", nodesep=0.4, ranksep=0.9, **card, **attributes),
        statement("node", shape="box", fillcolor=STATE, margin=0, width=0, height=0, **line),
        statement("edge", arrowsize=0.7, style="dashed", **line),
    )


def _backward(drawing: Map) -> frozenset[Handing]:
    """The ways that run from right to left: to graphs that others hand on from, seen from the first graph."""
    onward: dict[str, list[Handing]] = {}
    for each in drawing.handings:
        onward.setdefault(each.origin, []).append(each)
    back: set[Handing] = set()
    finished: set[str] = set()
    for card in drawing.cards:
        path = {} if card.name in finished else {card.name: iter(onward.get(card.name, ()))}
        while path:
            here, ways = next(reversed(path.items()))
            way = next(ways, None)
            if way is None:
                finished.add(here)
                del path[here]
            elif way.graph in path:
                back.add(way)
            elif way.graph not in finished:
                path[way.graph] = iter(onward.get(way.graph, ()))
    return frozenset(back)


def _handing(each: Handing, states: _Ports, doors: _Ports, *, is_back: bool) -> Iterator[str]:
    """Both halves of a way, from whichever end lies on the left, through its label."""
    label = node(":".join(map(identity, ("hand", each.origin, each.source, each.graph, each.entry_point))))
    tail = f"{node(identity(each.origin))}:{states[each.origin, each.source]}:e"
    head = f"{node(identity(each.graph))}:{doors[each.graph, each.entry_point]}:w"
    yield statement(label, label=labels.handing(each.words, (), PLAIN), shape="plain", style="solid")
    if each.origin == each.graph:
        yield statement(f"{tail} -> {label}:w", arrowhead="none")
        yield statement(f"{head} -> {label}:s", dir="back")
    elif is_back:
        yield statement(f"{head} -> {label}:w", dir="back")
        yield statement(f"{label}:e -> {tail}", arrowhead="none")
    else:
        yield statement(f"{tail} -> {label}:w", arrowhead="none")
        yield statement(f"{label}:e -> {head}")
