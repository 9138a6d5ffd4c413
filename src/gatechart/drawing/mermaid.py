"""A graph as a Mermaid flowchart, for pages that draw Mermaid themselves.

A flowchart, not a `stateDiagram-v2`: that one lets no transition cross the border of a compound state, and cannot make
one transition stand out.
Source: https://mermaid.js.org/syntax/flowchart.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gatechart.drawing.outline import outline
from gatechart.drawing.palette import (
    ACTIVE,
    ACTIVE_CLUSTER,
    ALIVE,
    BETWEEN,
    CARD,
    CLUSTERS,
    DOOR,
    DOOR_INK,
    LOUD,
    PLAIN,
    STATE,
    TRAIL,
)
from gatechart.drawing.shapes import Arrow, Box, Door, Outline, Part
from gatechart.drawing.text import places_text, visible
from gatechart.graph import ROOT, Kind, Recall, StateTransitionGraph
from gatechart.values import HistoryEntry, Snapshot, StateName

_SPECIAL = re.compile(r"""["#$%&'*;<=>?@\\^`{|}~!]""")
_IN_TITLES = str.maketrans("<>", "‹›")  # there Mermaid takes markup for its own, and entities for text
_HEAD = """\
---
title: {title}
config:
  theme: base
  themeVariables:
    lineColor: "{line}"
    textColor: "{line}"
  flowchart:
    wrappingWidth: 500
    nodeSpacing: 25
    rankSpacing: 35
    padding: 8
---
flowchart TB"""
_CLASSES = (  # each sets its own colours of text and ground, so that both a light and a dark page can be read
    f"classDef state fill:{STATE},stroke:{PLAIN.line},color:{PLAIN.ink}",
    f"classDef visited fill:{STATE},stroke:{LOUD.line},color:{LOUD.ink},stroke-width:3px",
    f"classDef active fill:{ACTIVE},stroke:{ALIVE.line},color:{ALIVE.ink},stroke-width:4px,font-weight:bold",
    f"classDef initial fill:{PLAIN.ink},stroke:{PLAIN.ink}",
    f"classDef anywhere fill:{CARD},stroke:{PLAIN.line},color:{PLAIN.ink},stroke-dasharray:4",
    f"classDef label fill:{CARD},stroke:none,color:{PLAIN.ink}",
    f"classDef door fill:{DOOR},stroke:{DOOR},color:{DOOR_INK}",
)
_COMPOUND = f"fill:{{fill}},stroke:{PLAIN.line},color:{PLAIN.ink}"
_COMPOUND_VISITED = f"fill:{{fill}},stroke:{LOUD.line},color:{LOUD.ink},stroke-width:3px"
_COMPOUND_ALIVE = f"fill:{ACTIVE_CLUSTER},stroke:{ALIVE.line},color:{ALIVE.ink},stroke-width:3px"


def to_mermaid(
    graph: StateTransitionGraph, *, highlight: Snapshot | None = None, trail: Sequence[HistoryEntry] = ()
) -> str:
    """The drawing of a graph as Mermaid text.

    highlight: its active states stand out. trail: so does the way that these turns took, oldest first, numbered.
    Raises UnknownGraphError, UnknownStateError and DrawingError where these do not fit the graph.
    """
    return write_mermaid(outline(graph, highlight=highlight, trail=trail))


def write_mermaid(drawing: Outline) -> str:
    """An outline as Mermaid text."""
    boxes = {box.name: box for box in drawing.every_box()}
    links = (*_initial_links(boxes), *_door_links(drawing), *_arrow_links(drawing, boxes))
    halves = [link.is_loud for link in links for _ in range(link.halves)]  # Mermaid counts each half as a link
    loud = ",".join(str(number) for number, is_loud in enumerate(halves) if is_loud)
    body = [
        *_CLASSES,
        *(text for box in drawing.boxes for text in _box(drawing, box, depth=0)),
        *(f'{_door_id(door)}>"{_door_text(door)}"]:::door' for door in drawing.doors),
        *_at_home(drawing, ROOT, drawing.parts),
        *(link.text for link in links),
        *([f"linkStyle {loud} stroke:{TRAIL},stroke-width:3px"] if loud else []),
    ]
    title = visible(f"{drawing.name}, version {drawing.version}").translate(_IN_TITLES)
    return "\n".join([_HEAD.format(title=json.dumps(title, ensure_ascii=False), line=BETWEEN), *_indented(body), ""])


@dataclass(frozen=True, slots=True)
class _Link:
    text: str
    halves: int
    is_loud: bool


def _box(drawing: Outline, box: Box, *, depth: int) -> Iterator[str]:
    name = _id("s", box.name)
    if box.recall is not None:
        yield f'{name}(("{"H*" if box.recall is Recall.DEEP else "H"}")):::state'
        return
    if not box.boxes:
        opening, closing = ("[[", "]]") if box.kind is Kind.FINAL else ("(", ")")
        look = "active" if box.is_active else "visited" if box.is_visited else "state"
        yield f'{name}{opening}"{_lines([box.name, *_inside(box)])}"{closing}:::{look}'
        return
    yield f'subgraph {name} ["{_escape(box.name)}"]'
    inside = [
        *([f'{_id("initial", box.name)}((" ")):::initial'] if box.initial else []),
        *(text for child in box.boxes for text in _box(drawing, child, depth=depth + 1)),
        *_note(box),
        *_at_home(drawing, box.name, ()),
    ]
    yield from _indented(inside)
    yield "end"
    look = _COMPOUND_ALIVE if box.is_active else _COMPOUND_VISITED if box.is_visited else _COMPOUND
    yield f"style {name} {look.format(fill=CLUSTERS[depth % len(CLUSTERS)])}"


def _note(box: Box) -> Iterator[str]:
    """What happens inside a compound state stands in a node of its own: its title has room for one line."""
    inside = _inside(box)
    if inside:
        yield f'{_id("inside", box.name)}["{_lines(inside)}"]:::state'


def _at_home(drawing: Outline, home: StateName, parts: Sequence[Part]) -> Iterator[str]:
    """The labels that lie directly in a state, each a node on the way of its line, and where roaming arrows begin."""
    words = "any state" if home == ROOT else f"any in {home}"
    if parts:
        yield f'{_id("inside", home)}(["{_lines([words, *map(_part_text, parts)])}"]):::anywhere'
    for arrow in drawing.arrows:
        if arrow.home == home:
            yield f'{_label_id(arrow)}["{_lines(map(_part_text, arrow.parts))}"]:::label'
            if arrow.is_roaming:
                yield f'any_{_label_id(arrow)}(["{_escape(words)}"]):::anywhere'


def _initial_links(boxes: Mapping[StateName, Box]) -> Iterator[_Link]:
    for box in boxes.values():
        for target in box.initial:
            yield _Link(f"{_id('initial', box.name)} --> {_id('s', target)}", halves=1, is_loud=False)


def _door_links(drawing: Outline) -> Iterator[_Link]:
    for door in drawing.doors:
        yield _Link(f"{_door_id(door)} ==> {_id('s', door.state)}", halves=1, is_loud=bool(door.places))


def _arrow_links(drawing: Outline, boxes: Mapping[StateName, Box]) -> Iterator[_Link]:
    for arrow in drawing.arrows:
        tail = f"any_{_label_id(arrow)}" if arrow.is_roaming else _id("s", arrow.source)
        is_within = arrow.home == arrow.target and boxes[arrow.target].initial
        head = _id("initial" if is_within else "s", arrow.target)
        near, far = ("===", "==>") if arrow.places else ("---", "-->")
        text = f"{tail} {near} {_label_id(arrow)} {far} {head}"
        yield _Link(text, halves=2, is_loud=bool(arrow.places))


def _inside(box: Box) -> list[str]:
    return [*box.actions, *map(_part_text, box.parts)]


def _part_text(part: Part) -> str:
    return " ".join([*_place(part.places), part.event, *part.details])


def _door_text(door: Door) -> str:
    return _lines([" ".join([*_place(door.places), door.name]), *door.terms])


def _place(places: Sequence[int]) -> tuple[str, ...]:
    return (f"({places_text(places)})",) if places else ()


def _door_id(door: Door) -> str:
    return _id("door", door.name)


def _label_id(arrow: Arrow) -> str:
    return f"{_id('from', arrow.source)}__{_id('to', arrow.target)}"


def _id(prefix: str, name: str) -> str:
    """An identifier that no other name has: the name itself where it is plain, else its bytes."""
    if re.fullmatch(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*", name):
        return f"{prefix}_{name}"
    return f"{prefix}__{name.encode(errors='surrogatepass').hex()}"


def _lines(lines: Iterable[str]) -> str:
    return "<br/>".join(map(_escape, lines))


def _escape(text: str) -> str:
    """The text with all that Mermaid or Markdown could take for its own written as an entity."""
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", visible(text))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
