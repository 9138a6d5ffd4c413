"""Which way the lines of a drawing run, so that most point down. Pure.

A label sits on its line as a small node of its own. So Graphviz cannot be left to turn round the arrows that close a
cycle: it would turn round one half of a line. Here it is decided for whole lines.
Source: depth-first search for the arrows that close cycles, then layers by longest path; E. R. Gansner et al., "A
technique for drawing directed graphs", IEEE Trans. Software Eng. 19(3), 1993, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gatechart.drawing.shapes import Arrow, Box, Outline
from gatechart.values import StateName

_Way: TypeAlias = tuple[StateName, StateName]  # from leaf to leaf


@dataclass(frozen=True, slots=True)
class Line:
    """How an arrow runs: from which leaf of its source, and whether against the grain."""

    arrow: Arrow
    source: StateName
    runs_up: bool
    is_direct: bool  # down to the next layer


@dataclass(frozen=True, slots=True)
class _Order:
    upward: frozenset[_Way]
    depths: Mapping[StateName, int]  # of the leaves that ways touch; 0 on top


def lines_of(drawing: Outline) -> tuple[Line, ...]:
    """Return a line for each arrow, in their order."""
    boxes = {box.name: box for box in drawing.every_box()}
    ways = {
        arrow: (_entered(boxes, arrow.source), _entered(boxes, arrow.target))
        for arrow in drawing.arrows
        if not arrow.is_roaming
    }
    order = _order(ways.values(), [_entered(boxes, door.state) for door in drawing.doors])
    return tuple(_line(boxes, order, arrow, ways.get(arrow)) for arrow in drawing.arrows)


def _line(boxes: Mapping[StateName, Box], order: _Order, arrow: Arrow, way: _Way | None) -> Line:
    """Return a line that runs down starts from the lowest leaf of its source that lies above its end."""
    if way is None:
        return Line(arrow, arrow.source, runs_up=False, is_direct=False)
    start, end = way
    if way in order.upward:
        return Line(arrow, start, runs_up=True, is_direct=False)
    above = (leaf for leaf in leaves_of(boxes[arrow.source]) if order.depths.get(leaf, 0) < order.depths[end])
    source = max(above, key=lambda leaf: order.depths.get(leaf, 0))
    return Line(arrow, source, runs_up=False, is_direct=order.depths[end] == order.depths.get(source, 0) + 1)


def _entered(boxes: Mapping[StateName, Box], state: StateName) -> StateName:
    """Return the leaf that is active once the state was entered."""
    box = boxes[state]
    first = box.initial or tuple(region.name for region in box.boxes)
    return _entered(boxes, first[0]) if first else state


def leaves_of(box: Box) -> tuple[StateName, ...]:
    """Return the states without children inside it; itself where it has none."""
    return tuple(leaf for child in box.boxes for leaf in leaves_of(child)) or (box.name,)


def _order(ways: Iterable[_Way], begins: Sequence[StateName]) -> _Order:
    ends: dict[StateName, list[StateName]] = {}
    for start, end in ways:
        ends.setdefault(start, []).append(end)
    finished, upward = _search(ends, [*begins, *ends])
    depths = dict.fromkeys(finished, 0)
    for start in reversed(finished):
        for end in ends.get(start, ()):
            if (start, end) not in upward:
                depths[end] = max(depths[end], depths[start] + 1)
    return _Order(frozenset(upward), depths)


def _search(
    ends: Mapping[StateName, Sequence[StateName]], begins: Iterable[StateName]
) -> tuple[list[StateName], set[_Way]]:
    """Depth first: the leaves in the order in which they were finished, and the ways that close a cycle."""
    finished: dict[StateName, None] = {}
    upward: set[_Way] = set()
    for begin in begins:
        path = {} if begin in finished else {begin: iter(ends.get(begin, ()))}
        while path:
            here, onward = next(reversed(path.items()))
            end = next(onward, None)
            if end is None:
                finished[here] = None
                del path[here]
            elif end in path:
                upward.add((here, end))
            elif end not in finished:
                path[end] = iter(ends.get(end, ()))
    return list(finished), upward
