"""A map of graphs as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterator

from gatechart.drawing.mermaid_text import CLASSES, escape, id_of, indented, lines_of, whole
from gatechart.drawing.palette import CLUSTERS, PLAIN
from gatechart.drawing.shapes import Card, Door, Handing, Map
from gatechart.graph import ROOT
from gatechart.values import StateName


def write_map_mermaid(drawing: Map) -> str:
    """Each graph with its doors and the states that hand on work, and the ways between them."""
    known = [card.name for card in drawing.cards if card.is_known]
    body = [
        *CLASSES,
        *(text for card in drawing.cards for text in _card(card)),
        *(_handing(each) for each in drawing.handings),
    ]
    return whole(", ".join(known), body, direction="LR")


def _card(card: Card) -> Iterator[str]:
    yield f'subgraph {id_of("card", card.name)} ["{escape(card.name)}"]'
    yield from indented(
        [
            *(
                f'{_door_id(card.name, door.name)}>"{lines_of([door.name, *door.terms])}"]:::{_look(door)}'
                for door in card.doors
            ),
            *(_source(card.name, source) for source in card.sources),
        ]
    )
    yield "end"
    dashed = "" if card.is_known else ",stroke-dasharray:4"
    yield f"style {id_of('card', card.name)} fill:{CLUSTERS[0]},stroke:{PLAIN.line},color:{PLAIN.ink}{dashed}"


def _source(graph: str, source: StateName) -> str:
    if source == ROOT:
        return f'{_source_id(graph, source)}(["any state"]):::anywhere'
    return f'{_source_id(graph, source)}("{escape(source)}"):::state'


def _handing(each: Handing) -> str:
    tail, head = _source_id(each.origin, each.source), _door_id(each.graph, each.entry_point)
    return f'{tail} -.->|"{lines_of(each.words)}"| {head}'


def _look(door: Door) -> str:
    return "door" if door.is_known else "elsewhere"


def _door_id(graph: str, door: str) -> str:
    return f"{id_of('of', graph)}__{id_of('door', door)}"


def _source_id(graph: str, source: StateName) -> str:
    return f"{id_of('of', graph)}__{id_of('s', source)}"
