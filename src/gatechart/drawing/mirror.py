"""A layout turned round from left to right, where that brings regions into the order of their declaration. Pure.

`dot` orders clusters by the lines between them alone, and sets down from right to left what no line orders. Neither
invisible lines nor the order in the text changes that. A layout and its mirror image are equally good, so that the one
is drawn in which more regions stand in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from gatechart.drawing.endpoints import EDGE, NAME, NODE, POSITION
from gatechart.drawing.language import identity
from gatechart.drawing.shapes import Box, Outline
from gatechart.graph import Kind

_CLUSTER: Final = re.compile(rf'(subgraph {NAME} \{{\s*graph \[bb=")([\d.,-]+)("[^\]]*?\blp=")([\d.,-]+)(")', re.DOTALL)
_WIDTH: Final = re.compile(r'\bbb="[-\d.]+,[-\d.]+,([-\d.]+),')
_PAIR: Final = re.compile(r"(-?[\d.]+(?:e[-+]?\d+)?),(-?[\d.]+(?:e[-+]?\d+)?)")


def in_order(layout: str, drawing: Outline) -> str:
    """Return a layout, as `dot -Tdot` writes it, or its mirror image if more regions stand in order there."""
    parallel = [box for box in drawing.every_box() if box.kind is Kind.PARALLEL]
    width = _WIDTH.search(layout)
    if not parallel or width is None:
        return layout
    places = dict(_places(layout))
    found = [step for box in parallel for step in _steps(box, places)]
    return _mirrored(layout, float(width[1])) if 2 * sum(found) < len(found) else layout


def _steps(box: Box, places: Mapping[str, float]) -> Iterator[bool]:
    """Yield for each two regions whether the first one stands on the left."""
    regions = (f"cluster:{identity(each.name)}" if each.boxes else identity(each.name) for each in box.boxes)
    at = [places[name] for name in regions if name in places]
    yield from (first < second for first, second in combinations(at, 2))


def _places(layout: str) -> Iterator[tuple[str, float]]:
    """Yield how far on the right clusters and nodes stand."""
    for cluster in _CLUSTER.finditer(layout):
        yield cluster[2].strip('"'), float(cluster[3].split(",")[0])
    for node in NODE.finditer(layout):
        position = POSITION.search(node[2])
        if position is not None:
            yield node[1].strip('"'), float(position[1].split(",")[0])


def _mirrored(layout: str, width: float) -> str:
    def turn(found: re.Match[str]) -> str:
        return POSITION.sub(lambda each: f'pos="{_PAIR.sub(pair, each[1])}"', found[0], count=1)

    def pair(found: re.Match[str]) -> str:
        return f"{width - float(found[1]):g},{found[2]}"

    def cluster(found: re.Match[str]) -> str:
        left, low, right, high = map(float, found[3].split(","))
        x, y = found[5].split(",")
        label = width - right + float(x) - left  # a title stays on the left
        return f"{found[1]}{width - right:g},{low:g},{width - left:g},{high:g}{found[4]}{label:g},{y}{found[6]}"

    return _CLUSTER.sub(cluster, NODE.sub(turn, EDGE.sub(turn, layout)))
