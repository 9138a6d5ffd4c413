"""A graph, or a map of graphs, as a Mermaid flowchart, for pages that draw Mermaid themselves.

A flowchart rather than a `stateDiagram-v2`, where no transition can cross the border of a compound state and no single
transition can stand out. Names may contain any character, so every text is escaped.
Source: https://mermaid.js.org/syntax/flowchart.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gatechart.drawing.legend import Sign, signs_of
from gatechart.drawing.palette import BETWEEN, Theme
from gatechart.drawing.shapes import Arrow, Box, Card, Door, Handing, HandoffRoute, Map, Outline, TransitionLabel
from gatechart.drawing.sketch import DrawingStyle, look_of, sketch
from gatechart.drawing.text import places_text, visible
from gatechart.graph.compile import ROOT, Kind
from gatechart.graph.definition import Recall
from gatechart.graph.graph import AnyGraph
from gatechart.values.agents import Snapshot
from gatechart.values.names import StateName
from gatechart.values.queries import HistoryEntry

_SPECIAL = re.compile(r"""["#$%&'*;<=>?@\\^`{|}~!]""")
_IN_TITLES = str.maketrans("<>", "‹›")  # in titles, Mermaid interprets markup but not entities
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
flowchart {direction}"""


def classes(theme: Theme) -> tuple[str, ...]:
    """Return the classes of nodes. Each sets all its colours, so that it is legible on light and dark pages."""
    plain, loud, alive = theme.plain, theme.loud, theme.alive
    return (
        f"classDef state fill:{theme.state},stroke:{plain.line},color:{plain.ink}",
        f"classDef visited fill:{theme.state},stroke:{loud.line},color:{loud.ink},stroke-width:3px",
        f"classDef active fill:{theme.active},stroke:{alive.line},color:{alive.ink},stroke-width:4px,font-weight:bold",
        f"classDef initial fill:{plain.ink},stroke:{plain.ink}",
        f"classDef anywhere fill:{theme.card},stroke:{plain.line},color:{plain.ink},stroke-dasharray:4",
        f"classDef label fill:{theme.card},stroke:none,color:{plain.ink}",
        f"classDef signal fill:{theme.card},stroke:none,color:{theme.signal.ink}",
        f"classDef escape fill:{theme.card},stroke:none,color:{theme.escape.ink}",
        f"classDef door fill:{theme.door},stroke:{theme.door},color:{theme.door_ink}",
        f"classDef elsewhere fill:{theme.state},stroke:{theme.door},color:{theme.door},stroke-dasharray:4",
    )


def whole(title: str, body: Iterable[str], *, direction: str = "TB") -> str:
    """Return a flowchart with a title. direction: "TB" from top to bottom, "LR" from left to right."""
    quoted = json.dumps(visible(title).translate(_IN_TITLES), ensure_ascii=False)
    return "\n".join([_HEAD.format(title=quoted, line=BETWEEN, direction=direction), *indented(body), ""])


def id_of(prefix: str, name: str) -> str:
    """Return a unique identifier for a name: the name itself if it is alphanumeric, else its bytes in hexadecimal."""
    if re.fullmatch(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*", name):
        return f"{prefix}_{name}"
    return f"{prefix}__{name.encode(errors='surrogatepass').hex()}"


def lines_of(lines: Iterable[str]) -> str:
    """Return several lines of text as one label."""
    return "<br/>".join(map(escape, lines))


def escape(text: str) -> str:
    """Return the text with the special characters of Mermaid and Markdown written as entities."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", visible(text))


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, indented by two spaces."""
    return (f"  {line}" for line in lines)


def write_map_mermaid(drawing: Map, look: DrawingStyle) -> str:
    """Return the map as Mermaid text: a card with doors for each graph, and one line for all handoffs to another."""
    known = [card.name for card in drawing.cards if card.is_known]
    body = [
        *classes(look.theme),
        *(text for card in drawing.cards for text in _card(card, look.theme)),
        *map(_route, drawing.routes),
        *_legend(drawing, look),
    ]
    return whole(", ".join(known), body, direction="LR")


def _card(card: Card, theme: Theme) -> Iterator[str]:
    yield f'subgraph {id_of("card", card.name)} ["{escape(card.name)}"]'
    yield from indented(
        f'{_map_door_id(card.name, door.name)}>"{lines_of([door.name, *door.terms])}"]:::{_look(door)}'
        for door in card.doors
    )
    yield "end"
    dashed = "" if card.is_known else ",stroke-dasharray:4"
    plain = theme.plain
    yield f"style {id_of('card', card.name)} fill:{theme.clusters[0]},stroke:{plain.line},color:{plain.ink}{dashed}"


def _route(route: HandoffRoute) -> str:
    tail, head = id_of("card", route.origin), id_of("card", route.graph)
    if route.entry_point:
        head = _map_door_id(route.graph, route.entry_point)
    lines = [line for way in route.ways for line in (way.occasion, way.purpose)]
    return f'{tail} -.->|"{lines_of(lines)}"| {head}'


def _look(door: Door) -> str:
    return "door" if door.is_known else "elsewhere"


def _map_door_id(graph: str, door: str) -> str:
    return f"{id_of('of', graph)}__{id_of('door', door)}"


def _legend(drawing: Outline | Map, look: DrawingStyle) -> Iterator[str]:
    """Yield a box with the signs that occur."""
    if not look.has_legend:
        return
    yield 'subgraph legend_signs ["legend"]'
    for sign in signs_of(drawing):
        shape, style = _SIGNS.get(sign, _WRITTEN)
        yield f"  legend_{sign.name.lower()}{shape.format(escape(sign.value))}:::{style}"
    yield "end"
    plain = look.theme.plain
    yield f"style legend_signs fill:{look.theme.card},stroke:{plain.line},color:{plain.ink}"


_WRITTEN = ('["{}"]', "label")
_SIGNS: Mapping[Sign, tuple[str, str]] = {
    Sign.ENTRY_POINT: ('>"{}"]', "door"),
    Sign.ELSEWHERE: ('>"{}"]', "elsewhere"),
    Sign.END: ('[["{}"]]', "state"),
    Sign.ANYWHERE: ('(["{}"])', "anywhere"),
    Sign.ACTIVE: ('("{}")', "active"),
    Sign.TRAIL: ('("{}")', "visited"),
    Sign.SIGNAL: ('["{}"]', "signal"),
    Sign.ESCAPE: ('["{}"]', "escape"),
}


def to_mermaid(
    graph: AnyGraph | Sequence[AnyGraph],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
    theme: str = "light",
    legend: bool = False,
    payloads: bool = False,
    loads: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the drawing of a graph as Mermaid text; for several graphs, the map of their handoffs.

    highlight: its active states stand out. trail: turns, oldest first, whose transitions stand out and are numbered.
    theme: "light" or "dark". legend: whether to explain the signs that occur.
    payloads: whether to write declared events with their payloads.
    loads: texts for entry points on a map, such as their current work, by "graph.ENTRY_POINT".
    Raises UnknownGraphError, UnknownStateError and DrawingError if these do not fit the graph.
    """
    drawing = sketch(graph, highlight=highlight, trail=trail, payloads=payloads, loads=loads)
    return write_mermaid(drawing, look_of(theme, legend=legend))


def write_mermaid(drawing: Outline | Map, look: DrawingStyle = DrawingStyle()) -> str:  # noqa: B008  it is frozen
    """Return an outline, or a map, as Mermaid text."""
    return _outline(drawing, look) if isinstance(drawing, Outline) else write_map_mermaid(drawing, look)


def _outline(drawing: Outline, look: DrawingStyle) -> str:
    boxes = {box.name: box for box in drawing.every_box()}
    links = (*_initial_links(boxes), *_door_links(drawing), *_arrow_links(drawing, boxes), *_handing_links(drawing))
    halves = [link for link in links for _ in range(link.halves)]  # Mermaid counts each half as a link
    loud = ",".join(str(number) for number, link in enumerate(halves) if link.is_loud)
    quiet = [(number, link.kind) for number, link in enumerate(halves) if not link.is_loud]
    body = [
        *classes(look.theme),
        *(text for box in drawing.boxes for text in _box(drawing, box, look.theme, depth=0)),
        *(f'{_door_id(door)}>"{_door_text(door)}"]:::door' for door in drawing.doors),
        *_at_home(drawing, ROOT, drawing.parts),
        *_plan(drawing),
        *(f'{_target_id(*target)}>"{lines_of(target)}"]:::elsewhere' for target in drawing.targets),
        *(text for handing in drawing.handings for text in _handing(handing)),
        *(link.text for link in links),
        *_link_styles(quiet, look.theme),
        *([f"linkStyle {loud} stroke:{look.theme.trail},stroke-width:3px"] if loud else []),
        *_legend(drawing, look),
    ]
    return whole(f"{drawing.name}, version {drawing.version}", body)


@dataclass(frozen=True, slots=True)
class _Link:
    text: str
    halves: int
    is_loud: bool
    kind: str = ""  # "signal" or "escape"; empty for other links


def _link_styles(links: Sequence[tuple[int, str]], theme: Theme) -> Iterator[str]:
    """Yield the colours of signal and escape links. links: number and kind of each."""
    for kind, tone in (("signal", theme.signal), ("escape", theme.escape)):
        numbers = ",".join(str(number) for number, link_kind in links if link_kind == kind)
        if numbers:
            yield f"linkStyle {numbers} stroke:{tone.line}"


def _kind(arrow: Arrow) -> str:
    return "signal" if arrow.is_signal else "escape" if arrow.is_escape else ""


def _plan(drawing: Outline) -> Iterator[str]:
    """Yield a node with the graph's escape plan."""
    if drawing.plan:
        yield f'escape_plan["{lines_of(["«escape»", *drawing.plan])}"]:::escape'


def _box(drawing: Outline, box: Box, theme: Theme, *, depth: int) -> Iterator[str]:
    name = id_of("s", box.name)
    if box.recall is not None:
        yield f'{name}(("{"H*" if box.recall is Recall.DEEP else "H"}")):::state'
        return
    if not box.boxes:
        opening, closing = ("[[", "]]") if box.kind is Kind.FINAL else ("(", ")")
        look = "active" if box.is_active else "visited" if box.is_visited else "state"
        yield f'{name}{opening}"{lines_of([box.title, *_inside(box)])}"{closing}:::{look}'
        return
    yield f'subgraph {name} ["{escape(box.title)}"]'
    inside = [
        *([f'{id_of("initial", box.name)}((" ")):::initial'] if box.initial else []),
        *(text for child in box.boxes for text in _box(drawing, child, theme, depth=depth + 1)),
        *_note(box),
        *_at_home(drawing, box.name, ()),
    ]
    yield from indented(inside)
    yield "end"
    yield f"style {name} {_cluster_style(box, theme, depth)}"


def _cluster_style(box: Box, theme: Theme, depth: int) -> str:
    fill = theme.active_cluster if box.is_active else theme.clusters[depth % len(theme.clusters)]
    tone = theme.alive if box.is_active else theme.loud if box.is_visited else theme.plain
    width = ",stroke-width:3px" if box.is_active or box.is_visited else ""
    return f"fill:{fill},stroke:{tone.line},color:{tone.ink}{width}"


def _note(box: Box) -> Iterator[str]:
    """Yield a node with the notes of a compound state, because its title has room for one line only."""
    inside = _inside(box)
    if inside:
        yield f'{id_of("inside", box.name)}["{lines_of(inside)}"]:::state'


def _at_home(drawing: Outline, home: StateName, parts: Sequence[TransitionLabel]) -> Iterator[str]:
    """Yield the labels directly in a state, each a node on its line, and the source nodes of roaming arrows."""
    words = "any state" if home == ROOT else f"any in {_title(drawing, home)}"
    if parts:
        yield f'{id_of("inside", home)}(["{lines_of([words, *map(_part_text, parts)])}"]):::anywhere'
    for arrow in drawing.arrows:
        if arrow.home == home:
            kind = _kind(arrow) or "label"
            yield f'{_label_id(arrow)}["{lines_of(map(_part_text, arrow.parts))}"]:::{kind}'
            if arrow.is_roaming:
                yield f'any_{_label_id(arrow)}(["{escape(words)}"]):::anywhere'


def _title(drawing: Outline, name: StateName) -> str:
    return next(box.title for box in drawing.every_box() if box.name == name)


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
        quiet = ("-.-", "-.->") if arrow.is_transfer else ("---", "-->")
        near, far = ("===", "==>") if arrow.places else quiet
        text = f"{tail} {near} {_label_id(arrow)} {far} {head}"
        yield _Link(text, halves=2, is_loud=bool(arrow.places), kind=_kind(arrow))


def _handing(handing: Handing) -> Iterator[str]:
    """Yield the label of a handoff, and its source node if it can start in any state."""
    words = [" ".join([*_place(handing.places), first]) for first in handing.words[:1]]
    yield f'{_handing_id(handing)}["{lines_of([*words, *handing.words[1:]])}"]:::label'
    if handing.is_roaming:
        yield f'any_{_handing_id(handing)}(["any state"]):::anywhere'


def _handing_links(drawing: Outline) -> Iterator[_Link]:
    for handing in drawing.handings:
        tail = f"any_{_handing_id(handing)}" if handing.is_roaming else id_of("s", handing.source)
        text = f"{tail} -.- {_handing_id(handing)} -.-> {_target_id(handing.graph, handing.entry_point)}"
        yield _Link(text, halves=2, is_loud=bool(handing.places))


def _inside(box: Box) -> list[str]:
    return [*box.notes, *map(_part_text, box.parts)]


def _part_text(part: TransitionLabel) -> str:
    return " ".join([*_place(part.places), part.event, *part.details])


def _door_text(door: Door) -> str:
    return lines_of([" ".join([*_place(door.places), door.name]), *door.terms])


def _place(places: Sequence[int]) -> tuple[str, ...]:
    return (f"({places_text(places)})",) if places else ()


def _door_id(door: Door) -> str:
    return id_of("door", door.name)


def _target_id(graph: str, entry_point: str) -> str:
    return f"{id_of('to', graph)}__{id_of('at', entry_point)}"


def _handing_id(handing: Handing) -> str:
    return f"{id_of('hand', handing.source)}__{_target_id(handing.graph, handing.entry_point)}"


def _label_id(arrow: Arrow) -> str:
    return f"{id_of('from', arrow.source)}__{id_of('to', arrow.target)}"
