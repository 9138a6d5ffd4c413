"""Mirror a layout from left to right if that puts more regions into the order of their declaration. Pure.

`dot` orders clusters only by the lines between them, and places unconnected clusters from right to left. Neither
invisible lines nor the order in the text changes that. A layout and its mirror image are equally good, so the one with
more regions in order is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from gatechart.drawing.endpoints import EDGE, NAME, NODE, POSITION
from gatechart.drawing.language import identity
from gatechart.drawing.shapes import Box, Outline
from gatechart.graph.compile import Kind

_CLUSTER: Final = re.compile(rf'(subgraph {NAME} \{{\s*graph \[bb=")([\d.,-]+)("[^\]]*?\blp=")([\d.,-]+)(")', re.DOTALL)
_WIDTH: Final = re.compile(r'\bbb="[-\d.]+,[-\d.]+,([-\d.]+),')
_PAIR: Final = re.compile(r"(-?[\d.]+(?:e[-+]?\d+)?),(-?[\d.]+(?:e[-+]?\d+)?)")


def in_order(layout: str, drawing: Outline) -> str:
    """Return a layout as written by `dot -Tdot`, or its mirror image if more regions are in order there."""
    parallel = [box for box in drawing.every_box() if box.kind is Kind.PARALLEL]
    width = _WIDTH.search(layout)
    if not parallel or width is None:
        return layout
    positions = dict(_positions(layout))
    in_order_pairs = [pair for box in parallel for pair in _in_order_pairs(box, positions)]
    return _mirrored(layout, float(width[1])) if 2 * sum(in_order_pairs) < len(in_order_pairs) else layout


def _in_order_pairs(box: Box, positions: Mapping[str, float]) -> Iterator[bool]:
    """Yield for each pair of regions whether the first one is left of the second."""
    regions = (f"cluster:{identity(region.name)}" if region.boxes else identity(region.name) for region in box.boxes)
    at = [positions[name] for name in regions if name in positions]
    yield from (first < second for first, second in combinations(at, 2))


def _positions(layout: str) -> Iterator[tuple[str, float]]:
    """Yield the horizontal position of each cluster and node, in points."""
    for cluster in _CLUSTER.finditer(layout):
        yield cluster[2].strip('"'), float(cluster[3].split(",")[0])
    for node in NODE.finditer(layout):
        position = POSITION.search(node[2])
        if position is not None:
            yield node[1].strip('"'), float(position[1].split(",")[0])


def _mirrored(layout: str, width: float) -> str:
    def mirror_element(match: re.Match[str]) -> str:
        return POSITION.sub(lambda position: f'pos="{_PAIR.sub(mirror_point, position[1])}"', match[0], count=1)

    def mirror_point(match: re.Match[str]) -> str:
        return f"{width - float(match[1]):g},{match[2]}"

    def mirror_cluster(match: re.Match[str]) -> str:
        left, low, right, high = map(float, match[3].split(","))
        x, y = match[5].split(",")
        label = width - right + float(x) - left  # a title stays on the left
        return f"{match[1]}{width - right:g},{low:g},{width - left:g},{high:g}{match[4]}{label:g},{y}{match[6]}"

    return _CLUSTER.sub(mirror_cluster, NODE.sub(mirror_element, EDGE.sub(mirror_element, layout)))
