"""A graph as a Mermaid flowchart, for pages that draw Mermaid themselves.

A flowchart, not a `stateDiagram-v2`: that one lets no transition cross the border of a compound state, and cannot make
one transition stand out.
Source: https://mermaid.js.org/syntax/flowchart.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gatechart.drawing.map_mermaid import write_map_mermaid
from gatechart.drawing.mermaid_text import CLASSES, escape, id_of, indented, lines_of, whole
from gatechart.drawing.outline import sketch
from gatechart.drawing.palette import ACTIVE_CLUSTER, ALIVE, CLUSTERS, LOUD, PLAIN, TRAIL
from gatechart.drawing.shapes import Arrow, Box, Door, Handing, Map, Outline, Part
from gatechart.drawing.text import places_text
from gatechart.graph import ROOT, Kind, Recall, StateTransitionGraph
from gatechart.values import HistoryEntry, Snapshot, StateName

_COMPOUND = f"fill:{{fill}},stroke:{PLAIN.line},color:{PLAIN.ink}"
_COMPOUND_VISITED = f"fill:{{fill}},stroke:{LOUD.line},color:{LOUD.ink},stroke-width:3px"
_COMPOUND_ALIVE = f"fill:{ACTIVE_CLUSTER},stroke:{ALIVE.line},color:{ALIVE.ink},stroke-width:3px"


def to_mermaid(
    graph: StateTransitionGraph | Sequence[StateTransitionGraph],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
) -> str:
    """The drawing of a graph as Mermaid text; of several, the map of their doors and of the handoffs between them.

    highlight: its active states stand out. trail: so does the way that these turns took, oldest first, numbered.
    Raises UnknownGraphError, UnknownStateError and DrawingError where these do not fit the graph.
    """
    return write_mermaid(sketch(graph, highlight=highlight, trail=trail))


def write_mermaid(drawing: Outline | Map) -> str:
    """An outline, or a map, as Mermaid text."""
    return _outline(drawing) if isinstance(drawing, Outline) else write_map_mermaid(drawing)


def _outline(drawing: Outline) -> str:
    boxes = {box.name: box for box in drawing.every_box()}
    links = (*_initial_links(boxes), *_door_links(drawing), *_arrow_links(drawing, boxes), *_handing_links(drawing))
    halves = [link.is_loud for link in links for _ in range(link.halves)]  # Mermaid counts each half as a link
    loud = ",".join(str(number) for number, is_loud in enumerate(halves) if is_loud)
    body = [
        *CLASSES,
        *(text for box in drawing.boxes for text in _box(drawing, box, depth=0)),
        *(f'{_door_id(door)}>"{_door_text(door)}"]:::door' for door in drawing.doors),
        *_at_home(drawing, ROOT, drawing.parts),
        *(f'{_target_id(*target)}>"{lines_of(target)}"]:::elsewhere' for target in drawing.targets),
        *(text for each in drawing.handings for text in _handing(each)),
        *(link.text for link in links),
        *([f"linkStyle {loud} stroke:{TRAIL},stroke-width:3px"] if loud else []),
    ]
    return whole(f"{drawing.name}, version {drawing.version}", body)


@dataclass(frozen=True, slots=True)
class _Link:
    text: str
    halves: int
    is_loud: bool


def _box(drawing: Outline, box: Box, *, depth: int) -> Iterator[str]:
    name = id_of("s", box.name)
    if box.recall is not None:
        yield f'{name}(("{"H*" if box.recall is Recall.DEEP else "H"}")):::state'
        return
    if not box.boxes:
        opening, closing = ("[[", "]]") if box.kind is Kind.FINAL else ("(", ")")
        look = "active" if box.is_active else "visited" if box.is_visited else "state"
        yield f'{name}{opening}"{lines_of([box.name, *_inside(box)])}"{closing}:::{look}'
        return
    yield f'subgraph {name} ["{escape(box.name)}"]'
    inside = [
        *([f'{id_of("initial", box.name)}((" ")):::initial'] if box.initial else []),
        *(text for child in box.boxes for text in _box(drawing, child, depth=depth + 1)),
        *_note(box),
        *_at_home(drawing, box.name, ()),
    ]
    yield from indented(inside)
    yield "end"
    look = _COMPOUND_ALIVE if box.is_active else _COMPOUND_VISITED if box.is_visited else _COMPOUND
    yield f"style {name} {look.format(fill=CLUSTERS[depth % len(CLUSTERS)])}"


def _note(box: Box) -> Iterator[str]:
    """What happens inside a compound state stands in a node of its own: its title has room for one line."""
    inside = _inside(box)
    if inside:
        yield f'{id_of("inside", box.name)}["{lines_of(inside)}"]:::state'


def _at_home(drawing: Outline, home: StateName, parts: Sequence[Part]) -> Iterator[str]:
    """The labels that lie directly in a state, each a node on the way of its line, and where roaming arrows begin."""
    words = "any state" if home == ROOT else f"any in {home}"
    if parts:
        yield f'{id_of("inside", home)}(["{lines_of([words, *map(_part_text, parts)])}"]):::anywhere'
    for arrow in drawing.arrows:
        if arrow.home == home:
            yield f'{_label_id(arrow)}["{lines_of(map(_part_text, arrow.parts))}"]:::label'
            if arrow.is_roaming:
                yield f'any_{_label_id(arrow)}(["{escape(words)}"]):::anywhere'


def _initial_links(boxes: Mapping[StateName, Box]) -> Iterator[_Link]:
    for box in boxes.values():
        for target in box.initial:
            yield _Link(f"{id_of('initial', box.name)} --> {id_of('s', target)}", halves=1, is_loud=False)


def _door_links(drawing: Outline) -> Iterator[_Link]:
    for door in drawing.doors:
        yield _Link(f"{_door_id(door)} ==> {id_of('s', door.state)}", halves=1, is_loud=bool(door.places))


def _arrow_links(drawing: Outline, boxes: Mapping[StateName, Box]) -> Iterator[_Link]:
    for arrow in drawing.arrows:
        tail = f"any_{_label_id(arrow)}" if arrow.is_roaming else id_of("s", arrow.source)
        is_within = arrow.home == arrow.target and boxes[arrow.target].initial
        head = id_of("initial" if is_within else "s", arrow.target)
        near, far = ("===", "==>") if arrow.places else ("---", "-->")
        text = f"{tail} {near} {_label_id(arrow)} {far} {head}"
        yield _Link(text, halves=2, is_loud=bool(arrow.places))


def _handing(each: Handing) -> Iterator[str]:
    """The label on the way of what is handed on, and where that begins if it is in any state."""
    words = [" ".join([*_place(each.places), first]) for first in each.words[:1]]
    yield f'{_handing_id(each)}["{lines_of([*words, *each.words[1:]])}"]:::label'
    if each.is_roaming:
        yield f'any_{_handing_id(each)}(["any state"]):::anywhere'


def _handing_links(drawing: Outline) -> Iterator[_Link]:
    for each in drawing.handings:
        tail = f"any_{_handing_id(each)}" if each.is_roaming else id_of("s", each.source)
        text = f"{tail} -.- {_handing_id(each)} -.-> {_target_id(each.graph, each.entry_point)}"
        yield _Link(text, halves=2, is_loud=bool(each.places))


def _inside(box: Box) -> list[str]:
    return [*box.notes, *map(_part_text, box.parts)]


def _part_text(part: Part) -> str:
    return " ".join([*_place(part.places), part.event, *part.details])


def _door_text(door: Door) -> str:
    return lines_of([" ".join([*_place(door.places), door.name]), *door.terms])


def _place(places: Sequence[int]) -> tuple[str, ...]:
    return (f"({places_text(places)})",) if places else ()


def _door_id(door: Door) -> str:
    return id_of("door", door.name)


def _target_id(graph: str, entry_point: str) -> str:
    return f"{id_of('to', graph)}__{id_of('at', entry_point)}"


def _handing_id(each: Handing) -> str:
    return f"{id_of('hand', each.source)}__{_target_id(each.graph, each.entry_point)}"


def _label_id(arrow: Arrow) -> str:
    return f"{id_of('from', arrow.source)}__{id_of('to', arrow.target)}"
